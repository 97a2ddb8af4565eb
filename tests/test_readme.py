"""README.md names every relation and every profile for use. Its examples are run by `tests/docs`."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate import Relation
from gate.cli.profile_names import FOR_USE

README = Path(__file__).parent.parent / "README.md"


def test_no_placeholder_is_left_in_the_readme() -> None:
    assert "@@" not in README.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*FOR_USE, *(relation.value for relation in Relation)])
def test_every_relation_and_every_profile_for_use_has_a_row(name: str) -> None:
    assert f"| `{name}` |" in README.read_text(encoding="utf-8")
