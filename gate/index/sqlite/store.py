"""The index in one SQLite file: durable, and shared by the processes of one machine.

    held      (document, content)  -> version, answer, stamp, details, place in the order of arrival
    contents  content              -> entry
    entries   entry                -> the record, its holders as JSON: one row, so a record is whole or absent
    postings  (key, number)        -> entry, tag; numbered in the order of appending
    counters  tickets, postings
    meta      format, profile, digest, decisions, identity
    replaced  identity            of an index that this one replaces

Each primitive is one transaction of a write-ahead log, so a process may be killed at any moment: what was acknowledged
is there, and nothing half-written is ever read. With `sync="normal"` a power loss may take the last transactions but
never the file; `sync="full"` waits for the disk at every write and loses nothing. The file has to be on a local disk:
the log's shared memory does not work over a network file system.

Postings carry a running number for two reasons: a bucket's oldest are its first, which is what a cap keeps; and a mark
is simply the last number at the time of the read, so a read `since` it is a range of the key, right whatever was
removed meanwhile.

SQLite integers are signed: 64-bit keys, entries and tags are stored as the signed number of the same bits.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Literal

import msgspec
import numpy as np

from gate.core.profile import BY_FINGERPRINT, Decisions
from gate.errors import ConfigError, NoIndex
from gate.index.reading import ReadLimit, ranges
from gate.index.sqlite.connection import atomic, contents_of, enable_wal, entry_of, records_of, signed, translate_errors
from gate.index.sqlite.scan import SqliteScan
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
    Registration,
    require_same_decisions,
)
from gate.private_files import create_private

FORMAT = 2
BUSY_MILLISECONDS = 10_000  # a batch's transaction takes tens of milliseconds: beyond this, another process hangs
CACHE_KIBIBYTES = 65_536
CHECKPOINT_PAGES = 16_384  # 64 MB of log: postings fall on random pages, and a rare checkpoint writes each page once

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE held (document TEXT NOT NULL, content BLOB NOT NULL, place INTEGER NOT NULL, stamp INTEGER NOT NULL,
    version TEXT, answer BLOB, details BLOB NOT NULL, PRIMARY KEY (document, content)) WITHOUT ROWID;
CREATE TABLE contents (content BLOB PRIMARY KEY, entry INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (entry INTEGER PRIMARY KEY, content BLOB NOT NULL, holders TEXT NOT NULL, body BLOB NOT NULL,
    ticket INTEGER NOT NULL DEFAULT 0, duplicate_of INTEGER NOT NULL DEFAULT 0, dead INTEGER NOT NULL DEFAULT 0,
    appended INTEGER NOT NULL DEFAULT 0);
CREATE TABLE postings (key INTEGER NOT NULL, number INTEGER NOT NULL, entry INTEGER NOT NULL, tag INTEGER NOT NULL,
    PRIMARY KEY (key, number)) WITHOUT ROWID;
CREATE TABLE replaced (identity TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO counters VALUES ('tickets', 0), ('postings', 0);
"""

# Placeholders are plain `?`, not `?1`: early releases of Python 3.12 take those for names and warn of a sequence.
_ADD_CONTENT = """
INSERT INTO held (document, content, place, stamp, version, details)
VALUES (?, ?, (SELECT COALESCE(MAX(place), 0) + 1 FROM held WHERE document = ?), ?, ?, ?)
"""
_RENEW_STAMP = "UPDATE held SET stamp = ?, answer = NULL WHERE document = ? AND content = ?"
_READ = """
SELECT wanted.key, postings.entry, postings.tag FROM json_each(?) AS wanted
CROSS JOIN postings ON postings.key = wanted.value AND postings.number > ?
WHERE entry NOT IN (SELECT value FROM json_each(?)) LIMIT ?
"""
_READ_ONE = """
SELECT entry, tag FROM postings WHERE key = ? AND number > ? AND entry NOT IN (SELECT value FROM json_each(?))
ORDER BY number LIMIT ?
"""
_COUNT_ONE = """
SELECT COUNT(*) FROM (
    SELECT 1 FROM postings WHERE key = ? AND number > ? AND entry NOT IN (SELECT value FROM json_each(?)) LIMIT ?
)
"""
_NOT_APPENDED = "SELECT entry FROM entries WHERE NOT appended AND entry IN (SELECT value FROM json_each(?))"
_APPEND = "INSERT INTO postings VALUES (?, ?, ?, ?)"
_APPEND_IF_ABSENT = """
INSERT INTO postings SELECT new.* FROM (SELECT ? AS key, ? AS number, ? AS entry, ? AS tag) AS new
WHERE NOT EXISTS (SELECT 1 FROM postings WHERE (key, entry, tag) = (new.key, new.entry, new.tag))
"""
_UNPOINT = """
DELETE FROM contents WHERE (content, entry) = (SELECT content, entry FROM entries WHERE entry = ? AND dead)
"""
_COUNTS = """
SELECT (SELECT COUNT(DISTINCT document) FROM held), (SELECT COUNT(*) FROM contents), (SELECT COUNT(*) FROM entries),
    TOTAL(size), COUNT(*), COALESCE(MAX(size), 0), (SELECT value FROM counters WHERE name = 'tickets'),
    (SELECT TOTAL(LENGTH(details)) FROM held)
FROM (SELECT COUNT(*) AS size FROM postings GROUP BY key)
"""


class SqliteStore:
    """A `gate.index.store.Store` in a file. Threads may share it: a lock gives the connection to one at a time."""

    def __init__(
        self,
        path: Path | str,
        *,
        digest: str,
        profile_ref: str,
        decisions: Decisions = BY_FINGERPRINT,
        max_bucket: int = 4096,
        sync: Literal["normal", "full"] = "normal",
        busy_milliseconds: int = BUSY_MILLISECONDS,
        create: bool = True,
    ) -> None:
        self.path = Path(path)
        self._limit = max_bucket
        self._lock = Lock()
        if not self.path.parent.is_dir():
            raise ConfigError(f"{self.path.parent} is not a directory: create it, or name another index file")
        if not create and not self.path.is_file():
            raise NoIndex(f"index: there is no {self.path}")
        create_private(self.path)  # SQLite gives its log and its shared memory the mode of the file
        with translate_errors(self.path, opening=True):
            self._connection = sqlite3.connect(
                self.path, timeout=busy_milliseconds / 1000, isolation_level=None, check_same_thread=False
            )
            try:
                self._open(digest, profile_ref, decisions, sync, busy_milliseconds, create=create)
            except BaseException:
                self._connection.close()
                raise

    def _open(
        self, digest: str, profile_ref: str, decisions: Decisions, sync: str, busy_milliseconds: int, *, create: bool
    ) -> None:
        run = self._connection.execute
        tables = {name for (name,) in run("SELECT name FROM sqlite_master")}
        if tables and "meta" not in tables:
            raise ConfigError(f"{self.path} is a SQLite file but not an index: name another file")
        enable_wal(self._connection, wait_seconds=busy_milliseconds / 1000)
        run(f"PRAGMA synchronous = {sync}")
        run(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
        run(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        with atomic(self._connection, "IMMEDIATE"):
            if not run("SELECT 1 FROM sqlite_master").fetchone():
                if not create:
                    raise NoIndex(f"index: {self.path} is empty")
                for statement in _SCHEMA.split(";"):
                    run(statement)
                initial = {
                    "format": str(FORMAT),
                    "profile": profile_ref,
                    "digest": digest,
                    "decisions": decisions.encode(),
                    "identity": secrets.token_hex(8),
                }
                self._connection.executemany("INSERT INTO meta VALUES (?, ?)", initial.items())
            meta = dict(run("SELECT name, value FROM meta"))
        if meta["format"] != str(FORMAT):
            raise ConfigError(
                f"{self.path} has index format {meta['format']} and this version reads format {FORMAT}: "
                "use the version that wrote it, or a new file and replay the documents into it"
            )
        if (meta["profile"], meta["digest"]) != (profile_ref, digest):
            same = meta["profile"] == profile_ref
            raise ConfigError(
                f"{self.path} was made under profile {meta['profile']} (digest {meta['digest']}), and this is "
                f"{profile_ref} (digest {digest}): signatures of two profiles cannot be compared. "
                + ("The profile or its secret changed: give it a new version, or undo the change. " if same else "")
                + "To migrate, name a new file and replay the documents into it; the old file stays as it is"
            )
        stored = msgspec.json.decode(meta["decisions"], type=Decisions)
        require_same_decisions(stored, decisions, str(self.path))
        self.identity: str = meta["identity"]

    @contextmanager
    def _transaction(self, kind: Literal["IMMEDIATE", "DEFERRED"]) -> Iterator[sqlite3.Connection]:
        with self._lock, translate_errors(self.path), atomic(self._connection, kind) as connection:
            yield connection

    async def register_content(self, new: Sequence[NewEntry]) -> list[ContentState]:
        with self._transaction("IMMEDIATE") as connection:
            return [_register_content(connection, new_entry) for new_entry in new]

    async def read(
        self,
        keys: Keys,
        *,
        since: int | None = None,
        limit: ReadLimit | None = None,
        ignoring: Collection[int] = (),
    ) -> Postings:
        after, key_numbers = since or 0, keys.view(np.int64).tolist()
        ignored = json.dumps(list(map(signed, ignoring)))
        enough = 16 * len(keys) + 4 * self._limit  # more rows than that: a bucket is far too long to be fetched whole
        with self._transaction("DEFERRED") as connection:
            [(mark,)] = connection.execute("SELECT value FROM counters WHERE name = 'postings'")
            rows = connection.execute(_READ, (json.dumps(key_numbers), after, ignored, enough)).fetchall()
            if len(rows) == enough:
                rows = list(chain.from_iterable(self._read_each(connection, key_numbers, after, ignored, limit)))
        postings = np.fromiter(chain.from_iterable(rows), np.int64, 3 * len(rows)).reshape(-1, 3)
        counts = np.bincount(postings[:, 0], minlength=len(keys))
        shares = np.minimum(counts, self._limit)
        if limit is not None:
            shares = limit.of_lengths(shares)
        capped = shares < counts
        if capped.any():
            postings, counts = postings[ranges(np.cumsum(counts) - counts, shares)], shares
        return Postings(counts, postings[:, 1].astype(np.uint64), postings[:, 2].astype(np.uint64), mark, capped)

    def _read_each(
        self, connection: sqlite3.Connection, keys: Sequence[int], after: int, ignored: str, limit: ReadLimit | None
    ) -> Iterator[Iterable[tuple[int, int, int]]]:
        """Of each bucket at most as much as may be returned, and one more to see that there is more. A bucket that
        several documents read is counted and read once."""
        lengths = {
            key: connection.execute(_COUNT_ONE, (key, after, ignored, self._limit + 1)).fetchone()[0]
            for key in set(keys)
        }
        counts = np.array([lengths[key] for key in keys])
        if limit is not None:
            counts = limit.of_lengths(np.minimum(counts, self._limit)) + 1
        most: dict[int, int] = {}
        for key, count in zip(keys, counts.tolist(), strict=True):
            most[key] = max(most.get(key, 0), count)
        found = {
            key: connection.execute(_READ_ONE, (key, after, ignored, count)).fetchall() for key, count in most.items()
        }
        for place, (key, count) in enumerate(zip(keys, counts.tolist(), strict=True)):
            yield ((place, entry, tag) for entry, tag in found[key][:count])

    async def records(self, entries: Sequence[int]) -> list[EntryRecord | None]:
        with self._transaction("DEFERRED") as connection:
            by_entry = records_of(connection, entries)
        return list(map(by_entry.get, entries))

    async def append(self, keys: Keys, entries: Keys, tags: Keys) -> None:
        columns = (column.view(np.int64).tolist() for column in (keys, entries, tags))
        postings = list(dict.fromkeys(zip(*columns, strict=True)))
        owners = json.dumps(list({entry for _, entry, _ in postings}))
        with self._transaction("IMMEDIATE") as connection:
            # Only an entry that has appended before can have a posting already; for others the bucket is not searched.
            new = {entry for (entry,) in connection.execute(_NOT_APPENDED, (owners,))}
            [(last,)] = connection.execute("SELECT value FROM counters WHERE name = 'postings'")
            numbered = [(key, last + n, entry, tag) for n, (key, entry, tag) in enumerate(postings, 1)]
            connection.executemany(_APPEND, (row for row in numbered if row[2] in new))
            connection.executemany(_APPEND_IF_ABSENT, (row for row in numbered if row[2] not in new))
            connection.executemany("UPDATE entries SET appended = 1 WHERE entry = ?", [(entry,) for entry in new])
            connection.execute("UPDATE counters SET value = value + ? WHERE name = 'postings'", (len(postings),))

    async def draw(self, count: int) -> int:
        with self._transaction("IMMEDIATE") as connection:
            connection.execute("UPDATE counters SET value = value + ? WHERE name = 'tickets'", (count,))
            [(last,)] = connection.execute("SELECT value FROM counters WHERE name = 'tickets'")
        return int(last) - count + 1

    async def register(self, registrations: Sequence[Registration]) -> list[EntryRecord | None]:
        if any(registration.ticket and registration.duplicate_of for registration in registrations):
            raise ValueError("a registration is a ticket or a duplicate, not both")
        with self._transaction("IMMEDIATE") as connection:
            connection.executemany(
                "UPDATE entries SET ticket = ?, duplicate_of = ? "
                "WHERE entry = ? AND NOT dead AND ticket = 0 AND duplicate_of = 0",
                [
                    (registration.ticket, signed(registration.duplicate_of), signed(registration.entry))
                    for registration in registrations
                ],
            )
            by_entry = records_of(connection, [registration.entry for registration in registrations])
        return [_living(by_entry.get(registration.entry)) for registration in registrations]

    async def convert(self, conversions: Sequence[Conversion]) -> list[EntryRecord | None]:
        rows = [(signed(c.duplicate_of), signed(c.entry), c.ticket) for c in conversions]
        with self._transaction("IMMEDIATE") as connection:
            connection.executemany(
                "UPDATE entries SET ticket = 0, duplicate_of = ? "
                "WHERE entry = ? AND NOT dead AND ticket > 0 AND ticket = ?",
                rows,
            )
            by_entry = records_of(connection, [conversion.entry for conversion in conversions])
        return [_living(by_entry.get(conversion.entry)) for conversion in conversions]

    async def save_answers(self, updates: Sequence[AnswerUpdate]) -> list[bytes | None]:
        with self._transaction("IMMEDIATE") as connection:
            return [_save_answer(connection, *update) for update in updates]

    async def contents(self, contents: Sequence[bytes]) -> list[int | None]:
        with self._transaction("DEFERRED") as connection:
            return [entry_of(connection, content) for content in contents]

    async def documents(self, document_ids: Sequence[str]) -> list[tuple[HeldContent, ...]]:
        with self._transaction("DEFERRED") as connection:
            return [contents_of(connection, document_id) for document_id in document_ids]

    async def void_answers(self, document_ids: Sequence[str]) -> list[tuple[HeldContent, ...]]:
        with self._transaction("IMMEDIATE") as connection:
            voided = [(VOID, document_id) for document_id in document_ids]
            connection.executemany("UPDATE held SET answer = ? WHERE document = ?", voided)
            return [contents_of(connection, document_id) for document_id in document_ids]

    async def remove_holders(self, holdings: Sequence[tuple[int, str]]) -> list[EntryRecord | None]:
        with self._transaction("IMMEDIATE") as connection:
            return [_remove_holder(connection, entry, document_id) for entry, document_id in holdings]

    async def mark_dead(self, entries: Sequence[int]) -> list[EntryRecord | None]:
        with self._transaction("IMMEDIATE") as connection:
            numbers = [(signed(entry),) for entry in entries]
            connection.executemany("UPDATE entries SET dead = 1 WHERE entry = ?", numbers)
            by_entry = records_of(connection, entries)
        return list(map(by_entry.get, entries))

    async def remove_postings(self, keys: Keys, entries: Keys) -> None:
        rows = zip(keys.view(np.int64).tolist(), entries.view(np.int64).tolist(), strict=True)
        with self._transaction("IMMEDIATE") as connection:
            connection.executemany("DELETE FROM postings WHERE key = ? AND entry = ?", rows)

    async def delete_records(self, entries: Sequence[int]) -> None:
        numbers = [(signed(entry),) for entry in entries]
        with self._transaction("IMMEDIATE") as connection:
            connection.executemany(_UNPOINT, numbers)
            connection.executemany("DELETE FROM entries WHERE entry = ? AND dead", numbers)

    async def remove_contents(self, holdings: Sequence[tuple[str, Sequence[HeldContent]]]) -> list[bool]:
        rows = [
            (document_id, stored.content, signed(stored.stamp))
            for document_id, contents in holdings
            for stored in contents
        ]
        with self._transaction("IMMEDIATE") as connection:
            connection.executemany("DELETE FROM held WHERE document = ? AND content = ? AND stamp = ?", rows)
            return [not contents_of(connection, document_id) for document_id, _ in holdings]

    def scan(self) -> SqliteScan:
        return SqliteScan(self)

    async def replaced(self) -> frozenset[str]:
        with self._transaction("DEFERRED") as connection:
            return frozenset(identity for (identity,) in connection.execute("SELECT identity FROM replaced"))

    async def replace(self, identities: Collection[str]) -> None:
        with self._transaction("IMMEDIATE") as connection:
            rows = [(identity,) for identity in sorted(identities)]
            connection.executemany("INSERT OR IGNORE INTO replaced VALUES (?)", rows)

    async def confirm(self) -> None:
        """Nothing to wait for: every transaction was committed."""

    async def close(self) -> None:
        with self._lock:
            self._connection.close()

    async def info(self) -> dict[str, int]:
        """Counts, and the bytes of the file and of its log. Scans the whole index."""
        counted = ("documents", "contents", "entries", "postings", "buckets", "largest_bucket", "tickets")
        names = (*counted, "bytes_details")
        with self._transaction("DEFERRED") as connection:
            [row] = connection.execute(_COUNTS)
        counts = {name: int(value) for name, value in zip(names, row, strict=True)}
        log = self.path.with_name(self.path.name + "-wal")
        return counts | {
            "bytes_file": self.path.stat().st_size,
            "bytes_log": log.stat().st_size if log.exists() else 0,
        }


def _register_content(connection: sqlite3.Connection, new: NewEntry) -> ContentState:
    document_id, version, content, entry, body, share, details = new
    run, number = connection.execute, signed(entry)
    contents = contents_of(connection, document_id)
    others = tuple(stored.content for stored in contents if stored.content != content)
    current = next((stored for stored in contents if stored.content == content), None)
    stamp = entry
    if current is None:
        run(_ADD_CONTENT, (document_id, content, document_id, number, version, details))
    elif current.answer:
        return ContentState(None, current.answer, others, current.stamp)
    elif current.answer == VOID:
        run(_RENEW_STAMP, (number, document_id, content))
    else:
        stamp = current.stamp
    holder = Holder(document_id, version)
    existing = entry_of(connection, content)
    if existing is None:
        record = EntryRecord(entry, content, (holder,), body)
        fields = (number, content, json.dumps(record.holders, default=tuple), body)
        try:
            run("INSERT INTO entries (entry, content, holders, body) VALUES (?, ?, ?, ?)", fields)
        except sqlite3.IntegrityError as exc:
            raise ValueError(f"entry {entry} is in use; an entry's number is never used twice") from exc
        run("INSERT INTO contents VALUES (?, ?)", (content, number))
    else:
        record = records_of(connection, [existing])[existing]
        if share and not record.dead and all(other.document_id != document_id for other in record.holders):
            record = _update_holders(connection, record._replace(holders=(*record.holders, holder)))
    return ContentState(record, None, others, stamp)


def _living(record: EntryRecord | None) -> EntryRecord | None:
    return None if record is None or record.dead else record


def _save_answer(
    connection: sqlite3.Connection,
    document_id: str,
    content: bytes,
    answer: bytes,
    replacing: bytes | None,
    stamp: int | None,
) -> bytes | None:
    saved = connection.execute(
        "UPDATE held SET answer = ? WHERE document = ? AND content = ? AND answer IS ? AND stamp = COALESCE(?, stamp)",
        (answer, document_id, content, replacing, None if stamp is None else signed(stamp)),
    )
    if saved.rowcount:
        return answer
    cursor = connection.execute("SELECT answer FROM held WHERE document = ? AND content = ?", (document_id, content))
    row: tuple[bytes | None] | None = cursor.fetchone()
    return row[0] if row else None


def _remove_holder(connection: sqlite3.Connection, entry: int, document_id: str) -> EntryRecord | None:
    record = records_of(connection, [entry]).get(entry)
    if record is None or record.dead:
        return record
    left = tuple(holder for holder in record.holders if holder.document_id != document_id)
    return _update_holders(connection, record._replace(holders=left or record.holders, dead=not left))


def _update_holders(connection: sqlite3.Connection, record: EntryRecord) -> EntryRecord:
    row = (json.dumps(record.holders, default=tuple), record.dead, signed(record.entry))
    connection.execute("UPDATE entries SET holders = ?, dead = ? WHERE entry = ?", row)
    return record
