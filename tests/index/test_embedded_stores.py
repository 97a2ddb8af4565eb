"""The embedded backends agree with each other, never suspend, and may be shared by threads."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gate.index.memory.store import MemoryStore
from gate.index.sqlite.store import SqliteStore
from gate.index.store import AnswerUpdate, HeldContent, NewEntry, Postings, Registration, Store
from gate.pipeline import run_now
from tests.index.store_contract import by_key, entered, new_entry, u64

T = TypeVar("T")
Embedded = MemoryStore | SqliteStore
OpenEmbedded = Callable[[int], Embedded]


@pytest.fixture(params=["memory", "sqlite"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenEmbedded]:
    opened: list[Embedded] = []

    def open_one(max_bucket: int = 4096) -> Embedded:
        path = tmp_path / f"{len(opened)}.gate"
        opened.append(
            MemoryStore(max_bucket)
            if request.param == "memory"
            else SqliteStore(path, digest="d", profile_ref="p@1", max_bucket=max_bucket)
        )
        return opened[-1]

    yield open_one
    for store in opened:
        run_now(store.close())


def test_an_embedded_store_never_suspends(open_store: OpenEmbedded) -> None:
    store = open_store(4096)
    [state] = run_now(store.register_content([new_entry(entry=1)]))
    run_now(store.append(u64(1), u64(1), u64(1)))
    run_now(store.register([Registration(1, ticket=run_now(store.draw(1)))]))
    run_now(store.save_answers([AnswerUpdate("d1", entered(state).content, b"")]))
    assert by_key(run_now(store.read(u64(1)))) == [[(1, 1)]]


def test_info_counts_what_is_there(open_store: OpenEmbedded) -> None:
    store = open_store(4096)
    names = ["documents", "contents", "entries", "postings", "buckets", "largest_bucket", "tickets"]
    assert [run_now(store.info())[name] for name in names] == [0] * 7
    run_now(
        store.register_content(
            [
                new_entry("d1", b"1" * 16, entry=1),
                new_entry("d1", b"2" * 16, entry=2),
                new_entry("d2", b"1" * 16, entry=3),
            ]
        )
    )
    run_now(store.append(u64(5, 5, 6), u64(1, 2, 1), u64(0, 0, 0)))
    run_now(store.draw(4))
    info = run_now(store.info())
    assert [info[name] for name in names] == [2, 2, 2, 3, 2, 2, 4]
    assert info["bytes_details"] == 0
    run_now(store.register_content([new_entry("d3", b"1" * 16, entry=4)._replace(details=b"0123")]))
    assert run_now(store.info())["bytes_details"] == 4
    assert all(size > 0 for name, size in info.items() if name.startswith("bytes_") and name != "bytes_details")


def test_of_threads_that_race_for_one_content_one_wins_and_all_get_its_entry(open_store: OpenEmbedded) -> None:
    store = open_store(4096)
    contents = [bytes([n]) * 16 for n in range(20)]

    def enter(worker: int) -> tuple[list[int], int]:
        wishes = [new_entry(f"d{worker}", content, entry=100 * worker + n) for n, content in enumerate(contents, 1)]
        states = run_now(store.register_content(wishes))
        for n in range(1, 21):
            run_now(store.append(u64(5, n + 10), u64(100 * worker + n, 7), u64(0, 0)))
        return [entered(state).entry for state in states], run_now(store.draw(3))

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(enter, range(1, 9)))
    assert len({tuple(entries) for entries, _ in outcomes}) == 1
    assert sorted(ticket for _, ticket in outcomes) == list(range(1, 25, 3))
    shared, *others = by_key(run_now(store.read(u64(5, *range(11, 31)))))
    assert len(shared) == len(set(shared)) == 8 * 20
    assert others == [[(7, 0)]] * 20


MAX_BUCKET = 3
documents = st.sampled_from(["a", "b", "c"])
contents = st.sampled_from([bytes([n]) * 16 for n in range(4)])
answers = st.sampled_from([b"", b"yes", b"no"])
keys = st.sampled_from([0, 1, 0xFF << 32, 0xFF << 32 | 70_000])
issued = st.integers(0, 12)  # which of the entries that were issued so far


class Agreement(RuleBasedStateMachine):
    """Memory and SQLite return the same, whatever is done to both."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "index.gate"
        self.memory = MemoryStore(MAX_BUCKET)
        self.sqlite = SqliteStore(path, digest="d", profile_ref="p@1", max_bucket=MAX_BUCKET)
        self.entries: list[int] = [5]  # one that is never registered
        self.marks: list[tuple[int, int]] = []

    def teardown(self) -> None:
        run_now(self.sqlite.close())
        self.folder.cleanup()

    def both(self, ask: Callable[[Store], Coroutine[Any, Any, T]]) -> T:
        left, right = run_now(ask(self.memory)), run_now(ask(self.sqlite))
        assert left == right
        return left

    def entry(self, place: int) -> int:
        return self.entries[place % len(self.entries)]

    @rule(wishes=st.lists(st.tuples(documents, contents, st.booleans()), min_size=1, max_size=3), twice=st.booleans())
    def register_content(self, wishes: list[tuple[str, bytes, bool]], twice: bool) -> None:
        wanted = []
        for document_id, content, share in wishes:
            self.entries.append(len(self.entries) * 0x9E3779B97F4A7C15 % 2**64)  # odd, so no number comes twice
            wanted.append(NewEntry(document_id, None, content, self.entries[-1], content[:3], share))
        for _ in range(1 + twice):
            self.both(lambda store: store.register_content(wanted))

    @rule(postings=st.lists(st.tuples(keys, issued, st.integers(0, 1)), max_size=6))
    def append(self, postings: list[tuple[int, int, int]]) -> None:
        at, tags = u64(*(p[0] for p in postings)), u64(*(p[2] for p in postings))
        entries = u64(*(self.entry(p[1]) for p in postings))
        self.both(lambda store: store.append(at, entries, tags))

    @rule(postings=st.lists(st.tuples(keys, issued), max_size=3))
    def remove_postings(self, postings: list[tuple[int, int]]) -> None:
        at, entries = u64(*(p[0] for p in postings)), u64(*(self.entry(p[1]) for p in postings))
        self.both(lambda store: store.remove_postings(at, entries))

    @rule(wanted=st.lists(keys, max_size=4))
    def read(self, wanted: list[int]) -> None:
        left, right = run_now(self.memory.read(u64(*wanted))), run_now(self.sqlite.read(u64(*wanted)))
        assert by_key(left) == by_key(right)
        assert left.capped.tolist() == right.capped.tolist()
        self.marks.append((left.mark, right.mark))

    @precondition(lambda self: self.marks)
    @rule(wanted=st.lists(keys, max_size=4), which=st.integers(0, 100))
    def read_since(self, wanted: list[int], which: int) -> None:
        left_mark, right_mark = self.marks[which % len(self.marks)]
        left = run_now(self.memory.read(u64(*wanted), since=left_mark))
        right = run_now(self.sqlite.read(u64(*wanted), since=right_mark))
        whole = by_key(_uncapped(self.sqlite, wanted))
        for mine, exact, everything, capped in zip(by_key(left), by_key(right), whole, left.capped, strict=True):
            assert set(exact) <= set(mine) or capped
            assert set(mine) <= set(everything)
        self.marks.append((left.mark, right.mark))

    @rule(count=st.integers(1, 3))
    def draw(self, count: int) -> None:
        self.both(lambda store: store.draw(count))

    @rule(place=issued, ticket=st.integers(0, 3), of=issued)
    def register(self, place: int, ticket: int, of: int) -> None:
        wanted = Registration(self.entry(place), ticket, 0 if ticket else self.entry(of))
        self.both(lambda store: store.register([wanted]))

    @rule(document_id=documents, content=contents, answer=answers, replacing=st.none() | answers)
    def save_answers(self, document_id: str, content: bytes, answer: bytes, replacing: bytes | None) -> None:
        self.both(lambda store: store.save_answers([AnswerUpdate(document_id, content, answer, replacing)]))

    @rule(document_id=documents)
    def void_answers(self, document_id: str) -> None:
        self.both(lambda store: store.void_answers([document_id]))

    @rule(place=issued, document_id=documents)
    def remove_holders(self, place: int, document_id: str) -> None:
        self.both(lambda store: store.remove_holders([(self.entry(place), document_id)]))

    @rule(place=issued)
    def mark_dead(self, place: int) -> None:
        self.both(lambda store: store.mark_dead([self.entry(place)]))

    @rule(place=issued)
    def delete_records(self, place: int) -> None:
        self.both(lambda store: store.delete_records([self.entry(place)]))

    @rule(document_id=documents, content=contents, stale=st.booleans())
    def remove_contents(self, document_id: str, content: bytes, stale: bool) -> None:
        [known] = self.both(lambda store: store.documents([document_id]))
        held = [one for one in known if one.content == content]
        seen = [HeldContent(one.content, one.version, one.answer, 77) for one in held] if stale else held
        self.both(lambda store: store.remove_contents([(document_id, seen)]))

    @invariant()
    def they_hold_the_same(self) -> None:
        self.both(lambda store: store.records(self.entries))
        self.both(lambda store: store.contents([bytes([n]) * 16 for n in range(4)]))
        self.both(lambda store: store.documents(["a", "b", "c"]))
        left, right = run_now(self.memory.info()), run_now(self.sqlite.info())
        assert {n: v for n, v in left.items() if "bytes" not in n} == {
            n: v for n, v in right.items() if "bytes" not in n
        }


def _uncapped(store: SqliteStore, wanted: list[int]) -> Postings:
    wide = SqliteStore(store.path, digest="d", profile_ref="p@1", max_bucket=1_000_000)
    try:
        return run_now(wide.read(np.array(wanted, np.uint64)))
    finally:
        run_now(wide.close())


Agreement.TestCase.settings = settings(max_examples=40, stateful_step_count=30)
TestAgreement = Agreement.TestCase
