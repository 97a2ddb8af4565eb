"""The results of a run: a row for each document that was judged, and for each file that could not be read, in SQLite.

    results     number, document, relation, original, best match, measures, size, time, why it has no text
    unreadable  number, name, reason, message

A run may judge more documents than fit into memory. Rows go to a temporary database on disk, which has no name and is
gone when the run ends, whatever ends it; what is shown of them is counted and ordered there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

import msgspec

from gate.core.stored_verdict import RELATIONS
from gate.model import Relation, Verdict

CACHE_KIBIBYTES = 16_384
PAGE = 1000  # rows read at a time

_SCHEMA = """
CREATE TABLE results (number INTEGER PRIMARY KEY, document TEXT NOT NULL, place TEXT, relation INTEGER NOT NULL,
    similar INTEGER NOT NULL, original TEXT, best TEXT, resemblance REAL, containment REAL, distance INTEGER,
    size_bytes INTEGER, dated REAL, unreadable TEXT, best_gone INTEGER NOT NULL, original_gone INTEGER NOT NULL);
CREATE TABLE unreadable (number INTEGER PRIMARY KEY, name TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL);
"""
_COLUMNS = (
    "document, place, relation, similar, original, best, resemblance, containment, distance, size_bytes, dated, "
    "unreadable, best_gone, original_gone"
)
_INSERT = f"INSERT INTO results ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_NUMBERS = {relation: number for number, relation in enumerate(RELATIONS)}


class Result(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A document that was judged."""

    document: str
    relation: Relation
    similar: bool
    original: str | None = None  # the first of its family; None: the document itself
    best: str | None = None  # what it is most like
    resemblance: float | None = None
    containment: float | None = None
    distance: int | None = None
    size_bytes: int | None = None
    dated: datetime | None = None
    place: str | None = None  # the file that holds it; None: the document is a file
    unreadable: str | None = None  # why it has no text, and was compared by its bytes
    best_gone: bool = False  # the file of what it is most like is gone from disk
    original_gone: bool = False

    @classmethod
    def of(
        cls,
        verdict: Verdict,
        *,
        size_bytes: int | None,
        dated: datetime | None,
        place: str | None = None,
        gone: frozenset[str] = frozenset(),
    ) -> Result:
        """`gone` are documents whose files are gone from disk."""
        match = verdict.matches[0] if verdict.matches else None
        return cls(
            document=verdict.document_id,
            relation=verdict.relation,
            similar=verdict.similar,
            original=verdict.group if verdict.group != verdict.document_id else None,
            best=match.document_id if match else None,
            resemblance=match.resemblance if match else None,
            containment=match.containment if match else None,
            distance=match.distance if match else None,
            size_bytes=size_bytes,
            dated=dated,
            place=place if place != verdict.document_id else None,
            unreadable=verdict.unreadable_reason,
            best_gone=match is not None and match.document_id in gone,
            original_gone=verdict.group in gone,
        )

    @property
    def folder(self) -> str:
        """The file that holds the document, or the folder that it is in; "." is the one that was named."""
        return folder_of(self.document, self.place)


class UnreadableFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file, or a record in one, that could not be judged, and why."""

    name: str
    reason: str
    message: str


def folder_of(document: str, place: str | None) -> str:
    return place or document.rpartition("/")[0] or "."


class Results:
    """The rows of one run. Not shared between threads."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = OFF")  # what a crash leaves half-written is gone with it
        self._connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
        self._connection.executescript(_SCHEMA)
        self._connection.create_function("folder", 2, folder_of, deterministic=True)

    def add(self, results: Iterable[Result]) -> None:
        self._insert(_INSERT, map(_row_of, results))

    def add_unreadable(self, files: Iterable[UnreadableFile]) -> None:
        rows = ((file.name, file.reason, file.message) for file in files)
        self._insert("INSERT INTO unreadable (name, reason, message) VALUES (?, ?, ?)", rows)

    def _insert(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.execute("BEGIN")
        self._connection.executemany(statement, rows)
        self._connection.execute("COMMIT")

    def query(self, statement: str, *parameters: Any) -> list[Any]:
        """The rows of a statement whose answer is short."""
        return self._connection.execute(statement, parameters).fetchall()

    def __len__(self) -> int:
        [(count,)] = self.query("SELECT COUNT(*) FROM results")
        return int(count)

    def __iter__(self) -> Iterator[Result]:
        return self.select("ORDER BY number")

    def select(self, clauses: str, *parameters: Any) -> Iterator[Result]:
        """The results that a WHERE, ORDER BY and LIMIT choose, some at a time."""
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM results {clauses}", parameters)  # noqa: S608
        while page := rows.fetchmany(PAGE):
            yield from map(_result_of, page)

    def unreadable(self) -> Iterator[UnreadableFile]:
        rows = self._connection.execute("SELECT name, reason, message FROM unreadable ORDER BY number")
        while page := rows.fetchmany(PAGE):
            yield from (UnreadableFile(name=name, reason=reason, message=message) for name, reason, message in page)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _row_of(result: Result) -> tuple[Any, ...]:
    dated = result.dated
    return (
        result.document,
        result.place,
        _NUMBERS[result.relation],
        result.similar,
        result.original,
        result.best,
        result.resemblance,
        result.containment,
        result.distance,
        result.size_bytes,
        None if dated is None else (dated if dated.tzinfo else dated.replace(tzinfo=UTC)).timestamp(),
        result.unreadable,
        result.best_gone,
        result.original_gone,
    )


def _result_of(row: tuple[Any, ...]) -> Result:
    (
        document,
        place,
        relation,
        similar,
        original,
        best,
        resemblance,
        containment,
        distance,
        size_bytes,
        dated,
        reason,
        best_gone,
        original_gone,
    ) = row
    return Result(
        document=document,
        place=place,
        relation=RELATIONS[relation],
        similar=bool(similar),
        original=original,
        best=best,
        resemblance=resemblance,
        containment=containment,
        distance=distance,
        size_bytes=size_bytes,
        dated=None if dated is None else datetime.fromtimestamp(dated, UTC),
        unreadable=reason,
        best_gone=bool(best_gone),
        original_gone=bool(original_gone),
    )
