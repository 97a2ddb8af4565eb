"""What a deduplication knows so far: each document with its family, in one SQLite file that survives any crash.

    job        what is deduplicated and how, so that another run does not continue this one
    files      number, key, name, path
    documents  file number << 32 | position -> id, family, best match, date, length, signature
    done       file -> position up to which it is judged; NULL: all of it
    survivors  family -> the document that is kept, once all are judged

A family is named by its first document; that of a copy of something in another index has no name, and no survivor.
Rows are written before the checkpoint that covers them, so a run that is resumed repeats a few documents, which get
their first verdict again. Signatures fill an index in memory again without reading a source twice.
"""

from __future__ import annotations

import fcntl
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from gate.archive.journal import Checkpoint
from gate.archive.parts import ArchiveFile
from gate.core.stored_verdict import RELATIONS
from gate.errors import ConfigError, Unavailable
from gate.model import Relation
from gate.private_files import create_private

POSITION_BITS = 32
WHOLE_FILE = 0  # the position of a document that is a file by itself
_PAGE = 1000
_SCHEMA = """
CREATE TABLE job (job BLOB NOT NULL);
CREATE TABLE files (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL, path TEXT);
CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT NOT NULL, family INTEGER, relation INTEGER NOT NULL,
    like TEXT, resemblance REAL, dated REAL, length INTEGER NOT NULL, size INTEGER NOT NULL, claim BLOB);
CREATE TABLE done (file INTEGER PRIMARY KEY, position INTEGER);
CREATE TABLE survivors (family INTEGER PRIMARY KEY, number INTEGER NOT NULL);
CREATE TABLE written (path TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE) WITHOUT ROWID;
"""
_RELATION_NUMBERS = {relation: number for number, relation in enumerate(RELATIONS)}
KEEP_ORDERS = {
    "first": "number",
    "oldest": "dated IS NULL, dated, number",
    "newest": "dated IS NULL, dated DESC, number",
    "longest": "length DESC, number",
}


class DedupeJob(msgspec.Struct, frozen=True, kw_only=True):
    """What is deduplicated, and all that its verdicts depend on."""

    sources: tuple[str, ...]
    profile: str
    against: str | None
    options: str
    version: int = 1


class DedupedDocument(NamedTuple):
    """A document and its verdict. `like` is an id: of a document of this run, or of the other index."""

    number: int
    id: str
    family: int | None
    relation: Relation
    like: str | None
    resemblance: float | None
    dated: float | None
    length: int
    size: int
    claim: bytes | None = None


class Decision(NamedTuple):
    """A document, whether it is kept, and what is kept in its place; None: nothing of this run."""

    document: DedupedDocument
    is_kept: bool
    survivor: str | None
    path: str | None  # where it is a file by itself


class DedupeState:
    """One process may hold it at a time; `ConfigError` refuses the others."""

    def __init__(self, folder: Path, job: DedupeJob, files: Sequence[ArchiveFile], *, resume: bool) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = (folder / "lock").open("a")
        except OSError as exc:
            raise ConfigError(f"{folder}: cannot be written: {exc.strerror}; name another folder by --state") from exc
        try:
            self._open(job, files, resume=resume)
        except BaseException:
            self._lock.close()
            raise

    def _open(self, job: DedupeJob, files: Sequence[ArchiveFile], *, resume: bool) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"{self.folder}: another run works on it; wait for it, or stop it") from None
        path = self.folder / "state.sqlite"
        if not resume:
            for old in self.folder.glob("*.sqlite*"):
                old.unlink()
        is_new = not path.exists()
        create_private(path)
        self._connection = sqlite3.connect(path, isolation_level=None)
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            if is_new or not self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                self._create(job, files)
            self._require_same(job, files)
        except sqlite3.Error as exc:
            self._connection.close()
            raise ConfigError(f"{path}: cannot be read ({exc}); start again without --resume") from exc
        except BaseException:
            self._connection.close()
            raise
        self._numbers: dict[str, int] = dict(self._connection.execute("SELECT key, number FROM files"))
        self._done: dict[int, int | None] = dict(self._connection.execute("SELECT file, position FROM done"))

    def _create(self, job: DedupeJob, files: Sequence[ArchiveFile]) -> None:
        rows = ((number, file.key, file.name, str(file.path)) for number, file in enumerate(files))
        with closing(self._connection.cursor()) as cursor:
            cursor.executescript(f"BEGIN; {_SCHEMA}")
            cursor.execute("INSERT INTO job VALUES (?)", [msgspec.json.encode(job)])
            cursor.executemany("INSERT INTO files VALUES (?, ?, ?, ?)", rows)
            cursor.execute("COMMIT")

    def _require_same(self, job: DedupeJob, files: Sequence[ArchiveFile]) -> None:
        [known] = self._connection.execute("SELECT job FROM job").fetchone()
        if known != msgspec.json.encode(job):
            raise ConfigError(
                f"{self.folder}: an interrupted run of other sources, or with other options; give the same ones, or "
                "start again without --resume"
            )
        keys = [key for (key,) in self._connection.execute("SELECT key FROM files ORDER BY number")]
        if keys != [file.key for file in files]:
            raise ConfigError("the sources have changed since the run was interrupted; start again without --resume")

    # Judging: the checkpoints of a replay, and the rows that they cover

    def number(self, file_key: str, position: int | None) -> int:
        return self._numbers[file_key] << POSITION_BITS | (position or WHOLE_FILE)

    def is_done(self, file_key: str) -> bool:
        return self._done.get(self._numbers[file_key], 0) is None

    def last_line(self, file_key: str) -> int:
        return self._done.get(self._numbers[file_key]) or 0

    def append(self, checkpoints: Iterable[Checkpoint]) -> None:
        rows = [(self._numbers[one.file_key], one.line) for one in checkpoints]
        self._done.update(rows)
        self._write("INSERT OR REPLACE INTO done VALUES (?, ?)", rows)

    def add(self, documents: Iterable[DedupedDocument]) -> None:
        rows = [(*one[:3], _RELATION_NUMBERS[one.relation], *one[4:]) for one in documents]
        self._write("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def _write(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        try:
            self._connection.execute("BEGIN")
            self._connection.executemany(statement, rows)
            self._connection.execute("COMMIT")
        except sqlite3.Error as exc:
            raise Unavailable(f"{self.folder}: cannot be written: {exc}; continue with --resume") from exc

    def known(self, numbers: Collection[int]) -> dict[int, tuple[str, int | None]]:
        """The ids and families of documents."""
        marks = ",".join("?" * len(numbers))
        query = f"SELECT number, id, family FROM documents WHERE number IN ({marks})"  # noqa: S608
        rows = self._connection.execute(query, [*numbers])
        return {number: (document_id, family) for number, document_id, family in rows}

    def claims(self) -> Iterator[list[bytes]]:
        """The signatures of all documents that were let into the index, page by page in their order."""
        rows = self._connection.execute("SELECT claim FROM documents WHERE claim IS NOT NULL ORDER BY number")
        while page := rows.fetchmany(_PAGE):
            yield [claim for (claim,) in page]

    # Choosing, once all are judged

    def choose(self, keep: str, fits: Callable[[str], bool] | None = None) -> None:
        """One survivor of each family: by a name of `KEEP_ORDERS`, or the first whose id fits."""
        order = KEEP_ORDERS[keep]
        if fits is not None:
            self._connection.create_function("fits", 1, fits, deterministic=True)
            order = f"NOT fits(id), {order}"
        self._connection.executescript(
            f"""BEGIN; DELETE FROM survivors;
            INSERT INTO survivors SELECT family, number FROM (
                SELECT family, number, row_number() OVER (PARTITION BY family ORDER BY {order}) AS place
                FROM documents WHERE family IS NOT NULL) WHERE place = 1; COMMIT;"""  # noqa: S608
        )

    def survivors(self) -> Iterator[int]:
        """Their numbers, in the order in which the sources give them."""
        with closing(self._connection.execute("SELECT number FROM survivors ORDER BY number")) as rows:
            while page := rows.fetchmany(_PAGE):
                yield from (number for (number,) in page)

    def decisions(self) -> Iterator[Decision]:
        rows = self._connection.execute(
            """SELECT d.number, d.id, d.family, d.relation, d.like, d.resemblance, d.dated, d.length, d.size,
                s.number, k.id, CASE WHEN d.number & 0xFFFFFFFF THEN NULL ELSE f.path END
            FROM documents d JOIN files f ON f.number = d.number >> 32
            LEFT JOIN survivors s ON s.family = d.family LEFT JOIN documents k ON k.number = s.number
            ORDER BY d.number"""
        )
        while page := rows.fetchmany(_PAGE):
            for number, document_id, family, relation, *others, survivor, survivor_id, path in page:
                document = DedupedDocument(number, document_id, family, RELATIONS[relation], *others)
                yield Decision(document, survivor == number, survivor_id, path)

    def totals(self) -> tuple[int, int, int]:
        """How many documents there are, how many are kept, and how many bytes the others have."""
        row = self._connection.execute(
            """SELECT count(*), count(s.number), coalesce(sum(d.size) FILTER (WHERE s.number IS NULL), 0)
            FROM documents d LEFT JOIN survivors s ON s.number = d.number AND s.family = d.family"""
        ).fetchone()
        return int(row[0]), int(row[1]), int(row[2])

    def relations(self) -> dict[Relation, int]:
        counts = dict(self._connection.execute("SELECT relation, count(*) FROM documents GROUP BY relation"))
        return {relation: counts[one] for relation, one in _RELATION_NUMBERS.items() if counts.get(one)}

    def reserve_path(self, wanted: str, number: int) -> str:
        """The path of a copy: the one that is wanted, or with a number where another document has it."""
        row = self._connection.execute("SELECT path FROM written WHERE number = ?", [number]).fetchone()
        if row is not None:
            return str(row[0])
        path = wanted
        for attempt in range(2, 1_000_000):
            if self._connection.execute("SELECT 1 FROM written WHERE path = ?", [path]).fetchone() is None:
                break
            path = f"{wanted}~{attempt}"
        self._write("INSERT INTO written VALUES (?, ?)", [(path, number)])
        return path

    def remove(self) -> None:
        """Remove all of it, when the run is complete."""
        self._connection.close()
        shutil.rmtree(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._lock.close()
