"""The postings of records."""

from __future__ import annotations

from gate.index.protocol.postings import postings_of
from gate.index.store import EntryRecord, Holder
from tests.index.protocol_scenarios import Tiny

METHOD = Tiny({b"a": (1, 2), b"b": (2, 3), b"": ()}, {})


def record(entry: int, letter: str) -> EntryRecord:
    return EntryRecord(entry, letter.encode().ljust(16), (Holder(letter, None),), letter.encode())


def test_a_record_has_a_posting_for_each_of_its_buckets() -> None:
    keys, entries, _ = postings_of(METHOD, [record(7, "b"), record(8, ""), record(9, "a")])
    assert list(zip(keys.tolist(), entries.tolist(), strict=True)) == [(2, 7), (3, 7), (1, 9), (2, 9)]
