"""The scores of a profile over all pairs of a corpus."""

from __future__ import annotations

import numpy as np
import pytest

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_registry import method_of
from gate.index.protocol.batch_order import similar_within_batch
from gate.lab.experiment import Proportion
from gate.lab.scores import (
    BANDS,
    cut_paragraphs,
    find_candidates,
    planned_recall,
    recall_by_band,
    score_profile,
    sign,
)
from gate.lab.truth import DocumentPairs
from load.quality import planted
from tests.lab.lab_samples import FIVE, LENIENT, documents

STANDARD = BUILT_IN["standard"]


def test_paragraphs_are_cut_out_by_length_and_each_once() -> None:
    some = documents("one two three\n\nfour five\n\none two THREE.", "six seven eight nine")
    short, longer = cut_paragraphs(some, ((2, 3), (4, 5)))
    assert list(short.texts) == ["one two three", "four five"]
    assert list(longer.texts) == ["six seven eight nine"]


def test_recall_by_band_is_the_share_of_the_true_pairs_that_were_found() -> None:
    five = documents(*FIVE)
    found = DocumentPairs(np.array([0, 1, 3]), np.array([1, 3, 4]), np.array([5 / 7, 4 / 6, 0.0]))
    shares = recall_by_band(five, found)
    assert {band: (share.count, share.total) for band, share in shares.items() if share.total} == {
        ".7 - .8": (1, 1),
        ".6 - .7": (1, 2),
    }


def test_candidates_called_alike_are_those_that_the_gate_finds_in_one_batch() -> None:
    some = planted(200, seed=3)
    method = method_of(STANDARD)
    bodies = sign(method, some.texts)
    left, right = find_candidates(method, bodies)
    earlier = similar_within_batch(method, STANDARD, bodies)
    assert (left < right).all()
    assert {(i, j) for j, those in enumerate(earlier) for i in those} <= set(zip(left.tolist(), right.tolist()))
    firsts = {i for i, first in enumerate(some.first_equal.tolist()) if first == i}
    expected = sum(len(those & firsts) for j, those in enumerate(earlier) if j in firsts)
    assert score_profile(some, STANDARD).precise.total == expected > 50


def test_pairs_below_half_that_are_called_alike_are_false() -> None:
    score = score_profile(documents("a b c d e f g h", "a b c d e v w x y z", "k l m n o p q r"), LENIENT)
    assert score.precise == Proportion(0, 1)  # abc bcd cde of eleven
    assert score.false_candidates == score.candidates >= 1


def test_the_plan_is_compared_on_the_same_pairs_and_only_for_the_same_features() -> None:
    five = documents(*FIVE)
    expected = planned_recall(five, STANDARD)
    assert expected[".6 - .7"] == pytest.approx(0.96, abs=0.02)
    assert expected[">= .9"] is None
    assert planned_recall(five, BUILT_IN["roth-2013"]) == dict.fromkeys(BANDS)
