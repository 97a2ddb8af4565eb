"""Which buckets of the index bring two signatures together: those that one is stored in and the other looks up.

A pair that is alike, but meets in no bucket, is not found. So this answers why a pair was found, or why not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gate.core.bands import BLOCK_BITS, BLOCKS, FIRST_BAND_TABLE, PRINT_TABLE
from gate.core.method import Method

BucketKind = Literal["block", "band", "window", "number"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A bucket that a signature is stored in, and whether another one finds it there."""

    table: int
    kind: BucketKind
    label: str
    met: bool
    bits: tuple[int, int] | None = None  # of a fingerprint: the lowest and the highest


def shared_buckets(method: Method, stored: bytes, other: bytes) -> list[Bucket]:
    """Every bucket that a body is stored in. Bodies of texts that are too short are in none."""
    postings, probes = method.postings([stored]), method.probes([other])
    buckets = []
    for key, tag in zip(postings.keys.tolist(), postings.tags.tolist(), strict=True):
        same = np.flatnonzero(probes.keys == key)
        near = np.bitwise_count(probes.tags[same] ^ np.uint64(tag)) <= probes.radii[same]
        buckets.append(_bucket(key >> 32, met=bool(near.any())))
    return buckets


def _bucket(table: int, *, met: bool) -> Bucket:
    if table < BLOCKS:
        low, high = table * BLOCK_BITS, (table + 1) * BLOCK_BITS - 1
        label = f"bits {low} to {high} of the fingerprint"
        return Bucket(table=table, kind="block", label=label, met=met, bits=(low, high))
    if table >= FIRST_BAND_TABLE:
        return Bucket(table=table, kind="band", label=f"band {table - FIRST_BAND_TABLE + 1} of the sketch", met=met)
    if table == PRINT_TABLE:
        return Bucket(table=table, kind="window", label="a window of the text", met=met)
    return Bucket(table=table, kind="number", label="the similarity index", met=met)
