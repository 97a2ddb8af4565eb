"""What scanning any index backend, and restoring what was scanned, must do; written once.

Used as `store_contract` is: a test module defines the fixture `open_store`, and subclasses `ScanContract`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

import pytest

from gate.index.memory import scan as memory_scan
from gate.index.scan import Document, PostingRows, ScannableStore
from gate.index.sqlite import scan as sqlite_scan
from gate.index.store import VOID, AnswerUpdate, EntryRecord, HeldContent, Holder, NewEntry, Registration
from tests.index.bucket_contract import BODY, FIRST, LARGEST_KEY, SECOND, by_key, content_of, new_entry, u64

__all__ = [
    "FIRST",
    "OpenScannable",
    "ScanContract",
    "documents",
    "gathered",
    "new_entry",
    "paged",
    "postings",
    "records",
    "u64",
]

T = TypeVar("T")
OpenScannable = Callable[[int], Awaitable[ScannableStore]]

HIGH = 0xFEDCBA98 << 32  # the upper half of an entry whose number is negative if signed
OTHER = content_of(HIGH, b"other")


async def gathered(batches: AsyncIterator[Sequence[T]]) -> list[T]:
    return [item async for batch in batches for item in batch]


async def gathered_postings(batches: AsyncIterator[PostingRows]) -> list[tuple[int, int, int]]:
    return sorted([row async for batch in batches for row in zip(*(column.tolist() for column in batch), strict=True)])


async def records(store: ScannableStore) -> list[EntryRecord]:
    return sorted(await gathered(store.scan().entries()))


async def documents(store: ScannableStore) -> list[Document]:
    return sorted(await gathered(store.scan().documents()))


async def postings(store: ScannableStore) -> list[tuple[int, int, int]]:
    return await gathered_postings(store.scan().postings())


async def paged(store: ScannableStore, count: int, *, id_prefix: str = "") -> list[Document]:
    """All documents, in pages of about so many."""
    met: list[Document] = []
    cursor = ""
    while True:
        part = await store.scan().documents_after(cursor, count, id_prefix=id_prefix)
        met += part.documents
        if not (cursor := part.cursor):
            return met


class ScanContract:
    """Sentences that are true of every backend."""

    @pytest.fixture
    async def store(self, open_store: OpenScannable) -> ScannableStore:
        return await open_store(4096)

    @pytest.fixture(autouse=True)
    def small_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """So that a few of anything need several batches."""
        for module in (memory_scan, sqlite_scan):
            monkeypatch.setattr(module, "BATCH", 3)
            monkeypatch.setattr(module, "POSTINGS", 3)

    # Scanning.

    async def test_an_empty_store_has_nothing_to_scan(self, store: ScannableStore) -> None:
        assert (await records(store), await documents(store), await postings(store)) == ([], [], [])

    async def test_every_record_is_scanned_as_it_is(self, store: ScannableStore) -> None:
        entries = [1, 2, 3, 4, HIGH + 1, 2**64 - 1]
        await store.register_content([new_entry(f"d{n}", content_of(n, b"%d" % n), entry=n) for n in entries])
        await store.register([Registration(1, ticket=7), Registration(2, duplicate_of=HIGH + 1)])
        await store.mark_dead([3])
        met = await records(store)
        assert met == [record for record in await store.records(entries) if record is not None]
        assert [record.entry for record in met] == entries
        assert (met[0].ticket, met[1].duplicate_of, met[2].dead, met[3].registered) == (7, HIGH + 1, True, False)

    async def test_records_of_contents_that_begin_alike_are_all_scanned(self, store: ScannableStore) -> None:
        await store.register_content([new_entry(f"d{n}", content_of(1, b"%d" % n), entry=n) for n in range(1, 6)])
        assert [record.entry for record in await records(store)] == [1, 2, 3, 4, 5]

    async def test_a_long_body_is_scanned_whole(self, store: ScannableStore) -> None:
        body = bytes(range(140))
        await store.register_content([NewEntry("d1", None, FIRST, 1, body), NewEntry("d2", None, SECOND, 2, b"")])
        assert [record.body for record in await records(store)] == [body, b""]

    async def test_every_document_is_scanned_with_all_that_it_holds(self, store: ScannableStore) -> None:
        names = ["a", "b", "c", "d", "ä " * 100, "\N{GRINNING FACE}"]
        await store.register_content([new_entry(name, FIRST, entry=n) for n, name in enumerate(names, 1)])
        await store.register_content([NewEntry("a", None, SECOND, 9, BODY)])
        await store.save_answers([AnswerUpdate("a", FIRST, b"\0yes"), AnswerUpdate("b", FIRST, VOID)])
        met = await documents(store)
        assert [document.document_id for document in met] == sorted(names)
        assert [document.contents for document in met] == await store.documents(sorted(names))
        assert met[0].contents == (HeldContent(FIRST, "a's version", b"\0yes", 1), HeldContent(SECOND, None, None, 9))

    async def test_details_are_scanned_and_restored(self, store: ScannableStore) -> None:
        held = (HeldContent(FIRST, "v", b"a", 7, b"det\0ails"), HeldContent(SECOND, None, None, 8, b"\xff\xff"))
        await store.scan().restore_documents([Document("d1", held)])
        assert await documents(store) == [Document("d1", held)]
        assert await store.documents(["d1"]) == [held]

    async def test_every_posting_is_scanned_however_crowded_its_bucket(self, open_store: OpenScannable) -> None:
        store = await open_store(2)
        await store.register_content([new_entry(entry=1)])
        made = [(5, n, n % 2) for n in range(1, 9)] + [(key, 1, 7) for key in (0, *range(6, 20), 1 << 32, LARGEST_KEY)]
        await store.append(*(u64(*column) for column in zip(*made, strict=True)))
        assert await postings(store) == sorted(made)

    async def test_the_postings_of_one_table_are_scanned_alone(self, open_store: OpenScannable) -> None:
        store = await open_store(2)
        await store.register_content([new_entry(entry=1), new_entry("d2", SECOND, entry=2)])
        tables = [0, 1, ord("*"), ord("?"), ord("["), 255]
        made = {table: [((table << 32) + n, entry, n) for n in (0, 1, 7) for entry in (1, 2)] for table in tables}
        made[0] += [(5, n, n) for n in range(3, 9)]  # a crowded bucket
        await store.append(*(u64(*column) for column in zip(*(row for rows in made.values() for row in rows))))
        for table in (*tables, 2):
            assert await gathered_postings(store.scan().postings(table)) == sorted(made.get(table, []))

    async def test_records_that_stay_are_scanned_while_others_come_and_go(self, store: ScannableStore) -> None:
        async def scanned() -> set[int]:
            met: set[int] = set()
            async for batch in store.scan().entries():
                met.update(record.entry for record in batch)
                await store.register_content([new_entry("new", content_of(50, b"new"), entry=50)])
                await store.mark_dead([2])
                await store.delete_records([2])
            return met

        await store.register_content([new_entry(f"d{n}", content_of(n, b"%d" % n), entry=n) for n in range(1, 8)])
        assert {1, 3, 4, 5, 6, 7} <= await scanned()

    async def test_a_document_that_goes_meanwhile_is_scanned_with_what_it_held_or_not_at_all(
        self, store: ScannableStore
    ) -> None:
        async def scanned() -> list[Document]:
            met: list[Document] = []
            async for batch in store.scan().documents():
                met += batch
                for name in ("d3", "d6", "d8"):
                    [held] = await store.documents([name])
                    await store.remove_contents([(name, held)])
            return met

        await store.register_content([new_entry(f"d{n}", content_of(n, b"%d" % n), entry=n) for n in range(1, 9)])
        met = await scanned()
        assert {"d1", "d2", "d4", "d5", "d7"} <= {document.document_id for document in met}
        assert all(len(document.contents) == 1 for document in met)

    # Pages of documents.

    async def test_pages_hold_every_document_and_are_as_short_as_was_asked(self, store: ScannableStore) -> None:
        assert await paged(store, 3) == []
        names = ["a", "b", "c", "d", "ä " * 100, "\N{GRINNING FACE}", "x.0.0."]
        await store.register_content([new_entry(name, FIRST, entry=n) for n, name in enumerate(names, 1)])
        assert sorted(await paged(store, 3)) == await documents(store)
        assert sorted(await paged(store, 100)) == await documents(store)

    async def test_a_page_can_begin_behind_any_document_of_another(self, store: ScannableStore) -> None:
        await store.register_content([new_entry(f"d{n}", FIRST, entry=n) for n in range(1, 30)])
        met: list[str] = []
        cursor = ""
        while True:
            part = await store.scan().documents_after(cursor, 10)
            met += [document.document_id for document in part.documents[:1]]
            cursor = part.base + part.documents[0].document_id if part.documents else part.cursor
            if not cursor:
                break
        assert sorted(met) == sorted(f"d{n}" for n in range(1, 30))

    async def test_a_page_has_the_documents_whose_ids_begin_so_and_no_others(self, store: ScannableStore) -> None:
        names = ["a", "a%", "a_", "ab", "abc", "b", "B", "ä", "äb"]
        await store.register_content([new_entry(name, FIRST, entry=n) for n, name in enumerate(names, 1)])
        for prefix in ("", "a", "a%", "ab", "ä", "c"):
            met = [document.document_id for document in await paged(store, 2, id_prefix=prefix)]
            assert sorted(met) == sorted(name for name in names if name.startswith(prefix))

    async def test_documents_that_stay_are_on_the_pages_while_others_come_and_go(self, store: ScannableStore) -> None:
        await store.register_content([new_entry(f"d{n}", FIRST, entry=n) for n in range(1, 9)])
        met: set[str] = set()
        cursor = ""
        while True:
            part = await store.scan().documents_after(cursor, 2)
            met |= {document.document_id for document in part.documents}
            await store.register_content([new_entry("d0", FIRST, entry=50)])
            [held] = await store.documents(["d4"])
            await store.remove_contents([("d4", held)])
            if not (cursor := part.cursor):
                break
        assert met >= {f"d{n}" for n in (1, 2, 3, 5, 6, 7, 8)}

    # Postings that are missing.

    async def test_a_posting_is_missing_where_it_is_not_in_its_bucket(self, open_store: OpenScannable) -> None:
        store = await open_store(1)  # however long the bucket
        await store.append(u64(5, 5, 5, 6), u64(1, 2, HIGH, 1), u64(9, 9, 9, 9))
        wanted = [(5, 1, 9), (5, 2, 9), (5, HIGH, 9), (6, 1, 9), (5, 1, 8), (6, 2, 9), (7, HIGH, 0)]
        missing = await store.scan().missing(*(u64(*column) for column in zip(*wanted, strict=True)))
        assert sorted(zip(*(column.tolist() for column in missing), strict=True)) == sorted(wanted[4:])

    async def test_of_nothing_nothing_is_missing(self, store: ScannableStore) -> None:
        assert [len(column) for column in await store.scan().missing(u64(), u64(), u64())] == [0, 0, 0]

    # Restoring.

    async def test_a_store_can_be_copied_as_it_is(self, open_store: OpenScannable) -> None:
        old, new = await open_store(4096), await open_store(4096)
        contents = [content_of(HIGH, b"%d" % n) for n in range(1, 5)]
        await old.register_content(
            [new_entry(f"d{n}", content, entry=HIGH + n) for n, content in enumerate(contents, 1)]
        )
        await old.register_content([new_entry("x", contents[0], entry=HIGH + 9, share=True)])
        await old.register([Registration(HIGH + 1, ticket=2**52), Registration(HIGH + 2, duplicate_of=HIGH + 1)])
        await old.mark_dead([HIGH + 3])
        await old.save_answers([AnswerUpdate("d1", contents[0], b"yes"), AnswerUpdate("d2", contents[1], VOID)])
        met, known = await records(old), await documents(old)
        for _ in range(2):
            assert await new.scan().restore(met) == met
            assert await new.scan().restore_documents(known) == known
            assert (await records(new), await documents(new)) == (met, known)
        assert await new.contents(contents) == [HIGH + n for n in range(1, 5)]
        assert met[0].holders == (Holder("d1", "d1's version"), Holder("x", "x's version"))

    async def test_a_restored_record_changes_nothing_that_is_there(self, store: ScannableStore) -> None:
        await store.register_content([new_entry("d1", FIRST, entry=1)])
        [there] = await store.register([Registration(1, ticket=5)])
        assert there is not None
        other = there._replace(entry=2, ticket=9, holders=(Holder("d9", None),))
        assert await store.scan().restore([there._replace(ticket=9), other]) == [there, there]
        assert await store.records([1, 2]) == [there, None]

    async def test_an_entrys_number_is_not_restored_twice(self, store: ScannableStore) -> None:
        await store.register_content([new_entry("d1", FIRST, entry=1)])
        with pytest.raises(ValueError, match="in use"):
            await store.scan().restore([EntryRecord(1, SECOND, (Holder("d2", None),), BODY)])

    async def test_a_restored_document_keeps_its_own_contents(self, store: ScannableStore) -> None:
        await store.register_content([new_entry("d1", FIRST, entry=1)])
        await store.save_answers([AnswerUpdate("d1", FIRST, b"its own")])
        [before] = await store.documents(["d1"])
        more = HeldContent(SECOND, None, b"given", HIGH)
        given = Document("d1", (HeldContent(FIRST, None, b"another", 7), more))
        assert await store.scan().restore_documents([given]) == [Document("d1", (*before, more))]
        assert await store.documents(["d1"]) == [(*before, more)]

    async def test_a_restored_entry_is_appended_registered_and_deleted_like_any_other(
        self, store: ScannableStore
    ) -> None:
        record = EntryRecord(HIGH + 1, OTHER, (Holder("d1", None),), BODY)
        await store.scan().restore([record])
        for _ in range(2):
            await store.append(u64(5), u64(HIGH + 1), u64(3))
        assert by_key(await store.read(u64(5))) == [[(HIGH + 1, 3)]]
        assert await store.register([Registration(HIGH + 1, ticket=4)]) == [record._replace(ticket=4)]
        assert await store.remove_holders([(HIGH + 1, "d1")]) == [record._replace(ticket=4, dead=True)]
        await store.delete_records([HIGH + 1])
        assert (await store.records([HIGH + 1]), await store.contents([OTHER])) == ([None], [None])

    async def test_tickets_go_on_above_the_one_that_was_passed(self, store: ScannableStore) -> None:
        before = await store.draw(1)
        await store.scan().pass_ticket(before + 10**9)
        first = await store.draw(2)
        assert first > before + 10**9
        await store.scan().pass_ticket(before)
        assert await store.draw(1) > first + 1

    async def test_drawing_no_ticket_returns_the_next_one(self, store: ScannableStore) -> None:
        first = await store.draw(3)
        assert await store.draw(0) >= first + 3
