"""A table that spreadsheets and programs read."""

from __future__ import annotations

import csv
import io

import pytest

from gate.model import Relation
from gate.report.csv_file import plain_text, write_csv
from gate.report.results import Results
from tests.report.samples import archive, result


def lines(results: Results) -> list[dict[str, str]]:
    file = io.StringIO()
    write_csv(results, file)
    return list(csv.DictReader(io.StringIO(file.getvalue())))


def test_each_document_has_a_line_and_so_has_what_could_not_be_read() -> None:
    rows = lines(archive())
    assert [row["document"] for row in rows[:3]] == ["old/light.txt", "old/bread.txt", "new/light-2.txt"]
    assert rows[2] == {
        "document": "new/light-2.txt",
        "verdict": "near",
        "like": "old/light.txt",
        "original": "old/light.txt",
        "resemblance": "0.8",
        "contained": "0.9",
        "bits": "7",
        "size_bytes": "1100",
        "time": "2026-05-08T12:00:00Z",
        "folder": "new",
        "reason": "",
        "like_is_gone": "",
        "original_is_gone": "",
    }
    assert [(row["document"], row["verdict"], row["reason"]) for row in rows[7:]] == [
        ("a.png", "not judged", "binary"),
        ("x.pdf", "not judged", "encrypted"),
        ("b.png", "not judged", "binary"),
    ]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@sum", "\t=1"])
def test_a_name_that_a_spreadsheet_would_calculate_gets_an_apostrophe(name: str) -> None:
    results = Results()
    results.add([result(name, original=name)])
    [row] = lines(results)
    assert {row["document"], row["like"], row["original"]} == {f"'{name}"}
    assert plain_text("a=1") == "a=1"


def test_commas_quotes_and_newlines_in_names_come_back() -> None:
    results = Results()
    results.add([result('a,"b"\nc.txt')])
    assert lines(results)[0]["document"] == 'a,"b"\nc.txt'


def test_a_file_that_was_compared_by_its_bytes_has_one_line_with_its_reason() -> None:
    results = Results()
    results.add([result("scan.pdf", Relation.UNREADABLE, unreadable="no_text")])
    [row] = lines(results)
    assert (row["document"], row["verdict"], row["reason"]) == ("scan.pdf", "unreadable", "no_text")
