"""Entries that hold a ticket and were not answered: which of them were accepted, and what becomes of the others."""

from __future__ import annotations

import pytest

from gate.core.profile import Profile
from gate.core.stored_verdict import encode_answer
from gate.index.memory.store import MemoryStore
from gate.index.protocol import settlement
from gate.index.protocol.candidates import CandidateFinder
from gate.index.protocol.outcome import NO_CANDIDATES
from gate.index.protocol.registration import Registrar
from gate.index.protocol.settlement import Settler
from gate.index.store import AnswerUpdate, EntryRecord, NewEntry, Store
from gate.limits import Limits
from tests.index.claim_harness import CountingStore
from tests.index.protocol_scenarios import Tiny


class Row:
    """Entries in a row, each alike to the next, all with a ticket in this order and none answered."""

    def __init__(self, length: int) -> None:
        self.bodies = [bytes([n + 1]) for n in range(length)]
        self.method = Tiny(
            {body: (n, n + 1) for n, body in enumerate(self.bodies)},
            {frozenset(pair): 1.0 for pair in zip(self.bodies, self.bodies[1:], strict=False)},
        )
        self.store = MemoryStore()
        self.calls = CountingStore(self.store)
        self.records: list[EntryRecord] = []

    def settler(self, store: Store | CountingStore) -> Settler:
        finder = CandidateFinder(store, self.method, Profile(name="tiny", resemblance=0.5), Limits())
        self.registrar = Registrar(store, self.method, finder)
        return Settler(store, self.method, finder, self.registrar)

    async def fill(self) -> Settler:
        settler = self.settler(self.calls)
        for n, body in enumerate(self.bodies):
            await self.store.register_content([NewEntry(f"d{n}", None, body * 16, n + 1, body)])
            [record] = await self.store.records([n + 1])
            assert record is not None
            helped = (await self.registrar.help({record.entry: record}))[record.entry]
            assert helped is not None
            self.records.append(helped)
        self.calls.calls.clear()
        return settler


async def test_of_a_row_every_other_entry_is_accepted_and_the_rest_are_duplicates_of_those() -> None:
    row = Row(5)
    settler = await row.fill()
    assert await settler.accepted([row.records[4]]) == {5}
    records = await row.store.records([1, 2, 3, 4, 5])
    assert [record and record.duplicate_of for record in records] == [0, 1, 0, 3, 0]
    assert (await row.store.info())["postings"] == 6


async def test_a_loser_is_not_accepted_and_leaves_the_buckets() -> None:
    row = Row(2)
    settler = await row.fill()
    assert await settler.accepted(row.records) == {1}
    assert (await row.store.info())["postings"] == 2


async def test_many_entries_in_a_row_are_settled_without_recursion() -> None:
    row = Row(120)
    settler = await row.fill()
    assert await settler.accepted([row.records[-1]]) == set()


async def test_an_entry_whose_owner_was_told_that_it_passes_is_not_compared_again() -> None:
    row = Row(2)
    settler = await row.fill()
    _, second = row.records
    await row.store.save_answers([AnswerUpdate("d1", second.content, encode_answer(NO_CANDIDATES))])
    assert await settler.accepted([second]) == {second.entry}
    assert row.calls.calls == {"documents": 1}
    assert await settler.accepted([second]) == {second.entry}
    assert row.calls.calls == {"documents": 1}  # it is remembered


async def test_no_more_accepted_entries_are_remembered_than_twice_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settlement, "KNOWN_ACCEPTED", 3)
    row = Row(1)
    settler = await row.fill()
    for entry in range(100, 200):
        settler.add_accepted([entry])
    assert len(settler._known) + len(settler._known_longer) <= 2 * 4
    [record] = row.records
    assert await settler.accepted([record._replace(entry=199)]) == {199}
    assert not row.calls.calls
