"""Read the documents of archive files: one row of `FORMATS` for each format, the first whose suffix fits.

A format's function turns a stream into documents, or into rejections that say what is wrong; it never raises for what a
file holds. Another format is a function and a row.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
from msgspec import structs

from gate.archive.compression import open_decompressed, strip_compression_suffix
from gate.archive.files import DEFAULT_SELECTION, FileSelection, FoundFile, FoundFiles, find_files
from gate.archive.text_files import read_text_stream, unreadable
from gate.errors import BadDocument, Unavailable
from gate.limits import Limits
from gate.stream import jsonl
from gate.stream.content import attach_content
from gate.stream.field_names import OWN_NAMES, FieldNames, explain_missing_fields
from gate.wire import CheckInEvent, DocumentId, Event, Origin, RejectedMessage, decode_event, encode, max_event_bytes

STDIN = jsonl.STDIN
_STDIN_NAME = "stdin.jsonl"  # the name by which the format of standard input is chosen
_MAX_DATED_BYTES = 1 << 24  # of the first event, whose date is read to order the files; a longer one counts as undated
_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFile:
    """A file of an archive. `key` identifies it in the journal, and differs after the file was changed."""

    name: str
    path: Path | None  # None: standard input
    size_bytes: int = 0
    modified_ns: int = 0

    @property
    def key(self) -> str:
        identity = f"{self.name}\0{self.size_bytes}\0{self.modified_ns}"
        return hashlib.blake2b(identity.encode(), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedEvent:
    """A check-in or a delete. `raw` is the message as it was in the file, where it needs nothing beside it."""

    event: Event
    origin: Origin
    raw: bytes | None = field(default=None, repr=False)

    @property
    def message(self) -> bytes:
        """The message as it is sent to a topic."""
        return self.raw if self.raw is not None else encode(self.event)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFile:
    """An open file, and what its documents get that do not say it themselves."""

    file: ArchiveFile
    stream: BinaryIO
    limits: Limits
    modified_at: datetime | None
    source: str | None = None
    after_line: int = 0  # lines up to this one were done by an earlier replay
    field_names: FieldNames = OWN_NAMES
    content_root: Path | None = None


ReadResult = ArchivedEvent | RejectedMessage | None  # None: the input pauses; more may come


class FileFormat(NamedTuple):
    name: str
    suffixes: tuple[str, ...]
    read: Callable[[OpenFile], Iterator[ReadResult]]


def archive_files(paths: Sequence[Path], selection: FileSelection = DEFAULT_SELECTION) -> list[ArchiveFile]:
    """The files below the paths, in the order of the selection."""
    return [archive_file(found) for found in find_archive(paths, selection).files]


def find_archive(paths: Sequence[Path], selection: FileSelection = DEFAULT_SELECTION) -> FoundFiles:
    """`find_files`, where a file of events is as old as its first event, and standard input comes last."""
    return find_files(paths, selection, date_ns=_date_ns)


def archive_file(found: FoundFile) -> ArchiveFile:
    if str(found.path) == STDIN:
        return ArchiveFile(name=STDIN, path=None)
    return ArchiveFile(
        name=found.document_id, path=found.path, size_bytes=found.size_bytes, modified_ns=found.modified_ns
    )


class _Dated(msgspec.Struct):
    checked_in_at: datetime | None = None


def _date_ns(found: FoundFile) -> int:
    file = archive_file(found)
    if file.path is None:
        return sys.maxsize
    if format_of(file).read is not read_jsonl or not file.path.is_file():  # a pipe can be read only once
        return file.modified_ns
    try:
        with file.path.open("rb") as opened:
            lines = jsonl.read_lines(open_decompressed(opened), max_bytes=_MAX_DATED_BYTES)
            line = next((line for line in lines if line is not None), None)
            dated = msgspec.json.decode(line.raw or b"", type=_Dated).checked_in_at if line is not None else None
    except (OSError, BadDocument, Unavailable, msgspec.DecodeError, UnicodeDecodeError):
        return file.modified_ns  # what is wrong with the file is reported when it is read
    if dated is None:
        return file.modified_ns
    aware = dated if dated.tzinfo is not None else dated.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1) * 1000


class FileReader:
    """The documents of one file, and how many of its bytes have been read."""

    def __init__(
        self,
        file: ArchiveFile,
        *,
        limits: Limits,
        source: str | None = None,
        after_line: int = 0,
        field_names: FieldNames = OWN_NAMES,
        content_root: Path | None = None,
    ) -> None:
        self._archive_file = file
        self._content_root = content_root
        self._limits = limits
        self._source = source
        self._after_line = after_line
        self._field_names = field_names
        self._file: io.BufferedReader | None = None

    def read_bytes(self) -> int:
        return 0 if self._file is None or self._file.closed or not self._file.seekable() else self._file.tell()

    def __iter__(self) -> Iterator[ReadResult]:
        with ExitStack() as stack:
            try:
                file = self._open(stack)
                self._file = file if self._archive_file.path is not None else None
                opened = OpenFile(
                    file=self._archive_file,
                    stream=open_decompressed(file),
                    limits=self._limits,
                    modified_at=_modified_at(file) if self._archive_file.path is not None else None,
                    source=self._source,
                    after_line=self._after_line,
                    field_names=self._field_names,
                    content_root=self._content_root,
                )
                yield from format_of(self._archive_file).read(opened)
            except OSError as exc:
                yield _reject_file(self._archive_file, unreadable(exc))
            except BadDocument as exc:
                yield _reject_file(self._archive_file, exc)
            except Unavailable:
                yield _reject_file(self._archive_file, BadDocument("unreadable", "reading it failed half-way"))

    def _open(self, stack: ExitStack) -> io.BufferedReader:
        if self._archive_file.path is None:
            stdin = sys.stdin.buffer
            return stdin if isinstance(stdin, io.BufferedReader) else io.BufferedReader(stdin)  # type: ignore[arg-type]
        return stack.enter_context(self._archive_file.path.open("rb"))


def format_of(file: ArchiveFile) -> FileFormat:
    name = strip_compression_suffix(_STDIN_NAME if file.path is None else file.name).lower()
    return next(one for one in FORMATS if name.endswith(one.suffixes))


def read_text(opened: OpenFile) -> Iterator[ReadResult]:
    """The whole file is one document; its id is the file's name."""
    text = read_text_stream(opened.stream, max_chars=opened.limits.max_document_chars)
    try:
        document_id = msgspec.convert(opened.file.name, DocumentId)
    except msgspec.ValidationError:
        raise BadDocument("bad_field", "its path has more than 1,024 characters, too many for an id") from None
    event = CheckInEvent(document_id=document_id, text=text, source=opened.source, checked_in_at=opened.modified_at)
    yield ArchivedEvent(event=event, origin=Origin(file=opened.file.name))


def read_jsonl(opened: OpenFile) -> Iterator[ReadResult]:
    """Each line is an event. Its own time and source win over those of the file."""
    return jsonl.reject_other_format(_read_lines(opened), Origin(file=opened.file.name))


def _read_lines(opened: OpenFile) -> Iterator[ReadResult]:
    file, limits = opened.file, opened.limits
    longest = max_event_bytes(limits)
    for line in jsonl.read_lines(opened.stream, max_bytes=longest):
        if line is None:
            yield None
            continue
        if line.number <= opened.after_line:
            continue
        origin = Origin(file=file.name, line=line.number)
        if line.raw is None:
            yield jsonl.reject_overlong(line, origin, max_bytes=longest)
            continue
        try:
            raw = opened.field_names.rename(line.raw)
            event = decode_event(raw, origin=origin, limits=limits)
            yield _complete(event, raw, origin, opened)
        except BadDocument as exc:
            error = explain_missing_fields(exc, line.raw, opened.field_names)
            yield RejectedMessage.of(error, line.raw, origin=origin)


def _complete(event: Event, raw: bytes, origin: Origin, opened: OpenFile) -> ArchivedEvent:
    """The event with its content, time and source, so that it can be judged without the file it came from.

    Fields that the gate does not read are kept."""
    if not isinstance(event, CheckInEvent):
        return ArchivedEvent(event=event, origin=origin, raw=raw)
    added: dict[str, object] = {}
    if event.content_uri is not None:
        read = attach_content(event, event.content_uri, origin=origin, root=opened.content_root, limits=opened.limits)
        added |= {"text": read.text, "content_uri": None}
    if event.checked_in_at is None and opened.modified_at is not None:
        added["checked_in_at"] = opened.modified_at
    if event.source is None and opened.source is not None:
        added["source"] = opened.source
    if added:
        event = structs.replace(event, **added)
        raw = _with_fields(raw, added)
    return ArchivedEvent(event=event, origin=origin, raw=raw)


def _with_fields(raw: bytes, added: dict[str, object]) -> bytes:
    """Add fields to a message. New ones are appended to the bytes, which saves decoding a long text."""
    if any(f'"{name}"'.encode() in raw for name in added):
        return msgspec.json.encode({**msgspec.json.decode(raw, type=dict[str, msgspec.Raw]), **added})
    return raw.rstrip()[:-1] + b"," + msgspec.json.encode(added)[1:]


FORMATS = (
    FileFormat("JSON Lines", (".jsonl", ".ndjson"), read_jsonl),
    FileFormat("text", ("",), read_text),
)


def _modified_at(file: io.BufferedReader) -> datetime | None:
    """When a file was last modified: the check-in time of documents that name none."""
    try:
        return datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
    except (OSError, ValueError, OverflowError):  # file systems hold times that Python cannot represent
        return None


def _reject_file(file: ArchiveFile, error: BadDocument) -> RejectedMessage:
    return RejectedMessage(
        error=BadDocument(error.code, f"{file.name}: {error}"),
        origin=Origin(file=file.name),
        document_id=None,
        sha256="",
        size_bytes=file.size_bytes,
        raw=None,
    )
