"""JSON Lines in and out: check-in events from files or standard input, verdicts and dead letters to files.

    bytes ──read_lines──▶ Line ──decode_lines──▶ DecodedMessage | RejectedMessage ──batches──▶ lists, in order

Memory is bounded by the limits, not by the input: an overlong line is hashed and counted, not kept.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import select
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, TypeVar

from gate.errors import BadDocument, ConfigError, Unavailable
from gate.limits import Limits
from gate.pipeline import chunked
from gate.private_files import create_private
from gate.stream.content import attach_content
from gate.stream.field_names import OWN_NAMES, FieldNames, explain_missing_fields
from gate.wire import (
    CheckInEvent,
    DecodedMessage,
    Origin,
    RejectedMessage,
    VerdictEvent,
    decode_event,
    encode,
    max_event_bytes,
)

Message = DecodedMessage | RejectedMessage

STDIN = "-"
# After so many lines that are no JSON, from the first line on, a file is taken for something else.
MAX_FIRST_BAD_LINES = 25
_READ_BYTES = 256 * 1024
_BOM = b"\xef\xbb\xbf"
# Short blank lines are passed over together: 29 KB of xz may hold a hundred million. Possessive, so it never goes back.
_BLANK_LINES = re.compile(rb"(?:[ \t\r\x0b\x0c]{0,63}+\n)++")


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its newline. `raw` is None where the line is overlong; hash and size identify it."""

    number: int
    raw: bytes | None
    sha256: str = ""
    size_bytes: int = 0


def read_lines(stream: BinaryIO, *, max_bytes: int) -> Iterator[Line | None]:
    """The lines of a stream that are not blank. None: the stream would block, more lines may come."""
    number = 1
    buffer = _LineBuffer(max_bytes)
    for chunk in _read_chunks(stream):
        if chunk is None:
            yield None
            continue
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            buffer.add(chunk[start:end])
            if (line := buffer.take(number)) is not None:
                yield line
            number += 1
            start = end + 1
            if blank := _BLANK_LINES.match(chunk, start):
                number += chunk.count(b"\n", start, blank.end())
                start = blank.end()
        buffer.add(chunk[start:])
    if (line := buffer.take(number)) is not None:
        yield line


class _LineBuffer:
    """The part of the current line that has been read. Beyond the limit only its hash and size are kept."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._digest = hashlib.sha256()

    def add(self, part: bytes) -> None:
        self._size += len(part)
        self._parts.append(part)
        if self._size > self._max_bytes:
            for unhashed in self._parts:
                self._digest.update(unhashed)
            self._parts.clear()

    def take(self, number: int) -> Line | None:
        """The finished line, None if it is blank. The buffer is empty afterwards."""
        size, self._size = self._size, 0
        if size > self._max_bytes:
            digest, self._digest = self._digest.hexdigest(), hashlib.sha256()
            return Line(number, None, digest, size)
        raw = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        if number == 1:
            raw = raw.removeprefix(_BOM)
        return None if not raw or raw.isspace() else Line(number, raw)


def _read_chunks(stream: BinaryIO) -> Iterator[bytes | None]:
    """Chunks as soon as they can be read; None before a read that would block, so that a batch can end there."""
    read = stream.read1 if isinstance(stream, io.BufferedIOBase) else stream.read
    can_block = _can_block(stream)
    while True:
        if can_block and not select.select([stream], [], [], 0)[0]:
            yield None
        try:
            chunk = read(_READ_BYTES)
        except OSError as exc:
            raise Unavailable(f"the input cannot be read any further: {exc.strerror}") from exc
        if not chunk:
            return
        yield chunk


def _can_block(stream: BinaryIO) -> bool:
    """Whether a read may wait for another process or a person: a pipe, a socket, a terminal."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):  # not backed by a file
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


def decode_lines(
    stream: BinaryIO,
    *,
    name: str,
    limits: Limits,
    content_root: Path | None = None,
    field_names: FieldNames = OWN_NAMES,
) -> Iterator[Message | None]:
    """The event in each line, or why there is none, in the order of the input; None where the input would block.

    Content that events refer to is read from `content_root`; without one, they are rejected. A file that is not JSON
    Lines is rejected once, not line by line.
    """
    messages = _decode_lines(stream, name=name, limits=limits, content_root=content_root, field_names=field_names)
    return reject_other_format(messages, Origin(file=name))


def _decode_lines(
    stream: BinaryIO, *, name: str, limits: Limits, content_root: Path | None, field_names: FieldNames
) -> Iterator[Message | None]:
    max_bytes = max_event_bytes(limits)
    for line in read_lines(stream, max_bytes=max_bytes):
        if line is None:
            yield None
            continue
        origin = Origin(file=name, line=line.number)
        if line.raw is None:
            yield reject_overlong(line, origin, max_bytes=max_bytes)
            continue
        try:
            event = decode_event(field_names.rename(line.raw), origin=origin, limits=limits)
            if isinstance(event, CheckInEvent) and event.content_uri is not None:
                event = attach_content(event, event.content_uri, origin=origin, root=content_root, limits=limits)
        except BadDocument as exc:
            yield RejectedMessage.of(explain_missing_fields(exc, line.raw, field_names), line.raw, origin=origin)
        else:
            yield DecodedMessage(event=event, origin=origin)


M = TypeVar("M")


def reject_other_format(
    messages: Iterator[M | RejectedMessage | None], origin: Origin
) -> Iterator[M | RejectedMessage | None]:
    """The messages of a file; one rejection in their place if none of the first lines is JSON, or none of fewer.

    Where the input pauses before that is decided, the lines count one by one: they may be all that ever comes.
    """
    first: list[RejectedMessage] = []
    for message in messages:
        if isinstance(message, RejectedMessage) and message.error.code == "bad_json":
            first.append(message)
            if len(first) < MAX_FIRST_BAD_LINES:
                continue
            yield _other_format(origin, MAX_FIRST_BAD_LINES)
            return
        yield from first
        yield message
        if message is not None or first:
            break
    else:
        # A short file; standard input is gone once it is read, so each of its lines is kept.
        if len(first) > 1 and origin.file != STDIN and not any(map(_looks_like_an_object, first)):
            yield _other_format(origin, len(first))
        else:
            yield from first
    yield from messages


def _looks_like_an_object(rejected: RejectedMessage) -> bool:
    return (rejected.raw or b"{").lstrip().startswith(b"{")


def _other_format(origin: Origin, lines: int) -> RejectedMessage:
    problem = (
        f"{'standard input' if origin.file == STDIN else origin}: is not JSON Lines: none of its first "
        f"{lines} lines is a JSON object; give one object per line, or pass files of text to `gate check`"
    )
    return RejectedMessage(
        error=BadDocument("not_json_lines", problem),
        origin=origin,
        document_id=None,
        sha256="",
        size_bytes=0,
        raw=None,
    )


def read_messages(
    stream: BinaryIO, *, name: str, limits: Limits, content_root: Path | None = None
) -> Iterator[Message]:
    """`decode_lines` for a caller that may block."""
    decoded = decode_lines(stream, name=name, limits=limits, content_root=content_root)
    return (message for message in decoded if message is not None)


def reject_overlong(line: Line, origin: Origin, *, max_bytes: int) -> RejectedMessage:
    """The rejection of a line that was too long to be kept."""
    problem = (
        f"{origin}: the line has {line.size_bytes} bytes, more than the {max_bytes} that limits.max_document_chars "
        "allows for: cut the document in parts, or raise that limit"
    )
    return RejectedMessage(
        error=BadDocument("too_large", problem),
        origin=origin,
        document_id=None,
        sha256=line.sha256,
        size_bytes=line.size_bytes,
        raw=None,
    )


def batches(messages: Iterable[Message | None], limits: Limits) -> Iterator[list[Message]]:
    """Cut messages into batches, bounded in documents and in all fields of their events.

    A batch also ends where the input would block."""
    return chunked(messages, size=_length, max_items=limits.batch_documents, max_size=limits.batch_chars)


def _length(message: Message) -> int:
    if isinstance(message, RejectedMessage):
        return len(message.raw or b"")
    return message.event.size if isinstance(message.event, CheckInEvent) else 0


class LineFile:
    """Writes lines of JSON to a file or a stream; `write` returns when the operating system has them.

    Verdicts, dead letters and exports tell which documents there are: a new file is readable by its owner only.
    """

    def __init__(self, target: Path | BinaryIO, *, name: str | None = None, append: bool = False) -> None:
        self.name = name or (str(target) if isinstance(target, Path) else "standard output")
        self._owned = isinstance(target, Path)
        if not isinstance(target, Path):
            self._file = target
            return
        try:
            create_private(target)
            self._file = target.open("a+b" if append else "wb")
            if append:
                self._terminate_last_line()
        except OSError as exc:
            raise ConfigError(f"{self.name}: cannot be written: {exc.strerror}") from exc

    def _terminate_last_line(self) -> None:
        """End a line that a crash cut off, so that the next one starts on a line of its own."""
        if self._file.seek(0, os.SEEK_END):
            self._file.seek(-1, os.SEEK_END)
            if self._file.read(1) != b"\n":
                self._file.write(b"\n")

    def write(self, encoded: Iterable[bytes]) -> None:
        try:
            self._file.write(b"".join(line + b"\n" for line in encoded))
            self._file.flush()
        except BrokenPipeError:
            raise  # the reader has closed its end, which is no error of ours
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


def write_dead_letters(file: LineFile, rejected: Iterable[RejectedMessage], *, at: datetime) -> None:
    """Dead letters with their originals, so that nothing is lost: the file is as confidential as the input."""
    file.write(encode(rejection.dead_letter(at=at, keep_original=True)) for rejection in rejected)
