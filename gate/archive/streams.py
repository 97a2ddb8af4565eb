"""Look at the first bytes of streams that cannot go back."""

from __future__ import annotations

import io
from typing import Any, BinaryIO

BUFFER_BYTES = 256 * 1024


class RejoinedStream(io.RawIOBase):
    """Bytes that were read ahead, and the rest of the stream that they were read from."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)]
        if data:
            self._head = self._head[len(data) :]
        else:
            data = self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def as_buffered(stream: BinaryIO | io.RawIOBase) -> io.BufferedReader:
    if isinstance(stream, io.BufferedReader):
        return stream
    if isinstance(stream, io.RawIOBase):
        return io.BufferedReader(stream, BUFFER_BYTES)
    return io.BufferedReader(RejoinedStream(b"", stream), BUFFER_BYTES)


def peek_head(stream: io.BufferedReader, size: int) -> tuple[bytes, io.BufferedReader]:
    """The first bytes, and a stream that gives them again.

    A pipe is not waited for: there the first bytes are what one read gives."""
    head = stream.peek(size)
    if len(head) >= size or _is_pipe(stream):
        return head[:size], stream
    if stream.seekable():
        start = stream.tell()
        head = stream.read(size)
        stream.seek(start)
        return head, stream
    head = stream.read(size)
    return head, io.BufferedReader(RejoinedStream(head, stream), BUFFER_BYTES)


def _is_pipe(stream: io.BufferedReader) -> bool:
    """Whether a read may wait for another process or a person."""
    if stream.seekable():
        return False
    try:
        stream.fileno()
    except OSError:
        return False
    return True
