"""Cut signatures into pieces that near ones are sure, or nearly sure, to share: the bucket keys of the index.

A 64-bit fingerprint has four blocks, each the key of one table:

    63........48 47........32 31........16 15.........0
       block 3      block 2      block 1      block 0

Let k = 4a + b. If the blocks 0..b all differed by more than a bits and the others by more than a - 1, the
fingerprints would differ by (b + 1)(a + 1) + (3 - b)a = k + 1 bits at least. So a look-up that reads, in the blocks
0..b, every key within a bits of its own and, in the others, every key within a - 1, finds every fingerprint
within k bits. The same four postings serve every k; only the number of keys read grows.

A MinHash signature has bands of rows; two signatures of resemblance J share a given band with probability
J ** rows. A band's bytes are mixed by a bijection; 16 bits of the result are the bucket, and the posting carries the
rest as its tag. So nothing is stored twice, and false candidates in a bucket are dropped without a look at their
records.

The fingerprint of a window is a key by itself, mixed in the same way.

A posting answers a probe if its tag differs from the probe's in at most `radius` bits: k for fingerprints, 0 for
bands. Under a length filter a band's tag ends in a code of the document's length (`length_codes`), which may differ,
but not by too much.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gate.core.length_codes import CODE_BITS, CODE_MASK, too_unequal

U64 = NDArray[np.uint64]

BLOCKS = 4
BLOCK_BITS = 16
# Tables 0..3 are the blocks; bands start at 16, which leaves room for finer blocks without moving a stored key.
FIRST_BAND_TABLE = 16
PRINT_TABLE = 8
_TABLE_SHIFT = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Probes:
    """Keys of many documents, flat: `rows[i]` is the document that key i belongs to. Rows ascend."""

    rows: NDArray[np.int64]
    keys: U64
    tags: U64
    radii: NDArray[np.uint8]
    least_ratio: float = 0.0  # of the lengths that the tags end in; 0: they end in none

    def __len__(self) -> int:
        return len(self.keys)

    def only(self, places: NDArray[np.int64] | slice) -> Probes:
        return Probes(self.rows[places], self.keys[places], self.tags[places], self.radii[places], self.least_ratio)

    @property
    def length_bits(self) -> int:
        """How many of the lowest bits of each tag are a length."""
        return CODE_BITS if self.least_ratio else 0

    def answered_by(self, places: NDArray[np.int64], tags: U64) -> NDArray[np.bool_]:
        """Which postings with those tags, each in the bucket of the probe at that place, answer it."""
        differing = (self.tags[places] ^ tags) >> np.uint64(self.length_bits)
        close: NDArray[np.bool_] = np.bitwise_count(differing) <= self.radii[places]
        if (ruled_out := self.ruled_out(places, tags)) is not None:
            close &= ~ruled_out
        return close

    def ruled_out(self, places: NDArray[np.int64], tags: U64) -> NDArray[np.bool_] | None:
        """Of postings with those tags, each found by the probe at that place, those whose length rules them out; None
        where tags hold no length."""
        if not self.least_ratio:
            return None
        return too_unequal(self.tags[places] & CODE_MASK, tags & CODE_MASK, self.least_ratio)


def no_probes() -> Probes:
    return Probes(np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.uint8))


def merge_probes(*parts: Probes) -> Probes:
    """One set of probes out of several, in the order of documents again."""
    rows = np.concatenate([part.rows for part in parts])
    order = np.argsort(rows, kind="stable")
    return Probes(
        rows[order],
        np.concatenate([part.keys for part in parts])[order],
        np.concatenate([part.tags for part in parts])[order],
        np.concatenate([part.radii for part in parts])[order],
    )


def block_radii(radius: int) -> tuple[int, ...]:
    """The radius to look up in each block; -1: the block need not be read at all."""
    a, b = divmod(radius, BLOCKS)
    return tuple(a if block <= b else a - 1 for block in range(BLOCKS))


@lru_cache(maxsize=64)
def flip_masks(bits: int, radius: int) -> U64:
    """All masks of at most `radius` ones among `bits`."""
    masks = [sum(1 << bit for bit in ones) for r in range(radius + 1) for ones in combinations(range(bits), r)]
    return np.array(masks, np.uint64)


def probe_count(radius: int) -> int:
    return sum(len(flip_masks(BLOCK_BITS, r)) for r in block_radii(radius))


def fingerprint_postings(rows: NDArray[np.int64], fingerprints: U64) -> Probes:
    """The four keys that a fingerprint is stored under."""
    return _block_probes(rows, fingerprints, (0,) * BLOCKS, radius=0)


def fingerprint_probes(rows: NDArray[np.int64], fingerprints: U64, radius: int) -> Probes:
    """The keys that hold every fingerprint within `radius` bits."""
    return _block_probes(rows, fingerprints, block_radii(radius), radius=radius)


def _block_probes(rows: NDArray[np.int64], fingerprints: U64, radii: tuple[int, ...], *, radius: int) -> Probes:
    tables = [table for table in range(BLOCKS) if radii[table] >= 0]
    masks = np.concatenate([flip_masks(BLOCK_BITS, radii[table]) for table in tables])
    sizes = [len(flip_masks(BLOCK_BITS, radii[table])) for table in tables]
    table_of = np.repeat(np.array(tables, np.uint64), sizes)
    blocks = (fingerprints[:, None] >> (table_of * np.uint64(BLOCK_BITS))) & np.uint64(0xFFFF)
    keys = (table_of << _TABLE_SHIFT) | (blocks ^ masks)
    width = keys.shape[1]
    return Probes(
        np.repeat(rows, width),
        keys.ravel(),
        np.repeat(fingerprints, width),
        np.full(keys.size, radius, np.uint8),
    )


def band_postings(
    rows: NDArray[np.int64],
    signatures: NDArray[np.uint8],
    *,
    bands: int,
    band_rows: int,
    length_codes: U64 | None = None,
    least_ratio: float = 0.0,
) -> Probes:
    """The keys of a signature's bands, for storing and for looking up alike; with a code of each document's length in
    its tags, or none."""
    # Each band as one number, its first byte the lowest: filled up to eight bytes, that is how they lie in memory.
    pieces = np.zeros((len(signatures), bands, 8), np.uint8)
    pieces[:, :, :band_rows] = signatures[:, : bands * band_rows].reshape(-1, bands, band_rows)
    mixed = _mixed(pieces.view("<u8")[:, :, 0], bits=8 * band_rows)
    rest = np.uint64(max(8 * band_rows - BLOCK_BITS, 0))
    buckets, tags = mixed >> rest, mixed & ((np.uint64(1) << rest) - np.uint64(1))
    tables = np.arange(FIRST_BAND_TABLE, FIRST_BAND_TABLE + bands, dtype=np.uint64) << _TABLE_SHIFT
    keys = tables | buckets
    if length_codes is not None:  # at most 48 bits are taken: a band has eight bytes at most
        tags = tags << np.uint64(CODE_BITS) | length_codes[:, None]
    return Probes(np.repeat(rows, bands), keys.ravel(), tags.ravel(), np.zeros(tags.size, np.uint8), least_ratio)


def band_tag_bytes(bands: int, band_rows: int, *, with_length: bool = False) -> dict[int, int]:
    """The bytes that a tag takes in the table of each band: what the number of the bucket leaves out, and a length."""
    taken = max(band_rows - BLOCK_BITS // 8, 0) + (CODE_BITS // 8 if with_length else 0)
    return dict.fromkeys(range(FIRST_BAND_TABLE, FIRST_BAND_TABLE + bands), taken)


def print_postings(rows: NDArray[np.int64], prints: U64, *, bucket_bits: int) -> Probes:
    """The keys of fingerprints of windows, for storing and for looking up alike; row i is that of print i."""
    mixed = _mixed(prints, bits=64)
    rest = np.uint64(64 - bucket_bits)
    keys = np.uint64(PRINT_TABLE) << _TABLE_SHIFT | mixed >> rest
    return Probes(rows, keys, mixed & ((np.uint64(1) << rest) - np.uint64(1)), np.zeros(keys.size, np.uint8))


def print_tag_bytes(bucket_bits: int) -> dict[int, int]:
    return {PRINT_TABLE: -(-(64 - bucket_bits) // 8)}


def _mixed(values: U64, *, bits: int) -> U64:
    """A bijection of numbers of so many bits: odd factors and a shifted xor spread every byte over all of them."""
    mask = np.uint64((1 << bits) - 1)
    values = (values * np.uint64(0x9E3779B97F4A7C15)) & mask
    values ^= values >> np.uint64(bits // 2)
    return (values * np.uint64(0xD6E8FEB86659FD93)) & mask


def band_recall(resemblance: float, *, bands: int, band_rows: int) -> float:
    """The chance that two signatures of that resemblance share at least one band."""
    return 1.0 - (1.0 - resemblance**band_rows) ** bands
