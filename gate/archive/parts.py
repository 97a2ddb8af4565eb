"""What the readers of archives take and give: open files; events, documents to extract, and files within files."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from gate.archive.bounds import ArchiveLimits, Unpacking
from gate.archive.files import DEFAULT_SELECTION, FileSelection
from gate.errors import BadDocument
from gate.extract.text_of import ReadOptions
from gate.limits import Limits
from gate.stream.field_names import OWN_NAMES, FieldNames
from gate.wire import CheckInEvent, DocumentId, Event, Origin, RejectedMessage, encode

_LIMITS, _READ_OPTIONS, _ARCHIVE = Limits(), ReadOptions(), ArchiveLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How sources are read."""

    limits: Limits = _LIMITS
    read: ReadOptions = _READ_OPTIONS  # of files that are no plain text
    archive: ArchiveLimits = _ARCHIVE
    selection: FileSelection = DEFAULT_SELECTION
    format: str | None = None  # of all files that are given, whatever they look like: a name of `FORMATS`
    field_names: FieldNames = OWN_NAMES
    source: str | None = None  # of documents that name none
    content_root: Path | None = None
    dates_from_files: bool = True  # of documents that have no date: that of their file
    number_records: bool = False  # JSON Lines without an id get the number of their line as one, as rows of tables do
    keep_records: bool = False  # with each event, the record that it was made of
    records_only: bool = False  # of JSON Lines: they are not decoded, nor checked; each line has an event that is none
    processes: int | None = None  # that extract texts; None: one for each core


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFile:
    """A file of an archive. `key` identifies it in the journal, and differs after the file was changed."""

    name: str
    path: Path | None  # None: standard input
    size_bytes: int = 0
    modified_ns: int = 0
    is_only_source: bool = False  # what is in it needs no prefix to have an id of its own

    key: str = field(init=False)

    def __post_init__(self) -> None:
        identity = f"{self.name}\0{self.size_bytes}\0{self.modified_ns}"
        key = hashlib.blake2b(identity.encode(), digest_size=12).hexdigest()
        object.__setattr__(self, "key", key)  # once: a replay asks for it with every document


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedEvent:
    """A check-in or a delete. `raw` is the message as it was in the file, where it needs nothing beside it."""

    event: Event
    origin: Origin
    raw: bytes | None = field(default=None, repr=False)
    added: Mapping[str, object] | None = field(default=None, repr=False)  # fields that `raw` has yet to get
    record: bytes | Mapping[str, object] | None = field(default=None, repr=False)  # as it was, with `keep_records`
    problem: BadDocument | None = None  # why there is no text, in words

    @property
    def message(self) -> bytes:
        """The message as it is sent to a topic."""
        if self.raw is None:
            return encode(self.event)
        return with_fields(self.raw, self.added) if self.added else self.raw


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadDocument:
    """A document whose text has yet to be extracted: all that is known of it but the text, and its bytes."""

    event: CheckInEvent
    origin: Origin
    content: Path | bytes = field(repr=False)
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFile:
    """An open file, and what its documents get that do not say it themselves."""

    name: str  # for people; of a file in an archive, behind the name of that and a slash
    document_id: str  # of the file, if it is a document
    inner_prefix: str  # of the ids of what is in the file
    stream: BinaryIO
    head: bytes  # the first bytes, which the stream gives too
    options: SourceOptions
    modified_at: datetime | None = None
    after_line: int = 0  # lines up to this one were done by an earlier replay
    path: Path | None = None  # where the same bytes are on a disk
    size_bytes: int | None = None  # None: not known before it is read
    uri: str | None = None
    unpacking: Unpacking = field(default_factory=Unpacking)  # out of the outermost file


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file within a file. Its stream is valid until the next part is asked for."""

    name: str
    stream: BinaryIO | io.RawIOBase
    modified_at: datetime | None = None
    size_bytes: int | None = None
    uri: str | None = None
    is_path: bool = True  # False: the name is the id of a record, to which the selection of files does not apply


class EndOfFile(Enum):
    """What stands at the end of each file of a source, for whoever keeps a journal."""

    READ = "read"  # all of it, whatever single documents were rejected
    UNREADABLE = "unreadable"  # it, or the rest of it, could not be read: a rejection came before
    SKIPPED = "skipped"  # it was done before


class ReadItem(NamedTuple):
    """What a file gave. `position` counts from 1 in files of several documents: lines of JSON Lines, otherwise the
    documents; None: the file is the document, or it is rejected as a whole."""

    file: ArchiveFile
    position: int | None
    result: ArchivedEvent | UnreadDocument | RejectedMessage | EndOfFile


class SourceItem(NamedTuple):
    """The same, once the text of a document is extracted."""

    file: ArchiveFile
    position: int | None
    result: ArchivedEvent | RejectedMessage | EndOfFile


ReadResult = ArchivedEvent | UnreadDocument | RejectedMessage | None  # None: the input pauses; more may come
Part = ReadResult | Member
Read = Callable[[OpenFile], Iterator[Part]]


class FileFormat(NamedTuple):
    """`fits` looks at the first bytes and the name of a file, without a suffix of compression."""

    name: str
    fits: Callable[[bytes, str, SourceOptions], bool]
    read: Read


def valid_id(name: str) -> str:
    """A name as a document id. BadDocument: it is none."""
    try:
        return msgspec.convert(name, DocumentId)
    except msgspec.ValidationError:
        raise BadDocument("bad_field", "its path has more than 1,024 characters, too many for an id") from None


def with_fields(raw: bytes, added: Mapping[str, object]) -> bytes:
    """Add fields to a message. New ones are appended to the bytes, which saves decoding a long text."""
    if any(f'"{name}"'.encode() in raw for name in added):
        return msgspec.json.encode({**msgspec.json.decode(raw, type=dict[str, msgspec.Raw]), **added})
    return raw.rstrip()[:-1] + b"," + msgspec.json.encode(added)[1:]


def printable_name(name: str) -> str:
    """The name of a file in an archive, as valid Unicode and relative. Nothing is ever written where it points to."""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    while name.startswith("./"):
        name = name[2:].lstrip("/")
    return name


def reject(name: str, error: BadDocument, *, size_bytes: int = 0) -> RejectedMessage:
    """The rejection of a whole file."""
    return RejectedMessage(
        error=BadDocument(error.code, f"{name}: {error}"),
        origin=Origin(file=name),
        document_id=None,
        sha256="",
        size_bytes=size_bytes,
        raw=None,
    )
