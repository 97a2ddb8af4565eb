"""The `gate.index.scan.Scan` of an index file: each batch is a short transaction of its own, by ranges of the keys."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gate.index.scan import BATCH, POSTINGS, Document, DocumentSlice, PostingRows, merge_contents
from gate.index.sqlite.connection import COLUMNS, contents_of, entry_of, record_of, records_of, signed, unsigned
from gate.index.store import EntryRecord, Keys

if TYPE_CHECKING:
    from gate.index.sqlite.store import SqliteStore

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1

_ENTRIES = f"SELECT {COLUMNS} FROM entries WHERE entry >= ? ORDER BY entry LIMIT ?"  # noqa: S608
_DANGLING = """
SELECT entry, content FROM contents
WHERE content > ? AND entry NOT IN (SELECT entry FROM entries) ORDER BY content LIMIT ?
"""
_DOCUMENTS = "SELECT DISTINCT document FROM held WHERE document > ? ORDER BY document LIMIT ?"
_DOCUMENTS_FROM = "SELECT DISTINCT document FROM held WHERE document >= ? ORDER BY document LIMIT ?"
_POSTINGS = """
SELECT key, number, entry, tag FROM postings WHERE (key, number) > (?, ?) AND key <= ? ORDER BY key, number LIMIT ?
"""
_MISSING = """
SELECT wanted.key FROM json_each(?) AS wanted WHERE NOT EXISTS (
    SELECT 1 FROM postings WHERE key = wanted.value ->> 0 AND entry = wanted.value ->> 1 AND tag = wanted.value ->> 2)
"""
_RESTORE = f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"  # noqa: S608
_ADD = """
INSERT INTO held (document, content, place, stamp, version, answer, details)
VALUES (?, ?, (SELECT COALESCE(MAX(place), 0) + 1 FROM held WHERE document = ?), ?, ?, ?, ?)
"""


class SqliteScan:
    """Works on the connection of a store, a transaction at a time."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def _rows(self, query: str, *values: object) -> list[Any]:
        with self._store._transaction("DEFERRED") as connection:
            return connection.execute(query, values).fetchall()

    async def entries(self) -> AsyncIterator[Sequence[EntryRecord]]:
        first = LOWEST
        while rows := self._rows(_ENTRIES, first, BATCH):
            yield list(map(record_of, rows))
            if rows[-1][0] == HIGHEST:
                break
            first = rows[-1][0] + 1
        content = b""
        while dangling := self._rows(_DANGLING, content, BATCH):
            content = dangling[-1][1]
            yield [EntryRecord(unsigned(entry), content, (), b"", dead=True) for entry, content in dangling]

    async def documents(self) -> AsyncIterator[Sequence[Document]]:
        last = ""
        while True:
            with self._store._transaction("DEFERRED") as connection:
                names = [name for (name,) in connection.execute(_DOCUMENTS, (last, BATCH))]
                documents = [Document(name, contents_of(connection, name)) for name in names]
            if not documents:
                return
            yield documents
            last = names[-1]

    async def documents_after(self, cursor: str, count: int, *, id_prefix: str = "") -> DocumentSlice:
        # Ids are in the order of their UTF-8: all that begin with a prefix follow each other.
        query, first = (_DOCUMENTS, cursor) if cursor >= id_prefix else (_DOCUMENTS_FROM, id_prefix)
        with self._store._transaction("DEFERRED") as connection:
            names = [name for (name,) in connection.execute(query, (first, count)) if name.startswith(id_prefix)]
            documents = [Document(name, contents_of(connection, name)) for name in names]
        return DocumentSlice(documents, names[-1] if len(names) == count else "", "", len(names))

    async def postings(self, table: int | None = None) -> AsyncIterator[PostingRows]:
        key, last = (LOWEST, HIGHEST) if table is None else (table << 32, (table + 1 << 32) - 1)
        number = 0
        while rows := self._rows(_POSTINGS, key, number, last, POSTINGS):
            key, number = rows[-1][:2]
            keys, _, entries, tags = np.array(rows, np.int64).T.astype(np.uint64)
            yield keys, entries, tags

    async def missing(self, keys: Keys, entries: Keys, tags: Keys) -> PostingRows:
        columns = (column.view(np.int64).tolist() for column in (keys, entries, tags))
        encoded = json.dumps(list(zip(*columns, strict=True)))
        places = np.array([place for (place,) in self._rows(_MISSING, encoded)], np.int64)
        return keys[places], entries[places], tags[places]

    async def restore(self, records: Sequence[EntryRecord]) -> list[EntryRecord]:
        with self._store._transaction("IMMEDIATE") as connection:
            return [_restore(connection, record) for record in records]

    async def restore_documents(self, documents: Sequence[Document]) -> list[Document]:
        with self._store._transaction("IMMEDIATE") as connection:
            for document_id, contents in documents:
                current = contents_of(connection, document_id)
                for new in merge_contents(current, contents)[len(current) :]:
                    values = (document_id, new.content, document_id, signed(new.stamp), new.version, new.answer)
                    connection.execute(_ADD, (*values, new.details))
            return [Document(document_id, contents_of(connection, document_id)) for document_id, _ in documents]

    async def pass_ticket(self, ticket: int) -> None:
        with self._store._transaction("IMMEDIATE") as connection:
            connection.execute("UPDATE counters SET value = MAX(value, ?) WHERE name = 'tickets'", (ticket,))


def _restore(connection: sqlite3.Connection, record: EntryRecord) -> EntryRecord:
    existing = entry_of(connection, record.content)
    if existing is None:
        existing = record.entry
        connection.execute("INSERT INTO contents VALUES (?, ?)", (record.content, signed(record.entry)))
    if existing == record.entry:
        fields = (signed(record.entry), record.content, json.dumps(record.holders, default=tuple), record.body)
        registration = (record.ticket, signed(record.duplicate_of), record.dead)
        connection.execute(_RESTORE, (*fields, *registration))
    current = records_of(connection, [existing]).get(existing, record)
    if current.content != record.content:
        raise ValueError(f"entry {record.entry} is in use; an entry's number is never used twice")
    return current
