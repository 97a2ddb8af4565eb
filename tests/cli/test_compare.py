"""`gate compare`: two texts side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gate.cli import main
from gate.demo import BREAD, LIGHTHOUSE
from gate.numbers import number

pytestmark = pytest.mark.usefixtures("empty_folder")


def gate(*arguments: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)], input=stdin)


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Path, Path]:
    left, right = tmp_path / "left.txt", tmp_path / "right.txt"
    left.write_text(LIGHTHOUSE)
    right.write_text(LIGHTHOUSE.replace("two goats", "seven geese"))
    return left, right


def test_an_edited_copy_is_alike_and_the_edit_is_outside_the_brackets(texts: tuple[Path, Path]) -> None:
    result = gate(*texts)
    assert result.exit_code == 0, result.stderr
    assert "alike (near)" in result.stdout
    assert "sister,]] two goats [[and a cupboard" in result.stdout
    assert "sister,]] seven geese [[and a cupboard" in result.stdout


def test_a_program_gets_measures_and_passages_that_add_up_to_the_texts(texts: tuple[Path, Path]) -> None:
    report = json.loads(gate(*texts, "--json").stdout)
    assert report["alike"] is True
    assert 0.7 < report["resemblance"] < 1.0
    for path, side in zip(texts, report["passages"]):
        assert "".join(passage["text"] for passage in side) == path.read_text()


def test_without_passages_no_text_is_shown(texts: tuple[Path, Path]) -> None:
    assert "goats" not in gate(*texts, "--no-passages").stdout
    assert "passages" not in json.loads(gate(*texts, "--no-passages", "--json").stdout)


def test_unrelated_texts_are_not_alike(texts: tuple[Path, Path]) -> None:
    result = gate(texts[0], "-", stdin=BREAD)
    assert "not alike" in result.stdout


def test_the_meaning_of_a_resemblance_depends_on_the_profile(texts: tuple[Path, Path], tmp_path: Path) -> None:
    plain = gate(*texts).stdout
    assert "under this profile's thresholds, by the estimates" in plain
    assert "as often as it occurs" not in plain
    (tmp_path / "counted.toml").write_text('base = "standard"\nmultisets = true\n')
    assert "as often as it occurs" in gate(*texts, "--profile", tmp_path / "counted.toml").stdout
    by_number = gate(*texts, "--profile", "roth-2011").stdout
    assert "the smaller of the two similarity indexes" in by_number
    assert "by the estimates" not in by_number
    assert re.search(r"^number A +-?[\d,]+ ", by_number, re.MULTILINE)


def test_resemblance_is_exact_and_the_estimate_stands_beside_it(texts: tuple[Path, Path]) -> None:
    report = json.loads(gate(*texts, "--json").stdout)
    a_in_b, b_in_a = report["containment"]
    # Both shares are of the same number of features, so that the one follows from the others.
    assert report["resemblance"] == pytest.approx(1 / (1 / a_in_b + 1 / b_in_a - 1), abs=1e-3)
    assert report["estimated_resemblance"] != report["resemblance"]
    assert report["estimated_resemblance"] == pytest.approx(report["resemblance"], abs=0.15)
    lines = [line.split() for line in gate(*texts, "--no-passages").stdout.splitlines()]
    [shown] = [line[1:5] for line in lines if line[0] == "resemblance"]
    expected = f"{number(report['resemblance'], '%')} {number(report['estimated_resemblance'], '%')}"
    assert " ".join(shown) == expected
    part = json.loads(gate(texts[0], "-", "--json", stdin=LIGHTHOUSE[: len(LIGHTHOUSE) // 2]).stdout)
    assert part["resemblance"] <= min(part["containment"])


def test_texts_that_differ_in_case_and_space_only_are_exactly_alike(texts: tuple[Path, Path]) -> None:
    report = json.loads(gate(texts[0], "-", "--json", stdin="\n" + LIGHTHOUSE.upper()).stdout)
    assert (report["relation"], report["distance"]) == ("exact", 0)


def test_two_empty_texts_are_compared_without_an_accident(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    (tmp_path / "b").write_text(" \n")
    result = gate(tmp_path / "a", tmp_path / "b")
    assert result.exit_code == 0, result.output


def test_standard_input_cannot_be_both_texts() -> None:
    assert gate("-", "-").exit_code == 2


def test_a_binary_file_is_an_error_that_names_it(texts: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "image.png").write_bytes(b"\x89PNG\0")
    result = gate(texts[0], tmp_path / "image.png")
    assert result.exit_code == 2
    assert "image.png: is not a text file" in result.stderr


def test_control_characters_of_a_text_do_not_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one two \x1b]0;title\x07 three four five")
    result = gate(tmp_path / "a", tmp_path / "a")
    assert "\x1b" not in result.stdout


def test_a_fingerprint_takes_the_place_of_a_text(texts: tuple[Path, Path]) -> None:
    whole = json.loads(gate(*texts, "--json", "--profile", "simhash").stdout)
    left, right = whole["fingerprints"]
    for sides in ([texts[0], "--fingerprint", right], ["--fingerprint", left, "--fingerprint", right.upper()]):
        report = json.loads(gate(*sides, "--json", "--profile", "simhash").stdout)
        assert (report["distance"], report["fingerprints"]) == (whole["distance"], [left, right])
        assert report["bit_agreement"] == round(1 - report["distance"] / 64, 4)
        assert "equal bits" in gate(*sides, "--profile", "simhash").stdout


def test_a_threshold_decides_whether_two_texts_are_alike(texts: tuple[Path, Path]) -> None:
    def alike(threshold: str) -> bool:
        report = json.loads(gate(*texts, "--json", "--threshold", threshold).stdout)
        return bool(report["alike"])

    assert [alike("0.5"), alike("1")] == [True, False]


@pytest.mark.parametrize(
    "sides", [[], ["--fingerprint", "0" * 16], ["--fingerprint", "0" * 15, "--fingerprint", "0" * 16]]
)
def test_what_is_no_two_things_is_refused(sides: list[str]) -> None:
    result = gate(*sides)
    assert result.exit_code == 2
    assert "give" in result.stderr
