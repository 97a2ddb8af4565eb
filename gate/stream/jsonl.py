"""JSON Lines in and out: check-in events from files or standard input, verdicts and dead letters to files.

    bytes ──lines──▶ Line ──messages──▶ Arrival | Rejected ──batches──▶ lists of them, in the order of the input

Memory is bounded by the limits and not by the input: a line without end is hashed and counted, not kept.
"""

from __future__ import annotations

import hashlib
import io
import os
import select
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from msgspec import structs

from gate.errors import BadDocument, ConfigError, Unavailable
from gate.limits import Limits
from gate.stream.content import read_content
from gate.wire import Arrival, CheckInEvent, Origin, Rejected, VerdictEvent, decode_event, encode

Message = Arrival | Rejected

STDIN = "-"
_CHUNK_BYTES = 256 * 1024
_BOM = b"\xef\xbb\xbf"
# The longest way that JSON writes a character of the basic plane is \uXXXX; the rest is room for the other fields.
_ESCAPED_BYTES_PER_CHAR = 6
_OTHER_FIELDS_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end. `raw` is None where it was longer than allowed; hash and size tell which it was."""

    number: int
    raw: bytes | None
    sha256: str = ""
    size_bytes: int = 0


def max_line_bytes(limits: Limits) -> int:
    """The longest line that a document within the limits may need."""
    return limits.max_document_chars * _ESCAPED_BYTES_PER_CHAR + _OTHER_FIELDS_BYTES


def lines(stream: BinaryIO, *, max_bytes: int) -> Iterator[Line | None]:
    """The lines of a stream that are not blank. None: more may come, but there is none to read now."""
    number = 1
    pending = _Pending(max_bytes)
    for chunk in _chunks(stream):
        if chunk is None:
            yield None
            continue
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            pending.add(chunk[start:end])
            if (line := pending.take(number)) is not None:
                yield line
            number += 1
            start = end + 1
        pending.add(chunk[start:])
    if (line := pending.take(number)) is not None:
        yield line


class _Pending:
    """The part of a line that has been read. Beyond the limit it turns into a hash and a size."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._overlong = hashlib.sha256()

    def add(self, part: bytes) -> None:
        self._size += len(part)
        self._parts.append(part)
        if self._size > self._max_bytes:
            for kept in self._parts:
                self._overlong.update(kept)
            self._parts.clear()

    def take(self, number: int) -> Line | None:
        """The line that has now ended, None if it is blank; and begin the next."""
        size, self._size = self._size, 0
        if size > self._max_bytes:
            digest, self._overlong = self._overlong.hexdigest(), hashlib.sha256()
            return Line(number, None, digest, size)
        raw = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        if number == 1:
            raw = raw.removeprefix(_BOM)
        return None if not raw or raw.isspace() else Line(number, raw)


def _chunks(stream: BinaryIO) -> Iterator[bytes | None]:
    """What can be read, at once; None before a wait, so that whoever gathers a batch need not wait with it."""
    read = stream.read1 if isinstance(stream, io.BufferedIOBase) else stream.read
    waits = _may_wait(stream)
    while True:
        if waits and not select.select([stream], [], [], 0)[0]:
            yield None
        try:
            chunk = read(_CHUNK_BYTES)
        except OSError as exc:
            raise Unavailable(f"the input cannot be read any further: {exc.strerror}") from exc
        if not chunk:
            return
        yield chunk


def _may_wait(stream: BinaryIO) -> bool:
    """Whether reading may wait for somebody: a pipe, a socket, a terminal."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):  # not backed by a file
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


def messages(
    stream: BinaryIO, *, name: str, limits: Limits, content_root: Path | None = None
) -> Iterator[Message | None]:
    """What each line says, or why it says nothing, in the order of the input; None where the input pauses.

    Contents that events point to are read from `content_root`: by default the folder of the file, and the working
    directory for standard input.
    """
    root = content_root or (Path() if name == STDIN else Path(name).parent)
    longest = max_line_bytes(limits)
    for line in lines(stream, max_bytes=longest):
        if line is None:
            yield None
            continue
        origin = Origin(file=name, line=line.number)
        if line.raw is None:
            yield overlong(line, origin, longest)
            continue
        try:
            event = decode_event(line.raw, origin=origin, limits=limits)
            if isinstance(event, CheckInEvent) and event.content_uri is not None:
                event = with_content(event, event.content_uri, origin, root, limits)
        except BadDocument as exc:
            yield Rejected.of(exc, line.raw, origin=origin)
        else:
            yield Arrival(event=event, origin=origin)


def read(stream: BinaryIO, *, name: str, limits: Limits, content_root: Path | None = None) -> Iterator[Message]:
    """`messages` for whoever does not mind to wait."""
    found = messages(stream, name=name, limits=limits, content_root=content_root)
    return (message for message in found if message is not None)


def with_content(event: CheckInEvent, uri: str, origin: Origin, root: Path, limits: Limits) -> CheckInEvent:
    """The event with the text that it points to."""
    try:
        return structs.replace(event, text=read_content(uri, root=root, limits=limits))
    except BadDocument as exc:
        raise BadDocument(exc.code, f"{origin}: {exc}") from exc


def overlong(line: Line, origin: Origin, longest: int) -> Rejected:
    """Why a line that was too long to be kept is no message."""
    message = (
        f"{origin}: the line has {line.size_bytes} bytes, more than the {longest} that limits.max_document_chars "
        "allows for: cut the document in parts, or raise that limit"
    )
    return Rejected(
        error=BadDocument("too_large", message),
        origin=origin,
        document_id=None,
        sha256=line.sha256,
        size_bytes=line.size_bytes,
        raw=None,
    )


def batches(found: Iterable[Message | None], limits: Limits) -> Iterator[list[Message]]:
    """Cut messages into batches, bounded in documents and characters; where the input pauses, a batch ends.

    A message that is longer than a batch may be is a batch of its own.
    """
    batch: list[Message] = []
    characters = 0
    for message in found:
        length = 0 if message is None else _length(message)
        full = len(batch) >= limits.batch_documents or characters + length > limits.batch_chars
        if batch and (message is None or full):
            yield batch
            batch, characters = [], 0
        if message is not None:
            batch.append(message)
            characters += length
    if batch:
        yield batch


def _length(message: Message) -> int:
    if isinstance(message, Rejected):
        return len(message.raw or b"")
    return len(message.event.text or "") if isinstance(message.event, CheckInEvent) else 0


class LineFile:
    """Lines of JSON, written to a file or a stream. What `write` was given is handed to the system when it returns."""

    def __init__(self, target: Path | BinaryIO, *, name: str | None = None, append: bool = False) -> None:
        self.name = name or (str(target) if isinstance(target, Path) else "standard output")
        self._owned = isinstance(target, Path)
        if not isinstance(target, Path):
            self._file = target
            return
        try:
            self._file = target.open("a+b" if append else "wb")
            if append:
                self._mend()
        except OSError as exc:
            raise ConfigError(f"{self.name}: cannot be written: {exc.strerror}") from exc

    def _mend(self) -> None:
        """End a line that a crash cut off, so that it spoils no other."""
        if self._file.seek(0, os.SEEK_END):
            self._file.seek(-1, os.SEEK_END)
            if self._file.read(1) != b"\n":
                self._file.write(b"\n")

    def write(self, encoded: Iterable[bytes]) -> None:
        try:
            self._file.write(b"".join(line + b"\n" for line in encoded))
            self._file.flush()
        except BrokenPipeError:
            raise  # the reader has had enough: the shell's matter, not a fault
        except OSError as exc:
            raise Unavailable(f"{self.name}: cannot be written: {exc.strerror}") from exc

    def close(self) -> None:
        if self._owned:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def write_verdicts(file: LineFile, verdicts: Iterable[VerdictEvent]) -> None:
    file.write(map(encode, verdicts))


def write_dead_letters(file: LineFile, rejected: Iterable[Rejected], *, at: datetime) -> None:
    """With the originals, so that nothing is lost: the file is as confidential as the input."""
    file.write(encode(one.dead_letter(at=at, keep_original=True)) for one in rejected)
