"""Candidates are fetched and compared in slices, each at most once a batch, and none beyond the limit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gate.core.profile import Profile
from gate.index.memory.store import MemoryStore
from gate.index.protocol import comparison
from gate.index.protocol.comparison import CandidateComparison
from gate.index.store import EntryRecord, Holder, NewEntry, Registration
from tests.index.bucket_contract import u64
from tests.index.protocol_scenarios import Tiny

LETTERS = "abcdefgh"
METHOD = Tiny({}, {frozenset((b"z", b"h")): 1.0})
PROFILE = Profile(name="tiny", resemblance=0.5)
SUBJECTS = [EntryRecord(90 + n, b"z" * 16, (Holder(name, None),), b"z") for n, name in enumerate("YZ")]


class FetchingStore(MemoryStore):
    """Remembers what was fetched at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[list[int]] = []

    async def records(self, entries: Sequence[int]) -> list[EntryRecord | None]:
        self.fetched.append(list(entries))
        return await super().records(entries)


async def filled() -> FetchingStore:
    """Entries 1 to 8, of documents A to H; the last is like the subjects."""
    store = FetchingStore()
    for entry, letter in enumerate(LETTERS, 1):
        await store.register_content([NewEntry(letter.upper(), None, letter.encode() * 16, entry, letter.encode())])
        await store.register([Registration(entry, ticket=entry)])
    return store


async def compared(store: FetchingStore, rows: Sequence[int], entries: Sequence[int], most: int) -> CandidateComparison:
    done = CandidateComparison(store, METHOD, PROFILE, SUBJECTS, most)
    await done.compare(np.array(rows), u64(*entries))
    return done


async def test_records_are_fetched_in_slices_and_once_for_all_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "PAIRS", 3)
    store = await filled()
    done = await compared(store, [0] * 8 + [1] * 8, [*range(1, 9)] * 2, 10)
    assert [len(some) for some in store.fetched] == [3, 3, 2]
    assert done.candidates == {0: set(range(1, 9)), 1: set(range(1, 9))}
    assert [(row, record.entry) for row, record, _ in done.alike] == [(0, 8), (1, 8)]


async def test_large_bodies_are_compared_fewer_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "SLICE_BYTES", 2)
    store = await filled()
    await compared(store, [0] * 4, [1, 2, 3, 4], 10)
    assert max(map(len, store.fetched)) <= 2


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "PAIRS", 2)
    monkeypatch.setattr(comparison, "KNOWN_BYTES", 1)
    store = await filled()
    await compared(store, [0, 0, 1, 1], [1, 2, 1, 2], 10)
    assert store.fetched == [[1, 2], [1, 2]]


async def test_no_more_than_the_limit_are_compared_and_the_row_is_full() -> None:
    done = await compared(await filled(), [0] * 8 + [1] * 2, [*range(1, 9), 1, 2], 3)
    assert (done.counts.tolist(), done.full) == ([3, 2], {0})


async def test_what_is_gone_dead_or_a_duplicate_is_no_candidate() -> None:
    store = await filled()
    await store.mark_dead([1])
    await store.register_content([NewEntry("I", None, b"i" * 16, 9, b"i")])
    await store.register([Registration(9, duplicate_of=8)])
    done = await compared(store, [0] * 4, [1, 2, 9, 77], 3)
    assert done.candidates == {0: {2}}
    assert (set(done.dead), set(done.duplicates), done.missing) == ({1}, {9}, {77})


async def test_versions_of_the_document_itself_are_no_candidates() -> None:
    store = await filled()
    await store.register_content([NewEntry("Z", None, b"i" * 16, 9, b"h")])
    done = await compared(store, [0, 0, 1, 1], [8, 9, 8, 9], 3)
    assert done.candidates == {0: {8, 9}, 1: {8}}
