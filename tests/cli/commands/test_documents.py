"""What the commands about documents take; what they do is tested beside their code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import gate

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("check", "Missing argument"),
        ("explain", "Missing argument"),
        ("compare", "give two files, a file and a --fingerprint"),
        ("similar", "give an id or a file, or --fingerprint"),
    ],
)
def test_a_command_without_its_argument_is_a_wrong_use(command: str, message: str) -> None:
    result = gate(command)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("arguments", [("check", "gone"), ("compare", "gone", "-")])
def test_a_path_that_does_not_exist_is_a_wrong_use_that_names_it(arguments: tuple[str, ...]) -> None:
    result = gate(*arguments)
    assert result.exit_code == 2
    assert "'gone' does not exist" in result.stderr


def test_a_folder_cannot_be_compared() -> None:
    Path("notes").mkdir()
    result = gate("compare", "notes", "notes")
    assert result.exit_code == 2
    assert "'notes' is a directory" in result.stderr


@pytest.mark.parametrize("threshold", ["0", "1.01", "-1", "much"])
def test_a_threshold_is_above_0_and_at_most_1(threshold: str) -> None:
    result = gate("similar", "a", "--threshold", threshold)
    assert result.exit_code == 2
    assert "'--threshold'" in result.stderr


@pytest.mark.parametrize("command", ["compare", "demo"])
def test_a_command_that_reads_no_index_takes_none(command: str) -> None:
    result = gate(command, "--index", "kept.sqlite")
    assert result.exit_code == 2
    assert "No such option" in result.stderr
    assert "--index" in result.stderr


@pytest.mark.parametrize("number", ["-1", "100001"])
def test_the_demo_bounds_the_number_of_unrelated_documents(number: str) -> None:
    result = gate("demo", "--unrelated", number)
    assert result.exit_code == 2
    assert "0<=x<=100000" in result.stderr
