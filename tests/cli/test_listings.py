"""Lists of what an index holds: documents, pairs and families, as tables, CSV and JSON Lines."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gate.api import Gate
from gate.cli import main
from gate.cli.commands.index import RELATIONS
from gate.demo import BREAD, LIGHTHOUSE
from gate.model import CheckIn, Relation

pytestmark = pytest.mark.usefixtures("empty_folder")

EDITED = LIGHTHOUSE.replace("three summers", "four summers")
CHECKED_IN = [
    CheckIn(document_id="light", text=LIGHTHOUSE, title="The Lighthouse", uri="file:light.txt"),
    CheckIn(document_id="copy", text=LIGHTHOUSE, title="=A formula"),
    CheckIn(document_id="near", text=EDITED),
    CheckIn(document_id="bread", text=BREAD, title="Bread"),
]


def gate(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def lines(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def rows(result: Result) -> list[dict[str, str]]:
    assert result.exit_code == 0, result.stderr
    return list(csv.DictReader(io.StringIO(result.stdout)))


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "gate.sqlite"
    with Gate(index=path) as opened:
        opened.check_in(CHECKED_IN)
    return path


def test_documents_are_listed_with_what_people_recognise_them_by(index: Path) -> None:
    listed = {row["document_id"]: row for row in lines(gate("index", "documents", "--index", index, "--json"))}
    assert sorted(listed) == ["bread", "copy", "light", "near"]
    assert listed["light"]["title"] == "The Lighthouse"
    assert (listed["light"]["uri"], listed["light"]["size_bytes"]) == ("file:light.txt", len(LIGHTHOUSE))
    assert (listed["near"]["relation"], listed["near"]["group"]) == ("near", "light")
    [verdict] = lines(gate("explain", "near", "--index", index, "--json"))
    assert listed["near"]["fingerprint"] == verdict["fingerprint"]
    table = gate("index", "documents", "--index", index).stdout.splitlines()
    assert table[0].split() == ["document", "relation", "group", "fingerprint", "title"]
    assert table[-1] == "4 documents."


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        (["--relation", "near"], ["near"]),
        (["--group", "light"], ["copy", "light", "near"]),
        (["--title", "LIGHT"], ["light"]),
        (["--id-prefix", "l"], ["light"]),
        (["--limit", "2"], ["bread", "copy"]),
    ],
)
def test_documents_are_selected_by_what_they_have_in_common(index: Path, options: list[str], listed: list[str]) -> None:
    assert [
        row["document_id"] for row in lines(gate("index", "documents", "--index", index, "--json", *options))
    ] == listed


def test_a_list_as_csv_has_no_formulas_and_empty_cells_for_what_is_unknown(index: Path) -> None:
    listed = {row["document_id"]: row for row in rows(gate("index", "documents", "--index", index, "--format", "csv"))}
    assert listed["copy"]["title"] == "'=A formula"
    assert (listed["near"]["title"], listed["near"]["relation"]) == ("", "near")


def test_pairs_are_listed_with_their_measures(index: Path) -> None:
    exact, near = lines(gate("index", "pairs", "--index", index, "--format", "jsonl"))
    assert (exact["document_id"], exact["other_id"], exact["relation"]) == ("copy", "light", "exact")
    assert (near["document_id"], near["other_id"], near["relation"]) == ("near", "light", "near")
    assert near["bit_agreement"] == round(1 - near["distance"] / 64, 4)
    table = gate("index", "pairs", "--index", index).stdout.splitlines()
    assert table[0].split() == ["document", "other", "id", "relation", "resemblance", "containment"]
    assert table[-1] == "2 pairs."
    assert len(rows(gate("index", "pairs", "--index", index, "--format", "csv", "--limit", "1"))) == 1


def test_pairs_by_fingerprint_show_the_share_of_equal_bits(tmp_path: Path) -> None:
    kept = ("--index", tmp_path / "bits.sqlite", "--profile", "roth-2013")
    with Gate("roth-2013", index=tmp_path / "bits.sqlite") as opened:
        opened.check_in(CHECKED_IN)
    table = gate("index", "pairs", *kept).stdout.splitlines()
    assert table[0].split() == ["document", "other", "id", "relation", "bit", "agreement", "distance"]
    assert "100.0 %" in table[1]
    narrow, wide = (lines(gate("index", "pairs", *kept, "--json", "--threshold", value)) for value in ("1", "0.63"))
    assert len(narrow) < len(wide)


def test_families_are_listed_with_their_members(index: Path) -> None:
    members = lines(gate("index", "groups", "--index", index, "--json"))
    assert [(one["group"], one["size"], one["document_id"]) for one in members] == [
        ("light", 3, "light"),
        ("light", 3, "copy"),
        ("light", 3, "near"),
    ]
    assert gate("index", "groups", "--index", index).stdout.splitlines()[-1] == "1 family of 3 documents."


@pytest.mark.parametrize("threshold", ["0.6", "0.1"])
def test_pairs_too_distant_to_mean_anything_are_refused_before_work_starts(tmp_path: Path, threshold: str) -> None:
    kept = ("--index", tmp_path / "bits.sqlite", "--profile", "simhash")
    with Gate("simhash", index=tmp_path / "bits.sqlite") as opened:
        opened.check_in(CHECKED_IN)
    result = gate("index", "pairs", *kept, "--threshold", threshold)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert f"threshold: {threshold} lets" in result.stderr
    assert "give 0.625 or more" in result.stderr


def test_every_relation_can_be_asked_for() -> None:
    assert list(Relation) == list(RELATIONS)
