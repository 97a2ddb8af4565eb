"""Families of hash functions: each function by its definition, and what signatures by them estimate."""

from __future__ import annotations

import random

import mmh3
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core import hash_families
from gate.core.hash_families import FAMILIES, NONE, minima
from gate.core.method_parameters import Family
from gate.core.minhash import resemblance, signatures
from tests.core import reference
from tests.core.samples import feature_batches, hashes, packed

NAMES: list[Family] = ["modular", "multiplicative", "murmur3"]
ANY = st.sampled_from(NAMES)
COUNTS = st.sampled_from([1, 16, 40])
# Keys at the ends of each range: 0, the prime and its neighbours, all ones.
EDGES = [key << 32 for key in (0, 1, 2**31 - 1, 2**31, 2**32 - 4, 2**32 - 3, 2**32 - 2, 2**32 - 1)]


@pytest.mark.slow
@given(st.lists(st.integers(0, 2**64 - 1), max_size=20), ANY, COUNTS)
@example(EDGES, "modular", 40)
@example(EDGES, "multiplicative", 40)
@example(EDGES, "murmur3", 40)
def test_every_function_gives_the_values_of_its_definition(keys: list[int], family: str, count: int) -> None:
    found = [values.tolist() for values in FAMILIES[family](np.array(keys, np.uint64), count)]
    assert found == [[reference.family_value(family, i, key) for key in keys] for i in range(count)]


def test_murmur3_is_that_of_everybody_else() -> None:
    [_, values] = FAMILIES["murmur3"](np.array([0x64636261 << 32], np.uint64), 2)
    assert values.tolist() == [mmh3.hash(b"abcd", 1, signed=False)]


def test_multiplicative_starts_from_knuths_constant() -> None:
    assert int((5**0.5 - 1) / 2 * 2**32) == hash_families.KNUTH
    [values] = FAMILIES["multiplicative"](np.array([1 << 32], np.uint64), 1)
    assert values.tolist() == [hash_families.KNUTH]


def test_the_modulus_is_prime() -> None:
    assert hash_families.PRIME == 2**31 - 1
    assert all(hash_families.PRIME % n for n in range(2, 46342))


@pytest.mark.slow
@given(feature_batches, ANY, COUNTS)
def test_the_least_values_of_a_batch_are_those_of_each_document(
    batch: list[list[int]], family: Family, count: int
) -> None:
    found = minima(packed(batch), family, count)
    assert found.shape == (len(batch), count)
    for row, one in zip(found.tolist(), batch):
        least = [min((reference.family_value(family, i, key) for key in one), default=NONE) for i in range(count)]
        assert row == least


@pytest.mark.parametrize("family", NAMES)
def test_documents_may_begin_and_end_anywhere_in_what_is_worked_on_at_a_time(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(1)
    batch = [[draw.getrandbits(64) for _ in range(size)] for size in (0, 3, 8, 1, 0, 0, 25, 4, 4, 0, 7, 0)]
    whole = minima(packed(batch), family, 16)
    for size in (1, 4, 8, 11):
        monkeypatch.setattr(hash_families, "_CACHED", size)
        assert (minima(packed(batch), family, 16) == whole).all()


@pytest.mark.slow
@given(feature_batches, ANY)
def test_signatures_are_those_of_the_definition(batch: list[list[int]], family: Family) -> None:
    found, sizes = signatures(packed(batch), 16, family)
    assert [row.tobytes() for row in found] == [reference.signature(one, 16, family) for one in batch]
    assert sizes.tolist() == [len(set(one)) for one in batch]


@pytest.mark.slow
@given(hashes, ANY, st.randoms(use_true_random=False))
def test_repeats_and_order_do_not_matter(one: list[int], family: Family, draw: random.Random) -> None:
    found, _ = signatures(packed([one, draw.sample(one * 2, 2 * len(one))]), 16, family)
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("family", NAMES)
@pytest.mark.parametrize("shared", [360, 200, 0])
def test_the_share_of_agreeing_values_estimates_the_resemblance(family: Family, shared: int) -> None:
    """The mean of 60 pairs errs by a standard deviation of at most .0057; four of them would be a bias."""
    draw, estimates = random.Random(shared), []
    for _ in range(60):
        features = [draw.getrandbits(64) for _ in range(800 - shared)]
        found, _ = signatures(packed([features[:400], features[400 - shared :]]), 128, family)
        estimates.append(float(resemblance(found[0], found[1])))
    assert np.mean(estimates) == pytest.approx(shared / (800 - shared), abs=0.023)
    assert np.std(estimates) < 0.065
