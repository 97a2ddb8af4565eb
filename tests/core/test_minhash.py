"""One-permutation signatures: bit for bit, and what they estimate."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core import length_filter
from gate.core.bands import band_postings, band_recall
from gate.core.minhash import numbered, resemblance, signatures
from gate.core.tokenizers import fmix64
from tests.core import reference
from tests.core.samples import feature_batches, hashes, packed

pytestmark = pytest.mark.usefixtures("implementation")

BINS = st.sampled_from([16, 17, 64, 100, 128, 1024])


@pytest.mark.slow
@given(feature_batches, BINS)
@example([[], [1], [], [0], [2**64 - 2], [0, 2**63], [2**64 - 1]], 16)
def test_the_signatures_of_a_batch_are_those_of_each_document(batch: list[list[int]], bins: int) -> None:
    found, sizes = signatures(packed(batch), bins)
    assert [row.tobytes() for row in found] == [reference.signature(one, bins) for one in batch]
    assert sizes.tolist() == [len(set(one)) for one in batch]


@pytest.mark.slow
@given(hashes, feature_batches, feature_batches, BINS)
def test_a_document_has_the_same_signature_in_any_company(
    one: list[int], before: list[list[int]], after: list[list[int]], bins: int
) -> None:
    together, sizes = signatures(packed([*before, one, *after]), bins)
    alone, size = signatures(packed([one]), bins)
    assert together[len(before)].tobytes() == alone[0].tobytes()
    assert sizes[len(before)] == size[0]


@pytest.mark.slow
@given(hashes, BINS, st.randoms(use_true_random=False))
def test_repeats_and_order_do_not_matter(one: list[int], bins: int, draw: random.Random) -> None:
    shuffled = draw.sample(one * 2, 2 * len(one))
    found, sizes = signatures(packed([one, shuffled]), bins)
    assert found[0].tobytes() == found[1].tobytes()
    assert sizes[0] == sizes[1]


def test_a_document_without_features_has_a_signature_of_zeros() -> None:
    found, sizes = signatures(packed([[], [7], []]), 64)
    assert not found[0].any()
    assert found[1].any()
    assert not found[2].any()
    assert sizes.tolist() == [0, 1, 0]


def test_a_single_feature_fills_every_bin() -> None:
    found, _ = signatures(packed([[12345]]), 128)
    assert np.unique(found).size == 1


def test_no_documents_have_no_signatures() -> None:
    found, sizes = signatures(packed([]), 64)
    assert found.shape == (0, 64)
    assert sizes.shape == (0,)


# What it estimates


def pairs_of(share: float, *, size: int, pairs: int, seed: int) -> tuple[list[list[int]], list[list[int]]]:
    """Pairs of sets with `size` features in their union, that share of them common."""
    draw = random.Random(seed)
    lefts, rights = [], []
    for _ in range(pairs):
        union = [draw.getrandbits(64) for _ in range(size)]
        common = round(share * size)
        middle = (common + size) // 2
        lefts.append(union[:middle])
        rights.append(union[:common] + union[middle:])
    return lefts, rights


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 40, 200, 2000])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.8, 0.9, 1.0])
def test_the_estimate_is_unbiased_for_few_features_and_for_many(share: float, size: int) -> None:
    pairs, bins = 200, 128
    lefts, rights = pairs_of(share, size=size, pairs=pairs, seed=size)
    found = resemblance(signatures(packed(lefts), bins)[0], signatures(packed(rights), bins)[0])
    # Bins that borrow repeat what others say: of a small set there are fewer opinions than bins.
    opinions = min(bins, size) / 2
    deviation = (share * (1 - share) / opinions + 1e-3 / bins) ** 0.5 / pairs**0.5
    # The estimate cannot fall below 0, so of unrelated sets it is a little more than that.
    assert abs(float(found.mean()) - share) < 5 * deviation + (0.01 if share == 0 else 0)


def test_one_pair_is_estimated_within_a_few_hundredths() -> None:
    lefts, rights = pairs_of(0.8, size=1000, pairs=400, seed=1)
    found = resemblance(signatures(packed(lefts), 128)[0], signatures(packed(rights), 128)[0])
    assert 0.02 < float(found.std()) < 0.05


def test_equal_sets_resemble_wholly_and_strangers_hardly() -> None:
    lefts, rights = pairs_of(0.0, size=1000, pairs=50, seed=2)
    mine, theirs = (signatures(packed(side), 128)[0] for side in (lefts, rights))
    assert resemblance(mine, mine).tolist() == [1.0] * 50
    assert float(resemblance(mine, theirs).max()) < 0.1


@pytest.mark.slow
@given(feature_batches, BINS)
def test_resemblance_is_symmetric_and_a_share(batch: list[list[int]], bins: int) -> None:
    found, _ = signatures(packed(batch), bins)
    other = found[::-1]
    assert resemblance(found, other).tolist() == resemblance(other, found).tolist()
    assert all(0.0 <= value <= 1.0 for value in resemblance(found, other).tolist())


@pytest.mark.parametrize(("share", "rows"), [(0.5, 2), (0.8, 4), (0.9, 8), (0.7, 1)])
def test_a_band_is_shared_with_the_power_of_the_resemblance(share: float, rows: int) -> None:
    pairs, bands = 400, 8
    lefts, rights = pairs_of(share, size=600, pairs=pairs, seed=rows)
    there = np.arange(pairs)
    mine, theirs = (
        band_postings(there, signatures(packed(side), 128)[0], bands=bands, band_rows=rows) for side in (lefts, rights)
    )
    shared = (mine.keys == theirs.keys) & (mine.tags == theirs.tags)
    assert abs(float(shared.mean()) - share**rows) < 0.05
    met = float(shared.reshape(pairs, bands).any(axis=1).mean())
    assert abs(met - band_recall(share, bands=bands, band_rows=rows)) < 0.07


def test_a_multiset_is_the_set_of_its_numbered_occurrences() -> None:
    found = numbered(packed([[5, 7, 5, 5], [5, 5]]))
    first, second = found.hashes[:4].tolist(), found.hashes[4:].tolist()
    assert sorted(first)[:2] == [5, 7]
    assert len(set(first)) == 4
    assert set(second) < set(first)  # two fives are among three
    assert sorted(second) == sorted([5, int(fmix64(np.array([5 + 0x9E3779B97F4A7C15], np.uint64))[0])])


@given(st.lists(st.integers(0, 4), max_size=12), st.lists(st.integers(0, 4), max_size=12))
def test_numbered_occurrences_resemble_each_other_as_multisets(left: list[int], right: list[int]) -> None:
    pair = np.array([[0, 1]])
    as_sets = length_filter.resemblances(numbered(packed([left, right])), pair)
    assert as_sets == length_filter.resemblances(packed([left, right]), pair, multisets=True)
