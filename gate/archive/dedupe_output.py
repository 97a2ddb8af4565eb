"""The survivors of a deduplication: records in JSON Lines or Parquet with the columns that they had, or files."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol

import msgspec

from gate.archive.parquet import import_arrow
from gate.archive.parts import ArchivedEvent
from gate.archive.records import TypedRow
from gate.errors import BadDocument, ConfigError, Unavailable
from gate.private_files import open_replacement, part_of
from gate.wire import CheckInEvent, encode

JSON_LINES_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
PARQUET_SUFFIX = ".parquet"
_ROWS = 1024  # of a table that are written at a time
_GROUP_CHARS = 32 * 2**20


class RecordWriter(Protocol):
    """Takes the survivors one by one."""

    def write(self, archived: ArchivedEvent) -> None: ...


@contextmanager
def open_records(path: Path) -> Iterator[RecordWriter]:
    """A file that takes the place of `path` when it is complete."""
    try:
        with open_replacement(path) as file:
            if path.name.endswith(PARQUET_SUFFIX):
                table = TableWriter(file)
                yield table
                table.close()
            elif path.name.endswith(".gz"):
                with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0, compresslevel=6) as packed:
                    yield LinesWriter(packed)
            else:
                yield LinesWriter(file)
    except OSError as exc:
        raise Unavailable(f"{path}: cannot be written: {exc.strerror}") from exc


class LinesWriter:
    """JSON Lines. A record of JSON Lines stays as it was, byte by byte; a row becomes an object."""

    def __init__(self, file: BinaryIO | gzip.GzipFile) -> None:
        self._file = file

    def write(self, archived: ArchivedEvent) -> None:
        record = archived.record
        if record is None:
            line = encode(archived.event)
        else:
            line = record.strip() if isinstance(record, bytes) else msgspec.json.encode(record)
        self._file.write(line + b"\n")


class TableWriter:
    """Parquet. The columns are those of the first rows; a later row that does not fit in them is an error."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            self._arrow = import_arrow("pyarrow")
            self._parquet = import_arrow("pyarrow.parquet")
        except BadDocument as exc:
            raise ConfigError(f"--out: {str(exc).replace('to read those', 'to write those')}") from None
        self._file = file
        self._writer: Any = None
        self._schema: Any = None
        self._rows: list[Mapping[str, object]] = []
        self._chars = 0

    def write(self, archived: ArchivedEvent) -> None:
        self._rows.append(_row(archived))
        self._chars += archived.event.size if isinstance(archived.event, CheckInEvent) else 0
        if len(self._rows) >= _ROWS or self._chars > _GROUP_CHARS:
            self._flush()

    def _flush(self) -> None:
        rows, self._rows, self._chars = self._rows, [], 0
        try:
            if self._schema is None:
                self._schema = _schema_of(rows) or self._arrow.Table.from_pylist(rows).schema
            table = self._arrow.Table.from_pylist(rows, schema=self._schema)
        except (self._arrow.ArrowException, ValueError, TypeError) as exc:
            raise ConfigError(
                "--out: the records have not all the same columns with the same types; write JSON Lines instead"
            ) from exc
        if any(not row.keys() <= set(self._schema.names) for row in rows):
            raise ConfigError("--out: a record has a column that the first ones do not have; write JSON Lines instead")
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._file, self._schema, compression="zstd")
        self._writer.write_table(table)

    def close(self) -> None:
        if self._rows or self._writer is None:
            self._flush()
        self._writer.close()


def _schema_of(rows: list[Mapping[str, object]]) -> Any:
    """The types of the columns as the source has them, where it is a table."""
    return next((row.schema for row in rows if isinstance(row, TypedRow)), None)


def _row(archived: ArchivedEvent) -> Mapping[str, object]:
    record = archived.record
    if isinstance(record, bytes):
        row: dict[str, object] = msgspec.json.decode(record)
        return row
    if record is not None:
        return record
    event = msgspec.structs.asdict(archived.event)
    names = ("document_id", "text", "title", "uri", "size_bytes", "mime_type", "checked_in_at", "content_sha256")
    return {name: event.get(name) for name in names}


class FileCopies:
    """Survivors that are files by themselves, copied or hard-linked into a folder. Nothing is ever overwritten."""

    def __init__(self, folder: Path, *, link: bool) -> None:
        self._folder = folder
        self._link = link

    def prepare(self, *, resume: bool) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not resume and any(self._folder.iterdir()):
                raise ConfigError(f"{self._folder}: holds files already; name a new folder by --out")
        except OSError as exc:
            raise ConfigError(f"{self._folder}: cannot be written: {exc.strerror}") from exc

    def add(self, source: Path, relative: str) -> None:
        target = self._folder / relative
        if target.exists():  # written before the run was interrupted: a name has its file only when that is complete
            return
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if self._link:
                os.link(source, target)
                return
            part = part_of(target)
            try:
                shutil.copy2(source, part)
                part.rename(target)
            except BaseException:
                with suppress(OSError):
                    part.unlink(missing_ok=True)
                raise
        except OSError as exc:
            remedy = "; hard links need the same disk: leave out --link" if self._link else ""
            raise Unavailable(f"{target}: cannot be written: {exc.strerror}{remedy}") from exc


def relative_path(name: str) -> str:
    """A name as a path below a folder, whatever it says."""
    parts = [part for part in PurePosixPath(name.replace("\0", "_")).parts if part not in ("/", "//", "..", ".")]
    return "/".join(parts) or "_"
