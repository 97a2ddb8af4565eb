"""JSON Lines: each line of a file is an event."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import BinaryIO

import msgspec
from msgspec import structs

from gate.archive.parts import ArchivedEvent, OpenFile, ReadResult, SourceOptions, with_fields
from gate.errors import BadDocument, Unavailable
from gate.stream import jsonl
from gate.stream.content import attach_content
from gate.stream.field_names import ID_FIELD, TEXT_FIELD, explain_missing_fields
from gate.wire import CheckInEvent, DeleteEvent, Event, Origin, RejectedMessage, decode_event, max_event_bytes

SUFFIXES = (".jsonl", ".ndjson")
_MAX_DATED_BYTES = 1 << 24  # of the first event, whose date is read to order the files; a longer one counts as undated
_UNDECODED = DeleteEvent(document_id="?", type="delete")  # stands for the event where only the record is wanted
_EPOCH = datetime.fromtimestamp(0, UTC)


def is_json_lines(head: bytes, name: str, options: SourceOptions) -> bool:
    """By its suffix, or a first line that is an object with the fields of an event."""
    if name.lower().endswith(SUFFIXES):
        return True
    line = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    if not line.startswith(b"{"):
        return False
    names = options.field_names
    wanted = {names.document_id or ID_FIELD, names.text or TEXT_FIELD}
    if options.number_records and names.document_id is None:
        wanted.discard(ID_FIELD)
    if not all(f'"{name}"'.encode() in line for name in wanted):
        return False
    try:
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return len(line) == len(head)  # cut off: its first line is longer than what is looked at
    return wanted <= fields.keys()


def read_json_lines(opened: OpenFile) -> Iterator[ReadResult]:
    """Each line is an event. Its own time and source win over those of the file."""
    return jsonl.reject_other_format(_read_lines(opened), Origin(file=opened.name))


def _read_lines(opened: OpenFile) -> Iterator[ReadResult]:
    options = opened.options
    longest = max_event_bytes(options.limits)
    for line in jsonl.read_lines(opened.stream, max_bytes=longest):
        if line is None:
            yield None
            continue
        if line.number <= opened.after_line:
            continue
        origin = Origin(file=opened.name, line=line.number)
        if options.records_only:
            yield ArchivedEvent(event=_UNDECODED, origin=origin, record=line.raw)
            continue
        if line.raw is None:
            yield jsonl.reject_overlong(line, origin, max_bytes=longest)
            continue
        try:
            raw = options.field_names.rename(line.raw)
            try:
                event = decode_event(raw, origin=origin, limits=options.limits)
            except BadDocument as exc:
                if exc.code != "missing_field" or not options.number_records or options.field_names.document_id:
                    raise
                raw = with_fields(raw, {ID_FIELD: f"{opened.document_id}:{line.number}"})
                event = decode_event(raw, origin=origin, limits=options.limits)
            yield _complete(event, raw, origin, opened, record=line.raw)
        except BadDocument as exc:
            error = explain_missing_fields(exc, line.raw, options.field_names)
            yield RejectedMessage.of(error, line.raw, origin=origin)


def _complete(event: Event, raw: bytes, origin: Origin, opened: OpenFile, *, record: bytes) -> ArchivedEvent:
    """The event with its content, time and source, so that it can be judged without the file it came from.

    Fields that the gate does not read are kept."""
    options = opened.options
    kept = record if options.keep_records else None
    if not isinstance(event, CheckInEvent):
        return ArchivedEvent(event=event, origin=origin, raw=raw, record=kept)
    added: dict[str, object] = {}
    if event.content_uri is not None:
        read = attach_content(event, event.content_uri, origin=origin, root=options.content_root, limits=options.limits)
        added |= {"text": read.text, "content_uri": None}
    if event.checked_in_at is None and opened.modified_at is not None:
        added["checked_in_at"] = opened.modified_at
    if event.source is None and options.source is not None:
        added["source"] = options.source
    if added:
        event = structs.replace(event, **added)
    return ArchivedEvent(event=event, origin=origin, raw=raw, added=added or None, record=kept)


class _Dated(msgspec.Struct):
    checked_in_at: datetime | None = None


def first_date_ns(stream: BinaryIO, options: SourceOptions) -> int | None:
    """The date of the first event, in nanoseconds since 1970; None: it has none."""
    try:
        lines = jsonl.read_lines(stream, max_bytes=_MAX_DATED_BYTES)
        line = next((line for line in lines if line is not None), None)
        raw = options.field_names.rename(line.raw or b"") if line is not None else b"{}"
        dated = msgspec.json.decode(raw, type=_Dated).checked_in_at
    except (BadDocument, Unavailable, msgspec.DecodeError, UnicodeDecodeError):
        return None  # what is wrong with the file is reported when it is read
    if dated is None:
        return None
    aware = dated if dated.tzinfo is not None else dated.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1) * 1000
