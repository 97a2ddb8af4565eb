"""What a pool and its children say to each other: messages of msgpack, each behind its length."""

from __future__ import annotations

import struct
from typing import BinaryIO

import msgspec

from gate.errors import BadDocument, Reason
from gate.extract.text_of import ExtractedText, ReadOptions

READY = b"R"  # a child that has started; its time begins with the first request
LENGTH = struct.Struct("<Q")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A file, by its path or as it is."""

    path: str | None = None
    data: bytes = b""
    options: ReadOptions = ReadOptions()


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """The text, or why there is none."""

    extracted: ExtractedText | None = None
    code: Reason | None = None
    message: str = ""
    is_last: bool = False  # the child ends after it, because of the memory that it holds

    def result(self) -> ExtractedText | BadDocument:
        if self.extracted is not None:
            return self.extracted
        return BadDocument(self.code or "unreadable", self.message)


def pack(message: Request | Response) -> bytes:
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(body)) + body


def read_request(stream: BinaryIO) -> Request | None:
    """None: the parent has closed the pipe."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    body = stream.read(LENGTH.unpack(head)[0])
    return msgspec.msgpack.decode(body, type=Request)
