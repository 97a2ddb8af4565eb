"""What a document holds after more was added to it. Scans themselves are tested by one contract for every store."""

from __future__ import annotations

from pathlib import Path

from gate.index.memory.store import MemoryStore
from gate.index.scan import ScannableStore, merge_contents
from gate.index.sqlite.store import SqliteStore
from gate.index.store import HeldContent

FIRST = HeldContent(b"1" * 16, "1", b"answer", 1)
SECOND = HeldContent(b"2" * 16, "2", None, 2)


def test_contents_that_are_new_come_behind_those_that_are_there() -> None:
    assert merge_contents((SECOND,), (FIRST,)) == (SECOND, FIRST)
    assert merge_contents((), (FIRST, SECOND)) == (FIRST, SECOND)


def test_a_content_that_is_there_keeps_its_version_its_answer_and_its_stamp() -> None:
    other = HeldContent(FIRST.content, "9", b"another answer", 9)
    assert merge_contents((FIRST,), (other, SECOND)) == (FIRST, SECOND)


def test_adding_the_same_contents_twice_adds_them_once() -> None:
    merged = merge_contents((FIRST,), (SECOND,))
    assert merge_contents(merged, (SECOND, FIRST)) == merged


def test_nothing_added_changes_nothing() -> None:
    assert merge_contents((FIRST, SECOND), ()) == (FIRST, SECOND)


async def test_a_scan_of_an_empty_store_yields_nothing(tmp_path: Path) -> None:
    stores: list[ScannableStore] = [MemoryStore(), SqliteStore(tmp_path / "index", digest="d", profile_ref="p@1")]
    for store in stores:
        scan = store.scan()
        assert [record async for batch in scan.entries() for record in batch] == []
        assert [document async for batch in scan.documents() for document in batch] == []
        assert [row async for keys, _, _ in scan.postings() for row in keys.tolist()] == []
        await store.close()
