"""Postings as Redis keeps them: packing for the scripts, unpacking whole batches at once. Pure.

    a key       table (1 byte) | number of the bucket (3 bytes)
    a posting   entry (8 bytes) | tag (as many bytes as its table needs)
    the log     seal (8 bytes) | size of a posting (1 byte) | key | posting | key | posting ...

The shard of a key is in the lowest bits of its bucket's number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from gate.index.redis.layout import LARGEST_BUCKET, LARGEST_TABLE, SHARDS, by_shard
from gate.index.store import Keys

Numbers = NDArray[np.int64]
Triples = tuple[Numbers, Keys, Keys]  # place of the key, entry, tag

WIDEST_TAG = 8
_MIX = np.uint64(0x9E3779B97F4A7C15)
_MASKS = np.array([(1 << 8 * width) - 1 for width in range(WIDEST_TAG + 1)], np.uint64)


class Widths:
    """How many bytes of a tag each table keeps."""

    def __init__(self, tag_bytes: Mapping[int, int]) -> None:
        self._widths = np.array([tag_bytes.get(table, WIDEST_TAG) for table in range(LARGEST_TABLE + 1)], np.int64)
        self.sizes = bytes((self._widths + 8).tolist())  # of a posting, by table

    def of(self, keys: Keys) -> Numbers:
        return self._widths[(keys >> np.uint64(32)).astype(np.int64)]


def shards_of(keys: Keys) -> Numbers:
    return (keys & np.uint64(SHARDS - 1)).astype(np.int64)


def packed(keys: Keys) -> NDArray[np.uint32]:
    """Four bytes a key, big-endian."""
    tables, buckets = keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)
    if len(keys) and (int(tables.max()) > LARGEST_TABLE or int(buckets.max()) > LARGEST_BUCKET):
        raise ValueError("a bucket key is a table of 8 bits above 32 bits, of which 24 number the bucket")
    return ((tables << np.uint64(24)) | buckets).astype(">u4")


def unpacked(numbers: NDArray[np.uint32]) -> Keys:
    wide = numbers.astype(np.uint64)
    return (wide >> np.uint64(24)) << np.uint64(32) | (wide & np.uint64(LARGEST_BUCKET))


class KeysByShard:
    """Keys by shard: `parts` are the shards with the names of their buckets, `order` has the place of each key before,
    and `restored` brings the replies back to it."""

    def __init__(self, keys: Keys) -> None:
        order, bounds = by_shard(shards_of(keys))
        names: list[bytes] = packed(keys)[order].view("V4").tolist()
        self.order = order
        self.parts = [(shard, names[a:b]) for shard, (a, b) in enumerate(pairwise(bounds.tolist())) if a < b]

    def restored(self, pieces: Sequence[bytes]) -> Sequence[bytes]:
        return itemgetter(*np.argsort(self.order).tolist())(pieces) if len(pieces) > 1 else pieces


def rows_by_shard(keys: Keys, entries: Keys, tags: Keys, widths: Numbers) -> dict[int, list[bytes]]:
    """The items of append_postings.lua by shard: for each width in use, the size of a posting and the rows."""
    shards, numbers = shards_of(keys), packed(keys)
    items: dict[int, list[bytes]] = defaultdict(list)
    for width in np.flatnonzero(np.bincount(widths)).tolist():
        of_width = np.flatnonzero(widths == width)
        order, bounds = by_shard(shards[of_width])
        of_width = of_width[order]
        rows = np.empty((len(of_width), 12 + width), np.uint8)
        rows[:, :4] = numbers[of_width].view(np.uint8).reshape(-1, 4)
        rows[:, 4:12] = entries[of_width].astype("<u8").view(np.uint8).reshape(-1, 8)
        rows[:, 12:] = tags[of_width].astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width]
        joined, size = rows.tobytes(), bytes([8 + width])
        for shard, (a, b) in enumerate(pairwise(((12 + width) * bounds).tolist())):
            if a < b:
                items[shard] += [size, joined[a:b]]
    return items


def entries_by_shard(keys: Keys, entries: Keys) -> Iterator[tuple[int, bytes]]:
    """The items of remove_postings.lua by shard."""
    rows = np.empty((len(keys), 12), np.uint8)
    rows[:, :4] = packed(keys).view(np.uint8).reshape(-1, 4)
    rows[:, 4:] = entries.astype("<u8").view(np.uint8).reshape(-1, 8)
    shards = shards_of(keys)
    for shard in np.unique(shards).tolist():
        yield shard, rows[shards == shard].tobytes()


def unpack(pieces: Sequence[bytes], widths: Numbers, limit: int) -> tuple[Triples, NDArray[np.bool_]]:
    """The postings of buckets, the oldest `limit` of each, and which buckets had more."""
    lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
    counts = lengths // (8 + widths)
    capped = counts > limit
    counts = np.minimum(counts, limit)
    which = np.repeat(np.arange(len(pieces)), counts)
    nth = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    at = (np.cumsum(lengths) - lengths)[which] + nth * (8 + widths[which])
    # Eight bytes can be loaded at any place; what follows a short tag is masked away.
    data = b"".join((*pieces, bytes(16)))
    lanes = np.ndarray((len(data) - 7,), "<u8", buffer=data, strides=(1,))
    return (which, lanes[at], lanes[at + 8] & _MASKS[widths[which]]), capped


def unpack_pieces(pieces: Sequence[bytes], some: Numbers, counts: Numbers, width: int) -> Triples:
    """The first `counts[i]` postings of those buckets, all with tags of one width: where those of each of all pieces
    begin (-1: it is none of them), entries and tags."""
    size = 8 + width
    several = counts[some]
    begins = np.full(len(pieces), -1)
    begins[some] = np.cumsum(several) - several
    parts = [pieces[i][: size * n] for i, n in zip(some.tolist(), several.tolist(), strict=True)]
    data = b"".join((*parts, bytes(16)))
    # Eight bytes at each posting's entry and tag, in their places; what follows a short tag is masked away.
    entries, tags = (np.ndarray(int(several.sum()), "<u8", data, at, (size,)) for at in (0, 8))
    return begins, entries, tags & _MASKS[width]


def unpack_rows(item: bytes) -> tuple[Keys, Keys, Keys]:
    """Keys, entries and tags of rows behind the size of a posting."""
    size = item[0]
    rows = np.frombuffer(item, np.uint8, offset=1).reshape(-1, size + 4)
    wide = np.zeros((len(rows), 8), np.uint8)
    wide[:, : size - 8] = rows[:, 12:]
    keys = unpacked(np.ascontiguousarray(rows[:, :4]).view(">u4").ravel())
    return keys, np.ascontiguousarray(rows[:, 4:12]).view("<u8").ravel(), wide.view("<u8").ravel()


def unpack_log(keys: Keys, logged: Sequence[bytes], ignoring: Collection[int] = ()) -> Triples:
    """The postings of the log that are in one of the buckets, the places of the keys ascending; a key that is given
    twice gets them twice."""
    rows: dict[bytes, list[bytes]] = defaultdict(list)
    for item in logged:
        rows[item[8:9]].append(item[9:])
    columns = [unpack_rows(b"".join((size, *items))) for size, items in rows.items()]
    logged_keys, entries, tags = (np.concatenate(column) for column in zip(*columns, strict=True))
    if ignoring:
        others = ~np.isin(entries, np.fromiter(ignoring, np.uint64, len(ignoring)))
        logged_keys, entries, tags = logged_keys[others], entries[others], tags[others]
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.searchsorted(ordered, logged_keys, side="left")
    times = np.searchsorted(ordered, logged_keys, side="right") - first
    row = np.repeat(np.arange(len(logged_keys)), times)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    places = order[first[row] + nth]
    ascending = np.argsort(places, kind="stable")
    row = row[ascending]
    return places[ascending], entries[row], tags[row]


def by_key(keys: Keys, *parts: Triples) -> tuple[Numbers, Keys, Keys]:
    """Counts of each key, entries and tags, the postings of a key in the order of the parts."""
    which, entries, tags = (np.concatenate(column) for column in zip(*parts, strict=True))
    counts = np.bincount(which, minlength=len(keys))
    if len(parts) == 1 and (len(which) < 2 or (which[1:] >= which[:-1]).all()):
        return counts, entries, tags
    order = np.argsort(which, kind="stable")
    return counts, entries[order], tags[order]


def repeats(keys: Keys, entries: Keys, tags: Keys) -> bool:
    """Whether a posting may occur twice in one call."""
    mixed = np.sort((keys * _MIX ^ entries) * _MIX ^ tags)
    return bool((mixed[1:] == mixed[:-1]).any())
