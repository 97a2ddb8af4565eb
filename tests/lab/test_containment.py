"""Planted parts: which are found, and what that costs."""

from __future__ import annotations

import random

import numpy as np
import pytest
from msgspec.structs import replace

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import ModN
from gate.errors import ConfigError
from gate.lab.containment import EXPERIMENT, ContainmentOptions, contained_share, measure, run
from gate.lab.experiment import Proportion, no_progress
from gate.lab.truth import Corpus

DRAW = random.Random(6)
VOCABULARY = ["".join(DRAW.choices("abcdefghijklmnoprstuvwy", k=DRAW.randint(2, 9))) for _ in range(3000)]
TEXTS = [" ".join(DRAW.choices(VOCABULARY, k=1500)) for _ in range(12)]
CORPUS = Corpus("made", [f"d{i}" for i in range(12)], TEXTS)
SMALL = ContainmentOptions(hosts=6, parts=(10, 50), samples=(25, 200), keys=(8, 128))


def half(text: str) -> str:
    return text[: len(text) // 2]


def test_parts_are_found_and_named_and_the_others_are_not_called_alike() -> None:
    hosts = [1, 4]
    score = measure(BUILT_IN["containment"], TEXTS, hosts, {(50, 0): [half(TEXTS[i]) for i in hosts]})
    assert score.recall[50, 0] == score.candidate_recall[50, 0] == score.named_contained[50, 0] == Proportion(2, 2)
    assert score.candidates[50, 0] == 1.0
    assert score.other_matches[50, 0] == Proportion(0, 0)
    assert score.too_short[50, 0] == Proportion(0, 2)


def test_a_part_of_another_document_is_not_taken_for_one_of_this() -> None:
    score = measure(BUILT_IN["containment"], TEXTS, [1], {(50, 0): [half(TEXTS[2])]})
    assert score.recall[50, 0] == Proportion(0, 1)
    assert score.other_matches[50, 0] == Proportion(1, 1)


def test_the_price_is_that_of_what_is_stored() -> None:
    profile = replace(BUILT_IN["containment"], method=ModN(sample=25, max_keys=10))
    score = measure(profile, TEXTS, [], {})
    assert score.postings == 10
    assert score.posting_bytes == 10 * (8 + 6)
    assert score.body_bytes == pytest.approx(np.mean([4 + 8 * len(text) / 25 for text in TEXTS]), rel=0.1)


def test_more_keys_find_more_and_cost_more() -> None:
    report = run(CORPUS, SMALL, no_progress)
    recall, price, parts = report.tables
    shares = {(row["n"], row["keys"]): row["10 %"] for row in recall.rows}
    found = {key: value.count for key, value in shares.items() if isinstance(value, Proportion)}
    assert found[25, 128] == 6
    assert found[25, 8] <= found[25, 128]
    bytes_of = {(row["n"], row["keys"]): row["bytes: postings"] for row in price.rows}
    assert bytes_of[25, 8] == 8 * 14
    assert {row["profile"] for row in parts.rows} == {"containment", "standard"}
    assert len(report.plots) == 2


def test_a_corpus_without_a_document_that_is_long_enough_is_refused() -> None:
    with pytest.raises(ConfigError, match="least-words"):
        run(CORPUS, ContainmentOptions(least_words=5000), no_progress)


def test_a_number_given_twice_is_refused_before_any_work() -> None:
    for doubled in ({"parts": (5, 5)}, {"keys": (9, 9)}, {"samples": (9, 9)}, {"replaced": (0, 0)}):
        with pytest.raises(ConfigError, match=next(iter(doubled))):
            EXPERIMENT.check(ContainmentOptions(**doubled))  # type: ignore[arg-type]


def test_a_document_that_contains_a_part_too_is_recognised_by_its_words() -> None:
    assert contained_share("one two three four", "zero one two three four five") == 1.0
    assert contained_share("one two three four", "one two three five") == 0.5
    assert contained_share("", "anything") == 0.0
