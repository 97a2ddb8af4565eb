"""Map the field names of foreign JSON Lines to those of a check-in, and suggest the mapping where it is missing."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from gate.errors import BadDocument

ID_FIELD, TEXT_FIELD = "document_id", "text"
# Names that other programs use for the same; only these are ever quoted in a message.
_LIKELY_IDS = ("id", "_id", "doc_id")
_LIKELY_TEXTS = ("content", "body")
_MISSING = ("missing_field", "no_content")  # reasons of events without an id, and without a text
_INTEGER = re.compile(rb"-?\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldNames:
    """The fields of an object that hold the document id and the text; None: they have the gate's own names."""

    document_id: str | None = None
    text: str | None = None

    def rename(self, raw: bytes) -> bytes:
        """The object with the gate's names. An integer id becomes its digits. What is no object is left as it is."""
        wanted = {ID_FIELD: self.document_id, TEXT_FIELD: self.text}
        if not any(wanted.values()):
            return raw
        try:
            fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return raw  # the decoder of events says what is wrong
        for name, foreign in wanted.items():
            if foreign in (None, name) or foreign not in fields:
                continue
            value = bytes(fields.pop(foreign))
            if name == ID_FIELD and _INTEGER.fullmatch(value):
                value = b'"' + value + b'"'
            fields[name] = msgspec.Raw(value)
        return msgspec.json.encode(fields)


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
