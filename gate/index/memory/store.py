"""The index in this process's memory: the fastest backend, gone with the process.

Documents, contents and records are in dictionaries; postings, of which there are many more, in the flat arrays of
`gate.index.memory.buckets`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from gate.index.memory.buckets import Buckets
from gate.index.memory.scan import MemoryScan
from gate.index.store import (
    VOID,
    Answers,
    Enrolment,
    Held,
    Holder,
    Keys,
    Memory,
    Postings,
    Record,
    Registration,
    Standing,
)


class MemoryStore:
    """`gate.index.store.Store` in dictionaries; one lock makes each primitive atomic, so threads may share it."""

    def __init__(self, max_bucket: int = 4096) -> None:
        self._lock = Lock()
        self._documents: dict[str, tuple[Held, ...]] = {}
        self._contents: dict[bytes, int] = {}
        self._records: dict[int, Record] = {}
        self._buckets = Buckets(max_bucket)
        self._tickets = 0

    async def enrol(self, wishes: Sequence[Enrolment]) -> list[Standing]:
        with self._lock:
            return [self._enrol(wish) for wish in wishes]

    def _enrol(self, wish: Enrolment) -> Standing:
        document_id, content, entry = wish.document_id, wish.content, wish.entry
        # 1. The document knows its content before the content knows the document: a delete that comes now finds both.
        held = self._documents.get(document_id, ())
        mine = next((one for one in held if one.content == content), None) if held else None
        others = tuple(one.content for one in held if one is not mine) if held else ()
        stamp = entry
        if mine is None:
            self._documents[document_id] = (*held, Held(content, wish.version, None, entry))
        elif mine.answer:
            return Standing(None, mine.answer, others, mine.stamp)
        elif mine.answer == VOID:
            self._replace(document_id, held, mine._replace(answer=None, stamp=entry))
        else:
            stamp = mine.stamp
        # 2. The content.
        standing = self._contents.get(content)
        if standing is None:
            if entry in self._records:
                raise ValueError(f"entry {entry} is in use; an entry's number is never used twice")
            record = Record(entry, content, (Holder(document_id, wish.version),), wish.body)
            self._contents[content] = entry
            self._records[entry] = record
        else:
            record = self._records[standing]
            if wish.share and not record.dead and all(holder.document_id != document_id for holder in record.holders):
                record = record._replace(holders=(*record.holders, Holder(document_id, wish.version)))
                self._records[standing] = record
        return Standing(record, None, others, stamp)

    async def read(self, keys: Keys, *, since: int | None = None) -> Postings:
        with self._lock:
            return self._buckets.read(keys, since)

    async def answer(self, keys: Keys, tags: Keys, radii: NDArray[np.uint8], *, since: int | None = None) -> Answers:
        with self._lock:
            return self._buckets.answer(keys, tags, radii, since)

    async def records(self, entries: Sequence[int]) -> list[Record | None]:
        with self._lock:
            return list(map(self._records.get, entries))

    async def append(self, keys: Keys, entries: Keys, tags: Keys) -> None:
        with self._lock:
            self._buckets.append(keys, entries, tags)

    async def draw(self, count: int) -> int:
        with self._lock:
            first = self._tickets + 1
            self._tickets += count
            return first

    async def register(self, registrations: Sequence[Registration]) -> list[Record | None]:
        with self._lock:
            return [self._register(one.entry, one.ticket, one.duplicate_of) for one in registrations]

    def _register(self, entry: int, ticket: int, duplicate_of: int) -> Record | None:
        if ticket and duplicate_of:
            raise ValueError("a registration is a ticket or a duplicate, not both")
        record = self._records.get(entry)
        if record is None or record.dead:
            return None
        if not (record.ticket or record.duplicate_of):
            record = Record(entry, record.content, record.holders, record.body, ticket, duplicate_of)
            self._records[entry] = record
        return record

    async def remember(self, memories: Sequence[Memory]) -> list[bytes | None]:
        with self._lock:
            return [self._remember(memory) for memory in memories]

    def _remember(self, memory: Memory) -> bytes | None:
        held = self._documents.get(memory.document_id, ())
        for mine in held:
            if mine.content == memory.content:
                if mine.answer != memory.replacing or memory.stamp not in (None, mine.stamp):
                    return mine.answer
                now = Held(mine.content, mine.version, memory.answer, mine.stamp)
                self._replace(memory.document_id, held, now)
                return memory.answer
        return None

    def _replace(self, document_id: str, held: tuple[Held, ...], one: Held) -> None:
        """Put one content of a document in the place of the same with another answer or stamp."""
        self._documents[document_id] = tuple([one if old.content == one.content else old for old in held])

    async def contents(self, contents: Sequence[bytes]) -> list[int | None]:
        with self._lock:
            return list(map(self._contents.get, contents))

    async def documents(self, document_ids: Sequence[str]) -> list[tuple[Held, ...]]:
        with self._lock:
            return [self._documents.get(document_id, ()) for document_id in document_ids]

    async def recall(self, document_ids: Sequence[str]) -> list[tuple[Held, ...]]:
        with self._lock:
            for document_id in document_ids:
                if held := self._documents.get(document_id):
                    self._documents[document_id] = tuple(one._replace(answer=VOID) for one in held)
            return [self._documents.get(document_id, ()) for document_id in document_ids]

    async def disown(self, holdings: Sequence[tuple[int, str]]) -> list[Record | None]:
        with self._lock:
            return [self._disown(entry, document_id) for entry, document_id in holdings]

    def _disown(self, entry: int, document_id: str) -> Record | None:
        record = self._records.get(entry)
        if record is None or record.dead:
            return record
        left = tuple(holder for holder in record.holders if holder.document_id != document_id)
        if len(left) < len(record.holders):
            record = record._replace(holders=left) if left else record._replace(dead=True)
            self._records[entry] = record
        return record

    async def bury(self, entries: Sequence[int]) -> list[Record | None]:
        with self._lock:
            for entry in entries:
                if record := self._records.get(entry):
                    self._records[entry] = record._replace(dead=True)
            return list(map(self._records.get, entries))

    async def withdraw(self, keys: Keys, entries: Keys) -> None:
        with self._lock:
            self._buckets.withdraw(keys, entries)

    async def erase(self, entries: Sequence[int]) -> None:
        with self._lock:
            for entry in entries:
                record = self._records.get(entry)
                if record is not None and record.dead:
                    del self._records[entry]
                    if self._contents.get(record.content) == entry:
                        del self._contents[record.content]

    async def forget(self, holdings: Sequence[tuple[str, Sequence[Held]]]) -> list[bool]:
        with self._lock:
            return [self._forget(document_id, held) for document_id, held in holdings]

    def _forget(self, document_id: str, held: Sequence[Held]) -> bool:
        gone = {(one.content, one.stamp) for one in held}
        left = tuple(one for one in self._documents.get(document_id, ()) if (one.content, one.stamp) not in gone)
        if left:
            self._documents[document_id] = left
        else:
            self._documents.pop(document_id, None)
        return not left

    def scan(self) -> MemoryScan:
        return MemoryScan(self)

    async def close(self) -> None:
        """Nothing to close."""

    async def info(self) -> dict[str, int]:
        """Counts, and the bytes that the objects take without the allocator's slack. Walks the whole index."""
        size = sys.getsizeof
        with self._lock:
            records = sum(
                size(entry)
                + size(record)
                + size(record.body)
                + size(record.ticket)
                + size(record.holders)
                + sum(map(size, record.holders))
                for entry, record in self._records.items()
            )
            documents = sum(
                size(name) + size(held) + sum(size(one) + size(one.answer or b"") for one in held)
                for name, held in self._documents.items()
            )
            return {
                "documents": len(self._documents),
                "contents": len(self._contents),
                "entries": len(self._records),
                "tickets": self._tickets,
                "bytes_documents": size(self._documents) + documents,
                "bytes_contents": size(self._contents) + sum(map(size, self._contents)),
                "bytes_entries": size(self._records) + records,
                **self._buckets.info(),
            }
