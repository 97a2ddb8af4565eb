"""What is said of files."""

from __future__ import annotations

import msgspec

from gate.http.file_messages import FileTexts


def test_the_answer_is_described_for_readers_of_the_schema() -> None:
    [schema], components = msgspec.json.schema_components([FileTexts])
    assert schema["$ref"].endswith("FileTexts")
    assert set(components["FileText"]["required"]) == {
        "name",
        "size_bytes",
        "text",
        "title",
        "format",
        "mime_type",
        "problem",
    }
