"""README.md names every relation and every profile for use. Its examples are run by `tests/docs`."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate import Relation
from gate.cli.profile_names import FOR_USE
from tests.docs.pages import PAGES, name_of

README = Path(__file__).parent.parent / "README.md"


def test_no_placeholder_is_left_on_a_page() -> None:
    for page in PAGES:
        assert "@@" not in page.read_text(encoding="utf-8"), name_of(page)


def test_the_readme_has_at_most_200_lines() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200


@pytest.mark.parametrize("name", [*FOR_USE, *(relation.value for relation in Relation)])
def test_every_relation_and_every_profile_for_use_has_a_row(name: str) -> None:
    assert f"| `{name}` |" in README.read_text(encoding="utf-8")
