"""The messages of the gate: check-ins and deletes in, verdicts and dead letters out.

    line or record ──decode_event──▶ CheckInEvent | DeleteEvent ──.check_in()──▶ model.CheckIn
                          └─ BadDocument ──▶ RejectedMessage ──.dead_letter()──▶ DeadLetter
    model.Verdict ──VerdictEvent.of──▶ VerdictEvent ──encode──▶ line or record

Fields are only ever added, with defaults, and unknown ones are ignored: either side may be the newer one.
A message of an error names the field and the remedy and never quotes the value.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gate.errors import REASONS, BadDocument, Reason, UnreadableReason
from gate.limits import Limits
from gate.model import CheckIn, Verdict

SCHEMA_VERSION = 1
# The longest escape of a character of the basic plane in JSON is \uXXXX; the rest is room for the other fields.
_ESCAPED_BYTES_PER_CHAR = 6
_OTHER_FIELDS_BYTES = 1024 * 1024
# An invalid message with more values is not decoded to name its fields: each takes 100 bytes and as many nanoseconds.
_LENIENT_VALUES = 1000
_LENIENT_BYTES_PER_VALUE = 8
_UTF8_PIECE_BYTES = 64 * 1024
_NULL = msgspec.Raw(b"null")

# A longer id is a mistake upstream (a text in the wrong field), and every index row would carry it.
DocumentId = Annotated[str, Meta(min_length=1, max_length=1024)]
# 64 bits are all that JSON readers agree on; a longer number is to be sent as a string.
EventVersion = Annotated[str, Meta(max_length=256)] | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

_DAY = (
    "(([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|"
    "02-(0[1-9]|1[0-9]|2[0-8]))|"
    "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29)"
)
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?"
_ZONE = "([Zz]|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])"
# RFC 3339, and without a zone as well. The format date-time, which wants a zone, is not checked by every validator.
Timestamp = Annotated[datetime, Meta(extra_json_schema={"pattern": f"^{_DAY}[Tt ]{_TIME}{_ZONE}?$"})]
# What the gate writes has the zone Z.
WrittenTimestamp = Annotated[datetime, Meta(extra_json_schema={"format": "date-time"})]
FileUri = Annotated[
    str,
    Meta(
        extra_json_schema={
            "format": "uri-reference",
            "pattern": "^[Ff][Ii][Ll][Ee]:(/|(//(localhost)?/|/?[^/?#])[^?#]*)$",
        }
    ),
]


class Origin(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a message was read: a line of a file, or an offset of a topic."""

    file: Annotated[str | None, Meta(description="Name of the file.", examples=["events.jsonl"])] = None
    line: Annotated[int | None, Meta(description="Line of the file, from 1.", examples=[7])] = None
    topic: Annotated[str | None, Meta(description="Kafka topic.", examples=["gate.check-ins"])] = None
    partition: Annotated[int | None, Meta(description="Partition of the topic.", examples=[0])] = None
    offset: Annotated[int | None, Meta(description="Offset in the partition.", examples=[1024])] = None

    def __str__(self) -> str:
        if self.topic is not None:
            return f"{self.topic}[{self.partition}]@{self.offset}"
        return f"{self.file}:{self.line}" if self.line is not None else str(self.file)


class CheckInEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A document is checked in. Its content is in `text`, or where `content_uri` (file: only) points to; of a file
    without text there is the hash of its bytes."""

    document_id: Annotated[
        DocumentId, Meta(description="Id of the document, in the sender's words.", examples=["reports/2026"])
    ]
    type: Annotated[Literal["check_in"], Meta(description="May be left out.")] = "check_in"
    version: Annotated[
        EventVersion | None, Meta(description='Version of the document; 7 and "7" are the same.', examples=["2", 7])
    ] = None
    text: Annotated[
        str | None,
        Meta(
            description="The content. At most limits.max_document_chars characters, 5000000 unless it is set.",
            examples=["The ferry to the islands leaves at nine and returns before dark."],
        ),
    ] = None
    content_uri: Annotated[
        FileUri | None,
        Meta(
            description="A file: URI of the content, instead of `text`. A relative one (file:docs/a.txt) starts at "
            "content_root. The file is UTF-8, and beneath content_root.",
            examples=["file:docs/report.txt"],
        ),
    ] = None
    content_sha256: Annotated[
        Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None,
        Meta(
            description="SHA-256 of the bytes of a file without text, in hexadecimal, instead of `text`: it is "
            "compared by that alone, and found `exact` or `unreadable`.",
            examples=["0" * 64],
        ),
    ] = None
    unreadable_reason: Annotated[
        UnreadableReason | None,
        Meta(description="With `content_sha256`: why there is no text; the verdict repeats it. Null: no_text."),
    ] = None
    title: Annotated[
        str | None,
        Meta(
            description="Title of the document; the verdict repeats it, and the index keeps it.",
            examples=["Report for 2026"],
        ),
    ] = None
    source: Annotated[
        str | None,
        Meta(description="System or person that sends it; the verdict repeats it, metrics count by it."),
    ] = None
    uri: Annotated[
        str | None,
        Meta(
            description="Path or URI of the document, for people; nothing is read there. Default: `content_uri`.",
            examples=["https://example.org/reports/2026"],
        ),
    ] = None
    size_bytes: Annotated[
        Annotated[int, Meta(ge=0, le=2**63 - 1)] | None,
        Meta(description="Size of the document; null: that of its text."),
    ] = None
    mime_type: Annotated[
        Annotated[str, Meta(max_length=255)] | None,
        Meta(description="MIME type of the document.", examples=["application/pdf"]),
    ] = None
    # Decoded it would take up to 25 times its bytes.
    metadata: Annotated[
        msgspec.Raw,
        Meta(
            description="Whatever the sender likes, to recognise the document by. The index keeps what has at most "
            "limits.max_metadata_bytes, and verdicts on documents like it repeat it.",
            extra_json_schema={"anyOf": [{"type": "object"}, {"type": "null"}], "default": None},
        ),
    ] = msgspec.field(default_factory=lambda: _NULL)
    checked_in_at: Annotated[
        Timestamp | None,
        Meta(
            description="When it was checked in, in RFC 3339; without a zone it is UTC. The verdict repeats it.",
            examples=["2026-05-06T07:08:09Z"],
        ),
    ] = None

    @property
    def size(self) -> int:
        """Characters of its texts and bytes of its metadata: what it adds to a batch. The id is short."""
        texts = (self.text, self.content_uri, self.title, self.source, self.uri)
        metadata = 0 if self.metadata is _NULL else memoryview(self.metadata).nbytes
        return sum(len(text) for text in texts if text is not None) + metadata

    def check_in(self) -> CheckIn:
        """The value to judge. The number 7 and the string "7" are one version."""
        if self.text is None and self.content_sha256 is None:
            raise BadDocument("no_content", "the content behind field `content_uri` has not been read")
        return CheckIn(
            document_id=self.document_id,
            text=self.text or "",
            version=None if self.version is None else str(self.version),
            source=self.source,
            title=self.title,
            uri=self.uri or self.content_uri,
            size_bytes=self.size_bytes,
            mime_type=self.mime_type,
            checked_in_at=self.checked_in_at,
            metadata=None if self.metadata is _NULL else self.metadata,
            content_sha256=self.content_sha256,
            unreadable_reason=self.unreadable_reason,
        )


class DeleteEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A document is deleted: documents that were refused as its duplicates may be checked in again."""

    document_id: Annotated[DocumentId, Meta(description="Id of the document.", examples=["reports/2026"])]
    type: Annotated[Literal["delete"], Meta(description="Tells it from a check-in.")]


Event = CheckInEvent | DeleteEvent


class VerdictEvent(Verdict, frozen=True, kw_only=True, gc=False):
    """A verdict as it is sent. All but `origin` and `judged_at` is the same when the check-in is repeated."""

    origin: Annotated[Origin | None, Meta(description="Where the check-in was read; null: it came by a call.")] = None
    checked_in_at: Annotated[
        datetime | None,
        Meta(description="What the check-in says; null: nothing.", examples=["2026-05-06T07:08:09Z"]),
    ] = None
    judged_at: Annotated[
        WrittenTimestamp | None,
        Meta(
            description="When it was judged; null on a topic, where the timestamp of the record says it.",
            examples=["2026-05-06T07:08:10.123456Z"],
        ),
    ] = None
    schema_version: Annotated[
        int, Meta(description="Raised when a field changes its meaning; new fields do not raise it.")
    ] = SCHEMA_VERSION

    @classmethod
    def of(
        cls,
        verdict: Verdict,
        *,
        origin: Origin | None = None,
        checked_in_at: datetime | None = None,
        judged_at: datetime | None = None,
    ) -> VerdictEvent:
        fields = msgspec.structs.asdict(verdict)
        return cls(**fields, origin=origin, checked_in_at=checked_in_at, judged_at=judged_at)


Omission = Literal["original", "headers", "key", "document_id"]


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """A message that cannot be judged, the reason, and where it was read.

    `original` (or `original_base64`, where the bytes are not UTF-8) is filled only for the dead-letter file or topic,
    so that it can be replayed; what goes to a log or a terminal has neither.
    """

    reason: Annotated[str, Meta(description=f"One of {', '.join(REASONS)}.", examples=["bad_field"])]
    message: Annotated[
        str,
        Meta(
            description="What is wrong, with which field, and the remedy; nothing of the text.",
            examples=["gate.check-ins[0]@1024: field `document_id` is missing: every event needs it"],
        ),
    ]
    origin: Annotated[Origin | None, Meta(description="Where the message was read.")]
    document_id: Annotated[str | None, Meta(description="Id of the document; null: it cannot be read.")]
    sha256: Annotated[
        str,
        Meta(
            description="SHA-256 of the message, in hexadecimal; empty: its bytes were not read.", examples=["0" * 64]
        ),
    ]
    size_bytes: Annotated[int, Meta(description="Length of the message.", examples=[512])]
    dead_lettered_at: Annotated[
        WrittenTimestamp | None,
        Meta(
            description="When; null on a topic, where the timestamp of the record says it.",
            examples=["2026-05-06T07:08:10.123456Z"],
        ),
    ] = None
    schema_version: Annotated[
        int, Meta(description="Raised when a field changes its meaning; new fields do not raise it.")
    ] = SCHEMA_VERSION
    original: Annotated[
        str | UnsetType, Meta(description="The message. Left out where it is too long, or not UTF-8.")
    ] = UNSET
    original_base64: Annotated[bytes | UnsetType, Meta(description="The message in base64, where it is not UTF-8.")] = (
        UNSET
    )
    omitted: Annotated[
        tuple[Omission, ...] | UnsetType,
        Meta(
            description="What of the record was left out so that the dead letter fits in its topic. Left out itself "
            "where nothing was."
        ),
    ] = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedMessage:
    """An event, and where it was read."""

    event: Event
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedMessage:
    """A message that cannot be judged. `raw` is None where it is too long to be held; its hash and size are known."""

    error: BadDocument
    origin: Origin | None
    document_id: str | None
    sha256: str
    size_bytes: int
    raw: bytes | None

    @classmethod
    def of(cls, error: BadDocument, raw: bytes, *, origin: Origin | None) -> RejectedMessage:
        return cls(
            error=error,
            origin=origin,
            document_id=identify(raw),
            sha256=hashlib.sha256(raw).hexdigest(),
            size_bytes=len(raw),
            raw=raw,
        )

    def dead_letter(
        self, *, at: datetime | None = None, keep_original: bool = False, omitted: tuple[Omission, ...] = ()
    ) -> DeadLetter:
        original: str | UnsetType = UNSET
        original_base64: bytes | UnsetType = UNSET
        if keep_original and self.raw is not None:
            try:
                original = self.raw.decode("utf-8")
            except UnicodeDecodeError:
                original_base64 = self.raw
        return DeadLetter(
            reason=self.error.code,
            message=str(self.error),
            origin=self.origin,
            document_id=None if "document_id" in omitted else self.document_id,
            sha256=self.sha256,
            size_bytes=self.size_bytes,
            dead_lettered_at=at,
            original=original,
            original_base64=original_base64,
            omitted=omitted or UNSET,
        )


def max_event_bytes(limits: Limits) -> int:
    """The longest JSON that an event of a document within the limits may need."""
    return limits.max_document_chars * _ESCAPED_BYTES_PER_CHAR + _OTHER_FIELDS_BYTES


def decode_event(raw: bytes, *, origin: Origin | None = None, limits: Limits) -> Event:
    """The event in one message; BadDocument says which field is wrong and what to do about it.

    A valid event is decoded in one pass. An invalid one is decoded again, slowly, for a precise message.
    """
    try:
        event: Event = _check_in.decode(raw)
    except msgspec.ValidationError as exc:
        event = _delete(raw, exc, origin)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise _unreadable(raw, exc, origin) from exc
    if isinstance(event, CheckInEvent):
        if event.text is None or (event.content_uri, event.content_sha256, event.unreadable_reason) != (None,) * 3:
            _check_content(event, origin)
        if event.text is not None and len(event.text) > limits.max_document_chars:
            raise _bad("too_large", too_large("text", limits), origin)
        if event.metadata is not _NULL:
            _check_metadata(event.metadata, raw, origin)
    return event


def _check_content(event: CheckInEvent, origin: Origin | None) -> None:
    """Refuse an event with no content, or with several."""
    fields = {"text": event.text, "content_uri": event.content_uri, "content_sha256": event.content_sha256}
    given = [f"`{name}`" for name, value in fields.items() if value is not None]
    if not given:
        raise _bad("no_content", "neither field `text` nor `content_uri` is given: send one of them", origin)
    if len(given) > 1:
        both = "both" if len(given) == 2 else "all"
        raise _bad("bad_field", f"fields {' and '.join(given)} are {both} given: send one of them", origin)
    if event.unreadable_reason is not None and event.content_sha256 is None:
        raise _bad("bad_field", "field `unreadable_reason`: leave it out, or send `content_sha256` with it", origin)


def _check_metadata(metadata: msgspec.Raw, raw: bytes, origin: Origin | None) -> None:
    """Refuse metadata that is no object, or not UTF-8: it is JSON otherwise, or the message were not decoded."""
    if not is_object_or_null(metadata):
        raise _bad("bad_field", "field `metadata`: expected object | null", origin)
    if raw.isascii():
        return
    view = memoryview(metadata)
    utf8 = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, view.nbytes, _UTF8_PIECE_BYTES):
            utf8.decode(view[at : at + _UTF8_PIECE_BYTES])
    except UnicodeDecodeError as exc:
        raise _unreadable(raw, exc, origin) from exc


def is_object_or_null(value: msgspec.Raw) -> bool:
    """Whether JSON that was not decoded is what `metadata` may be."""
    view = memoryview(value)
    return bytes(view[:1]) == b"{" or bytes(view[:4]) == b"null"


def too_large(field: str, limits: Limits) -> str:
    """The error message for a content that is too long: inline, or behind a URI."""
    return (
        f"field `{field}`: the content has more than {limits.max_document_chars} characters: "
        "cut the document in parts, or raise limits.max_document_chars"
    )


def identify(raw: bytes) -> str | None:
    """The document id in a message that may be invalid otherwise; None if it cannot be read."""
    try:
        document_id = _short_string(_head.decode(raw).document_id)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        document_id = _lenient_fields(raw).get("document_id")
    if document_id is None or _has_surrogates(document_id):
        return None
    try:
        return msgspec.convert(document_id, DocumentId)
    except msgspec.ValidationError:
        return None


def encode(message: VerdictEvent | DeadLetter | Event) -> bytes:
    """One line of JSON, without its end."""
    return _encoder.encode(message)


def decode_verdict(raw: bytes) -> VerdictEvent:
    """A verdict, for its consumers."""
    return _verdict.decode(raw)


_CHECK_IN = msgspec.Raw(b'"check_in"')


class _Head(msgspec.Struct):
    """The fields of a message that identify it."""

    type: msgspec.Raw = msgspec.field(default_factory=lambda: _CHECK_IN)
    document_id: msgspec.Raw = msgspec.field(default_factory=lambda: _NULL)


_check_in = msgspec.json.Decoder(CheckInEvent)
_deletion = msgspec.json.Decoder(DeleteEvent)
_head = msgspec.json.Decoder(_Head)
_verdict = msgspec.json.Decoder(VerdictEvent)
_string = msgspec.json.Decoder(str)
_encoder = msgspec.json.Encoder()

_KNOWN = frozenset(CheckInEvent.__struct_fields__)
_PATH = re.compile(r" - at `(?:key in )?\$\.?(?P<path>[^`]*)`$")
_MISSING = re.compile(r"missing required field `(?P<field>\w+)`")


def _bad(code: Reason, message: str, origin: Origin | None) -> BadDocument:
    return BadDocument(code, message if origin is None else f"{origin}: {message}")


def _delete(raw: bytes, exc: msgspec.ValidationError, origin: Origin | None) -> DeleteEvent:
    """The delete in a message that is no valid check-in, or the reason why the message is neither."""
    try:
        kind = _short_string(_head.decode(raw).type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as unreadable:
        # The first error was in a field, but the message is no JSON at all; or it is no object.
        if isinstance(unreadable, msgspec.ValidationError):
            unit = _unit(origin)
            raise _bad("bad_json", f"the {unit} is JSON, but no object: send one object per {unit}", origin) from exc
        raise _unreadable(raw, unreadable, origin) from unreadable
    if kind == "delete":
        try:
            return _deletion.decode(raw)
        except msgspec.ValidationError as invalid:
            raise _invalid(invalid, origin) from invalid
    if kind != "check_in":
        message = "field `type`: unknown; allowed are `check_in` (or no `type` at all) and `delete`"
        raise _bad("bad_field", message, origin) from exc
    raise _invalid(exc, origin) from exc


def _invalid(exc: msgspec.ValidationError, origin: Origin | None) -> BadDocument:
    """The error of msgspec in the words of the gate. It names types and bounds, and no value but that of `type`."""
    text = str(exc)
    if missing := _MISSING.search(text):
        return _bad("missing_field", f"field `{missing['field']}` is missing: every event needs it", origin)
    path = _PATH.search(text)
    field = path["path"] if path else "?"
    finding = _PATH.sub("", text).replace("Expected", "expected").replace("`", "")
    return _bad("bad_field", f"field `{field}`: {finding}", origin)


def _unreadable(raw: bytes, exc: Exception, origin: Origin | None) -> BadDocument:
    """Why a message cannot be read at all: its nesting, its bytes, half a character, or its JSON."""
    if isinstance(exc, RecursionError):
        return _bad("bad_json", "the JSON is nested too deep: flatten `metadata`", origin)
    broken = [name for name, value in _lenient_fields(raw).items() if _has_surrogates(value)]
    named = [f"field `{name}`" if name in _KNOWN else "a field that the gate does not read" for name in broken]
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as undecodable:
        what = ", ".join(named) or f"the {_unit(origin)}"
        message = f"{what}: not UTF-8 at byte {undecodable.start}: re-encode it as UTF-8"
        return _bad("bad_utf8", message, origin)
    if named:
        remedy = "holds half of a surrogate pair, which is no character: repair or drop it upstream"
        return _bad("bad_text", f"{', '.join(named)}: {remedy}", origin)
    finding = "ends too soon" if "truncated" in str(exc) else str(exc).removeprefix("JSON is malformed: ")
    unit = _unit(origin)
    return _bad("bad_json", f"the {unit} is not JSON: {finding}: send one object per {unit}", origin)


def _unit(origin: Origin | None) -> str:
    """What holds one message where this one was read: a record of a topic, a line of a file."""
    if origin is None:
        return "message"
    return "record" if origin.topic is not None else "line"


def _short_string(value: msgspec.Raw) -> str | None:
    """The string in a field that identifies a message; None for anything else, and for what is too long for an id."""
    if memoryview(value).nbytes > _ESCAPED_BYTES_PER_CHAR * 2 * 1024 + 2:
        return None
    try:
        return _string.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _lenient_fields(raw: bytes) -> dict[str, Any]:
    """The fields of a message that msgspec refused; bytes that are not UTF-8 become lone surrogates."""
    if sum(map(raw.count, (b",", b"[", b"{"))) > max(_LENIENT_VALUES, len(raw) // _LENIENT_BYTES_PER_VALUE):
        return {}
    try:
        message = json.loads(raw.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _has_surrogates(value: Any) -> bool:
    """Whether any string in a decoded JSON value holds half of a surrogate pair."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    except RecursionError:
        return False
    return False
