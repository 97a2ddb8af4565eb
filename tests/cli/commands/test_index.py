"""What the commands about a whole index take; what they do is tested beside their code."""

from __future__ import annotations

import pytest

from gate.cli.commands.index import index
from tests.cli.command import gate

pytestmark = pytest.mark.usefixtures("empty_folder")


COMMANDS = {
    "info", "verify", "export", "import", "rebuild", "rotate", "documents", "pairs", "groups", "promote", "drop"
}  # fmt: skip


def test_the_group_without_a_command_shows_its_commands() -> None:
    result = gate("index")
    assert index.commands.keys() == COMMANDS
    assert [name for name in COMMANDS if f"  {name} " not in result.output] == []


def test_every_command_has_a_short_help_that_is_a_sentence() -> None:
    for command in index.commands.values():
        assert (command.short_help or "").endswith("."), command.name


def test_a_negative_pause_is_a_wrong_use() -> None:
    result = gate("index", "verify", "--pause", "-1")
    assert result.exit_code == 2
    assert "'--pause'" in result.stderr


def test_an_import_names_a_file_that_exists() -> None:
    assert "Missing argument" in gate("index", "import").stderr
    result = gate("index", "import", "gone.jsonl")
    assert result.exit_code == 2
    assert "'gone.jsonl' does not exist" in result.stderr
