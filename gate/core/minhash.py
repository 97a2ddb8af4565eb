"""MinHash signatures by one permutation: one pass over the features instead of one per hash function.

The hash space is cut into `bins` equal ranges, and the least hash of a document in each range is kept. Two documents
agree in a bin with a probability of their resemblance (shared features / all features). An empty bin borrows from
a bin that is not: of those, the one that comes first in an order of all bins that is fixed for the borrower and the
same in every document, which keeps the estimate unbiased (optimal densification). Eight bits of a mix of each minimum
are kept, so that chance alone makes 1 of 256 agree, which `resemblance` takes off.

With a family of hash functions instead, value i is the least of function i over all features, as in the textbook: one
pass per function, and no bin is ever empty. All else is the same.

Bit for bit: bin of h = (h >> 32) * bins >> 32. Empty bin b takes the minimum of the non-empty bin o with the least
fmix64(b * 2^32 + o + 1). The byte kept is fmix64(minimum) >> 56. A document without features has a signature of zeros.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gate.core import hash_families
from gate.core.distinct import standing_for
from gate.core.profile import Family
from gate.core.shingles import Features
from gate.core.tokenizers import Hashes, fmix64

_HALF = np.uint64(32)
_NONE = np.uint64(2**64 - 1)  # an empty bin


def signatures(
    features: Features, bins: int, family: Family = "one-permutation"
) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """The signature of each document, (documents, bins), and how many distinct features each one has."""
    least = _by_bins(features, bins) if family == "one-permutation" else hash_families.minima(features, family, bins)
    kept = (fmix64(least.astype(np.uint64, copy=False)) >> np.uint64(56)).astype(np.uint8)
    kept[np.diff(features.starts) == 0] = 0
    return kept, _distinct(features)


def _by_bins(features: Features, bins: int) -> Hashes:
    """The least hash in each bin of each document, empty bins filled."""
    sizes = np.diff(features.starts)
    places = features.hashes >> _HALF
    places *= np.uint64(bins)
    places >>= _HALF
    places += np.repeat(np.arange(0, len(features) * bins, bins, dtype=np.uint64), sizes)
    minima = np.full(len(features) * bins, _NONE, dtype=np.uint64)
    np.minimum.at(minima, places.view(np.int64), features.hashes)
    empty = minima == _NONE
    if features.hashes.size and features.hashes.max() == _NONE:  # a feature, if ever one has that hash
        empty[places[features.hashes == _NONE]] = False
    _densify(minima, empty, bins)
    return minima.reshape(-1, bins)


def resemblance(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The estimated resemblance of each pair of rows: the share of agreeing bins, less chance agreement."""
    agreeing = np.count_nonzero(left == right, axis=-1) / left.shape[-1]
    estimate: NDArray[np.float64] = np.clip((agreeing - 1 / 256) / (1 - 1 / 256), 0.0, 1.0)
    return estimate


def _distinct(features: Features) -> NDArray[np.uint32]:
    standing = standing_for(features.hashes, features.starts)
    places = np.flatnonzero(standing == np.arange(standing.size))
    return np.diff(np.searchsorted(places, features.starts)).astype(np.uint32)


@lru_cache(maxsize=8)
def _lenders(bins: int) -> NDArray[np.int64]:
    """Row a, column b: which bin b turns to in its a-th attempt."""
    borrowers, lenders = np.arange(bins, dtype=np.uint64) << _HALF, np.arange(1, bins + 1, dtype=np.uint64)
    pairs: Hashes = np.add.outer(borrowers, lenders)
    return np.ascontiguousarray(np.argsort(fmix64(pairs), axis=1).T)


def _densify(minima: Hashes, empty: NDArray[np.bool_], bins: int) -> None:
    """Fill the empty bins of each signature that has any other."""
    borrowers = np.flatnonzero(empty & np.repeat(~empty.reshape(-1, bins).all(axis=1), bins))
    own = borrowers % bins
    firsts = borrowers - own
    for lenders in _lenders(bins):
        if not borrowers.size:
            return
        lent = firsts + lenders[own]
        none = empty[lent]
        minima[borrowers] = minima[lent]  # of an empty one too: the next attempt writes over it
        borrowers, own, firsts = borrowers[none], own[none], firsts[none]
