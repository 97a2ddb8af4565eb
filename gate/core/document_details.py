"""What people recognise a document by, as an index keeps it: in few bytes, because every document has some.

    [title, source, uri, size_bytes, mime_type, checked_in_at, metadata]

in MessagePack, without what is missing at the end. The time is in milliseconds since 1970, the metadata as its JSON.
Every later version has to read what is stored: fields are only ever added, at the end.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from gate.limits import Limits
from gate.model import CheckIn, DocumentDetails

# Nested deeper, JSON overflows the stack of some readers.
MAX_METADATA_BRACKETS = 64
MAX_MIME_TYPE_CHARS = 255  # of RFC 6838: a longer one is a mistake
_FRAME_BYTES = 40  # of the list, the lengths of five fields, and two numbers of nine bytes; rounded up
_EPOCH = datetime.fromtimestamp(0, UTC)
_MILLISECOND = timedelta(milliseconds=1)


class LongDetail(NamedTuple):
    """A detail over its limit."""

    field: str
    problem: str  # for an error: "has 600 characters, over limits.max_title_chars = 512"


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    title: str | None = None
    source: str | None = None
    uri: str | None = None
    size_bytes: int | None = None
    mime_type: str | None = None
    checked_in_at: int | None = None
    metadata: bytes | None = None


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Stored)
_metadata = msgspec.json.Decoder(dict[str, Any])
_metadata_encoder = msgspec.json.Encoder()


def long_details(document: CheckIn, limits: Limits) -> list[LongDetail]:
    """The details of a document that are over their limits."""
    found = []
    for field, value, name, most in (
        ("title", document.title, "max_title_chars", limits.max_title_chars),
        ("source", document.source, "max_source_chars", limits.max_source_chars),
        ("uri", document.uri, "max_uri_chars", limits.max_uri_chars),
    ):
        if value is not None and len(value) > most:
            found.append(LongDetail(field, f"has {len(value)} characters, over limits.{name} = {most}"))
    encoded = metadata_json(document)
    if len(encoded) > limits.max_metadata_bytes:
        problem = f"has {len(encoded)} bytes, over limits.max_metadata_bytes = {limits.max_metadata_bytes}"
        found.append(LongDetail("metadata", problem))
    elif encoded and not _is_readable(encoded):
        problem = f"is no object that JSON readers take, or one of over {MAX_METADATA_BRACKETS} objects and lists"
        found.append(LongDetail("metadata", problem))
    return found


def metadata_json(document: CheckIn) -> memoryview:
    """The metadata of a document as JSON; empty where there is none. Of what came as JSON no copy is made."""
    metadata = document.metadata
    if not metadata:
        return memoryview(b"")
    if isinstance(metadata, dict):
        return memoryview(_metadata_encoder.encode(metadata))
    encoded = memoryview(metadata)
    return encoded[:0] if bytes(encoded[:5]) in (b"null", b"{}") else encoded


def _is_readable(view: memoryview) -> bool:
    encoded = bytes(view)
    if encoded.count(b"{") + encoded.count(b"[") > MAX_METADATA_BRACKETS:
        return False
    try:
        _metadata.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def encode_details(
    document: CheckIn, limits: Limits, *, at: float | None = None, measure: bool = True
) -> tuple[bytes, bool]:
    """The details of a document, and whether any were over their limits. A title or source is cut there, a longer URI
    or metadata is left out.

    at:      the time, in Unix seconds, of a check-in that names none.
    measure: takes the size of the text where the check-in names none."""
    title, source = document.title, document.source
    cut: tuple[str, ...] = ()
    if title or source or document.uri or document.metadata:  # most have none of them
        cut = tuple(detail.field for detail in long_details(document, limits))
    size_bytes = document.size_bytes
    if size_bytes is None and measure and document.content_sha256 is None:
        size_bytes = len(document.text) if document.text.isascii() else len(document.text.encode())
    values: list[Any] = [
        title and title[: limits.max_title_chars],
        source and source[: limits.max_source_chars],
        None if "uri" in cut else document.uri,
        size_bytes,
        document.mime_type,
        _milliseconds(document.checked_in_at, at),
        None if "metadata" in cut else bytes(metadata_json(document)) or None,
    ]
    while values and values[-1] is None:
        values.pop()
    return _encoder.encode(values) if values else b"", bool(cut)


def bytes_of_details(limits: Limits) -> tuple[int, int]:
    """The bytes of the details of a document that names none, and of the longest that one may have."""
    least, _ = encode_details(CheckIn(document_id="", text="", size_bytes=1 << 16), limits, at=1e9)
    chars = limits.max_title_chars + limits.max_source_chars + limits.max_uri_chars + MAX_MIME_TYPE_CHARS
    return len(least), 4 * chars + limits.max_metadata_bytes + _FRAME_BYTES


def _milliseconds(checked_in_at: datetime | None, at: float | None) -> int | None:
    if checked_in_at is None:
        return None if at is None else int(at * 1000)
    aware = checked_in_at if checked_in_at.tzinfo else checked_in_at.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MILLISECOND


def decode_details(data: bytes) -> DocumentDetails | None:
    """What was kept of a document; None: nothing."""
    if not data:
        return None
    stored = _decoder.decode(data)
    at = stored.checked_in_at
    return DocumentDetails(
        title=stored.title,
        source=stored.source,
        uri=stored.uri,
        size_bytes=stored.size_bytes,
        mime_type=stored.mime_type,
        checked_in_at=None if at is None else _EPOCH + at * _MILLISECOND,
        metadata=None if stored.metadata is None else _metadata.decode(stored.metadata),
    )
