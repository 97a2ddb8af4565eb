"""The index in this process's memory: the fastest backend, gone with the process.

Documents, contents and records are in dictionaries; postings, of which there are many more, in the flat arrays of
`gate.index.memory.buckets`.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from gate.index.memory.buckets import Buckets
from gate.index.memory.scan import MemoryScan
from gate.index.reading import ReadLimit
from gate.index.store import (
    VOID,
    AnswerUpdate,
    ContentState,
    Conversion,
    EntryRecord,
    HeldContent,
    Holder,
    Keys,
    NewEntry,
    Postings,
    ProbeMatches,
    Registration,
)


class MemoryStore:
    """A `gate.index.store.Store` in dictionaries; one lock makes each primitive atomic, so threads may share it."""

    identity = ""  # it begins anew with every process

    def __init__(self, max_bucket: int = 4096) -> None:
        self._lock = Lock()
        self._documents: dict[str, tuple[HeldContent, ...]] = {}
        self._contents: dict[bytes, int] = {}
        self._records: dict[int, EntryRecord] = {}
        self._buckets = Buckets(max_bucket)
        self._tickets = 0

    async def register_content(self, new: Sequence[NewEntry]) -> list[ContentState]:
        with self._lock:
            return [self._register_content(new_entry) for new_entry in new]

    def _register_content(self, new: NewEntry) -> ContentState:
        document_id, content, entry = new.document_id, new.content, new.entry
        # 1. The document's record has the content before the content's record has the document: a delete that comes in
        # between finds both.
        contents = self._documents.get(document_id, ())
        current = next((stored for stored in contents if stored.content == content), None) if contents else None
        others = tuple(stored.content for stored in contents if stored is not current) if contents else ()
        stamp = entry
        if current is None:
            self._documents[document_id] = (*contents, HeldContent(content, new.version, None, entry, new.details))
        elif current.answer:
            return ContentState(None, current.answer, others, current.stamp)
        elif current.answer == VOID:
            self._replace(document_id, contents, current._replace(answer=None, stamp=entry))
        else:
            stamp = current.stamp
        # 2. The content.
        existing = self._contents.get(content)
        if existing is None:
            if entry in self._records:
                raise ValueError(f"entry {entry} is in use; an entry's number is never used twice")
            record = EntryRecord(entry, content, (Holder(document_id, new.version),), new.body)
            self._contents[content] = entry
            self._records[entry] = record
        else:
            record = self._records[existing]
            if new.share and not record.dead and all(holder.document_id != document_id for holder in record.holders):
                record = record._replace(holders=(*record.holders, Holder(document_id, new.version)))
                self._records[existing] = record
        return ContentState(record, None, others, stamp)

    async def read(
        self,
        keys: Keys,
        *,
        since: int | None = None,
        limit: ReadLimit | None = None,
        ignoring: Collection[int] = (),
    ) -> Postings:
        with self._lock:
            return self._buckets.read(keys, since, limit, ignoring)

    async def probe(
        self,
        keys: Keys,
        tags: Keys,
        radii: NDArray[np.uint8],
        *,
        any_bits: int = 0,
        since: int | None = None,
        limit: ReadLimit | None = None,
        ignoring: Collection[int] = (),
    ) -> ProbeMatches:
        with self._lock:
            return self._buckets.probe(keys, tags, radii, any_bits, since, limit, ignoring)

    async def records(self, entries: Sequence[int]) -> list[EntryRecord | None]:
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

    async def register(self, registrations: Sequence[Registration]) -> list[EntryRecord | None]:
        with self._lock:
            return [
                self._register(registration.entry, registration.ticket, registration.duplicate_of)
                for registration in registrations
            ]

    def _register(self, entry: int, ticket: int, duplicate_of: int) -> EntryRecord | None:
        if ticket and duplicate_of:
            raise ValueError("a registration is a ticket or a duplicate, not both")
        record = self._records.get(entry)
        if record is None or record.dead:
            return None
        if not (record.ticket or record.duplicate_of):
            record = EntryRecord(entry, record.content, record.holders, record.body, ticket, duplicate_of)
            self._records[entry] = record
        return record

    async def convert(self, conversions: Sequence[Conversion]) -> list[EntryRecord | None]:
        with self._lock:
            return [self._convert(conversion) for conversion in conversions]

    def _convert(self, conversion: Conversion) -> EntryRecord | None:
        record = self._records.get(conversion.entry)
        if record is None or record.dead:
            return None
        if record.ticket and record.ticket == conversion.ticket:
            record = record._replace(ticket=0, duplicate_of=conversion.duplicate_of)
            self._records[conversion.entry] = record
        return record

    async def save_answers(self, updates: Sequence[AnswerUpdate]) -> list[bytes | None]:
        with self._lock:
            return [self._save_answer(update) for update in updates]

    def _save_answer(self, update: AnswerUpdate) -> bytes | None:
        contents = self._documents.get(update.document_id, ())
        for current in contents:
            if current.content == update.content:
                if current.answer != update.replacing or update.stamp not in (None, current.stamp):
                    return current.answer
                answered = HeldContent(current.content, current.version, update.answer, current.stamp, current.details)
                self._replace(update.document_id, contents, answered)
                return update.answer
        return None

    def _replace(self, document_id: str, contents: tuple[HeldContent, ...], new: HeldContent) -> None:
        """Put one content of a document in the place of the same with another answer or stamp."""
        self._documents[document_id] = tuple([new if stored.content == new.content else stored for stored in contents])

    async def contents(self, contents: Sequence[bytes]) -> list[int | None]:
        with self._lock:
            return list(map(self._contents.get, contents))

    async def documents(self, document_ids: Sequence[str]) -> list[tuple[HeldContent, ...]]:
        with self._lock:
            return [self._documents.get(document_id, ()) for document_id in document_ids]

    async def void_answers(self, document_ids: Sequence[str]) -> list[tuple[HeldContent, ...]]:
        with self._lock:
            for document_id in document_ids:
                if contents := self._documents.get(document_id):
                    self._documents[document_id] = tuple(stored._replace(answer=VOID) for stored in contents)
            return [self._documents.get(document_id, ()) for document_id in document_ids]

    async def remove_holders(self, holdings: Sequence[tuple[int, str]]) -> list[EntryRecord | None]:
        with self._lock:
            return [self._remove_holder(entry, document_id) for entry, document_id in holdings]

    def _remove_holder(self, entry: int, document_id: str) -> EntryRecord | None:
        record = self._records.get(entry)
        if record is None or record.dead:
            return record
        left = tuple(holder for holder in record.holders if holder.document_id != document_id)
        if len(left) < len(record.holders):
            record = record._replace(holders=left) if left else record._replace(dead=True)
            self._records[entry] = record
        return record

    async def mark_dead(self, entries: Sequence[int]) -> list[EntryRecord | None]:
        with self._lock:
            for entry in entries:
                if record := self._records.get(entry):
                    self._records[entry] = record._replace(dead=True)
            return list(map(self._records.get, entries))

    async def remove_postings(self, keys: Keys, entries: Keys) -> None:
        with self._lock:
            self._buckets.remove(keys, entries)

    async def delete_records(self, entries: Sequence[int]) -> None:
        with self._lock:
            for entry in entries:
                record = self._records.get(entry)
                if record is not None and record.dead:
                    del self._records[entry]
                    if self._contents.get(record.content) == entry:
                        del self._contents[record.content]

    async def remove_contents(self, holdings: Sequence[tuple[str, Sequence[HeldContent]]]) -> list[bool]:
        with self._lock:
            return [self._remove_contents(*holding) for holding in holdings]

    def _remove_contents(self, document_id: str, contents: Sequence[HeldContent]) -> bool:
        removed = {(stored.content, stored.stamp) for stored in contents}
        remaining = tuple(
            stored for stored in self._documents.get(document_id, ()) if (stored.content, stored.stamp) not in removed
        )
        if remaining:
            self._documents[document_id] = remaining
        else:
            self._documents.pop(document_id, None)
        return not remaining

    def scan(self) -> MemoryScan:
        return MemoryScan(self)

    async def replaced(self) -> frozenset[str]:
        return frozenset()

    async def replace(self, identities: Collection[str]) -> None:
        """Nothing to record: no other process ever opens this index."""

    async def confirm(self) -> None:
        """Nothing to wait for."""

    async def close(self) -> None:
        """Nothing to close."""

    async def info(self) -> dict[str, int]:
        """Counts, and the bytes that the objects take without the allocator's slack. Scans the whole index."""
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
                size(document_id)
                + size(contents)
                + sum(size(stored) + size(stored.answer or b"") + len(stored.details) for stored in contents)
                for document_id, contents in self._documents.items()
            )
            details = sum(len(stored.details) for contents in self._documents.values() for stored in contents)
            return {
                "documents": len(self._documents),
                "contents": len(self._contents),
                "entries": len(self._records),
                "tickets": self._tickets,
                "bytes_documents": size(self._documents) + documents,
                "bytes_details": details,
                "bytes_contents": size(self._contents) + sum(map(size, self._contents)),
                "bytes_entries": size(self._records) + records,
                **self._buckets.info(),
            }
