"""`gate.index.scan.Walk` of the memory store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from gate.index.memory.buckets import TABLES
from gate.index.scan import BATCH, POSTINGS, Document, Triples, added
from gate.index.store import Keys, Record

if TYPE_CHECKING:
    from gate.index.memory.store import MemoryStore


class MemoryScan:
    """A friend of the store: it knows its dictionaries, and holds its lock no longer than it takes to copy a batch."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def entries(self) -> AsyncIterator[Sequence[Record]]:
        store = self._store
        with store._lock:
            astray = {entry: content for content, entry in store._contents.items() if entry not in store._records}
            numbers = list(store._records)
        for first in range(0, len(numbers), BATCH):
            with store._lock:
                found = [store._records.get(entry) for entry in numbers[first : first + BATCH]]
            yield [record for record in found if record is not None]
        if astray:
            yield [Record(entry, content, (), b"", dead=True) for entry, content in astray.items()]

    async def documents(self) -> AsyncIterator[Sequence[Document]]:
        store = self._store
        with store._lock:
            names = list(store._documents)
        for first in range(0, len(names), BATCH):
            with store._lock:
                found = [Document(name, store._documents.get(name, ())) for name in names[first : first + BATCH]]
            yield [document for document in found if document.held]

    async def postings(self) -> AsyncIterator[Triples]:
        for table in range(TABLES):
            bucket = 0
            while True:
                with self._store._lock:
                    found, bucket = self._store._buckets.some(table, bucket, POSTINGS)
                if len(found[0]):
                    yield found
                if not bucket:
                    break

    async def missing(self, keys: Keys, entries: Keys, tags: Keys) -> Triples:
        with self._store._lock:
            places = self._store._buckets.missing(keys, entries, tags)
        return keys[places], entries[places], tags[places]

    async def restore(self, records: Sequence[Record]) -> list[Record]:
        with self._store._lock:
            return [self._restore(record) for record in records]

    def _restore(self, record: Record) -> Record:
        store = self._store
        there = store._records.get(record.entry, record)
        if there.content != record.content:
            raise ValueError(f"entry {record.entry} is in use; an entry's number is never used twice")
        standing = store._contents.setdefault(record.content, record.entry)
        if standing == record.entry:
            store._records[record.entry] = there
        return store._records.get(standing, record)

    async def restore_documents(self, documents: Sequence[Document]) -> list[Document]:
        store = self._store
        with store._lock:
            for name, held in documents:
                store._documents[name] = added(store._documents.get(name, ()), held)
            return [Document(name, store._documents[name]) for name, _ in documents]

    async def pass_ticket(self, ticket: int) -> None:
        with self._store._lock:
            self._store._tickets = max(self._store._tickets, ticket)
