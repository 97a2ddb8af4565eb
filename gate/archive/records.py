"""Rows of tables as check-ins: columns with the names of an event's fields, or those that are mapped to them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import msgspec
from msgspec import structs

from gate.archive.parts import ArchivedEvent, OpenFile
from gate.errors import BadDocument
from gate.stream.field_names import DATE_FIELD, ID_FIELD, TEXT_FIELD, parse_date
from gate.wire import CheckInEvent, Origin, RejectedMessage, decode_event

OTHER_FIELDS = (
    "version",
    "title",
    "source",
    "uri",
    "mime_type",
)  # columns of texts that events have too


class TypedRow(dict[str, object]):
    """A row of a table that knows the types of its columns."""

    __slots__ = ("schema",)

    def __init__(self, row: Mapping[str, object], schema: Any) -> None:
        super().__init__(row)
        self.schema = schema


def event_of_row(row: Mapping[str, object], number: int, opened: OpenFile) -> ArchivedEvent | RejectedMessage:
    """The check-in in one row. A table without a column of ids, where none was named, numbers its rows."""
    options, names = opened.options, opened.options.field_names
    origin = Origin(file=opened.name, line=number)
    fields: dict[str, object] = {
        name: value for name in OTHER_FIELDS if isinstance(value := row.get(name), str) and value
    }
    text = row.get(names.text or TEXT_FIELD)
    try:
        fields[TEXT_FIELD] = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        return _rejected(BadDocument("bad_utf8", f"{origin}: the column of texts is not UTF-8"), origin, fields)
    id_column = names.document_id or ID_FIELD
    if names.document_id is None and id_column not in row:
        fields[ID_FIELD] = f"{opened.document_id}:{number}"
    else:
        value = row.get(id_column)
        fields[ID_FIELD] = str(value) if isinstance(value, int) else value
    dated = row.get(names.date or DATE_FIELD)
    if isinstance(dated, date):
        fields[DATE_FIELD] = dated if isinstance(dated, datetime) else datetime(dated.year, dated.month, dated.day)
    elif dated is not None and dated != "":
        fields[DATE_FIELD] = parse_date(dated) or dated
    try:
        raw = msgspec.json.encode({name: value for name, value in fields.items() if value is not None})
        event = decode_event(raw, origin=origin, limits=options.limits)
    except BadDocument as exc:
        return _rejected(exc, origin, fields)
    except (TypeError, ValueError, OverflowError):  # a column of binary, or of numbers beyond 64 bits
        return _rejected(
            BadDocument("bad_field", f"{origin}: a column of id, text or date holds what is none"), origin, fields
        )
    if not isinstance(event, CheckInEvent):  # pragma: no cover - a row has no field `type`
        raise TypeError(event)
    added: dict[str, object] = {}
    if event.checked_in_at is None and opened.modified_at is not None:
        added["checked_in_at"] = opened.modified_at
    if event.source is None and options.source is not None:
        added["source"] = options.source
    event = structs.replace(event, **added) if added else event
    return ArchivedEvent(event=event, origin=origin, record=row if options.keep_records else None)


def _rejected(error: BadDocument, origin: Origin, fields: Mapping[str, object]) -> RejectedMessage:
    document_id = fields.get(ID_FIELD)
    return RejectedMessage(
        error=error,
        origin=origin,
        document_id=document_id if isinstance(document_id, str) else None,
        sha256="",
        size_bytes=0,
        raw=None,
    )
