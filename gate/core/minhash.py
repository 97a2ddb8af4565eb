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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gate.core import bands, hash_families, length_filter, shingles, simhash
from gate.core.bands import Probes
from gate.core.length_codes import encode_lengths
from gate.core.method import NO_LIMIT, BodyLayout, Measures, Signatures, bodies_of, stack, whole
from gate.core.method_parameters import Family, Hybrid, MinHash
from gate.core.native import loader
from gate.core.profile import Profile
from gate.core.shingles import Features, representatives
from gate.core.simhash import FINGERPRINT_BYTES
from gate.core.text import Texts
from gate.core.tokenizers import Hashes, fmix64

SIZE_BYTES = 4  # of the feature set, before the signature
LENGTH_BYTES = 8  # behind the size, where a length filter needs another length than that

_HALF = np.uint64(32)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_NONE = np.uint64(2**64 - 1)  # an empty bin


@dataclass(frozen=True, slots=True)
class MinHashMethod:
    """A sketch alone: 4 bytes of set size, 8 of the length for a length filter that goes by another one, then one byte
    a bin; found by bands."""

    profile: Profile
    parameters: MinHash
    secret: bytes = b""
    max_features: int = NO_LIMIT

    @property
    def layout(self) -> BodyLayout:
        return BodyLayout(_sketch_bytes(self.parameters), _tag_bytes(self.parameters))

    def sign(self, texts: Texts) -> Signatures:
        features = shingles.features(texts, self.profile, self.secret)
        table = _sketches(features.first(self.max_features), self.parameters)
        return bodies_of(table, features.counts, least=self.profile.min_features, limit=self.max_features)

    def postings(self, bodies: Sequence[bytes]) -> Probes:
        rows, table = stack(bodies)
        return _band_postings(rows, table, self.parameters, least_ratio=self.profile.resemblance or 0.0)

    def probes(self, bodies: Sequence[bytes]) -> Probes:
        return self.postings(bodies)

    def compare(self, lefts: Sequence[bytes], rights: Sequence[bytes]) -> Measures:
        left, right = whole(lefts), whole(rights)
        measures = _compare_sketches(*(_without_length(side, self.parameters) for side in (left, right)), distance=None)
        if self.parameters.length_filter == "none":
            return measures
        lengths = [_lengths(side, self.parameters).astype(np.float64) for side in (left, right)]
        return replace(measures, length_ratio=length_filter.most_alike(*lengths))

    def fingerprint(self, body: bytes) -> int | None:
        return None


@dataclass(frozen=True, slots=True)
class HybridMethod:
    """Both: 8 bytes of SimHash fingerprint before the sketch, and the union of both methods' buckets."""

    profile: Profile
    parameters: Hybrid
    secret: bytes = b""
    max_features: int = NO_LIMIT

    @property
    def layout(self) -> BodyLayout:
        return BodyLayout(FINGERPRINT_BYTES + _sketch_bytes(self.parameters), _tag_bytes(self.parameters))

    def sign(self, texts: Texts) -> Signatures:
        features = shingles.features(texts, self.profile, self.secret)
        first = features.first(self.max_features)
        table = np.hstack(
            [simhash.fingerprint_bytes(first, self.parameters.weights), _sketches(first, self.parameters)]
        )
        return bodies_of(table, features.counts, least=self.profile.min_features, limit=self.max_features)

    def postings(self, bodies: Sequence[bytes]) -> Probes:
        rows, table = stack(bodies)
        blocks = bands.fingerprint_postings(rows, simhash.leading_fingerprints(table))
        return bands.merge_probes(blocks, _band_postings(rows, table[:, FINGERPRINT_BYTES:], self.parameters))

    def probes(self, bodies: Sequence[bytes]) -> Probes:
        rows, table = stack(bodies)
        blocks = bands.fingerprint_probes(rows, simhash.leading_fingerprints(table), self.parameters.radius)
        return bands.merge_probes(blocks, _band_postings(rows, table[:, FINGERPRINT_BYTES:], self.parameters))

    def compare(self, lefts: Sequence[bytes], rights: Sequence[bytes]) -> Measures:
        left, right = whole(lefts), whole(rights)
        return _compare_sketches(
            left[:, FINGERPRINT_BYTES:],
            right[:, FINGERPRINT_BYTES:],
            distance=simhash.distances(left, right),
        )

    def fingerprint(self, body: bytes) -> int | None:
        return int.from_bytes(body[:FINGERPRINT_BYTES], "little") if body else None


def _sketches(features: Features, parameters: MinHash) -> NDArray[np.uint8]:
    """The sketch of each document: the size of its feature set or multiset, its length if a filter needs another one,
    then its signature."""
    counted = numbered(features) if parameters.multisets else features
    rows, sizes = signatures(counted, parameters.bins, parameters.family)
    columns = [sizes.astype("<u4").view(np.uint8).reshape(-1, SIZE_BYTES), rows]
    if length_bytes(parameters):
        lengths = length_filter.LENGTHS[parameters.length_filter](features)
        columns.insert(1, lengths.astype("<i8").view(np.uint8).reshape(-1, LENGTH_BYTES))
    return np.hstack(columns)


def length_bytes(parameters: MinHash) -> int:
    """The bytes that a length takes which a filter goes by; a size that the sketch has anyway takes none."""
    size = "repetition" if parameters.multisets else "set"
    return 0 if parameters.length_filter in ("none", size) else LENGTH_BYTES


def _lengths(sketches: NDArray[np.uint8], parameters: MinHash) -> length_filter.Lengths:
    """What the length filter goes by."""
    if not length_bytes(parameters):
        return _set_sizes(sketches).astype(np.int64)
    stored = np.ascontiguousarray(sketches[:, SIZE_BYTES : SIZE_BYTES + LENGTH_BYTES]).view("<i8")
    lengths: length_filter.Lengths = stored.ravel().astype(np.int64)
    return lengths


def _without_length(sketches: NDArray[np.uint8], parameters: MinHash) -> NDArray[np.uint8]:
    if not length_bytes(parameters):
        return sketches
    return np.delete(sketches, np.s_[SIZE_BYTES : SIZE_BYTES + length_bytes(parameters)], axis=1)


def _sketch_bytes(parameters: MinHash) -> int:
    return SIZE_BYTES + length_bytes(parameters) + parameters.bins


def _tag_bytes(parameters: MinHash) -> dict[int, int]:
    filtered = parameters.length_filter != "none"
    return bands.band_tag_bytes(parameters.bands, parameters.rows, with_length=filtered)


def _band_postings(
    rows: NDArray[np.int64], sketches: NDArray[np.uint8], parameters: MinHash, *, least_ratio: float = 0.0
) -> Probes:
    filtered = parameters.length_filter != "none"
    return bands.band_postings(
        rows,
        _without_length(sketches, parameters)[:, SIZE_BYTES:],
        bands=parameters.bands,
        band_rows=parameters.rows,
        length_codes=encode_lengths(_lengths(sketches, parameters)) if filtered else None,
        least_ratio=least_ratio if filtered else 0.0,
    )


def _compare_sketches(
    left: NDArray[np.uint8], right: NDArray[np.uint8], *, distance: NDArray[np.int64] | None
) -> Measures:
    """Resemblance from the bins, no higher than the sizes of the two sets allow; containment from it and the sizes.

    The bins alone can be forged: a few hundred words that hold the least hashes of a long text agree with it in all.
    """
    sizes = [_set_sizes(side) for side in (left, right)]
    estimated = np.minimum(resemblance(left[:, SIZE_BYTES:], right[:, SIZE_BYTES:]), length_filter.most_alike(*sizes))
    shared = estimated / (1.0 + estimated) * (sizes[0] + sizes[1])
    contained = [np.clip(shared / size, 0.0, 1.0) for size in sizes]
    return Measures(distance=distance, resemblance=estimated, left_in_right=contained[0], right_in_left=contained[1])


def _set_sizes(sketches: NDArray[np.uint8]) -> NDArray[np.float64]:
    """How many distinct features each sketch was made of. None is made of none."""
    sizes: NDArray[np.float64] = np.ascontiguousarray(sketches[:, :SIZE_BYTES]).view("<u4").ravel().astype(np.float64)
    return np.maximum(sizes, 1.0)


def numbered(features: Features) -> Features:
    """The multiset of each document as a set: the n-th occurrence of a feature is a feature of its own.

    Two documents then share the lesser count of each feature and have the greater together, so that the resemblance of
    the sets is that of the multisets. A first occurrence keeps its hash h, the n-th later one has fmix64(h + n * C),
    where C is 2^64 by the golden ratio.
    """
    same_as = representatives(features.hashes, features.starts)
    order = np.argsort(same_as, kind="stable")
    grouped = same_as[order]
    nth = np.empty(grouped.size, np.uint64)
    nth[order] = np.arange(grouped.size) - np.searchsorted(grouped, grouped)
    return Features(np.where(nth > 0, fmix64(features.hashes + nth * _GOLDEN), features.hashes), features.starts)


def signatures(
    features: Features, bins: int, family: Family = "one-permutation"
) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """The signature of each document, (documents, bins), and how many distinct features each one has."""
    kernel = loader.active()
    if family == "one-permutation" and kernel is not None:
        return kernel.signatures(features.hashes, features.starts, bins, _orders(bins))
    least = _by_bins(features, bins) if family == "one-permutation" else hash_families.minima(features, family, bins)
    signature = (fmix64(least.astype(np.uint64, copy=False)) >> np.uint64(56)).astype(np.uint8)
    signature[np.diff(features.starts) == 0] = 0
    return signature, features.distinct_counts().astype(np.uint32)


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
    agreeing = _count_rows(left == right) / left.shape[-1]
    estimate: NDArray[np.float64] = np.clip((agreeing - 1 / 256) / (1 - 1 / 256), 0.0, 1.0)
    return estimate


def _count_rows(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many flags of each row are set. Eight at a time, as no byte of the sums overflows: in half of the time."""
    bins = flags.shape[-1]
    if flags.ndim != 2 or bins % 8 or bins > 8 * 255 or not flags.flags.c_contiguous:
        return np.asarray(np.count_nonzero(flags, axis=-1))
    sums = flags.view(np.uint64).sum(axis=1, dtype=np.uint64)
    counts: NDArray[np.int64] = sums.view(np.uint8).reshape(-1, 8).sum(axis=1, dtype=np.int64)
    return counts


@lru_cache(maxsize=8)
def _lenders(bins: int) -> NDArray[np.int64]:
    """Row a, column b: which bin b turns to in its a-th attempt."""
    borrowers, lenders = np.arange(bins, dtype=np.uint64) << _HALF, np.arange(1, bins + 1, dtype=np.uint64)
    pairs: Hashes = np.add.outer(borrowers, lenders)
    return np.ascontiguousarray(np.argsort(fmix64(pairs), axis=1).T)


@lru_cache(maxsize=8)
def _orders(bins: int) -> NDArray[np.uint16]:
    """Row b: the bins in the order in which bin b turns to them."""
    return np.ascontiguousarray(_lenders(bins).T, np.uint16)


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
