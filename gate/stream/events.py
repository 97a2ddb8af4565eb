"""Records of Kafka and the gate's messages: what a record says, and which records an answer becomes.

Pure. Values and headers of what goes out depend on the record that came in and on the verdict alone, so that a repeated
answer is the same to the byte; the time of an answer is the time stamp that its record gets when it is sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import structs

from gate.errors import BadDocument
from gate.limits import Limits
from gate.model import Verdict
from gate.stream.content import read_content
from gate.stream.jsonl import max_line_bytes
from gate.stream.settings import Topics
from gate.wire import (
    Arrival,
    CheckInEvent,
    DeleteEvent,
    DocumentId,
    Origin,
    Rejected,
    VerdictEvent,
    decode_event,
    encode,
)

Headers = Sequence[tuple[str, bytes]]

UNPACKS_TOO_LARGE = -2  # the size of a value that was too large to unpack

ORIGINAL = "gate_original_"  # what a letter puts before headers of its original that are called as its own are

TOO_LARGE_TO_ROUTE = "too_large_to_route"  # why a document that was judged is dead-lettered all the same

_CARRIED = ("traceparent", "tracestate", "baggage")
_CLOUD_EVENTS = (("ce_specversion", b"1.0"), ("content-type", b"application/json"))


class Record(Protocol):
    """What is read of a record, as aiokafka gives it."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Headers: ...
    @property
    def serialized_value_size(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record to send, and the offset of the one that it answers, where it answers one."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]
    offset: int = -1


def origin_of(record: Record) -> Origin:
    return Origin(topic=record.topic, partition=record.partition, offset=record.offset)


def read_record(record: Record, *, limits: Limits, content_root: Path | None = None) -> Arrival | Rejected:
    """What a record says, or why it says nothing. Never raises for what a record holds."""
    origin = origin_of(record)
    raw = record.value
    if record.serialized_value_size == UNPACKS_TOO_LARGE:
        return _too_large(origin, b"", "unpacks to more than the gate takes at once: send smaller batches")
    try:
        if raw is None:
            return Arrival(event=_tombstone(record, origin), origin=origin)
        if len(raw) > max_line_bytes(limits):
            remedy = "cut the document in parts, or raise limits.max_document_chars"
            return _too_large(origin, raw, f"the record has {len(raw)} bytes, more than is read of one: {remedy}")
        event = decode_event(raw, origin=origin, limits=limits)
        if isinstance(event, CheckInEvent) and event.content_uri is not None:
            event = structs.replace(event, text=_content(event.content_uri, origin, content_root, limits))
    except BadDocument as exc:
        return Rejected.of(exc, raw or b"", origin=origin)
    return Arrival(event=event, origin=origin)


def _tombstone(record: Record, origin: Origin) -> DeleteEvent:
    """A record without a value deletes the document that its key names, as compaction would."""
    try:
        named = msgspec.convert((record.key or b"").decode(), DocumentId)
    except (UnicodeDecodeError, msgspec.ValidationError):
        remedy = "give the document's id as the key, in UTF-8, of at most 1024 characters"
        raise BadDocument("bad_key", f"{origin}: a record without a value names no document: {remedy}") from None
    return DeleteEvent(document_id=named, type="delete")


def _content(uri: str, origin: Origin, root: Path | None, limits: Limits) -> str:
    if root is None:
        raise BadDocument(
            "unreadable_content", f"{origin}: field `content_uri`: no folder is set to read it from: set content_root"
        )
    try:
        return read_content(uri, root=root, limits=limits)
    except BadDocument as exc:
        raise BadDocument(exc.code, f"{origin}: {exc}") from exc


def _too_large(origin: Origin, raw: bytes, finding: str) -> Rejected:
    """Too large to be sent on: its origin, size and hash tell which one it was."""
    return Rejected(
        error=BadDocument("too_large", f"{origin}: {finding}"),
        origin=origin,
        document_id=None,
        sha256=hashlib.sha256(raw).hexdigest() if raw else "",
        size_bytes=len(raw),
        raw=None,
    )


def check_in_time(record: Record, event: CheckInEvent) -> float | None:
    """When the document was checked in, in Unix seconds: by its own word, or by the record's."""
    if event.checked_in_at is not None:
        told = event.checked_in_at
        return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
    return record.timestamp / 1000 if record.timestamp and record.timestamp > 0 else None


def answers(
    record: Record, event: CheckInEvent, verdict: Verdict, topics: Topics, *, route: bool = True
) -> Iterator[Outgoing]:
    """The verdict, and the document itself on its further way, where there is one for it."""
    told = VerdictEvent.of(verdict, origin=origin_of(record), checked_in_at=event.checked_in_at)
    headers = [
        *_CLOUD_EVENTS,
        ("ce_id", verdict.verdict_id.encode()),
        ("ce_type", b"gate.verdict"),
        ("ce_source", f"/gate/{verdict.profile}".encode()),
        *_carried(record),
    ]
    key = verdict.document_id.encode()
    yield Outgoing(topics.verdicts, key, encode(told), headers, record.offset)
    onward = topics.quarantine if verdict.similar else topics.accepted
    if onward is not None and route:
        yield Outgoing(onward, record.key, record.value, list(record.headers), record.offset)


def is_own(header: str) -> bool:
    """Whether a header of a letter is the letter's, and not its original's."""
    return header.startswith(("ce_", "gate_")) or header == "content-type"


def dead_letter(record: Record, rejected: Rejected, topics: Topics, *, keep_original: bool = True) -> Outgoing:
    """With the record's own key and headers, and its original where that can be held, so that it can be sent again.
    Headers that the letter needs for itself are kept under other names."""
    headers = [
        *((f"{ORIGINAL}{name}" if is_own(name) else name, value) for name, value in record.headers),
        *_CLOUD_EVENTS,
        ("ce_id", str(rejected.origin).encode()),
        ("ce_type", b"gate.dead_letter"),
        ("ce_source", b"/gate"),
        ("gate_reason", rejected.error.code.encode()),
    ]
    letter = encode(rejected.dead_letter(keep_original=keep_original))
    return Outgoing(topics.dead_letters, record.key, letter, headers, record.offset)


def too_large_to_route(record: Record, event: CheckInEvent) -> Rejected:
    """A document whose verdict is told, but that its further topic does not take."""
    origin = origin_of(record)
    remedy = "raise max.message.bytes of the topics that documents are routed to, and send it there from its place"
    raw = record.value or b""
    error = BadDocument(TOO_LARGE_TO_ROUTE, f"{origin}: was judged, but is too large to be sent on: {remedy}")
    return Rejected(
        error=error,
        origin=origin,
        document_id=event.document_id,
        sha256=hashlib.sha256(raw).hexdigest(),
        size_bytes=len(raw),
        raw=None,
    )


def _carried(record: Record) -> Iterator[tuple[str, bytes]]:
    """What ties an answer to whatever caused it."""
    return (pair for pair in record.headers if pair[0] in _CARRIED)
