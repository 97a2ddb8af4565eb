"""Web archives, WARC and WET: each response, resource or text is a document, whose id is that of its record.

    WARC/1.0                                a record: its fields, an empty line, its content, two empty lines
    WARC-Type: response
    WARC-Record-ID: <urn:uuid:...>
    Content-Length: 1234

    HTTP/1.1 200 OK                         the content of a response of HTTP: its fields, an empty line, the page
    ...

The format is small, and read here: of the libraries one reads lines of any length at once, and the other ends the
process on a record that it does not expect.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO

from gate.archive.bounds import MemberStream
from gate.archive.parts import Member, OpenFile, Part, SourceOptions, printable_name
from gate.errors import BadDocument

_DOCUMENTS = ("response", "resource", "conversion")
_MAX_LINE_BYTES = 64 * 1024
_MAX_FIELDS = 1000
_CHUNK_BYTES = 256 * 1024


def is_web_archive(head: bytes, name: str, options: SourceOptions) -> bool:
    return head.startswith((b"WARC/1.", b"WARC/0."))


def read_web_archive(opened: OpenFile) -> Iterator[Part]:
    """BadDocument: the archive is damaged; what came before it was read."""
    number = 0
    while (first := _first_line(opened.stream)) is not None:
        if not first.startswith(b"WARC/"):
            raise _damaged()
        fields = _read_fields(opened.stream)
        length = fields.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 19):
            raise _damaged()
        content = _Content(opened.stream, int(length))
        if fields.get("warc-type") in _DOCUMENTS:
            number += 1
            yield _member(fields, content, number, opened)
        content.skip()


def _member(fields: dict[str, str], content: _Content, number: int, opened: OpenFile) -> Member:
    record_id = fields.get("warc-record-id", "").removeprefix("<").removesuffix(">")
    is_http = fields.get("content-type", "").replace(" ", "").lower().startswith("application/http")
    read = _page_of_response(content) if is_http else content
    return Member(
        name=printable_name(record_id) or str(number),
        stream=MemberStream(read.read, opened.unpacking, (EOFError, ValueError), "is cut off, or damaged"),
        modified_at=_date(fields.get("warc-date", "")),
        uri=printable_name(fields.get("warc-target-uri", "").removeprefix("<").removesuffix(">")) or None,
        is_path=False,
    )


def _first_line(stream: BinaryIO) -> bytes | None:
    """The first line of a record, behind the empty lines of the one before it; None: there is no more."""
    while line := stream.readline(_MAX_LINE_BYTES):
        if line not in (b"\r\n", b"\n"):
            return line
    return None


def _read_fields(stream: BinaryIO | _Content) -> dict[str, str]:
    """The fields up to an empty line, in lower case; of several of one name the first."""
    fields: dict[str, str] = {}
    for _ in range(_MAX_FIELDS):
        line = stream.readline(_MAX_LINE_BYTES)
        if line in (b"\r\n", b"\n"):
            return fields
        if not line.endswith(b"\n"):
            break
        name, separator, value = line.decode("utf-8", "replace").partition(":")
        if separator:
            fields.setdefault(name.strip().lower(), value.strip())
    raise _damaged()


def _damaged() -> BadDocument:
    return BadDocument("damaged", "is a web archive that is damaged or cut off here; what came before it was read")


def _date(value: str) -> datetime | None:
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


class _Content:
    """The content of a record: as many bytes as it declares."""

    def __init__(self, stream: BinaryIO, length: int) -> None:
        self._stream = stream
        self._left = length

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, self._left))
        self._left -= len(data)
        if not data and self._left and size:
            raise EOFError
        return data

    def readline(self, size: int) -> bytes:
        line = self._stream.readline(min(size, self._left))
        self._left -= len(line)
        return line

    def skip(self) -> None:
        try:
            while self.read(_CHUNK_BYTES):
                pass
        except EOFError:
            raise _damaged() from None


def _page_of_response(content: _Content) -> _Content | _Chunks | io.BytesIO:
    """What the server sent, without its fields. One that is compressed is recognised as such by its first bytes."""
    if not content.readline(_MAX_LINE_BYTES).startswith(b"HTTP/"):
        return io.BytesIO()
    try:
        fields = _read_fields(content)
    except BadDocument:
        return io.BytesIO()
    if fields.get("transfer-encoding", "").lower() != "chunked":
        return content
    return _Chunks(content)


class _Chunks:
    """Content in chunks, each behind a line with its length in hexadecimal. Many archives keep the field and not the
    chunks: what does not begin with such a line is taken as it is."""

    def __init__(self, content: _Content) -> None:
        self._content = content
        self._before = b""  # what was read to find out
        self._left: int | None = None  # of this chunk; None: the content is plain
        first = content.readline(_MAX_LINE_BYTES)
        try:
            self._left = _chunk_length(first)
        except ValueError:
            self._before = first
        self._ended = self._left == 0

    def read(self, size: int) -> bytes:
        if self._left is None:
            data, self._before = self._before[:size], self._before[size:]
            return data or self._content.read(size)
        if not self._left and not self._ended:
            self._content.readline(2)  # the end of the chunk before
            self._left = _chunk_length(self._content.readline(_MAX_LINE_BYTES))
            self._ended = not self._left
        data = self._content.read(min(size, self._left)) if self._left else b""
        self._left -= len(data)
        return data


def _chunk_length(line: bytes) -> int:
    """ValueError: the line does not say it."""
    return max(0, int(line.partition(b";")[0], 16))
