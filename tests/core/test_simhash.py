"""Fingerprints and their distance."""

from __future__ import annotations

import random
from typing import get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core.method_parameters import Weights
from gate.core.simhash import distance, fingerprints, weighted
from tests.core import reference
from tests.core.samples import feature_batches, hashes, packed

pytestmark = pytest.mark.usefixtures("implementation")

WEIGHTS: tuple[Weights, ...] = get_args(Weights)
WORD = st.integers(0, 2**64 - 1)


@given(feature_batches, st.sampled_from(WEIGHTS))
@example([[], [1], [], [1, 2], [2**64 - 1] * 3, []], "count")
def test_the_fingerprints_of_a_batch_are_those_of_each_document(batch: list[list[int]], weights: Weights) -> None:
    assert fingerprints(packed(batch), weights).tolist() == [reference.fingerprint(one, weights) for one in batch]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("size", [254, 255, 256, 509, 510, 511, 1021])
def test_counts_that_fill_a_byte_lane_do_not_spill_over(size: int, weights: Weights) -> None:
    draw = random.Random(size)
    ones, mixed = [2**64 - 1] * size, [draw.getrandbits(64) >> draw.randrange(3) for _ in range(size)]
    batch = [ones, [3], mixed, [], ones[: size // 2] + [0] * (size // 2 + 1)]
    assert fingerprints(packed(batch), weights).tolist() == [reference.fingerprint(one, weights) for one in batch]


@pytest.mark.slow
def test_documents_of_more_features_than_are_worked_on_at_a_time_have_their_fingerprints() -> None:
    draw = random.Random(8)
    batch = [[draw.getrandbits(64) for _ in range(size)] for size in (70_000, 300, 0, 65_280, 1)]
    assert fingerprints(packed(batch)).tolist() == [reference.fingerprint(one, "count") for one in batch]


@given(hashes, feature_batches, feature_batches, st.sampled_from(WEIGHTS))
def test_a_document_has_the_same_fingerprint_in_any_company(
    one: list[int], before: list[list[int]], after: list[list[int]], weights: Weights
) -> None:
    together = fingerprints(packed([*before, one, *after]), weights)
    assert int(together[len(before)]) == int(fingerprints(packed([one]), weights)[0])


@given(hashes, st.sampled_from(WEIGHTS), st.randoms(use_true_random=False))
def test_the_order_of_features_does_not_matter(one: list[int], weights: Weights, draw: random.Random) -> None:
    shuffled = draw.sample(one, len(one))
    assert fingerprints(packed([one]), weights)[0] == fingerprints(packed([shuffled]), weights)[0]


def test_one_feature_is_its_own_fingerprint_and_a_tie_gives_0() -> None:
    assert fingerprints(packed([[0xF0F0], [0xFF, 0x0F], []])).tolist() == [0xF0F0, 0x0F, 0]


def test_weights_count_occurrences_their_logarithm_or_none() -> None:
    often, seldom = 0b01, 0b10
    batch = packed([[often] * 7 + [seldom] * 3 + [0] * 2])
    # count: 7 and 3 of 12; log: 3 and 2 of 7; set: 1 and 1 of 3.
    assert [int(fingerprints(batch, weights)[0]) for weights in ("count", "log", "set")] == [0b01, 0b00, 0b00]
    repeated = {weights: sorted(weighted(batch, weights).hashes.tolist()) for weights in ("log", "set")}
    assert repeated == {"log": [0, 0, 1, 1, 1, 2, 2], "set": [0, 1, 2]}


@pytest.mark.parametrize("occurrences", [1, 2, 3, 4, 7, 8, 1023, 1024, 2**20 - 1, 2**20])
def test_log_weights_are_the_number_of_binary_digits(occurrences: int) -> None:
    found = weighted(packed([[5] * occurrences]), "log")
    assert found.hashes.size == occurrences.bit_length()


@given(st.lists(st.tuples(WORD, WORD), max_size=20))
def test_the_distance_is_the_number_of_differing_bits(pairs: list[tuple[int, int]]) -> None:
    expected = [bin(left ^ right).count("1") for left, right in pairs]
    lefts, rights = np.array(pairs, np.uint64).reshape(-1, 2).T
    assert [distance(left, right) for left, right in pairs] == expected
    assert distance(lefts, rights).tolist() == expected
    for left, right in pairs[:1]:
        assert distance(left, rights)[0] == distance(lefts, right)[0] == expected[0]


def test_fingerprints_of_documents_that_share_more_agree_more() -> None:
    draw = random.Random(3)
    common = [draw.getrandbits(64) for _ in range(1000)]
    batch = [common] + [common[:n] + [draw.getrandbits(64) for _ in range(1000 - n)] for n in (990, 900, 500, 0)]
    prints = fingerprints(packed(batch)).tolist()
    far = [distance(prints[0], other) for other in prints[1:]]
    assert far == sorted(far)
    assert far[0] <= 6
    assert 16 <= far[-1] <= 48


def test_hello_world_has_the_fingerprint_of_roth_2013_table_2() -> None:
    """Three letters at a time, hashed to the sum of their codes, in 16 bits. The paper prints 271: it has -1 where five
    of the nine sums have the bit of 64, so the bit is set and the number is 335."""
    text = "Hello world"
    sums = [sum(map(ord, text[i : i + 3])) for i in range(len(text) - 2)]
    assert sums == [281, 317, 327, 251, 262, 262, 344, 333, 322]
    assert sum(bool(value & 64) for value in sums) == 5
    assert fingerprints(packed([sums])).tolist() == [335]


def test_the_fingerprints_of_roth_2013_table_3_are_six_bits_apart() -> None:
    first = "1010001111011011111100110100111101110110111010100000010100010000"
    second = "1010001110011011111110000101111101110110111010100001010100010000"
    assert len(first) == len(second) == 64
    assert distance(int(first, 2), int(second, 2)) == 6
    assert round(100 * (1 - 6 / 64)) == 91
