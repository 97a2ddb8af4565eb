"""Rows of an index file as the values of the store. Integers are kept signed: the same 64 bits."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from gate.index.store import EntryRecord, HeldContent, Holder

COLUMNS = "entry, content, holders, body, ticket, duplicate_of, dead"
Row = tuple[int, bytes, str, bytes, int, int, int]


def signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def unsigned(number: int) -> int:
    return number + (1 << 64) if number < 0 else number


def record_of(row: Row) -> EntryRecord:
    entry, content, holders, body, ticket, duplicate_of, dead = row
    parsed = tuple(Holder(*holder) for holder in json.loads(holders))
    return EntryRecord(unsigned(entry), content, parsed, body, ticket, unsigned(duplicate_of), bool(dead))


def records_of(connection: sqlite3.Connection, entries: Iterable[int]) -> dict[int, EntryRecord]:
    rows: Iterable[Row] = connection.execute(
        f"SELECT {COLUMNS} FROM entries WHERE entry IN (SELECT value FROM json_each(?))",  # noqa: S608
        (json.dumps(list(map(signed, entries))),),
    )
    return {record.entry: record for record in map(record_of, rows)}


def contents_of(connection: sqlite3.Connection, document_id: str) -> tuple[HeldContent, ...]:
    rows = connection.execute(
        "SELECT content, version, answer, stamp FROM held WHERE document = ? ORDER BY place", (document_id,)
    )
    return tuple(HeldContent(content, version, answer, unsigned(stamp)) for content, version, answer, stamp in rows)


def entry_of(connection: sqlite3.Connection, content: bytes) -> int | None:
    row = connection.execute("SELECT entry FROM contents WHERE content = ?", (content,)).fetchone()
    return None if row is None else unsigned(row[0])
