"""Families are listed with all their members, on every kind of index."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gate.api import Gate
from gate.demo import BREAD, LIGHTHOUSE
from gate.index.scan import ScannableStore
from gate.index.tools import families as families_module
from gate.index.tools.families import MemberOfFamily, families
from gate.model import CheckIn
from tests.index.corrupted_index import KINDS, open_gate, profile_of, server_url, unrelated_documents

EDITED = LIGHTHOUSE.replace("three summers", "four summers")
CHECKED_IN = [
    CheckIn(document_id="bread", text=BREAD),
    CheckIn(document_id="light", text=LIGHTHOUSE, title="The Lighthouse"),
    CheckIn(document_id="copy", text=LIGHTHOUSE),
    CheckIn(document_id="near", text=EDITED),
    CheckIn(document_id="crumbs", text=BREAD),
    *unrelated_documents(10),
]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a family of three needs several batches."""
    monkeypatch.setattr(families_module, "BATCH", 2)


def listed(gate: Gate, limit: int | None = None) -> list[MemberOfFamily]:
    async def run(store: ScannableStore) -> list[MemberOfFamily]:
        batches: AsyncIterator[list[MemberOfFamily]] = families(store, limit=limit)
        return [member async for batch in batches for member in batch]

    return gate.with_store(run)


@pytest.mark.parametrize("kind", KINDS)
def test_the_largest_family_comes_first_and_its_original_before_its_copies(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    with open_gate(kind, server_url(request, kind), tmp_path, profile_of()) as gate:
        gate.check_in(CHECKED_IN)
        members = listed(gate)
        assert [(one.group, one.size, one.document.document_id) for one in members] == [
            ("light", 3, "light"),
            ("light", 3, "copy"),
            ("light", 3, "near"),
            ("bread", 2, "bread"),
            ("bread", 2, "crumbs"),
        ]
        assert [one.document.relation for one in members[:3]] == ["new", "exact", "near"]
        assert [one.group for one in listed(gate, limit=1)] == ["light"] * 3


def test_a_family_whose_original_was_deleted_is_none() -> None:
    with Gate() as gate:
        gate.check_in(CHECKED_IN)
        gate.delete(["light"])
        assert {one.group for one in listed(gate)} == {"bread"}


def test_an_index_of_unrelated_documents_has_no_families() -> None:
    with Gate() as gate:
        gate.check_in(unrelated_documents(5))
        assert listed(gate) == []
