"""Records of entries that this process met lately, within a number of bytes.

Two halves: what is met again moves to the newer one, and when that is full the older one is dropped. So the records of
a template, which are candidates again and again, stay.
"""

from __future__ import annotations

from gate.index.store import EntryRecord

CACHED_BYTES = 12 * 2**20  # of a half: a template has thousands of records
OVERHEAD_BYTES = 400  # of a record, beside its bytes, which are there as they came and as fields

CachedRecord = tuple[EntryRecord, bytes]  # with its bytes from the body on


class RecordCache:
    """Records by entry. What it holds may be older than the index: whoever uses it compares the bytes."""

    def __init__(self, max_bytes: int = CACHED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._newer: dict[int, CachedRecord] = {}
        self._older: dict[int, CachedRecord] = {}
        self._newer_bytes = 0

    def get(self, entry: int) -> CachedRecord | None:
        return self._newer.get(entry) or self._older.get(entry)

    def add(self, record: EntryRecord, tail: bytes) -> None:
        """Keep a record, in the place of what is known of its entry."""
        if (known := self._newer.get(record.entry)) is not None:
            self._newer_bytes -= _size(known[1])
        self._newer[record.entry] = (record, tail)
        self._newer_bytes += _size(tail)
        if self._newer_bytes > self._max_bytes:
            self._newer, self._older, self._newer_bytes = {}, self._newer, 0


def _size(tail: bytes) -> int:
    return OVERHEAD_BYTES + 2 * len(tail)
