"""Foreign names of fields: mapped where they are given, suggested where they are missing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gate.errors import BadDocument
from gate.stream.field_names import OWN_NAMES, FieldNames, explain_missing_fields

NAMES = FieldNames(document_id="id", text="body")
MISSING = BadDocument("missing_field", "e.jsonl:1: field `document_id` is missing")


def renamed(names: FieldNames, **fields: Any) -> Any:
    return json.loads(names.rename(json.dumps(fields).encode()))


def test_the_fields_get_the_names_of_a_check_in_and_others_are_kept() -> None:
    assert renamed(NAMES, id="a", body="t", more=[1]) == {"document_id": "a", "text": "t", "more": [1]}


def test_an_integer_id_becomes_its_digits() -> None:
    assert renamed(NAMES, id=17, body="t") == {"document_id": "17", "text": "t"}
    assert renamed(NAMES, id=1.5, body="t") == {"document_id": 1.5, "text": "t"}  # refused later, by its type


def test_a_mapped_field_wins_over_one_that_has_the_name_already() -> None:
    assert renamed(FieldNames(document_id="id"), id="a", document_id="b") == {"document_id": "a"}


def test_what_is_not_mapped_is_left_as_it_is_to_the_byte() -> None:
    raw = b'{ "id" :1,"text":"\\u00e9"}'
    assert OWN_NAMES.rename(raw) == raw
    assert FieldNames(document_id="document_id", text="text").rename(b'{"text":"a"}') == b'{"text":"a"}'


@pytest.mark.parametrize("raw", [b"no json", b"[1]", b"\xff", b'{"id": '])
def test_what_is_no_object_is_left_to_the_decoder(raw: bytes) -> None:
    assert NAMES.rename(raw) == raw


@pytest.mark.parametrize(
    ("fields", "options"),
    [
        ({"id": 1, "text": "t"}, "add --id-field id"),
        ({"_id": 1, "body": "t"}, "add --id-field _id --text-field body"),
        ({"id": 1, "doc_id": 2, "content": "t", "body": "u"}, "add --id-field id --text-field content"),
    ],
)
def test_likely_fields_are_suggested(fields: dict[str, Any], options: str) -> None:
    error = explain_missing_fields(MISSING, json.dumps(fields).encode(), OWN_NAMES)
    assert error.code == "missing_field"
    assert str(error) == f"{MISSING}; if the fields have other names, {options}"


def test_without_a_likely_field_nothing_is_suggested_and_no_name_is_quoted() -> None:
    assert explain_missing_fields(MISSING, b'{"quetzalcoatl": 1}', OWN_NAMES) is MISSING
    assert explain_missing_fields(MISSING, b"no json", OWN_NAMES) is MISSING


def test_a_name_that_was_given_and_is_not_there_is_reported() -> None:
    error = explain_missing_fields(MISSING, b'{"key": 1, "body": "t"}', NAMES)
    assert str(error) == f"{MISSING}; --id-field names no field of this object"


def test_other_errors_are_left_as_they_are() -> None:
    other = BadDocument("bad_field", "e.jsonl:1: field `text`: expected str")
    assert explain_missing_fields(other, b'{"id": 1}', OWN_NAMES) is other
