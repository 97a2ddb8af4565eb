"""The `gate.index.scan.Scan` of the memory store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING

from gate.index.memory.buckets import TABLES
from gate.index.scan import BATCH, POSTINGS, Document, DocumentSlice, PostingRows, merge_contents
from gate.index.store import EntryRecord, Keys

if TYPE_CHECKING:
    from gate.index.memory.store import MemoryStore


class MemoryScan:
    """Reads the dictionaries of a store, and holds its lock no longer than it takes to copy a batch."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def entries(self) -> AsyncIterator[Sequence[EntryRecord]]:
        store = self._store
        with store._lock:
            dangling = {entry: content for content, entry in store._contents.items() if entry not in store._records}
            numbers = list(store._records)
        for first in range(0, len(numbers), BATCH):
            with store._lock:
                records = [store._records.get(entry) for entry in numbers[first : first + BATCH]]
            yield [record for record in records if record is not None]
        if dangling:
            yield [EntryRecord(entry, content, (), b"", dead=True) for entry, content in dangling.items()]

    async def documents(self) -> AsyncIterator[Sequence[Document]]:
        store = self._store
        with store._lock:
            names = list(store._documents)
        for first in range(0, len(names), BATCH):
            with store._lock:
                documents = [Document(name, store._documents.get(name, ())) for name in names[first : first + BATCH]]
            yield [document for document in documents if document.contents]

    async def documents_after(self, cursor: str, count: int, *, id_prefix: str = "") -> DocumentSlice:
        store = self._store
        with store._lock:
            later = (name for name in store._documents if name > cursor and name.startswith(id_prefix))
            names = nsmallest(count, later)
            documents = [Document(name, store._documents[name]) for name in names]
        return DocumentSlice(documents, names[-1] if len(names) == count else "", "", len(names))

    async def postings(self, table: int | None = None) -> AsyncIterator[PostingRows]:
        for number in range(TABLES) if table is None else (table,):
            bucket = 0
            while True:
                with self._store._lock:
                    rows, bucket = self._store._buckets.page(number, bucket, POSTINGS)
                if len(rows[0]):
                    yield rows
                if not bucket:
                    break

    async def missing(self, keys: Keys, entries: Keys, tags: Keys) -> PostingRows:
        with self._store._lock:
            places = self._store._buckets.missing(keys, entries, tags)
        return keys[places], entries[places], tags[places]

    async def restore(self, records: Sequence[EntryRecord]) -> list[EntryRecord]:
        with self._store._lock:
            return [self._restore(record) for record in records]

    def _restore(self, record: EntryRecord) -> EntryRecord:
        store = self._store
        current = store._records.get(record.entry, record)
        if current.content != record.content:
            raise ValueError(f"entry {record.entry} is in use; an entry's number is never used twice")
        existing = store._contents.setdefault(record.content, record.entry)
        if existing == record.entry:
            store._records[record.entry] = current
        return store._records.get(existing, record)

    async def restore_documents(self, documents: Sequence[Document]) -> list[Document]:
        store = self._store
        with store._lock:
            for document_id, contents in documents:
                store._documents[document_id] = merge_contents(store._documents.get(document_id, ()), contents)
            return [Document(document_id, store._documents[document_id]) for document_id, _ in documents]

    async def pass_ticket(self, ticket: int) -> None:
        with self._store._lock:
            self._store._tickets = max(self._store._tickets, ticket)
