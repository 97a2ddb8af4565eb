"""Entries are appended everywhere before they get a ticket, and what comes too late is taken back."""

from __future__ import annotations

import pytest

from gate.core.profile import Profile
from gate.index.memory.store import MemoryStore
from gate.index.protocol.candidates import CandidateFinder
from gate.index.protocol.registration import Registrar
from gate.index.store import Conversion, EntryRecord, NewEntry
from gate.limits import Limits
from tests.index.protocol_scenarios import Tiny

METHOD = Tiny({b"a": (1, 2), b"b": (1, 2)}, {frozenset((b"a", b"b")): 1.0})
PROFILE = Profile(name="tiny", resemblance=0.5)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def registrar(store: MemoryStore) -> Registrar:
    return Registrar(store, METHOD, CandidateFinder(store, METHOD, PROFILE, Limits()))


async def new_record(store: MemoryStore, letter: bytes, entry: int) -> EntryRecord:
    [state] = await store.register_content([NewEntry(letter.decode(), None, letter * 16, entry, letter)])
    assert state.record is not None
    return state.record


async def test_a_helped_entry_is_in_all_its_buckets_and_holds_a_ticket(
    store: MemoryStore, registrar: Registrar
) -> None:
    helped = await registrar.help({7: await new_record(store, b"a", 7)})
    assert helped[7] is not None
    assert helped[7].ticket == 1
    assert (await store.info())["postings"] == 2


@pytest.mark.parametrize("died", [False, True])
async def test_what_was_appended_too_late_for_a_duplicate_or_a_dead_entry_is_removed(
    store: MemoryStore, registrar: Registrar, died: bool
) -> None:
    record = await new_record(store, b"a", 7)
    registrations = await registrar.append_and_draw([record])
    await registrar.help({7: record})
    await (store.mark_dead([7]) if died else store.convert([Conversion(7, 2, 9)]))
    [current] = await registrar.register([record], registrations)
    assert current is None or current.duplicate_of == 9
    assert (current is None) == died
    assert (await store.info())["postings"] == 0


async def test_postings_of_a_duplicate_that_are_met_are_removed_in_all_its_buckets(
    store: MemoryStore, registrar: Registrar
) -> None:
    record, subject = await new_record(store, b"a", 7), await new_record(store, b"b", 8)
    await registrar.help({7: record})
    await store.convert([Conversion(7, 1, 9)])
    finder = CandidateFinder(store, METHOD, PROFILE, Limits())
    assert not await registrar.find_registered(await finder.read({0: b"b"}), {0: subject})
    assert (await store.info())["postings"] == 0
