"""The score of a combination: which documents are similar, and which of them rightly."""

from __future__ import annotations

import numpy as np

from gate.lab import roth_2011_paper as paper
from gate.lab.experiment import no_progress
from gate.lab.roth_2011 import Roth2011Options
from gate.lab.roth_2011_scores import (
    OFFSETS,
    Combination,
    similar,
    similar_either_way,
    similarity_indexes,
)
from gate.lab.scores import normalise_in_batches
from tests.lab.roth_2011_samples import PLAIN


def test_similar_is_what_lies_within_the_bounds_of_a_document() -> None:
    hits = similar(np.array([100, 71, 129, 131, -100, -80, 0]), 0.3)
    assert hits[0].tolist() == [True, True, True, False, False, False, False]
    assert hits[4].tolist() == [False, False, False, False, True, True, False]
    assert not hits[1, 0]  # 100 is more than 30 % above 71
    assert not hits[6].any()


def test_the_gates_own_rule_is_the_same_from_both_sides() -> None:
    hits = similar_either_way(np.array([100, 71, 129, 131, 150, -100]), 0.3)
    assert (hits == hits.T).all()
    assert hits[0].tolist() == [True, True, True, True, False, False]


def test_there_are_as_many_combinations_as_the_paper_has_but_for_words_of_characters() -> None:
    options = Roth2011Options()
    runs = list(zip(options.grams, options.windows))
    found = similarity_indexes(list(normalise_in_batches(PLAIN.texts[:1])), runs, no_progress)
    assert len(found) == paper.COMBINATIONS - 16
    assert {one.tracked[:-1] for one in found} == {
        str(n + offset) for offset in OFFSETS.values() for n in range(1, 15) if n + offset != 13
    }
    assert Combination(3, "soundex", "B", 40, 100) in found
