"""MinHash signatures by one permutation: one pass over the features instead of one per hash function.

The hash space is cut into `bins` equal ranges, and the least hash of a document in each range is kept. Two documents
agree in a bin with a probability of their resemblance (shared features / all features). An empty bin borrows from
a bin that is not: of those, the one that comes first in an order of all bins that is fixed for the borrower and the
same in every document, which keeps the estimate unbiased (optimal densification). Eight bits of a mix of each minimum
are kept, so that chance alone makes 1 of 256 agree, which `resemblance` takes off.

Bit for bit: bin of h = (h >> 32) * bins >> 32. Empty bin b takes the minimum of the non-empty bin o with the least
fmix64(b * 2^32 + o + 1). The byte kept is fmix64(minimum) >> 56. A document without features has a signature of zeros.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gate.core.shingles import Features
from gate.core.streams import Hashes, fmix64

_HALF = np.uint64(32)
_NONE = np.uint64(2**64 - 1)  # an empty bin; a feature with this hash counts, but leaves its bin as it is


def signatures(features: Features, bins: int) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """The signature of each document, (documents, bins), and how many distinct features each one has."""
    documents = np.repeat(np.arange(len(features)), np.diff(features.starts))
    places = ((features.hashes >> _HALF) * np.uint64(bins) >> _HALF).astype(np.int64)
    places += documents * bins
    flat = np.full(len(features) * bins, _NONE, dtype=np.uint64)
    np.minimum.at(flat, places, features.hashes)
    minima = flat.reshape(-1, bins)
    _densify(minima)
    kept = (fmix64(minima) >> np.uint64(56)).astype(np.uint8)
    kept[np.diff(features.starts) == 0] = 0
    return kept, _distinct(features)


def resemblance(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The estimated resemblance of each pair of rows: the share of agreeing bins, less chance agreement."""
    agreeing = np.mean(left == right, axis=-1, dtype=np.float64)
    return np.clip((agreeing - 1 / 256) / (1 - 1 / 256), 0.0, 1.0)


def _distinct(features: Features) -> NDArray[np.uint32]:
    documents = np.repeat(np.arange(len(features)), np.diff(features.starts))
    order = np.lexsort((features.hashes, documents))
    hashes, documents = features.hashes[order], documents[order]
    first = np.ones(hashes.size, dtype=np.bool_)
    first[1:] = (hashes[1:] != hashes[:-1]) | (documents[1:] != documents[:-1])
    return np.bincount(documents[first], minlength=len(features)).astype(np.uint32)


@lru_cache(maxsize=8)
def _lenders(bins: int) -> NDArray[np.int64]:
    """Row a, column b: which bin b turns to in its a-th attempt."""
    borrowers, lenders = np.arange(bins, dtype=np.uint64) << _HALF, np.arange(1, bins + 1, dtype=np.uint64)
    pairs: Hashes = np.add.outer(borrowers, lenders)
    return np.ascontiguousarray(np.argsort(fmix64(pairs), axis=1).T)


def _densify(minima: Hashes) -> None:
    """Fill the empty bins of each row that has any other."""
    empty = minima == _NONE
    rows, columns = np.nonzero(empty & ~empty.all(axis=1, keepdims=True))
    for lenders in _lenders(minima.shape[1]):
        if not rows.size:
            return
        lent = lenders[columns]
        found = ~empty[rows, lent]
        minima[rows[found], columns[found]] = minima[rows[found], lent[found]]
        rows, columns = rows[~found], columns[~found]
