"""`gate demo`: the planted documents in a table, and as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.demo import corpus
from tests.cli.command import done, gate, lines

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_the_table_shows_what_was_planted_and_counts_the_rest() -> None:
    rows = done("demo", "--unrelated", "5").stdout.splitlines()
    planted = corpus(unrelated=0)
    assert [row.split()[0] for row in rows[1 : len(planted) + 1]] == [plant.document.document_id for plant in planted]
    assert "5 unrelated ones are not shown." in rows


def test_programs_get_every_verdict() -> None:
    assert len(lines(done("demo", "--unrelated", "5", "--json").stdout)) == len(corpus(unrelated=5))


def test_the_written_files_get_the_same_verdicts() -> None:
    shown = lines(done("demo", "--unrelated", "3", "--write", "here", "--json").stdout)
    checked = {one["document_id"]: one["relation"] for one in lines(done("check", "here", "--json").stdout)}
    expected = {one["document_id"]: one["relation"] for one in shown if one["relation"] != "revision"}
    assert checked == expected


def test_a_folder_that_cannot_be_written_is_named() -> None:
    Path("taken").write_text("a file")
    result = gate("demo", "--write", "taken/inside")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
