"""The parts of what `gate dedupe` writes that need no run."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from gate.archive.dedupe_state import Decision, DedupedDocument
from gate.cli.dedupe_results import COLUMNS, DedupeOutput, _csv_row, _Upcoming
from gate.model import Relation


def test_numbers_are_taken_in_their_order() -> None:
    upcoming = _Upcoming(iter([2, 5]))
    assert [upcoming.takes(number) for number in (1, 2, 3, 5)] == [False, True, False, True]
    assert upcoming.is_done


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.jsonl", True), ("a.ndjson.gz", True), ("a.parquet", True), ("a", False), ("a.txt", False)],
)
def test_the_name_says_whether_records_are_written(name: str, expected: bool) -> None:
    assert DedupeOutput(out=Path(name)).is_records is expected
    with pytest.raises(click.UsageError):
        DedupeOutput(out=Path("a.jsonl"), link=True).check()


def test_a_name_is_no_formula_in_a_spreadsheet() -> None:
    document = DedupedDocument(1, "=1+1", 1, Relation.NEAR, "@x", 0.12345, 0.0, 1, 2)
    row = dict(zip(COLUMNS, _csv_row(Decision(document, False, "a", None)), strict=True))
    assert (row["document"], row["like"], row["resemblance"]) == ("'=1+1", "'@x", 0.1235)
    assert row["time"] == "1970-01-01T00:00:00Z"
