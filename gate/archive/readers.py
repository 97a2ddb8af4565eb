"""How each kind of file is read: one row of `READERS` for each, the first whose suffix fits.

A reader turns a stream into documents, or into what is wrong with it; it never raises for what a file holds. Another
format is a function and a row.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
from msgspec import structs

from gate.archive import texts
from gate.archive.unpack import bare_name, unpacked
from gate.archive.walk import find
from gate.errors import BadDocument, Unavailable
from gate.limits import Limits
from gate.stream import jsonl
from gate.stream.content import attach_content
from gate.wire import CheckInEvent, DocumentId, Event, Origin, Rejected, decode_event, encode

STDIN = jsonl.STDIN
_STDIN_NAME = "stdin.jsonl"  # what standard input is read as


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A file of an archive. `mark` tells it from every other, and from itself after a change."""

    name: str
    path: Path | None  # None: standard input
    size_bytes: int = 0
    changed_ns: int = 0

    @property
    def mark(self) -> str:
        told = f"{self.name}\0{self.size_bytes}\0{self.changed_ns}"
        return hashlib.blake2b(told.encode(), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A document, or the delete of one. `raw` is the message that it was, where it was one and is whole by itself."""

    event: Event
    origin: Origin
    raw: bytes | None = field(default=None, repr=False)

    @property
    def message(self) -> bytes:
        """As it is sent to a topic."""
        return self.raw if self.raw is not None else encode(self.event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A file that is open, and what is known of its documents beforehand."""

    item: Item
    stream: BinaryIO
    limits: Limits
    dated: datetime | None
    source: str | None = None
    after_line: int = 0  # lines up to this one have been done before


Readable = Found | Rejected | None  # None: more may come, but there is none to read now


class Reader(NamedTuple):
    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Opened], Iterator[Readable]]


def items(paths: Sequence[Path]) -> Iterator[Item]:
    """The files below the paths, in a stable order."""
    for name, path in find(paths):
        if str(path) == STDIN:
            yield Item(name=STDIN, path=None)
            continue
        try:
            known = path.stat()
        except OSError:
            yield Item(name=name, path=path)  # why it cannot be read is told when it is
        else:
            yield Item(name=name, path=path, size_bytes=known.st_size, changed_ns=known.st_mtime_ns)


class ItemReader:
    """The documents of one file, and how many of its bytes have been read."""

    def __init__(self, item: Item, *, limits: Limits, source: str | None = None, after_line: int = 0) -> None:
        self._item = item
        self._limits = limits
        self._source = source
        self._after_line = after_line
        self._file: io.BufferedReader | None = None

    def read_bytes(self) -> int:
        return 0 if self._file is None or self._file.closed or not self._file.seekable() else self._file.tell()

    def __iter__(self) -> Iterator[Readable]:
        with ExitStack() as held:
            try:
                file = self._open(held)
                self._file = file if self._item.path is not None else None
                opened = Opened(
                    item=self._item,
                    stream=unpacked(file),
                    limits=self._limits,
                    dated=_dated(file) if self._item.path is not None else None,
                    source=self._source,
                    after_line=self._after_line,
                )
                yield from reader_for(self._item).read(opened)
            except OSError as exc:
                yield _refused(self._item, texts.unreadable(exc))
            except BadDocument as exc:
                yield _refused(self._item, exc)
            except Unavailable:
                yield _refused(self._item, BadDocument("unreadable", "cannot be read any further"))

    def _open(self, held: ExitStack) -> io.BufferedReader:
        if self._item.path is None:
            stdin = sys.stdin.buffer
            return stdin if isinstance(stdin, io.BufferedReader) else io.BufferedReader(stdin)  # type: ignore[arg-type]
        return held.enter_context(self._item.path.open("rb"))


def reader_for(item: Item) -> Reader:
    name = bare_name(_STDIN_NAME if item.path is None else item.name).lower()
    return next(reader for reader in READERS if name.endswith(reader.suffixes))


def read_text(opened: Opened) -> Iterator[Readable]:
    """The whole file is one document, called as the file is."""
    item = opened.item
    text = texts.read_stream(opened.stream, max_chars=opened.limits.max_document_chars)
    try:
        named = msgspec.convert(item.name, DocumentId)
    except msgspec.ValidationError:
        raise BadDocument("bad_field", "its path has more than 1,024 characters, too many for an id") from None
    event = CheckInEvent(document_id=named, text=text, source=opened.source, checked_in_at=opened.dated)
    yield Found(event=event, origin=Origin(file=item.name))


def read_jsonl(opened: Opened) -> Iterator[Readable]:
    """Each line is an event. What a line says of its time and its source counts more than what the file does."""
    item, limits = opened.item, opened.limits
    root = Path() if item.path is None else item.path.parent
    longest = jsonl.max_line_bytes(limits)
    for line in jsonl.read_lines(opened.stream, max_bytes=longest):
        if line is None:
            yield None
            continue
        if line.number <= opened.after_line:
            continue
        origin = Origin(file=item.name, line=line.number)
        if line.raw is None:
            yield jsonl.reject_overlong(line, origin, max_bytes=longest)
            continue
        try:
            event = decode_event(line.raw, origin=origin, limits=limits)
            yield _whole(event, line.raw, origin, opened, root)
        except BadDocument as exc:
            yield Rejected.of(exc, line.raw, origin=origin)


def _whole(event: Event, raw: bytes, origin: Origin, opened: Opened, root: Path) -> Found:
    """An event that needs nothing beside it to be judged. Fields that the gate does not read are kept."""
    if not isinstance(event, CheckInEvent):
        return Found(event=event, origin=origin, raw=raw)
    added: dict[str, object] = {}
    if event.content_uri is not None:
        read = attach_content(event, event.content_uri, origin=origin, root=root, limits=opened.limits)
        added |= {"text": read.text, "content_uri": None}
    if event.checked_in_at is None and opened.dated is not None:
        added["checked_in_at"] = opened.dated
    if event.source is None and opened.source is not None:
        added["source"] = opened.source
    if added:
        event = structs.replace(event, **added)
        raw = _with_fields(raw, added)
    return Found(event=event, origin=origin, raw=raw)


def _with_fields(raw: bytes, added: dict[str, object]) -> bytes:
    """The message with more fields. Those that it does not name yet are written behind the others: texts are long."""
    if any(f'"{name}"'.encode() in raw for name in added):
        return msgspec.json.encode({**msgspec.json.decode(raw), **added})
    return raw.rstrip()[:-1] + b"," + msgspec.json.encode(added)[1:]


READERS = (
    Reader("JSON Lines", (".jsonl", ".ndjson"), read_jsonl),
    Reader("text", ("",), read_text),
)


def _dated(file: io.BufferedReader) -> datetime | None:
    """When a file was changed last, which is the date of its documents as far as anybody knows."""
    try:
        return datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
    except (OSError, ValueError, OverflowError):  # a clock may say anything
        return None


def _refused(item: Item, error: BadDocument) -> Rejected:
    return Rejected(
        error=BadDocument(error.code, f"{item.name}: {error}"),
        origin=Origin(file=item.name),
        document_id=None,
        sha256="",
        size_bytes=item.size_bytes,
        raw=None,
    )
