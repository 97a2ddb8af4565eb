"""Candidates: what shares a bucket with a document is fetched, compared, and limited to the nearest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gate.core.judge import Likeness
from gate.core.profile import Profile
from gate.index.memory.store import MemoryStore
from gate.index.protocol import candidates
from gate.index.protocol.candidates import BucketReading, CandidateFinder, CandidateSet, Neighbourhood
from gate.index.protocol.postings import postings_of
from gate.index.store import EntryRecord, Holder, NewEntry, Registration
from gate.limits import Limits
from gate.model import Degraded, Relation
from tests.index.protocol_scenarios import Tiny

BUCKETS: Mapping[bytes, tuple[int, ...]] = {b"a": (1, 2, 3), b"b": (1, 2, 3), b"c": (1,), b"d": (1,), b"z": (1, 2, 3)}
METHOD = Tiny(BUCKETS, {frozenset((b"z", b"b")): 1.0})
PROFILE = Profile(name="tiny", resemblance=0.5)
SUBJECT = EntryRecord(99, b"z" * 16, (Holder("Z", None),), b"z")


async def filled(letters: Sequence[str]) -> MemoryStore:
    """Entries 1, 2, ... in the order of the letters, each of a document of its own and with a ticket."""
    store = MemoryStore()
    for entry, letter in enumerate(letters, 1):
        body = letter.encode()
        [state] = await store.register_content([NewEntry(letter.upper(), None, body * 16, entry, body)])
        assert state.record is not None
        await store.append(*postings_of(METHOD, [state.record]))
        await store.register([Registration(entry, ticket=entry)])
    return store


async def neighbourhood(store: MemoryStore, subject: EntryRecord = SUBJECT, **limits: Any) -> Neighbourhood:
    finder = CandidateFinder(store, METHOD, PROFILE, Limits(**limits))
    return await finder.find(await finder.read({0: subject.body}), {0: subject})


async def test_entries_that_share_a_bucket_are_candidates_and_the_alike_are_paired() -> None:
    found = await neighbourhood(await filled("abc"))
    assert found.sets[0].candidates == {1, 2, 3}
    assert [(i, other.entry) for i, other, _ in found.alike] == [(0, 2)]


async def test_where_not_all_are_compared_those_that_share_most_buckets_are() -> None:
    found = await neighbourhood(await filled("cdb"), max_candidates=1)
    assert found.sets[0].candidates == {3}
    assert found.sets[0].degraded == {Degraded.CANDIDATES_CAPPED}
    assert [other.entry for _, other, _ in found.alike] == [3]


async def test_entries_of_the_same_document_are_no_candidates() -> None:
    subject = SUBJECT._replace(holders=(Holder("B", None),))
    assert (await neighbourhood(await filled("b"), subject)).sets == {}


async def test_a_posting_without_a_record_is_dangling_and_a_dead_record_is_returned() -> None:
    store = await filled("ab")
    await store.mark_dead([1, 2])
    await store.delete_records([1])
    found = await neighbourhood(store)
    assert sorted(zip(*(column.tolist() for column in found.dangling), strict=True)) == [(1, 1), (2, 1), (3, 1)]
    assert [record.entry for record in found.dead] == [2]


def test_only_lower_tickets_come_before_a_ticket() -> None:
    likeness = Likeness(distance=None, resemblance=1.0, containment=None, relation=Relation.NEAR)
    records = [SUBJECT._replace(entry=n, ticket=n) for n in range(4)]  # the first has none
    candidates = CandidateSet(alike={record.entry: (record, likeness) for record in records})
    assert [record.entry for record, _ in candidates.ticketed_before(None)] == [1, 2, 3]
    assert [record.entry for record, _ in candidates.ticketed_before(3)] == [1, 2]


# Reading buckets

LETTERS = Tiny({b"a": (1, 2), b"b": (2, 3), b"c": (4,), b"": ()}, {})


def record(entry: int, letter: str) -> EntryRecord:
    return EntryRecord(entry, letter.encode().ljust(16), (Holder(letter, None),), letter.encode())


def matches(reading: BucketReading) -> set[tuple[int, int, int]]:
    documents = [reading.documents[row] for row in reading.rows.tolist()]
    return set(zip(documents, reading.keys.tolist(), reading.entries.tolist(), strict=True))


async def three_records() -> MemoryStore:
    store = MemoryStore()
    await store.append(*postings_of(LETTERS, [record(1, "a"), record(2, "b"), record(3, "c")]))
    return store


def reader(store: MemoryStore) -> CandidateFinder:
    return CandidateFinder(store, LETTERS, PROFILE, Limits())


async def test_a_reading_has_every_posting_in_the_buckets_of_its_documents() -> None:
    reading = await reader(await three_records()).read({5: b"a", 6: b"b"})
    assert matches(reading) == {(5, 1, 1), (5, 2, 1), (5, 2, 2), (6, 2, 1), (6, 2, 2), (6, 3, 2)}


async def test_a_reading_in_parts_is_the_reading_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store, bodies = await three_records(), {5: b"a", 6: b"b", 7: b"c"}
    whole = await reader(store).read(bodies)
    monkeypatch.setattr(candidates, "MAX_PROBES", 2)
    assert matches(await reader(store).read(bodies)) == matches(whole)


async def test_a_reading_since_another_has_what_was_appended_meanwhile() -> None:
    store = await three_records()
    first = await reader(store).read({5: b"a", 6: b"b"})
    await store.append(*postings_of(LETTERS, [record(4, "b")]))
    assert matches(await reader(store).read({6: b"b"}, since=first)) == {(6, 2, 4), (6, 3, 4)}


async def test_a_reading_since_another_may_have_documents_that_were_not_in_it() -> None:
    store = await three_records()
    first = await reader(store).read({5: b"a"})
    await store.append(*postings_of(LETTERS, [record(4, "c")]))
    assert matches(await reader(store).read({7: b"c"}, since=first)) == {(7, 4, 4)}


async def test_documents_without_buckets_read_nothing() -> None:
    reading = await reader(await three_records()).read({5: b""})
    assert (matches(reading), reading.mark) == (set(), None)
