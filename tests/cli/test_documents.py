"""Commands about documents: similar, explain, delete, index info."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from gate.api import Gate
from gate.demo import BREAD, BRIDGE
from gate.model import CheckIn
from gate.numbers import number
from tests.cli.command import gate

pytestmark = pytest.mark.usefixtures("empty_folder")


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def index(folder: Path, tmp_path: Path) -> Path:
    path = tmp_path / "gate.sqlite"
    assert gate("check", folder, "--index", path).exit_code == 0
    return path


def test_documents_like_a_known_one_are_found_by_its_id(index: Path) -> None:
    assert [m["document_id"] for m in lines(gate("similar", "new/c.txt", "--index", index, "--json"))] == ["a.txt"]


def test_documents_like_a_file_are_found_too(index: Path, tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text(BREAD.upper())
    result = gate("similar", tmp_path / "d.txt", "--index", index)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].split()[:2] == ["b.txt", "exact"]


def test_a_higher_threshold_finds_less(index: Path, folder: Path) -> None:
    found = gate("similar", folder / "new" / "c.txt", "--index", index, "--threshold", "0.999")
    assert "Nothing in the index is like" in found.stdout


def test_an_argument_that_is_neither_id_nor_file_is_an_error(index: Path) -> None:
    for kind in ((), ("--as", "id"), ("--as", "file")):
        result = gate("similar", "nowhere", "--index", index, *kind)
        assert result.exit_code == 2
        assert "nowhere: " in result.stderr


def test_an_explanation_says_what_matched_and_by_which_measure(index: Path) -> None:
    message = gate("explain", "new/c.txt", "--index", index).stdout
    assert "It is near" in message
    assert "The best match is a.txt: this document resembles it to" in message
    assert "of 64 bits" in message
    assert "under profile standard@1, which asks for a resemblance of at least 65.0 %" in message


def test_an_explanation_for_a_program_is_the_verdict(index: Path) -> None:
    [verdict] = lines(gate("explain", "new/c.txt", "--index", index, "--json"))
    assert verdict["relation"] == "near"
    assert verdict["group"] == "a.txt"


@pytest.fixture
def by_bits(folder: Path, tmp_path: Path) -> tuple[str, ...]:
    """The options of an index under a profile that decides by fingerprints and keeps all documents."""
    kept = ("--profile", "roth-2013", "--index", str(tmp_path / "bits.sqlite"))
    assert gate("check", folder, *kept).exit_code == 0
    return kept


def test_where_fingerprints_decide_tables_show_the_share_of_equal_bits(folder: Path, by_bits: tuple[str, ...]) -> None:
    [verdict] = lines(gate("explain", "new/c.txt", *by_bits, "--json"))
    [match] = verdict["matches"]
    share = number(match["bit_agreement"], "%")
    assert match["bit_agreement"] == round(1 - match["distance"] / 64, 4)
    assert f"in {match['distance']} of 64 bits ({share} are equal)" in gate("explain", "new/c.txt", *by_bits).stdout
    heads = gate("check", folder, "--profile", "roth-2013").stdout.splitlines()
    assert heads[0].split() == ["document", "verdict", "like", "equal", "bits", "bits"]
    assert share in heads[3]
    [found] = lines(gate("similar", "new/c.txt", *by_bits, "--json"))
    [other] = lines(gate("explain", "a.txt", *by_bits, "--json"))
    assert (found["bit_agreement"], found["fingerprint"]) == (match["bit_agreement"], other["fingerprint"])
    table = gate("similar", "new/c.txt", *by_bits).stdout.splitlines()
    assert table[0].split() == ["document", "relation", "equal", "bits", "bits", "fingerprint"]
    assert [share in table[1], other["fingerprint"] in table[1]] == [True, True]


def test_a_fingerprint_is_looked_up_by_its_value(by_bits: tuple[str, ...]) -> None:
    [verdict] = lines(gate("explain", "a.txt", *by_bits, "--json"))
    far = f"{int(verdict['fingerprint'], 16) ^ (1 << 18) - 1:016x}"
    wide = gate("similar", "--fingerprint", far, "--threshold", "0.7", *by_bits)
    assert "a.txt" in wide.stdout
    assert "3 fingerprints scanned" in wide.stdout
    assert "like" in gate("similar", "--fingerprint", far, "--threshold", "0.75", *by_bits).stdout
    [answer] = [
        json.loads(line)
        for line in gate("similar", "--fingerprint", far, "--threshold", "0.7", "--json", *by_bits).stderr.splitlines()
    ]
    assert answer == {"scanned": 3, "complete": True, "degraded": []}


@pytest.mark.parametrize("what", [["--fingerprint", "0123"], [], ["a.txt", "--fingerprint", "0" * 16]])
def test_a_look_up_wants_one_thing_and_a_fingerprint_of_sixteen_digits(
    by_bits: tuple[str, ...], what: list[str]
) -> None:
    result = gate("similar", *what, *by_bits)
    assert result.exit_code == 2
    assert "give" in result.stderr


def test_a_threshold_that_no_look_up_can_answer_is_refused(by_bits: tuple[str, ...]) -> None:
    result = gate("similar", "a.txt", "--threshold", "0.6", *by_bits)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "give 0.625 or more" in result.stderr


def test_a_similarity_index_is_shown_as_a_number(tmp_path: Path) -> None:
    for name, text in (("a", "one two three four " * 30), ("b", "one two three four " * 29)):
        (tmp_path / f"{name}.txt").write_text(text)
    profile = tmp_path / "sums.toml"
    profile.write_text('base = "roth-2011"\nname = "sums"\ngram = 2\nsi_method = 1\nindex = "all"\nresemblance = 0.5\n')
    kept = ("--profile", str(profile), "--index", str(tmp_path / "numbers.gate"))
    checked = gate("check", tmp_path / "a.txt", tmp_path / "b.txt", "--json", *kept).stdout.splitlines()
    numbers = {one["document_id"]: int(one["fingerprint"], 16) for one in map(json.loads, checked)}
    signed = {name: f"{value - 2**64 if value >> 63 else value:,}" for name, value in numbers.items()}
    a, b = (next(name for name in numbers if name.endswith(suffix)) for suffix in ("a.txt", "b.txt"))
    assert f"Similarity index {signed[b]}, content" in gate("explain", b, *kept).stdout
    found = gate("similar", b, *kept).stdout
    assert "similarity index" in found
    assert signed[a] in found


def test_comparisons_that_a_length_filter_saves_are_explained(tmp_path: Path) -> None:
    for name, times in (("a", 1), ("b", 4)):
        (tmp_path / f"{name}.txt").write_text("one two three four five six seven eight nine ten " * times)
    profile = tmp_path / "short.toml"
    profile.write_text('base = "azgomi-2014"\nname = "short"\nbands = 32\nrows = 1\n')
    kept = ("--profile", str(profile), "--index", str(tmp_path / "short.gate"))
    gate("check", tmp_path / "a.txt", *kept)  # documents of one batch are compared before the index is read
    checked = gate("check", tmp_path / "b.txt", "--json", *kept).stdout
    explained = gate("explain", json.loads(checked)["document_id"], *kept).stdout.replace("\n", " ")
    assert "1 document more had a bucket in common with it" in explained
    assert "the sum of the places of features times their repetitions ruled it out" in " ".join(explained.split())
    compared = gate("compare", tmp_path / "a.txt", tmp_path / "b.txt", "--profile", str(profile)).stdout
    assert "too unequal to be compared under this profile" in compared
    assert "not alike" in compared


def test_a_deleted_document_is_unknown_and_a_second_delete_is_no_error(index: Path) -> None:
    assert gate("delete", "a.txt", "--index", index).stdout == "a.txt: deleted\n"
    again = gate("delete", "a.txt", "b.txt", "--index", index, "--json")
    assert again.exit_code == 0
    assert [one["deleted"] for one in lines(again)] == [False, True]
    result = gate("explain", "a.txt", "--index", index)
    assert result.exit_code == 2
    assert "a.txt: not known" in result.stderr


def test_info_shows_how_much_the_index_holds(index: Path) -> None:
    counts = json.loads(gate("index", "info", "--index", index, "--json").stdout)
    assert counts["documents"] == 3
    assert counts["profile"] == "standard@1"
    assert "documents" in gate("index", "info", "--index", index).stdout


@pytest.mark.parametrize("command", [("similar", "a"), ("explain", "a"), ("delete", "a"), ("index", "info")])
def test_a_command_that_needs_an_index_says_so_and_makes_none(command: tuple[str, ...], tmp_path: Path) -> None:
    without = gate(*command)
    assert without.exit_code == 2
    assert "--index" in without.stderr
    missing = gate(*command, "--index", tmp_path / "none.sqlite")
    assert missing.exit_code == 2
    assert "none.sqlite" in missing.stderr
    assert not (tmp_path / "none.sqlite").exists()


def test_an_explanation_shows_the_details_that_are_kept_where_asked_for(index: Path) -> None:
    with Gate(index=index) as opened:
        when = datetime(2026, 5, 6, 7, 8, tzinfo=UTC)
        known: dict[str, Any] = {
            "title": "The bridge",
            "source": "archive",
            "mime_type": "text/plain",
            "checked_in_at": when,
        }
        opened.check_in([CheckIn(document_id="bridge", text=BRIDGE, uri="file:bridge.txt", **known)])
        opened.check_in([CheckIn(document_id="copy", text=BRIDGE)])
    shown = gate("explain", "bridge", "--index", index, "--details").stdout
    size = number(len(BRIDGE), "B")
    line = (
        f"Title The bridge, source archive, path file:bridge.txt, {size}, text/plain, checked in 2026-05-06 07:08 UTC."
    )
    assert line in shown
    assert "archive" not in gate("explain", "bridge", "--index", index).stdout
    copy = [line.split() for line in gate("explain", "copy", "--index", index).stdout.splitlines()]
    [head] = [line for line in copy if line[0] == "document"]
    [row] = [line for line in copy if line[0] == "bridge"]
    assert head[-2:] == ["title", "path"]
    assert row[-3:] == ["The", "bridge", "file:bridge.txt"]
