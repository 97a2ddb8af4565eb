"""Decode plain text that needs no guess: UTF-8, or UTF-16 with a byte order mark. `BadDocument` says why it is none."""

from __future__ import annotations

import codecs

from gate.errors import BadDocument

SNIFFED_BYTES = 8192  # a NUL byte within them means a binary file; text has none
BYTES_PER_CHARACTER = 4  # neither UTF-8 nor UTF-16 needs more, so never more than the limit times this is read
FIRST_READ_BYTES = 64 * 1024  # most texts are shorter, and a read allocates as much as it asks for
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF_32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def unreadable(error: OSError) -> BadDocument:
    """The error of the system as that of a document."""
    return BadDocument("unreadable", f"cannot be read: {error.strerror or type(error).__name__}")


def decode_text(raw: bytes, *, max_chars: int) -> str:
    """Decode bytes that are text and not longer than allowed. They may be cut off beyond the limit."""
    if raw.startswith(_UTF_32):  # before UTF-16, whose mark is the beginning of this one
        raise BadDocument("bad_encoding", "is UTF-32")
    encoding = "utf-16" if raw.startswith(_UTF_16) else "utf-8-sig"
    if encoding != "utf-16" and b"\0" in raw[:SNIFFED_BYTES]:
        raise _binary()
    if len(raw) > max_chars * BYTES_PER_CHARACTER + len(codecs.BOM_UTF8):
        raise _too_large(max_chars)
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as exc:
        raise BadDocument("bad_encoding", f"is not {encoding} at byte {exc.start:,}") from exc
    if "\0" in text[:SNIFFED_BYTES]:
        raise _binary()
    if len(text) > max_chars:
        raise _too_large(max_chars)
    return text


def _binary() -> BadDocument:
    return BadDocument("binary", "is not a text file")


def _too_large(max_chars: int) -> BadDocument:
    return BadDocument(
        "too_large", f"has more than {max_chars:,} characters; split it, or raise limits.max_document_chars"
    )
