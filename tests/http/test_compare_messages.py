"""The body of a comparison: a string or one of three things for each side."""

from __future__ import annotations

from typing import Any

import jsonschema
import msgspec
import pytest

from gate.http.compare_messages import CompareRequest
from gate.http.openapi import openapi

ACCEPTED: list[Any] = [
    "text",
    {"text": ""},
    {"document_id": "a"},
    {"fingerprint": "0123456789abcDEF"},
    {"text": "a", "document_id": None},
]
REFUSED: list[Any] = [{"fingerprint": "12"}, {"id": "a"}, 7, None]
NOT_ONE: list[Any] = [{}, {"text": "a", "document_id": "b"}]


def decode(side: Any) -> CompareRequest:
    return msgspec.json.decode(msgspec.json.encode({"left": side, "right": "b"}), type=CompareRequest)


@pytest.mark.parametrize("side", ACCEPTED, ids=str)
def test_a_side_that_is_one_thing_is_accepted(side: Any) -> None:
    assert decode(side).passages is True


@pytest.mark.parametrize("side", REFUSED, ids=str)
def test_another_side_is_refused(side: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.left"):
        decode(side)


@pytest.mark.parametrize(
    ("side", "valid"), [*((s, True) for s in ACCEPTED), *((s, False) for s in REFUSED + NOT_ONE)], ids=str
)
def test_the_schema_accepts_what_the_service_accepts(side: Any, valid: bool) -> None:
    document = openapi()
    schema = {"$ref": "#/components/schemas/CompareRequest", "components": document["components"]}
    assert jsonschema.Draft202012Validator(schema).is_valid({"left": side, "right": "b"}) == valid
