"""README.md has a row for every setting, profile, relation and command."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from gate import BUILT_IN, Limits, Relation
from gate.cli import main
from gate.config.settings import KEYS

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def test_nothing_is_left_to_be_filled_in() -> None:
    assert "@@" not in README.read_text(encoding="utf-8")


@pytest.mark.parametrize("key", KEYS)
def test_every_setting_stands_in_the_table_with_its_variable_and_its_default(key: str) -> None:
    [row] = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{key}` |")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1] == f"`GATE_{key.replace('.', '_').upper()}`"
    if key.startswith("limits."):
        assert cells[3] == str(structs.asdict(Limits())[key.removeprefix("limits.")])


@pytest.mark.parametrize("name", [*BUILT_IN, *(relation.value for relation in Relation)])
def test_every_profile_and_every_relation_is_told_of(name: str) -> None:
    assert f"| `{name}` |" in README.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", main.commands)
def test_every_command_is_told_of(command: str) -> None:
    assert f"| `gate {command}" in README.read_text(encoding="utf-8")
