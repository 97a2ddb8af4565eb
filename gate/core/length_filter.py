"""The length filter: which pairs are so unequal in size that they need not be compared.

Whatever two documents share, they share no more than the smaller has, and together they have no less than the larger.
So the resemblance of two sets is at most smaller / larger, and a pair below the threshold by that alone cannot be above
it: the filter loses nothing. The same holds for multisets, where a feature counts as often as it occurs in a document:
their resemblance is (sum of the lesser counts) / (sum of the greater counts), and their size the sum of the counts.

Three lengths, after Azgomi et al. 2014:

- sets:       how many distinct features a document has. Exact for resemblance.
- multisets:  how many it has, repeated ones included. Exact for the resemblance of multisets; of sets it loses pairs.
- weighted:   each distinct feature's place, counted from 1 in the order of first appearance, times how often it occurs
              there, summed. A heuristic, the paper's own: it grows with about the square of the size, so it drops
              more pairs, and some of them are alike.

None is for containment, where a part and its whole differ in size as much as they like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gate.core.shingles import Features, representatives
from gate.errors import ConfigError

Lengths = NDArray[np.int64]
Pairs = NDArray[np.int64]  # (pairs, 2): the numbers of two documents, the lower one first

# A quotient of two lengths is not always the double that it should be; a pair at the threshold itself is kept.
_SLACK = 1e-9
_CHUNK = 1 << 16  # features to look up at a time: they stay in a cache


@dataclass(frozen=True, slots=True)
class RemainingPairs:
    """The pairs that are left to compare, and how many there were."""

    pairs: Pairs
    total: int

    @property
    def saved(self) -> int:
        return self.total - len(self.pairs)


def most_alike(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest resemblance that sets of these sizes can have; empty ones are not alike to anything."""
    bound: NDArray[np.float64] = np.minimum(left, right) / np.maximum(np.maximum(left, right), 1.0)
    return bound


def set_sizes(features: Features) -> Lengths:
    """How many distinct features each document has."""
    return features.distinct_counts()


def multiset_sizes(features: Features) -> Lengths:
    """How many features each document has, each as often as it occurs there."""
    return np.diff(features.starts)


def weighted_sizes(features: Features) -> Lengths:
    """The sum of place times repetition over the distinct features of each document."""
    first, counts = distinct(features)
    bounds = np.searchsorted(first, features.starts)
    places = 1 + np.arange(first.size) - np.repeat(bounds[:-1], np.diff(bounds))
    sums = np.concatenate([[0], np.cumsum(places * counts)])
    return np.diff(sums[bounds])


LENGTHS: dict[str, Callable[[Features], Lengths]] = {
    "set": set_sizes,
    "repetition": multiset_sizes,
    "weighted": weighted_sizes,
}


def pairs_within(lengths: Lengths, threshold: float) -> RemainingPairs:
    """Of all pairs of documents those whose lengths allow a resemblance of the threshold.

    In the order of lengths, what a document has to be compared with is the stretch behind it up to length / threshold.
    """
    if not 0.0 < threshold <= 1.0:
        raise ConfigError(f"threshold: {threshold} is not allowed; give a share above 0 and at most 1")
    order = np.argsort(lengths, kind="stable")
    rising = lengths[order]
    ends = np.searchsorted(rising, rising / threshold * (1.0 + _SLACK), side="right")
    counts = np.maximum(ends - np.arange(1, lengths.size + 1), 0)
    counts[rising == 0] = 0
    lefts = np.repeat(np.arange(lengths.size), counts)
    rights = lefts + 1 + np.arange(lefts.size) - np.repeat(np.cumsum(counts) - counts, counts)
    pairs = np.sort(np.stack([order[lefts], order[rights]], axis=1), axis=1)
    return RemainingPairs(pairs, lengths.size * (lengths.size - 1) // 2)


def all_pairs(documents: int) -> Pairs:
    """Every pair of so many documents."""
    return np.stack(np.triu_indices(documents, 1), axis=1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Sets:
    """The distinct features of each document as small numbers, those of document i from `bounds[i]` on, and how often
    each counts: once in sets, as often as it occurs there in multisets.

    For reference: it holds all features, where a signature has a fixed number of bytes.
    """

    numbers: NDArray[np.int64]
    weights: NDArray[np.int64]
    bounds: NDArray[np.int64]

    def resemblances(self, pairs: Pairs) -> NDArray[np.float64]:
        """The exact resemblance (Jaccard) of pairs of documents; 0 where both are empty."""
        numbers, weights, bounds = self.numbers, self.weights, self.bounds
        counts = np.diff(bounds)
        sizes = np.diff(np.concatenate([[0], np.cumsum(weights)])[bounds])
        shared = np.zeros(len(pairs), np.int64)
        left_weights = np.zeros(int(numbers.max()) + 1 if numbers.size else 0, np.int64)
        order = np.argsort(pairs[:, 0], kind="stable")
        lefts = pairs[order, 0]
        for begin, end in _runs(lefts, counts[pairs[order, 1]]):
            left = slice(bounds[lefts[begin]], bounds[lefts[begin] + 1])
            left_weights[numbers[left]] = weights[left]
            others = pairs[order[begin:end], 1]
            ends = np.cumsum(counts[others])
            places = np.arange(int(ends[-1])) + np.repeat(bounds[others] - (ends - counts[others]), counts[others])
            lesser = np.concatenate([[0], np.cumsum(np.minimum(left_weights[numbers[places]], weights[places]))])
            shared[order[begin:end]] = lesser[ends] - lesser[ends - counts[others]]
            left_weights[numbers[left]] = 0
        exact: NDArray[np.float64] = shared / np.maximum(sizes[pairs].sum(axis=1) - shared, 1)
        return exact


def sets_of(features: Features, *, multisets: bool = False) -> Sets:
    first, counts = distinct(features)
    numbers = np.unique(features.hashes[first], return_inverse=True)[1]
    weights = counts if multisets else np.ones(first.size, np.int64)
    return Sets(numbers, weights, np.searchsorted(first, features.starts))


def resemblances(features: Features, pairs: Pairs, *, multisets: bool = False) -> NDArray[np.float64]:
    """The exact resemblance of pairs of documents, as sets or as multisets."""
    return sets_of(features, multisets=multisets).resemblances(pairs)


def _runs(lefts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Pairs of one left document side by side, and of those at most so many that their right ones fit in a chunk."""
    chunk = (np.cumsum(sizes) - sizes) // _CHUNK
    new = np.flatnonzero((np.diff(lefts) != 0) | (np.diff(chunk) != 0)) + 1
    edges = [0, *new.tolist(), lefts.size] if lefts.size else [0]
    return pairwise(edges)


def distinct(features: Features) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first position of each distinct feature of each document, in text order, and how often it occurs."""
    representative = representatives(features.hashes, features.starts)
    first = np.full(representative.size, representative.size, np.int64)
    np.minimum.at(first, representative, np.arange(representative.size))
    heads = np.flatnonzero(representative == np.arange(representative.size))
    order = np.argsort(first[heads], kind="stable")
    counts = np.bincount(representative, minlength=representative.size)
    return first[heads][order], counts[heads][order].astype(np.int64)
