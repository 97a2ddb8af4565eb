"""Workbooks."""

from __future__ import annotations

from gate.extract.formats import extract_text
from tests.extract.extracting import OPTIONS
from tests.extract.office_samples import (
    xlsx,
)


def test_values_are_written_as_a_person_would() -> None:
    rows = "<row><c><v>3</v></c><c><v>0.5</v></c><c t='b'><v>1</v></c><c t='str'><v>word</v></c></row><row/>"
    extracted = extract_text(xlsx({"a": rows, "b": "<row><c><v>7</v></c></row>"}), OPTIONS)
    assert extracted.text == "3\t0.5\tTRUE\tword\n7\n"
