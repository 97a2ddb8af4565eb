"""The connection to an index file: whole transactions, the write-ahead log, errors as the gate's, rows as values."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from gate.errors import ConfigError, Unavailable
from gate.index.store import EntryRecord, HeldContent, Holder

_TRANSIENT = {  # what may pass: the lock of another process, a full disk, an I/O error
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM,
}  # fmt: skip


@contextmanager
def atomic(connection: sqlite3.Connection, kind: Literal["IMMEDIATE", "DEFERRED"]) -> Iterator[sqlite3.Connection]:
    """All or nothing. A write takes the write lock at once: a lock taken later could fail half-way."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def enable_wal(connection: sqlite3.Connection, *, wait_seconds: float) -> None:
    """Switch to the write-ahead log. SQLite does not wait for others here, as it does everywhere else."""
    deadline = time.monotonic() + wait_seconds
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            if mode != "wal":
                raise ConfigError(
                    f"index: SQLite keeps no write-ahead log there, its journal mode is {mode}: name a file on a local "
                    "disk, or `memory`"
                )


@contextmanager
def translate_errors(path: Path, *, opening: bool = False) -> Iterator[None]:
    """SQLite's errors as the gate's: what waiting may cure, what the owner of the file has to cure, and bugs."""
    try:
        yield
    except sqlite3.Error as exc:
        code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise ConfigError(
                f"{path} is damaged or no SQLite file ({exc}): put a backup in its place, "
                "or name a new file and replay the documents into it"
            ) from exc
        if opening and code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            raise ConfigError(
                f"{path} cannot be opened for writing ({exc}): check its rights and its directory's"
            ) from exc
        if code in _TRANSIENT:
            raise Unavailable(f"{path}: {exc}") from exc
        raise


# Rows. Integers are kept signed: the same 64 bits.

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
        "SELECT content, version, answer, stamp, details FROM held WHERE document = ? ORDER BY place", (document_id,)
    )
    return tuple(
        HeldContent(content, version, answer, unsigned(stamp), details)
        for content, version, answer, stamp, details in rows
    )


def entry_of(connection: sqlite3.Connection, content: bytes) -> int | None:
    row = connection.execute("SELECT entry FROM contents WHERE content = ?", (content,)).fetchone()
    return None if row is None else unsigned(row[0])
