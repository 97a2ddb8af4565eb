"""SimHash: a 64-bit fingerprint whose bits agree the more, the more features two documents share.

Bit b of a fingerprint is 1 where features with bit b set weigh more than half of all features; a tie gives 0.
Weights: `count` (each occurrence 1), `set` (each distinct feature 1), `log` (each distinct feature 1 +
floor(log2(occurrences)), an integer, so that the result is the same on every machine). A document without features has
the fingerprint 0.

Bits are counted in byte lanes: shifted right by s and masked, a hash holds bits s, 8+s, 16+s ... in one byte each, so
one 64-bit addition counts eight of them, and up to 255 hashes can be added before a lane overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from gate.core import bands, shingles
from gate.core.bands import Probes
from gate.core.method import NO_LIMIT, BodyLayout, Measures, Signatures, bodies_of, stack, whole
from gate.core.method_parameters import SimHash, Weights
from gate.core.native import loader
from gate.core.profile import Profile
from gate.core.shingles import Features, representatives
from gate.core.text import Texts

FINGERPRINT_BYTES = 8

_LANES = np.uint64(0x0101010101010101)
_WIDE = np.uint64(0x00FF00FF00FF00FF)
_BLOCK = 255  # hashes that a byte lane can count
_BLOCKS = 256  # blocks that a lane of two bytes can
_CACHED = 256  # blocks to work on at a time: 512 KB stay in a core's cache


@dataclass(frozen=True, slots=True)
class SimHashMethod:
    """The fingerprint alone: 8 bytes a document, found within `radius` bits for certain."""

    profile: Profile
    parameters: SimHash
    secret: bytes = b""
    max_features: int = NO_LIMIT

    @property
    def layout(self) -> BodyLayout:
        return BodyLayout(FINGERPRINT_BYTES, {})

    def sign(self, texts: Texts) -> Signatures:
        features = shingles.features(texts, self.profile, self.secret)
        table = fingerprint_bytes(features.first(self.max_features), self.parameters.weights)
        return bodies_of(table, features.counts, least=self.profile.min_features, limit=self.max_features)

    def postings(self, bodies: Sequence[bytes]) -> Probes:
        rows, table = stack(bodies)
        return bands.fingerprint_postings(rows, leading_fingerprints(table))

    def probes(self, bodies: Sequence[bytes]) -> Probes:
        rows, table = stack(bodies)
        return bands.fingerprint_probes(rows, leading_fingerprints(table), self.parameters.radius)

    def compare(self, lefts: Sequence[bytes], rights: Sequence[bytes]) -> Measures:
        return Measures(distance=distances(whole(lefts), whole(rights)))

    def fingerprint(self, body: bytes) -> int | None:
        return int.from_bytes(body[:FINGERPRINT_BYTES], "little") if body else None


def fingerprint_bytes(features: Features, weights: Weights) -> NDArray[np.uint8]:
    """The fingerprint of each document as a row of bytes, the lowest first."""
    return fingerprints(features, weights).astype("<u8").view(np.uint8).reshape(-1, FINGERPRINT_BYTES)


def leading_fingerprints(table: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The fingerprints that the rows of a table of bodies begin with."""
    return np.ascontiguousarray(table[:, :FINGERPRINT_BYTES]).view("<u8").ravel().astype(np.uint64, copy=False)


def distances(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The distances of the fingerprints that two tables of bodies begin with, row by row."""
    return distance(leading_fingerprints(left), leading_fingerprints(right)).astype(np.int64)


def fingerprints(features: Features, weights: Weights = "count") -> NDArray[np.uint64]:
    """The fingerprint of each document."""
    kernel = loader.active()
    if kernel is not None:
        return kernel.fingerprints(features.hashes, features.starts, weights)
    if weights != "count":
        features = weighted(features, weights)
    counts = _bit_counts(features)
    totals = np.diff(features.starts)
    bits = np.packbits(counts * 2 > totals[:, None], axis=1, bitorder="little")
    return bits.view("<u8").reshape(-1).astype(np.uint64)


@overload
def distance(left: int, right: int) -> int: ...
@overload
def distance(left: NDArray[np.uint64], right: NDArray[np.uint64] | int) -> NDArray[np.uint8]: ...
@overload
def distance(left: int, right: NDArray[np.uint64]) -> NDArray[np.uint8]: ...
def distance(left: int | NDArray[np.uint64], right: int | NDArray[np.uint64]) -> int | NDArray[np.uint8]:
    """Hamming distance of two fingerprints, or of arrays of them element by element."""
    if isinstance(left, int) and isinstance(right, int):
        return (left ^ right).bit_count()
    differing: NDArray[np.uint8] = np.bitwise_count(
        np.asarray(left, dtype=np.uint64) ^ np.asarray(right, dtype=np.uint64)
    )
    return differing


def weighted(features: Features, weights: Weights) -> Features:
    """Each distinct feature of a document repeated by its weight."""
    representative = representatives(features.hashes, features.starts)
    distinct = np.flatnonzero(representative == np.arange(representative.size))
    hashes, starts = features.hashes[distinct], np.searchsorted(distinct, features.starts)
    if weights == "set":
        return Features(hashes, starts)
    occurrences = np.bincount(representative, minlength=representative.size)[distinct]
    repeats = np.frexp(occurrences)[1]  # the number of binary digits: 1 + floor(log2)
    ends = np.concatenate([[0], np.cumsum(repeats)])
    return Features(np.repeat(hashes, repeats), ends[starts])


def _bit_counts(features: Features) -> NDArray[np.int64]:
    """How many hashes of each document have each bit set: (documents, 64)."""
    sizes = np.diff(features.starts)
    counts = np.zeros((sizes.size, 64), dtype=np.int64)
    filled = np.flatnonzero(sizes)
    if not filled.size:
        return counts
    places, first, blocks = _pieces(features.starts[:-1][filled], sizes[filled], _BLOCK)
    spare = np.empty((places.size, 8), dtype=np.uint64)
    cuts = [*places[::_CACHED].tolist(), features.hashes.size]
    lanes = np.empty(max(end - begin for begin, end in pairwise(cuts)), dtype=np.uint64)
    for i, (begin, end) in enumerate(pairwise(cuts)):
        some, part = slice(i * _CACHED, (i + 1) * _CACHED), lanes[: end - begin]
        for shift in range(8):
            np.right_shift(features.hashes[begin:end], np.uint64(shift), out=part)
            np.bitwise_and(part, _LANES, out=part)
            spare[some, shift] = np.add.reduceat(part, places[some] - begin)
    # The blocks of a document are added in lanes of two bytes, four bits at a time; only a very long one has so many
    # blocks that those too could overflow.
    tops, first, _ = _pieces(first, blocks, _BLOCKS)
    wide = np.empty((tops.size, 8, 8), dtype="<u2")
    for odd in (0, 1):
        lanes = spare >> np.uint64(8 * odd) & _WIDE
        wide[:, :, odd::2] = (
            np.add.reduceat(lanes, tops, axis=0).astype("<u8", copy=False).view("<u2").reshape(-1, 8, 4)
        )
    by_bit = wide.swapaxes(1, 2).reshape(-1, 64)
    counts[filled] = by_bit if tops.size == filled.size else np.add.reduceat(by_bit, first, axis=0, dtype=np.int64)
    return counts


def _pieces(
    starts: NDArray[np.int64], sizes: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cut runs into pieces of at most so many: where each piece starts, and each run's first piece and their number."""
    counts = -(-sizes // most)
    first = np.cumsum(counts) - counts
    nth = np.arange(int(counts.sum())) - np.repeat(first, counts)
    return np.repeat(starts, counts) + nth * most, first, counts
