"""The cache of records stays within its bytes, however large single records are."""

from __future__ import annotations

import gc
import tracemalloc

from gate.index.redis.record_cache import RecordCache
from gate.index.store import EntryRecord, Holder


def record(entry: int, body_bytes: int = 160) -> tuple[EntryRecord, bytes]:
    """A record as it is made of bytes from the index, and those bytes."""
    tail = entry.to_bytes(8, "big") + bytes(body_bytes)
    return EntryRecord(entry, entry.to_bytes(16, "big"), (Holder(f"document-{entry}", None),), bytes(tail[8:])), tail


def test_a_record_that_is_met_again_and_again_stays_in_the_cache() -> None:
    cache = RecordCache(10_000)
    cache.add(*record(0))
    for entry in range(1, 1000):
        met = cache.get(0)
        assert met is not None
        cache.add(*met)
        cache.add(*record(entry))
    assert cache.get(1) is None


def test_a_record_replaces_the_one_of_its_entry() -> None:
    cache = RecordCache(10_000)
    old, new = record(1, 10), record(1, 20)
    cache.add(*old)
    cache.add(*new)
    assert cache.get(1) == new


def test_a_record_that_is_replaced_counts_once() -> None:
    cache = RecordCache(10_000)
    cache.add(*record(0))
    for _ in range(1000):
        cache.add(*record(1))
    assert cache.get(0) is not None


def test_records_of_any_size_take_no_more_memory_than_two_halves() -> None:
    limit = 2**20
    for body_bytes in (0, 160, 50_000):
        cache = RecordCache(limit)
        gc.collect()
        tracemalloc.start()
        for entry in range(2**40, 2**40 + 3 * limit // (400 + 2 * body_bytes)):
            cache.add(*record(entry, body_bytes))
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert taken < 2.5 * limit, body_bytes
