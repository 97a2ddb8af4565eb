"""The postings of records, and the reading of the buckets that match a document's probes."""

from __future__ import annotations

import pytest

from gate.index.memory.store import MemoryStore
from gate.index.protocol import postings
from gate.index.protocol.postings import BucketReading, postings_of, read_buckets
from gate.index.store import EntryRecord, Holder
from tests.index.protocol_scenarios import Tiny

METHOD = Tiny({b"a": (1, 2), b"b": (2, 3), b"c": (4,), b"": ()}, {})


def record(entry: int, letter: str) -> EntryRecord:
    return EntryRecord(entry, letter.encode().ljust(16), (Holder(letter, None),), letter.encode())


def matches(reading: BucketReading) -> set[tuple[int, int, int]]:
    documents = [reading.documents[row] for row in reading.rows.tolist()]
    return set(zip(documents, reading.keys.tolist(), reading.entries.tolist(), strict=True))


async def filled() -> MemoryStore:
    store = MemoryStore()
    await store.append(*postings_of(METHOD, [record(1, "a"), record(2, "b"), record(3, "c")]))
    return store


def test_a_record_has_a_posting_for_each_of_its_buckets() -> None:
    keys, entries, _ = postings_of(METHOD, [record(7, "b"), record(8, ""), record(9, "a")])
    assert list(zip(keys.tolist(), entries.tolist(), strict=True)) == [(2, 7), (3, 7), (1, 9), (2, 9)]


async def test_a_reading_has_every_posting_in_the_buckets_of_its_documents() -> None:
    reading = await read_buckets(await filled(), METHOD, {5: b"a", 6: b"b"})
    assert matches(reading) == {(5, 1, 1), (5, 2, 1), (5, 2, 2), (6, 2, 1), (6, 2, 2), (6, 3, 2)}


async def test_a_reading_in_parts_is_the_reading_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store, bodies = await filled(), {5: b"a", 6: b"b", 7: b"c"}
    whole = await read_buckets(store, METHOD, bodies)
    monkeypatch.setattr(postings, "MAX_PROBES", 2)
    assert matches(await read_buckets(store, METHOD, bodies)) == matches(whole)


async def test_a_reading_since_another_has_what_was_appended_meanwhile() -> None:
    store = await filled()
    first = await read_buckets(store, METHOD, {5: b"a", 6: b"b"})
    await store.append(*postings_of(METHOD, [record(4, "b")]))
    assert matches(await read_buckets(store, METHOD, {6: b"b"}, since=first)) == {(6, 2, 4), (6, 3, 4)}


async def test_a_reading_since_another_may_have_documents_that_were_not_in_it() -> None:
    store = await filled()
    first = await read_buckets(store, METHOD, {5: b"a"})
    await store.append(*postings_of(METHOD, [record(4, "c")]))
    assert matches(await read_buckets(store, METHOD, {7: b"c"}, since=first)) == {(7, 4, 4)}


async def test_documents_without_buckets_read_nothing() -> None:
    reading = await read_buckets(await filled(), METHOD, {5: b""})
    assert (matches(reading), reading.mark) == (set(), None)
