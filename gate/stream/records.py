"""Kafka records and the gate's messages: decode a record, build the records that answer it.

Pure but for content that an event points to. Value and headers of an answer depend only on the record and its verdict,
so that a repeated answer is the same to the byte; the time of an answer is the timestamp that it gets when it is sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Final, Protocol

import msgspec

from gate.errors import BadDocument, ConfigError, Reason
from gate.limits import Limits
from gate.model import Relation, Verdict
from gate.stream.content import attach_content
from gate.stream.settings import Topics
from gate.wire import (
    CheckInEvent,
    DecodedMessage,
    DeleteEvent,
    DocumentId,
    Omission,
    Origin,
    RejectedMessage,
    VerdictEvent,
    decode_event,
    encode,
    max_event_bytes,
)

Headers = Sequence[tuple[str, bytes]]

# serialized_value_size of the records that stand for those that the library cannot unpack
DECOMPRESSES_TOO_LARGE = -2  # its batch exceeds the decompression limit
UNREADABLE = -3  # it is damaged, or its batch is
BAD_HEADER_NAME = -4  # a header's name is not UTF-8; the rest is as it came

ORIGINAL_PREFIX = "gate_original_"  # before headers of the original whose names the dead letter uses itself

HEADER_OVERHEAD_BYTES = 2  # of each header of a record: the lengths of name and value, at least

TOO_LARGE_TO_ROUTE: Final = "too_large_to_route"  # the reason why a judged document is dead-lettered all the same

TOO_LARGE_TO_ANSWER: Final = "too_large_to_answer"  # likewise, where it is the verdict that does not fit

TRACE_HEADERS = ("traceparent", "tracestate", "baggage")
CLOUD_EVENT_HEADERS = (("ce_specversion", b"1.0"), ("content-type", b"application/json"))


class Record(Protocol):
    """The fields of a consumed record that are used, as aiokafka names them."""

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
class OutgoingRecord:
    """A record to send; `answers_offset` is the offset of the input record that it answers, if any."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]
    answers_offset: int = -1


def origin_of(record: Record) -> Origin:
    return Origin(topic=record.topic, partition=record.partition, offset=record.offset)


def decode_record(
    record: Record, *, limits: Limits, content_root: Path | None = None
) -> DecodedMessage | RejectedMessage:
    """The event in a record, or why there is none. Never raises for what a record holds."""
    origin = origin_of(record)
    raw = record.value
    if record.serialized_value_size == DECOMPRESSES_TOO_LARGE:
        return _too_large(origin, b"", "its batch decompresses to more than kafka_unpacked_bytes: send smaller batches")
    try:
        if record.serialized_value_size == UNREADABLE:
            remedy = "send it again with another client or compression"
            raise BadDocument("unreadable_record", f"{origin}: the record or its batch is damaged: {remedy}")
        if record.serialized_value_size == BAD_HEADER_NAME:
            raise BadDocument("unreadable_record", f"{origin}: a header's name is not UTF-8: name headers in UTF-8")
        if raw is None:
            return DecodedMessage(event=_decode_tombstone(record, origin), origin=origin)
        if len(raw) > max_event_bytes(limits):
            remedy = "cut the document in parts, or raise limits.max_document_chars"
            return _too_large(origin, raw, f"the record has {len(raw)} bytes, more than are decoded: {remedy}")
        event = decode_event(raw, origin=origin, limits=limits)
        if isinstance(event, CheckInEvent) and event.content_uri is not None:
            event = attach_content(event, event.content_uri, origin=origin, root=content_root, limits=limits)
    except BadDocument as exc:
        return RejectedMessage.of(exc, raw or b"", origin=origin)
    return DecodedMessage(event=event, origin=origin)


def _decode_tombstone(record: Record, origin: Origin) -> DeleteEvent:
    """A record without a value deletes the document that its key names, as compaction would."""
    try:
        document_id = msgspec.convert((record.key or b"").decode(), DocumentId)
    except (UnicodeDecodeError, msgspec.ValidationError):
        remedy = "send the document's id as the key, in UTF-8, of at most 1024 characters"
        raise BadDocument("bad_key", f"{origin}: a record without a value names no document: {remedy}") from None
    return DeleteEvent(document_id=document_id, type="delete")


def _too_large(origin: Origin, raw: bytes, problem: str) -> RejectedMessage:
    """A record that is not decoded. Its dead letter has no copy of it, only its origin, size and hash."""
    return RejectedMessage(
        error=BadDocument("too_large", f"{origin}: {problem}"),
        origin=origin,
        document_id=None,
        sha256=hashlib.sha256(raw).hexdigest() if raw else "",
        size_bytes=len(raw),
        raw=None,
    )


def check_in_time(record: Record, event: CheckInEvent) -> float | None:
    """When the document was checked in, in Unix seconds: by the event, or else by the record's timestamp."""
    if event.checked_in_at is not None:
        at = event.checked_in_at
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    return record.timestamp / 1000 if record.timestamp and record.timestamp > 0 else None


def passes(verdict: Verdict) -> bool:
    """Whether the document is sent on as accepted: nothing like it was there first, and its search was not cut short
    under a setting that holds it up then."""
    return not verdict.similar and verdict.relation is not Relation.UNDECIDED


def verdict_records(
    record: Record, event: CheckInEvent, verdict: Verdict, topics: Topics, *, trace: Headers = ()
) -> Iterator[OutgoingRecord]:
    """The verdict, and the document itself for the topic that it is routed to, where there is one."""
    verdict_event = VerdictEvent.of(verdict, origin=origin_of(record), checked_in_at=event.checked_in_at)
    headers = [
        *CLOUD_EVENT_HEADERS,
        ("ce_id", verdict.verdict_id.encode()),
        ("ce_type", b"gate.verdict"),
        ("ce_source", f"/gate/{verdict.profile}".encode()),
        *trace,
    ]
    yield OutgoingRecord(topics.verdicts, verdict.document_id.encode(), encode(verdict_event), headers, record.offset)
    topic = topics.accepted if passes(verdict) else topics.quarantine
    if topic is not None:
        yield OutgoingRecord(topic, record.key, record.value, list(record.headers), record.offset)


def is_gate_header(name: str) -> bool:
    """Whether a header of a dead letter is the gate's own, and not one of its original."""
    return name.startswith(("ce_", "gate_")) or name == "content-type"


def omissions(record: Record, rejected: RejectedMessage, refusals: int) -> tuple[Omission, ...]:
    """What to leave out of a dead letter after so many larger ones were refused: one part more each time.

    ConfigError: nothing is left to omit. The letter is a few hundred bytes then, and the topic takes no records at all.
    """
    parts: list[Omission] = []
    if rejected.raw is not None:
        parts.append("original")
    if record.headers:
        parts.append("headers")
    if record.key:
        parts.append("key")
    if rejected.document_id is not None:
        parts.append("document_id")
    if refusals > len(parts):
        raise ConfigError("the dead-letter topic refuses even the smallest dead letter: raise its max.message.bytes")
    return tuple(parts[:refusals])


def dead_letter_record(
    record: Record, rejected: RejectedMessage, topics: Topics, *, omitted: tuple[Omission, ...] = ()
) -> OutgoingRecord:
    """A dead letter with the key, the headers and the value of the record, as far as they fit, so that it can be
    replayed. Headers of the record whose names the dead letter needs itself get a prefix."""
    carried = () if "headers" in omitted else record.headers
    headers = [
        *((f"{ORIGINAL_PREFIX}{name}" if is_gate_header(name) else name, value) for name, value in carried),
        *CLOUD_EVENT_HEADERS,
        ("ce_id", str(rejected.origin).encode()),
        ("ce_type", b"gate.dead_letter"),
        ("ce_source", b"/gate"),
        ("gate_reason", rejected.error.code.encode()),
    ]
    value = encode(rejected.dead_letter(keep_original="original" not in omitted, omitted=omitted))
    key = None if "key" in omitted else record.key
    return OutgoingRecord(topics.dead_letters, key, value, headers, record.offset)


def reject_routing(record: Record, event: CheckInEvent) -> RejectedMessage:
    """A judged document that is too large for the topic that it is routed to; its verdict is sent all the same."""
    remedy = "raise max.message.bytes of the topics that documents are routed to, and send the document there yourself"
    return _reject_judged(record, event, TOO_LARGE_TO_ROUTE, f"is too large to be routed: {remedy}")


def reject_verdict(record: Record, event: CheckInEvent) -> RejectedMessage:
    """A judged document whose verdict is too large for the verdict topic, even without trace headers."""
    remedy = "raise max.message.bytes of the verdict topic, and send the document again"
    return _reject_judged(record, event, TOO_LARGE_TO_ANSWER, f"its verdict is too large for its topic: {remedy}")


def _reject_judged(record: Record, event: CheckInEvent, reason: Reason, problem: str) -> RejectedMessage:
    origin = origin_of(record)
    raw = record.value or b""
    error = BadDocument(reason, f"{origin}: was judged, but {problem}")
    return RejectedMessage(
        error=error,
        origin=origin,
        document_id=event.document_id,
        sha256=hashlib.sha256(raw).hexdigest(),
        size_bytes=len(raw),
        raw=None,
    )


def trace_headers(record: Record, max_bytes: int) -> tuple[list[tuple[str, bytes]], int]:
    """The headers that carry the trace of a record on to its answer, and the number of those that do not fit.

    They are a stranger's: without a bound, one of them could make the answer too large for its topic. Each is carried
    whole or not at all; `traceparent` is the first to be.
    """
    found = sorted((header for header in record.headers if header[0] in TRACE_HEADERS), key=_trace_order)
    carried: list[tuple[str, bytes]] = []
    for header in found:
        size = headers_bytes([header])
        if size <= max_bytes:
            carried.append(header)
            max_bytes -= size
    return carried, len(found) - len(carried)


def _trace_order(header: tuple[str, bytes]) -> int:
    return TRACE_HEADERS.index(header[0])


def size_bytes(record: Record | OutgoingRecord) -> int:
    """The size of a record with its key and headers, without the few bytes of its own structure."""
    return len(record.value or b"") + len(record.key or b"") + headers_bytes(record.headers)


def headers_bytes(headers: Headers) -> int:
    return sum(len(name.encode()) + len(value or b"") + HEADER_OVERHEAD_BYTES for name, value in headers)
