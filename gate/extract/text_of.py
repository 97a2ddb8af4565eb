"""What an extracting function gets and gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from gate.errors import BadDocument
from gate.extract.limits import ExtractLimits

HtmlPart = Literal["main", "full"]


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How files are read."""

    html: HtmlPart = "main"  # what a page is about, or everything that can be seen on it
    encoding: str | None = None  # of plain texts; None: as it looks
    limits: ExtractLimits = ExtractLimits()


class ExtractedText(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a file, and what the file says about itself."""

    text: str
    format: str  # the name of the format
    title: str | None = None
    mime_type: str | None = None


class TextParts:
    """Parts of a text, joined in the end. BadDocument as soon as they are too long together."""

    def __init__(self, max_chars: int) -> None:
        self._parts: list[str] = []
        self._chars = 0
        self._max_chars = max_chars

    def add(self, part: str) -> None:
        self._chars += len(part)
        if self._chars > self._max_chars:
            raise too_long(self._max_chars)
        self._parts.append(part)

    def extend(self, parts: Iterable[str]) -> None:
        for part in parts:
            self.add(part)

    def __str__(self) -> str:
        return "".join(self._parts)


def too_long(max_chars: int) -> BadDocument:
    return BadDocument(
        "too_large", f"has more than {max_chars:,} characters; split it, or raise limits.max_document_chars"
    )


def damaged(what: str) -> BadDocument:
    return BadDocument("damaged", f"is a damaged {what}; open and save it again with the program that made it")


def encrypted(what: str) -> BadDocument:
    return BadDocument("encrypted", f"is {what} with a password; save it without one")
