"""A file that is one document: its text where that is plain, or else the bytes that it is to be extracted from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import BinaryIO

from gate.archive.parts import ArchivedEvent, OpenFile, ReadResult, UnreadDocument, valid_id
from gate.archive.text_files import BYTES_PER_CHARACTER, FIRST_READ_BYTES, decode_text
from gate.errors import BadDocument, UnreadableReason
from gate.extract.formats import is_plain_text
from gate.wire import CheckInEvent, Origin

_CHUNK_BYTES = 1 << 20


def read_document(opened: OpenFile) -> Iterator[ReadResult]:
    """The whole file is one document; its id is the name of the file."""
    options = opened.options
    event = CheckInEvent(
        document_id=valid_id(opened.document_id),
        text=None,
        source=options.source,
        uri=opened.uri,
        checked_in_at=opened.modified_at,
    )
    origin = Origin(file=opened.name)
    most = options.limits.max_document_chars
    data = b""
    if options.read.encoding is None and is_plain_text(opened.head):
        data = _read_up_to(opened.stream, most * BYTES_PER_CHARACTER + 4)
        try:
            text = decode_text(data, max_chars=most)
        except BadDocument as exc:
            if exc.code == "too_large":
                yield _compared_by_bytes(event, origin, data, opened.stream, "too_large", str(exc))
                return
        else:
            yield ArchivedEvent(event=_with_text(event, text, size_bytes=len(data)), origin=origin)
            return
    if opened.path is not None:
        size = opened.size_bytes or 0
        yield UnreadDocument(event=event, origin=origin, content=opened.path, size_bytes=size)
        return
    most = options.read.limits.max_file_bytes
    data += _read_up_to(opened.stream, most + 1 - len(data))
    if len(data) > most:
        problem = f"has more than {most:,} bytes; raise extract.max_file_bytes to read it"
        yield _compared_by_bytes(event, origin, data, opened.stream, "too_large", problem)
    else:
        yield UnreadDocument(event=event, origin=origin, content=data, size_bytes=len(data))


def _with_text(event: CheckInEvent, text: str, *, size_bytes: int) -> CheckInEvent:
    return CheckInEvent(
        document_id=event.document_id,
        text=text,
        source=event.source,
        uri=event.uri,
        size_bytes=size_bytes,
        checked_in_at=event.checked_in_at,
    )


def _read_up_to(stream: BinaryIO, most: int) -> bytes:
    """At most so many bytes. A read allocates as much as it asks for, so it begins small."""
    data = stream.read(min(most, FIRST_READ_BYTES))
    if len(data) < min(most, FIRST_READ_BYTES):
        return data
    parts, left = [data], most - len(data)
    while left and (data := stream.read(min(left, _CHUNK_BYTES))):
        parts.append(data)
        left -= len(data)
    return b"".join(parts)


def _compared_by_bytes(
    event: CheckInEvent, origin: Origin, data: bytes, rest: BinaryIO, reason: UnreadableReason, problem: str
) -> ArchivedEvent:
    """The event of a file without text that is known to be one before it is read to its end."""
    digest, size = hashlib.sha256(data), len(data)
    while chunk := rest.read(_CHUNK_BYTES):
        digest.update(chunk)
        size += len(chunk)
    compared = CheckInEvent(
        document_id=event.document_id,
        content_sha256=digest.hexdigest(),
        unreadable_reason=reason,
        source=event.source,
        uri=event.uri,
        size_bytes=size,
        checked_in_at=event.checked_in_at,
    )
    problem = f"{origin}: {problem}"
    return ArchivedEvent(event=compared, origin=origin, problem=BadDocument(reason, problem))
