"""The length filter: lengths by their definition, and no pair lost that is alike."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.core import length_filter
from gate.core.length_filter import (
    LENGTHS,
    all_pairs,
    multiset_sizes,
    pairs_within,
    resemblances,
    set_sizes,
    weighted_sizes,
)
from gate.errors import ConfigError
from tests.core.samples import packed

# Azgomi et al. 2014: its example text by its pairs of letters, in the order of the text; ab occurs twice.
ABCDABD = ["ab", "bc", "cd", "da", "ab", "bd"]

# Few distinct hashes, so that documents repeat and share them, and are often alike.
documents = st.lists(st.lists(st.integers(0, 9), max_size=14), max_size=7)
THRESHOLDS = st.sampled_from([0.1, 0.5, 0.7, 0.9, 1.0])


def exact(left: list[int], right: list[int], *, multisets: bool) -> float:
    a, b = (Counter(one) if multisets else Counter(set(one)) for one in (left, right))
    return sum((a & b).values()) / max(sum((a | b).values()), 1)


@pytest.mark.slow
@given(documents)
@example([[], [3, 3, 3], [], [2, 1, 2], []])
def test_lengths_are_those_of_the_definition(batch: list[list[int]]) -> None:
    features = packed(batch)
    assert set_sizes(features).tolist() == [len(set(one)) for one in batch]
    assert multiset_sizes(features).tolist() == [len(one) for one in batch]
    weighted = [sum(place * count for place, count in enumerate(Counter(one).values(), 1)) for one in batch]
    assert weighted_sizes(features).tolist() == weighted


@pytest.mark.slow
@given(documents, st.booleans(), st.sampled_from([3, 1 << 20]))
def test_resemblance_is_exact(batch: list[list[int]], multisets: bool, chunk: int) -> None:
    before, length_filter._CHUNK = length_filter._CHUNK, chunk
    try:
        found = resemblances(packed(batch), all_pairs(len(batch)), multisets=multisets)
    finally:
        length_filter._CHUNK = before
    expected = [exact(a, b, multisets=multisets) for a, b in combinations(batch, 2)]
    assert found.tolist() == pytest.approx(expected)


@pytest.mark.slow
@given(documents, THRESHOLDS, st.sampled_from([("set", False), ("repetition", True)]))
def test_no_pair_that_is_alike_is_dropped(batch: list[list[int]], threshold: float, kind: tuple[str, bool]) -> None:
    name, multisets = kind
    kept = set(map(tuple, pairs_within(LENGTHS[name](packed(batch)), threshold).pairs.tolist()))
    for i, j in combinations(range(len(batch)), 2):
        if exact(batch[i], batch[j], multisets=multisets) >= threshold:
            assert (i, j) in kept


@given(st.lists(st.integers(0, 40), max_size=12), THRESHOLDS)
@example([9, 10], 0.9)
@example([7, 10], 0.7)
def test_exactly_the_pairs_remain_whose_lengths_allow_it(sizes: list[int], threshold: float) -> None:
    kept = pairs_within(np.array(sizes, np.int64), threshold)
    expected = [
        (i, j)
        for (i, a), (j, b) in combinations(enumerate(sizes), 2)
        if min(a, b) and min(a, b) >= threshold * max(a, b) - 1e-9
    ]
    assert sorted(map(tuple, kept.pairs.tolist())) == expected
    assert kept.total == len(sizes) * (len(sizes) - 1) // 2
    assert kept.saved == kept.total - len(expected)


def test_the_weighted_length_loses_pairs_that_are_alike() -> None:
    """It is a heuristic: the last feature, far from the beginning, weighs more than its share."""
    batch = [list(range(20)), [*range(20), 20]]
    features = packed(batch)
    assert resemblances(features, all_pairs(2))[0] > 0.95
    assert pairs_within(set_sizes(features), 0.95).saved == 0
    assert pairs_within(weighted_sizes(features), 0.95).saved == 1


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.01, float("nan")])
def test_a_threshold_that_is_no_share_is_refused(threshold: float) -> None:
    with pytest.raises(ConfigError, match="threshold"):
        pairs_within(set_sizes(packed([[1], [2]])), threshold)


def test_no_documents_and_one_document_have_no_pairs() -> None:
    for batch in ([], [[1, 2]]):
        features = packed(batch)
        assert pairs_within(set_sizes(features), 0.5).total == 0
        assert resemblances(features, all_pairs(len(batch))).size == 0


def test_the_lengths_of_abcdabd_are_those_of_azgomi_2014() -> None:
    """Five distinct pairs of letters, six with the repeated one, and 1 x 2 + 2 + 3 + 4 + 5 with their places."""
    features = packed([[ABCDABD.index(pair) for pair in ABCDABD]])
    lengths = [length(features).tolist() for length in (set_sizes, multiset_sizes, weighted_sizes)]
    assert lengths == [[5], [6], [16]]


def test_a_length_of_9_is_compared_up_to_10_at_a_resemblance_of_9_tenths() -> None:
    remaining = pairs_within(np.array([8, 9, 9, 10, 11], np.int64), 0.9)
    assert [pair for pair in remaining.pairs.tolist() if 1 in pair] == [[1, 2], [1, 3]]


def test_the_sets_of_bergillos_2018_have_a_third_in_common() -> None:
    features = packed([[0, 1, 2, 5, 6], [0, 2, 3, 4, 5, 7, 9]])
    assert resemblances(features, all_pairs(2)).tolist() == [pytest.approx(1 / 3)]
