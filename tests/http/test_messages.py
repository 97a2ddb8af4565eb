"""A check-in over HTTP is the same as one on a topic."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import msgspec
import pytest

from gate.http.messages import ONE_CONTENT, CheckInBody, CheckInRequest, check_contents
from gate.wire import CheckInEvent

EVERYTHING = {
    "document_id": "reports/2026",
    "text": "The ferry to the islands.",
    "version": 7,
    "title": "Report",
    "source": "archive",
    "uri": "file:reports/2026.txt",
    "size_bytes": 25,
    "mime_type": "text/plain",
    "metadata": {"a": [1, None]},
    "checked_in_at": "2026-05-06T07:08:09Z",
}


def test_a_request_is_the_check_in_that_the_same_event_on_a_topic_is() -> None:
    raw = json.dumps(EVERYTHING)
    request = msgspec.json.decode(raw, type=CheckInRequest)
    assert request.check_in() == msgspec.json.decode(raw, type=CheckInEvent).check_in()


def test_a_request_has_the_fields_of_an_event_but_for_those_of_a_stream() -> None:
    """`type` tells check-ins from deletes on a topic; `content_uri` would let a client read files of the server."""
    assert set(CheckInEvent.__struct_fields__) - set(CheckInRequest.__struct_fields__) == {"type", "content_uri"}
    assert set(EVERYTHING) | {"content_sha256", "unreadable_reason"} == set(CheckInRequest.__struct_fields__)


def test_a_field_has_the_bounds_that_it_has_on_a_topic() -> None:
    bounds = ("minLength", "maxLength", "minimum", "maximum", "anyOf", "type", "pattern")
    fields = [
        msgspec.json.schema(struct)["$defs"][struct.__name__]["properties"] for struct in (CheckInRequest, CheckInEvent)
    ]
    for name in CheckInRequest.__struct_fields__:
        own, event = ({key: one[name].get(key) for key in bounds} for one in fields)
        assert own == event, name


@pytest.mark.parametrize("metadata", ['{"a": 1}', "null", ' {"ä": "ö"}'])
def test_metadata_may_be_an_object_or_null(metadata: str) -> None:
    for raw in (f'{{"document_id": "a", "text": "t", "metadata": {metadata}}}', "[]"):
        check_contents(msgspec.json.decode(raw, type=CheckInBody), raw.encode())


@pytest.mark.parametrize("metadata", ["[1]", '"nullable"', "1", "true"])
def test_metadata_of_another_type_is_refused_by_its_place(metadata: str) -> None:
    raw = f'[{{"document_id": "a", "text": "t"}}, {{"document_id": "a", "text": "t", "metadata": {metadata}}}]'
    with pytest.raises(msgspec.ValidationError, match=r"object \| null.*\$\[1\]\.metadata"):
        check_contents(msgspec.json.decode(raw, type=CheckInBody), raw.encode())


def test_metadata_that_is_not_utf8_is_refused() -> None:
    raw = b'{"document_id": "a", "text": "t", "metadata": {"a": "\xff"}}'
    with pytest.raises(UnicodeDecodeError):
        check_contents(msgspec.json.decode(raw, type=CheckInBody), raw)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"text": ""}, None),
        ({"content_sha256": "0" * 64}, None),
        ({"content_sha256": "0" * 64, "unreadable_reason": "encrypted", "text": None}, None),
        ({}, "missing required field `text` - at `$`"),
        ({"text": None}, "missing required field `text`"),
        ({"text": "", "content_sha256": "0" * 64}, r"`$.content_sha256`"),
        ({"text": "", "unreadable_reason": "no_text"}, r"`$.unreadable_reason`"),
    ],
)
def test_a_document_has_one_content_as_its_schema_says(document: dict[str, Any], expected: str | None) -> None:
    raw = json.dumps({"document_id": "a", **document}).encode()
    body = msgspec.json.decode(raw, type=CheckInBody)
    allowed = jsonschema.Draft202012Validator(ONE_CONTENT).is_valid(json.loads(raw))
    if expected is None:
        check_contents(body, raw)
        assert allowed
    else:
        with pytest.raises(msgspec.ValidationError, match=re.escape(expected)):
            check_contents(body, raw)
        assert not allowed
