"""The text in the bytes of a file, or why there is none."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import BinaryIO

from gate.errors import BadDocument

SNIFFED_BYTES = 8192  # where a binary file shows its first NUL; text never holds one
BYTES_PER_CHARACTER = 4  # neither UTF-8 nor UTF-16 needs more, so no more than the limit times this is ever read
FIRST_BYTES = 64 * 1024  # most texts are shorter, and a read makes room for as much as it is asked for
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF_32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def read(path: Path, *, max_chars: int) -> str:
    """The file's text. BadDocument says what is wrong with it and how to mend that, and quotes nothing of it."""
    try:
        with path.open("rb") as file:
            return read_stream(file, max_chars=max_chars)
    except OSError as exc:
        raise unreadable(exc) from exc


def read_stream(stream: BinaryIO, *, max_chars: int) -> str:
    most = max_chars * BYTES_PER_CHARACTER + len(codecs.BOM_UTF8) + 1
    raw = stream.read(min(most, FIRST_BYTES))
    if len(raw) == FIRST_BYTES:
        raw += stream.read(most - FIRST_BYTES)
    return decode(raw, max_chars=max_chars)


def unreadable(error: OSError) -> BadDocument:
    return BadDocument("unreadable", f"cannot be read: {error.strerror or type(error).__name__}")


def decode(raw: bytes, *, max_chars: int) -> str:
    """The text in the bytes, if they are a text and no longer than allowed. They may be cut beyond the limit."""
    if raw.startswith(_UTF_32):  # before UTF-16, whose mark is the beginning of this one
        raise BadDocument("bad_encoding", "is UTF-32; convert it with: iconv -f UTF-32 -t UTF-8")
    encoding = "utf-16" if raw.startswith(_UTF_16) else "utf-8-sig"
    if encoding != "utf-16" and b"\0" in raw[:SNIFFED_BYTES]:
        raise BadDocument("binary", "is not a text file; extract its text first")
    if len(raw) > max_chars * BYTES_PER_CHARACTER + len(codecs.BOM_UTF8):
        raise _too_large(max_chars)
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as exc:
        told = f"is not UTF-8 (byte {exc.start:,}); if it is Latin-1, convert it with: iconv -f LATIN1 -t UTF-8"
        if encoding == "utf-16":
            told = f"is not UTF-16, as its mark says, at byte {exc.start:,}; it may be cut off"
        raise BadDocument("bad_encoding", told) from exc
    if "\0" in text[:SNIFFED_BYTES]:
        raise BadDocument("binary", "is not a text file; extract its text first")
    if len(text) > max_chars:
        raise _too_large(max_chars)
    return text


def _too_large(max_chars: int) -> BadDocument:
    return BadDocument(
        "too_large", f"has more than {max_chars:,} characters; split it, or raise limits.max_document_chars"
    )
