"""The format of a file is recognised by its content; a name only helps."""

from __future__ import annotations

import pytest

from gate.archive.formats import FORMATS, NAMES, detect, named
from gate.archive.parts import SourceOptions
from gate.stream.field_names import FieldNames

OPTIONS = SourceOptions()


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        (b"anything", "a.jsonl", "jsonl"),
        (b'{"document_id": "a", "text": "b"}\n', "a", "jsonl"),
        (b'\xef\xbb\xbf {"text": "b", "document_id": "a"}', "a.json", "jsonl"),
        (b'{"id": "a", "text": "b"}\n', "a.json", "document"),
        (b'{\n  "document_id": "a", "text": "b"}\n', "a.json", "document"),
        (b'{"document_id": 1, "text": \n', "a.json", "document"),
        (b"{a}", "a", "document"),
        (b"", "a", "document"),
    ],
)
def test_a_format_is_recognised(head: bytes, name: str, expected: str) -> None:
    assert detect(head, name, OPTIONS).name == expected


def test_the_names_of_fields_take_part_in_that() -> None:
    options = SourceOptions(field_names=FieldNames(document_id="id", text="body"))
    assert detect(b'{"id": "a", "body": "b"}\n', "a", options).name == "jsonl"
    assert detect(b'{"document_id": "a", "text": "b"}\n', "a", options).name == "document"


def test_every_format_has_a_name_of_its_own() -> None:
    assert len(set(NAMES)) == len(FORMATS)
    assert [named(name).name for name in NAMES] == list(NAMES)
