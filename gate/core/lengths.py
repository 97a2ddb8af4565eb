"""The length filter: which pairs are so unequal in size that they need not be compared.

Whatever two documents share, they share no more than the smaller has, and together they have no less than the larger.
So the resemblance of two sets is at most smaller / larger, and a pair below the threshold by that alone cannot be above
it: the filter loses nothing. The same holds for multisets, where a feature counts as often as it stands in a document:
their resemblance is (sum of the lesser counts) / (sum of the greater counts), and their size the sum of the counts.

Three lengths, after Azgomi et al. 2014:

- sets:       how many distinct features a document has. Exact for resemblance.
- multisets:  how many it has, repeated ones included. Exact for the resemblance of multisets; of sets it loses pairs.
- weighted:   each distinct feature's place, counted from 1 in the order of first appearance, times how often it stands
              there, summed. A heuristic, the paper's own: it grows with about the square of the size, so it drops
              more pairs, and some of them are alike.

None is for containment, where a part and its whole differ in size as much as they like.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gate.core.distinct import standing_for
from gate.core.shingles import Features
from gate.errors import ConfigError

Lengths = NDArray[np.int64]
Pairs = NDArray[np.int64]  # (pairs, 2): the numbers of two documents, the lower one first

# A quotient of two lengths is not always the double that it should be; a pair at the threshold itself is kept.
_SLACK = 1e-9
_CHUNK = 1 << 20  # hashes of pairs to intersect at a time: some tens of MB


@dataclass(frozen=True, slots=True)
class Kept:
    """The pairs that are left to compare, and how many there were."""

    pairs: Pairs
    of: int

    @property
    def saved(self) -> int:
        return self.of - len(self.pairs)


def most_alike(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest resemblance that sets of these sizes can have; empty ones are not alike to anything."""
    bound: NDArray[np.float64] = np.minimum(left, right) / np.maximum(np.maximum(left, right), 1.0)
    return bound


def set_sizes(features: Features) -> Lengths:
    """How many distinct features each document has."""
    first, _ = distinct(features)
    return np.diff(np.searchsorted(first, features.starts))


def multiset_sizes(features: Features) -> Lengths:
    """How many features each document has, each as often as it stands there."""
    return np.diff(features.starts)


def weighted_sizes(features: Features) -> Lengths:
    """The sum of place times repetition over the distinct features of each document."""
    first, counts = distinct(features)
    bounds = np.searchsorted(first, features.starts)
    places = 1 + np.arange(first.size) - np.repeat(bounds[:-1], np.diff(bounds))
    sums = np.concatenate([[0], np.cumsum(places * counts)])
    return np.diff(sums[bounds])


LENGTHS: dict[str, Callable[[Features], Lengths]] = {
    "sets": set_sizes,
    "multisets": multiset_sizes,
    "weighted": weighted_sizes,
}


def pairs_within(lengths: Lengths, threshold: float) -> Kept:
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
    return Kept(pairs, lengths.size * (lengths.size - 1) // 2)


def all_pairs(documents: int) -> Pairs:
    """Every pair of so many documents."""
    return np.stack(np.triu_indices(documents, 1), axis=1).astype(np.int64)


def resemblances(features: Features, pairs: Pairs, *, multisets: bool = False) -> NDArray[np.float64]:
    """The exact resemblance (Jaccard) of pairs of documents, as sets or as multisets; 0 where both are empty.

    For reference: it takes all features of both, where a signature takes a fixed number of bytes.
    """
    first, counts = distinct(features)
    bounds = np.searchsorted(first, features.starts)
    # Hashes as small numbers, in rising order within each document, and how often each stands there.
    numbers = np.unique(features.hashes[first], return_inverse=True)[1]
    sizes = np.diff(bounds)
    order = np.lexsort((numbers, np.repeat(np.arange(len(features)), sizes)))
    numbers, weights = numbers[order], counts[order] if multisets else np.ones(order.size, np.int64)
    totals = np.diff(np.concatenate([[0], np.cumsum(weights)])[bounds])
    shared = np.zeros(len(pairs), np.int64)
    work = np.cumsum(sizes[pairs].sum(axis=1))
    begin = 0
    while begin < len(pairs):
        done = int(work[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(work, done + _CHUNK, side="right")))
        shared[begin:end] = _shared(numbers, weights, bounds, pairs[begin:end])
        begin = end
    united = totals[pairs].sum(axis=1) - shared
    exact: NDArray[np.float64] = shared / np.maximum(united, 1)
    return exact


def _shared(
    numbers: NDArray[np.int64], weights: NDArray[np.int64], bounds: NDArray[np.int64], pairs: Pairs
) -> NDArray[np.int64]:
    """The sum of the lesser weights of what both of each pair have."""
    most = int(numbers.max()) + 1 if numbers.size else 1
    keys, places = [], []
    for side in (0, 1):
        begins, sizes = bounds[pairs[:, side]], np.diff(bounds)[pairs[:, side]]
        which = np.repeat(np.arange(len(pairs)), sizes)
        place = np.arange(which.size) + np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)
        keys.append(which * most + numbers[place])
        places.append(place)
    found = np.searchsorted(keys[1], keys[0])
    found[found == keys[1].size] = 0
    both = np.flatnonzero(keys[1][found] == keys[0]) if keys[1].size else np.empty(0, np.int64)
    lesser = np.minimum(weights[places[0][both]], weights[places[1][found[both]]])
    return np.bincount(keys[0][both] // most, weights=lesser, minlength=len(pairs)).astype(np.int64)


def distinct(features: Features) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct feature of each document stands first, in the order of the text, and how often it stands."""
    standing = standing_for(features.hashes, features.starts)
    first = np.full(standing.size, standing.size, np.int64)
    np.minimum.at(first, standing, np.arange(standing.size))
    heads = np.flatnonzero(standing == np.arange(standing.size))
    order = np.argsort(first[heads], kind="stable")
    counts = np.bincount(standing, minlength=standing.size)
    return first[heads][order], counts[heads][order].astype(np.int64)
