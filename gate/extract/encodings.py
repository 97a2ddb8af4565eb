"""Texts in any encoding: as they say, as they look, or as the user says."""

from __future__ import annotations

import codecs
import re

from gate.errors import BadDocument
from gate.extract.text_of import ExtractedText, ReadOptions, TextParts

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is the beginning of this one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE_BYTES = 4096
# Of the bytes at even or odd places so many are zero in UTF-16 without a mark: in most scripts that of spaces at least.
_MIN_ZEROS = 0.1
_CONTROLS = re.compile("[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")  # but those that move a cursor or begin a colour
_MAX_CONTROLS = 0.01


def read_plain_text(data: bytes, options: ReadOptions) -> ExtractedText:
    text = TextParts(options.limits.max_chars)
    text.add(decode(data, options.encoding))
    return ExtractedText(text=str(text), format="text")


def decode(data: bytes, encoding: str | None) -> str:
    """BadDocument: the bytes are no text in that encoding, or in any that is known."""
    name = encoding or _marked(data) or _utf_8(data) or _unmarked_utf_16(data) or _looks_like(data)
    try:
        text = data.decode(name)
    except (UnicodeDecodeError, LookupError) as exc:
        at = f" at byte {exc.start:,}" if isinstance(exc, UnicodeDecodeError) else ""
        raise BadDocument("bad_encoding", f"is no text in {name}{at}; name its encoding with --encoding") from exc
    if "\0" in text or (encoding is None and name != "utf-8" and _has_controls(text[:_SAMPLE_BYTES])):
        raise BadDocument("binary", "is not a text file")
    return text


def _has_controls(sample: str) -> bool:
    """Whether there are more control characters than in any text: in bytes that merely decode, every tenth is one."""
    return len(_CONTROLS.findall(sample)) > _MAX_CONTROLS * len(sample)


def decode_any(data: bytes, encoding: str | None) -> str:
    """Text at any price, for parts that declare their encoding, rightly or not: what does not fit is replaced."""
    try:
        return decode(data, encoding if is_known_encoding(encoding) else None)
    except BadDocument:
        return data.decode("cp1252", errors="replace").replace("\0", "")


def is_known_encoding(encoding: str | None) -> bool:
    try:
        return encoding is not None and codecs.lookup(encoding)._is_text_encoding
    except (LookupError, ValueError):
        return False


def _marked(data: bytes) -> str | None:
    return next((name for mark, name in _MARKS if data.startswith(mark)), None)


def _utf_8(data: bytes) -> str | None:
    if b"\0" in data[:_SAMPLE_BYTES]:
        return None
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _unmarked_utf_16(data: bytes) -> str | None:
    """UTF-16 of a script whose characters share a high byte: zero in Latin, and zero at spaces in any other."""
    sample = data[:_SAMPLE_BYTES]
    if len(data) % 2 or b"\0" not in sample:
        return None
    zeros = (sample[0::2].count(0), sample[1::2].count(0))
    most = max(zeros)
    if most < _MIN_ZEROS * len(sample) / 2 or min(zeros) > most / 10:
        return None
    return "utf-16-be" if zeros[0] == most else "utf-16-le"


def _looks_like(data: bytes) -> str:
    if b"\0" in data[:_SAMPLE_BYTES]:
        raise BadDocument("binary", "is not a text file")
    from resiliparse.parse.encoding import detect_encoding

    name: str | None = detect_encoding(data, html5_compatible=False)
    if name is None or name in ("utf-8", "ascii"):  # it is neither, and every byte is a character of this one
        return "cp1252"
    return name
