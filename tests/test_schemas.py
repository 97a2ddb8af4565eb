"""The JSON Schemas under schemas/ are what gate/wire.py says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gate.wire import schemas

FOLDER = Path(__file__).parent.parent / "schemas"


@pytest.mark.parametrize("name", sorted(schemas()))
def test_a_schema_is_what_the_wire_says(name: str) -> None:
    stored = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert stored == schemas()[name], f"schemas/{name} differs from gate/wire.py: run `make schemas`"


def test_no_schema_is_left_of_a_message_that_is_gone() -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == set(schemas())


def test_only_the_document_id_is_required_of_a_check_in_besides_its_content() -> None:
    schema = schemas()["check_in.json"]
    assert schema["$defs"]["CheckInEvent"]["required"] == ["document_id"]
    assert schema["anyOf"] == [{"required": ["text"]}, {"required": ["content_uri"]}]


@pytest.mark.parametrize("name", sorted(schemas()))
def test_a_schema_lets_unknown_fields_through(name: str) -> None:
    assert 'additionalProperties": false' not in json.dumps(schemas()[name])
