"""How far apart the fingerprints of unrelated texts are."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import SimHash
from gate.core.plan import chance_within
from gate.core.unrelated import RANDOM, UnrelatedDistance, typical


def test_bits_that_fall_by_themselves_are_binomial() -> None:
    for radius in (0, 3, 12, 32, 64):
        assert RANDOM.chance_within(radius) == pytest.approx(chance_within(radius, 0.5))


def test_pairs_that_scatter_are_near_more_often_at_the_same_mean() -> None:
    even, scattered = (UnrelatedDistance(mean=25.0, variance=v) for v in (15.2, 20.0))
    assert scattered.chance_within(12) > 3 * even.chance_within(12)
    assert scattered.chance_within(64) == pytest.approx(1.0)


def test_the_mean_and_the_variance_of_the_model_are_those_that_were_measured() -> None:
    model = UnrelatedDistance(mean=24.0, variance=23.3)
    below = [0.0, *(model.chance_within(radius) for radius in range(65))]
    chances = [after - before for before, after in itertools.pairwise(below)]
    mean = sum(d * chance for d, chance in enumerate(chances))
    assert mean == pytest.approx(24.0)
    assert sum((d - mean) ** 2 * chance for d, chance in enumerate(chances)) == pytest.approx(23.3)


def test_texts_share_more_of_what_is_short() -> None:
    def mean(**changed: object) -> float:
        return typical(replace(BUILT_IN["simhash"], name="tried", **changed)).mean

    assert mean(gram=1) < mean(gram=2) < mean(gram=3) == mean(gram=5)
    by_set, by_count = (SimHash(weights=weights) for weights in ("set", "count"))
    assert mean(tokenizer="characters", gram=4, method=by_count) < mean(tokenizer="characters", gram=4, method=by_set)
    assert typical(BUILT_IN["minhash"]) == RANDOM
    assert typical(replace(BUILT_IN["simhash"], name="tried", tokenizer="soundex")) == RANDOM


def test_within_twelve_bits_are_hundreds_of_times_as_many_as_of_random_bits() -> None:
    """Measured: 2 to 8 of 10,000 pairs of chapters and of manuals; of random fingerprints 3 of 10,000,000."""
    chance = typical(BUILT_IN["roth-2013"]).chance_within(12)
    assert 2e-4 < chance < 9e-4
    assert chance > 500 * RANDOM.chance_within(12)
