"""How an index file is worked on: whole transactions, the write-ahead log, and errors by what they ask for."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from gate.errors import ConfigError, Unavailable

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
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


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
