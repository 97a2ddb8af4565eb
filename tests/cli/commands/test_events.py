"""What `gate run` and `gate replay` take; what they do is tested beside their code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import gate

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.mark.parametrize("command", ["run", "replay"])
def test_an_input_that_does_not_exist_is_a_wrong_use_that_names_it(command: str) -> None:
    result = gate(command, "gone.jsonl")
    assert result.exit_code == 2
    assert "'gone.jsonl' does not exist" in result.stderr


def test_a_folder_may_be_replayed_but_not_run() -> None:
    Path("archive").mkdir()
    assert "'archive' is a directory" in gate("run", "archive").stderr
    assert gate("replay", "archive", "--dry-run", "--quiet").exit_code == 0


def test_a_replay_needs_a_source_and_a_run_reads_standard_input() -> None:
    assert "Missing argument" in gate("replay").stderr
    assert gate("run", "--quiet", stdin="").exit_code == 0


@pytest.mark.parametrize(("option", "value"), [("--rate", "0"), ("--rate", "-1"), ("--wait", "-1")])
def test_a_rate_is_above_0_and_a_wait_not_below(option: str, value: str) -> None:
    result = gate("replay", ".", option, value)
    assert result.exit_code == 2
    assert f"'{option}'" in result.stderr


@pytest.mark.parametrize("command", ["run", "replay"])
def test_both_take_the_names_of_fields(command: str) -> None:
    help_page = gate(command, "--help").stdout
    assert "--id-field" in help_page
    assert "--text-field" in help_page
