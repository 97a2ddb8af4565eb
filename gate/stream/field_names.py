"""Map the field names of foreign JSON Lines to those of a check-in, and suggest the mapping where it is missing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from gate.errors import BadDocument

ID_FIELD, TEXT_FIELD, DATE_FIELD = "document_id", "text", "checked_in_at"
# Names that other programs use for the same; only these are ever quoted in a message.
_LIKELY_IDS = ("id", "_id", "doc_id")
_LIKELY_TEXTS = ("content", "body")
_MISSING = ("missing_field", "no_content")  # reasons of events without an id, and without a text
_INTEGER = re.compile(rb"-?\d+")
_LARGEST_SECONDS = 1e11  # of a date, as a number; a larger one counts milliseconds, or smaller units still


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldNames:
    """The fields of an object that hold its id, its text and its date; None: they have the gate's own names."""

    document_id: str | None = None
    text: str | None = None
    date: str | None = None

    def rename(self, raw: bytes) -> bytes:
        """The object with the gate's names. An integer id becomes its digits. What is no object is left as it is."""
        wanted = {ID_FIELD: self.document_id, TEXT_FIELD: self.text, DATE_FIELD: self.date}
        if not any(wanted.values()):
            return raw
        try:
            fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return raw  # the decoder of events says what is wrong
        for name, foreign in wanted.items():
            if foreign is None or foreign not in fields or (foreign == name != DATE_FIELD):
                continue
            value = bytes(fields.pop(foreign))
            if name == DATE_FIELD:
                value = _iso_date(value)
            if name == ID_FIELD and _INTEGER.fullmatch(value):
                value = b'"' + value + b'"'
            fields[name] = msgspec.Raw(value)
        return msgspec.json.encode(fields)


def parse_date(value: object) -> datetime | None:
    """A date as other programs write it: ISO 8601, as in mails, seconds or less since 1970. None: it is none."""
    try:
        if isinstance(value, str):
            try:
                return datetime.fromisoformat(value.strip())
            except ValueError:
                return parsedate_to_datetime(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            while abs(value) > _LARGEST_SECONDS:
                value /= 1000
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError, TypeError, IndexError):
        pass
    return None


def _iso_date(raw: bytes) -> bytes:
    """A date in JSON as events have it; what is none stays as it is, and the decoder of events says so."""
    date = parse_date(msgspec.json.decode(raw))
    return raw if date is None else msgspec.json.encode(date)


OWN_NAMES = FieldNames()


def explain_missing_fields(error: BadDocument, raw: bytes, names: FieldNames) -> BadDocument:
    """The error of an event without id or text, with the options that may help; any other error as it is."""
    if error.code not in _MISSING:
        return error
    try:
        present = msgspec.json.decode(raw, type=dict[str, msgspec.Raw]).keys()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return error
    absent = [
        f"{option} names no field of this object"
        for option, name in (("--id-field", names.document_id), ("--text-field", names.text))
        if name is not None and name not in present
    ]
    if absent:
        return BadDocument(error.code, f"{error}; {', '.join(absent)}")
    options = []
    for option, own, named, likely in (
        ("--id-field", ID_FIELD, names.document_id, _LIKELY_IDS),
        ("--text-field", TEXT_FIELD, names.text, _LIKELY_TEXTS),
    ):
        if named is None and own not in present:
            options += [f"{option} {name}" for name in likely if name in present][:1]
    if not options:
        return error
    return BadDocument(error.code, f"{error}; if the fields have other names, add {' '.join(options)}")
