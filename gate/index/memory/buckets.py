"""The buckets of the memory store: postings by key, in flat arrays, read and written by whole batches.

    key     the number of a table and of a bucket in it; each table has a run of rows, one for each bucket
    rows    begin and length of each bucket's postings in the pool
    pool    tags    t t t . t . t t t t . .        a bucket's oldest first; a dot: room to grow
            entries e e e . e . e e e e . .

A bucket that is full moves to a larger place at the end of the pool. What the moved leave behind is waste, and when it
is half of the pool, the pool is rewritten. No Python object is kept or made for a posting: it takes 16 bytes, and
with room and waste about 28.

Marks. `read` returns the number of postings appended so far, and a short log keeps the latest appends: a read `since` a
mark takes its tail from the log. A mark older than the log, or older than the last removal (after which the log would
name postings that are gone), reads everything.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Collection
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gate.core.shingles import representatives
from gate.index.reading import Bucketfuls, ReadLimit, ranges
from gate.index.store import Keys, Postings, ProbeMatches

D = TypeVar("D", bound=np.generic)
Places = NDArray[np.int64]
Rows = NDArray[np.void]

ROW = np.dtype([("begin", np.int64), ("length", np.int64)])

LOG_POSTINGS = 1 << 16  # a dozen batches of 256 documents, half a MB; with fewer, racing threads re-read whole buckets
SMALL = 1 << 14  # postings: a pool so small is not worth rewriting
PIECE = 1 << 16  # rows to move at a time when it is
TABLES = 1 << 8
BUCKETS = 1 << 16  # rows that a table has at first: as many as there are 16-bit blocks and bands
_LOWER = np.uint64(0xFFFFFFFF)
_UPPER = np.uint64(32)
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9))


class Buckets:
    """Postings by key. Not locked: the store is."""

    def __init__(self, max_bucket: int) -> None:
        self.total = 0  # postings
        self._limit = max_bucket
        self._first_row = np.zeros(TABLES, np.int64)
        self._buckets = np.zeros(TABLES, np.int64)  # of each table
        self._rows = np.zeros(1, ROW)  # the first is the bucket of every key that has none
        self._tags, self._entries = np.zeros(SMALL, np.uint64), np.zeros(SMALL, np.uint64)  # the pool
        self._end = 0  # of what is used of the pool
        self._wasted = 0  # of that
        self._appended: set[int] = set()  # entries: only a posting of one of these can be there already
        self._removed = 0  # postings, since the set was made
        self._spare = np.zeros(1, np.int32)  # one for each row, all zero but within a call
        self._log: deque[tuple[int, Keys, list[int]]] = deque()  # (mark before it, keys, entries)
        self._mark = 0  # postings ever appended
        self._log_from = 0  # the oldest mark that the log can serve

    def read(
        self, keys: Keys, since: int | None, limit: ReadLimit | None = None, ignoring: Collection[int] = ()
    ) -> Postings:
        starts, counts, capped = self._locate(keys, since, limit, ignoring)
        places = ranges(starts, counts)
        return Postings(counts, self._entries.take(places), self._tags.take(places), self._mark, capped)

    def probe(
        self,
        keys: Keys,
        tags: Keys,
        radii: NDArray[np.uint8],
        any_bits: int,
        since: int | None,
        limit: ReadLimit | None = None,
        ignoring: Collection[int] = (),
    ) -> ProbeMatches:
        """The same, but only what matches: where tags are too far, entries are not even fetched. At a million documents
        most of the time goes into waiting for memory."""
        starts, counts, capped = self._locate(keys, since, limit, ignoring)
        read = Bucketfuls(starts, counts, self._entries, self._tags)
        probes, entries, found, cut = read.matching(keys, tags, radii, any_bits, limit)
        return ProbeMatches(probes, entries, found, self._mark, capped, cut)

    def _locate(
        self, keys: Keys, since: int | None, limit: ReadLimit | None, ignoring: Collection[int]
    ) -> tuple[Places, Places, NDArray[np.bool_]]:
        """Where the postings of each key begin, how many are read, and whether those are not all."""
        row_numbers = self._rows_of(keys)
        rows = self._rows.take(row_numbers)
        if since is None or since < self._log_from:
            starts, lengths = rows["begin"], rows["length"]
            counts = np.minimum(lengths, self._limit)  # the oldest hold the lower tickets
        else:
            # What was appended after the mark. Nothing was removed since: the latest of a bucket are its last.
            lengths = self._tail_lengths(row_numbers, since, set(ignoring))
            starts, counts = rows["begin"] + rows["length"] - lengths, lengths
        if limit is not None:
            counts = limit.of_lengths(counts)
        return starts, counts, counts < lengths

    def _tail_lengths(self, row_numbers: Places, since: int, ignored: set[int]) -> Places:
        """How many postings each of the rows got since the mark; none, where all that came is to be ignored."""
        appends = [(logged, owners) for mark, logged, owners in self._log if mark >= since]  # taken between appends
        if all(ignored.issuperset(owners) for _, owners in appends):
            return np.zeros(len(row_numbers), np.int64)
        logged = self._rows_of(np.concatenate([keys for keys, _ in appends]))
        np.add.at(self._spare, logged, 1)
        lengths = self._spare.take(row_numbers).astype(np.int64)
        self._spare[logged] = 0
        return lengths

    def append(self, keys: Keys, entries: Keys, tags: Keys) -> None:
        owners = entries[_runs(entries)[0]].tolist()
        if not self._appended.isdisjoint(owners) or _repeats(keys, entries, tags):
            fresh = self.missing(keys, entries, tags)
            keys, entries, tags = keys[fresh], entries[fresh], tags[fresh]
        if not len(keys):
            return
        self._appended.update(owners)
        self._make_rows(keys)
        rows = self._rows_of(keys)
        # Few buckets get more than one posting of a batch: only what follows the first of a bucket has to be sorted.
        places = np.arange(len(keys), dtype=np.int32)
        self._spare[rows[::-1]] = places[::-1]
        first = self._spare.take(rows) == places
        self._spare[rows] = 0
        self._put(rows[first], np.ones(np.count_nonzero(first), np.int64), entries[first], tags[first])
        later = np.flatnonzero(~first)
        if later.size:
            later = later[np.argsort(rows[later], kind="stable")]
            starts, sizes = _runs(rows[later])
            self._put(rows[later[starts]], sizes, entries[later], tags[later])

        self.total += len(keys)
        self._log.append((self._mark, keys.copy(), owners))
        self._mark += len(keys)
        while self._mark - self._log_from > LOG_POSTINGS:
            before, dropped, _ = self._log.popleft()
            self._log_from = before + len(dropped)
        if self._wasted > max(self._end // 2, self._rows.size // 4, SMALL):  # to rewrite it goes through all rows
            self._compact()

    def _put(self, rows: Places, sizes: Places, entries: Keys, tags: Keys) -> None:
        """Add so many of the postings to each of the rows, which are distinct."""
        grown = self._rows.take(rows)
        self._make_room(grown, sizes)
        places = ranges(grown["begin"] + grown["length"], sizes)
        self._entries[places], self._tags[places] = entries, tags
        grown["length"] += sizes
        self._rows[rows] = grown

    def missing(self, keys: Keys, entries: Keys, tags: Keys) -> Places:
        """Which postings are new: not in their bucket, and not earlier in this call."""
        _, first = np.unique(np.stack((keys, entries, tags), axis=1), axis=0, return_index=True)
        first.sort()
        rows = self._rows[self._rows_of(keys[first])]
        places, sought = ranges(rows["begin"], rows["length"]), np.repeat(first, rows["length"])
        known = sought[(self._entries[places] == entries[sought]) & (self._tags[places] == tags[sought])]
        return first[~np.isin(first, known)]

    def _make_room(self, rows: Rows, more: Places) -> None:
        """Give those of the buckets that are too full for so many more a larger place at the end of the pool."""
        full = np.flatnonzero(rows["length"] + more > _room(rows["length"]))
        if not full.size:
            return
        moving = rows[full]
        rooms = _room(moving["length"] + more[full])
        ends = self._end + np.cumsum(rooms)
        self._end = int(ends[-1])
        if self._end > self._tags.size:
            for column in (self._tags, self._entries):
                # In place: the pages of a large column are moved, where a copy would touch them all twice.
                column.resize(self._end + self._end // 8, refcheck=False)
        old, new = ranges(moving["begin"], moving["length"]), ranges(ends - rooms, moving["length"])
        for column in (self._tags, self._entries):
            column[new] = column.take(old)
        self._wasted += int(_room(moving["length"]).sum())
        rows["begin"][full] = ends - rooms

    def _compact(self) -> None:
        """The same buckets in the order of their rows, and nothing between them but room to grow."""
        lengths = self._rows["length"]
        rooms = _room(lengths)
        ends = np.cumsum(rooms)
        self._end, self._wasted = int(ends[-1]), 0
        tags, entries = np.zeros(self._end + SMALL, np.uint64), np.zeros(self._end + SMALL, np.uint64)
        for first in range(0, lengths.size, PIECE):
            some = slice(first, first + PIECE)
            old = ranges(self._rows["begin"][some], lengths[some])
            new = ranges((ends - rooms)[some], lengths[some])
            tags[new], entries[new] = self._tags.take(old), self._entries.take(old)
        self._tags, self._entries = tags, entries
        self._rows["begin"] = ends - rooms

    def remove(self, keys: Keys, entries: Keys) -> None:
        removed = 0
        for row, entry in zip(self._rows_of(keys).tolist(), entries, strict=True):
            begin, length = self._rows[row].tolist()
            entries_here, tags_here = self._entries[begin : begin + length], self._tags[begin : begin + length]
            remaining = np.flatnonzero(entries_here != entry)
            if remaining.size < length:
                entries_here[: remaining.size], tags_here[: remaining.size] = (
                    entries_here[remaining],
                    tags_here[remaining],
                )
                self._rows["length"][row] = remaining.size
                self._wasted += int(_room(np.array(length)) - _room(np.array(remaining.size)))
                removed += length - remaining.size
        if not removed:
            return
        self.total -= removed
        self._removed += removed
        self._log.clear()
        self._mark += 1  # even the latest mark is older than this removal
        self._log_from = self._mark
        if self._removed > max(self.total, SMALL):  # so that the set does not grow with all that was ever appended
            present = self._entries[ranges(self._rows["begin"], self._rows["length"])]
            self._appended, self._removed = set(present.tolist()), 0

    def page(self, table: int, bucket: int, most: int) -> tuple[tuple[Keys, Keys, Keys], int]:
        """Keys, entries and tags of buckets of a table from that one on, about `most` of them, and the bucket to go on
        with; 0: there are no more."""
        rows = self._rows[self._first_row[table] + bucket : self._first_row[table] + self._buckets[table]]
        past = 1 + int(np.searchsorted(np.cumsum(rows["length"]), most))
        starts, counts = rows["begin"][:past], rows["length"][:past]
        places = ranges(starts, counts)
        numbers = np.arange(bucket, bucket + len(counts), dtype=np.uint64)
        keys = np.repeat(np.uint64(table) << _UPPER | numbers, counts)
        return (keys, self._entries.take(places), self._tags.take(places)), bucket + past if past < len(rows) else 0

    def _rows_of(self, keys: Keys) -> Places:
        """The row of each key's bucket, 0 where its table is not so long."""
        tables, buckets = (keys >> _UPPER).view(np.int64), (keys & _LOWER).view(np.int64)
        rows = self._first_row.take(tables)
        rows += buckets
        rows *= buckets < self._buckets.take(tables)
        return rows

    def _make_rows(self, keys: Keys) -> None:
        """Make tables long enough for the keys. A table that grows gets a new run of rows, and the old one is lost."""
        tables, buckets = (keys >> _UPPER).view(np.int64), (keys & _LOWER).view(np.int64)
        short = buckets >= self._buckets.take(tables)
        if not short.any():
            return
        needed = np.zeros(TABLES, np.int64)
        np.maximum.at(needed, tables[short], np.maximum(buckets[short] + 1, BUCKETS))
        growing = np.flatnonzero(needed)
        sizes = np.int64(1) << np.frexp(needed[growing] - 1)[1].astype(np.int64)  # the next power of two
        firsts = self._rows.size + np.cumsum(sizes) - sizes
        rows = np.zeros(self._rows.size + int(sizes.sum()), ROW)  # pages that are never written take no memory
        rows[: self._rows.size] = self._rows
        for old, new, count in zip(self._first_row[growing].tolist(), firsts.tolist(), self._buckets[growing].tolist()):
            rows[new : new + count] = rows[old : old + count]
            rows["length"][old : old + count] = 0
        self._rows, self._spare = rows, np.zeros(rows.size, np.int32)
        self._first_row[growing], self._buckets[growing] = firsts, sizes

    def info(self) -> dict[str, int]:
        lengths = self._rows["length"]
        return {
            "postings": self.total,
            "buckets": int(np.count_nonzero(lengths)),
            "largest_bucket": int(lengths.max()),
            "bytes_buckets": self._tags.nbytes
            + self._entries.nbytes
            + self._rows.nbytes
            + self._spare.nbytes
            + sys.getsizeof(self._appended)
            + sys.getsizeof(1 << 63) * len(self._appended),
        }


def _runs(values: NDArray[D]) -> tuple[Places, Places]:
    """Where runs of equal neighbours start, and how long they are."""
    new = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    return starts, np.diff(starts, append=len(values))


def _repeats(keys: Keys, entries: Keys, tags: Keys) -> bool:
    """Whether a posting may occur twice in one call. Mixed to 64 bits: a collision only costs the slow path."""
    mixed = (keys * _MIX[0]) ^ (entries * _MIX[1]) ^ (tags * _MIX[2])
    same_as = representatives(mixed, np.array([0, mixed.size]))
    return bool((same_as != np.arange(mixed.size)).any())


def _room(lengths: Places) -> Places:
    """0 1 2 3 4 6 8 12 16 24 ...: a sixth of it is empty on average, and a posting moves two or three times."""
    steps = np.maximum(np.frexp(lengths)[1] - 2, 0).astype(np.int64)
    rooms: Places = (lengths + (np.int64(1) << steps) - 1) >> steps << steps
    return rooms
