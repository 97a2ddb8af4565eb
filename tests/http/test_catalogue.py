"""The rows of a catalogue: searched, paged, and joined in families."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gate.http.catalogue import Catalogue, CatalogueRow, CatalogueSearch, FamilyCount
from gate.model import Relation


def catalogue(*rows: CatalogueRow, most: int = 100) -> Catalogue:
    made = Catalogue(most)
    for row in rows:
        made.add(row)
    return made


REPORT = CatalogueRow("reports/2025", "reports/2025", "Annual Report", Relation.NEW)
COPY = CatalogueRow("inbox/7", "reports/2025", "Copy of the ANNUAL report", Relation.NEAR)
LETTER = CatalogueRow("inbox/8", "inbox/8", None, Relation.NEW)


@pytest.mark.parametrize(
    ("search", "ids"),
    [
        (CatalogueSearch(), ["inbox/7", "inbox/8", "reports/2025"]),
        (CatalogueSearch(prefix="inbox/"), ["inbox/7", "inbox/8"]),
        (CatalogueSearch(prefix="inbox/9"), []),
        (CatalogueSearch(title="annual"), ["inbox/7", "reports/2025"]),
        (CatalogueSearch(text="inbox"), ["inbox/7", "inbox/8"]),
        (CatalogueSearch(text="Annual rep"), ["inbox/7", "reports/2025"]),
        (CatalogueSearch(relation=Relation.NEW), ["inbox/8", "reports/2025"]),
        (CatalogueSearch(group="reports/2025"), ["inbox/7", "reports/2025"]),
        (CatalogueSearch(group="reports/2025", relation=Relation.NEAR, prefix="in"), ["inbox/7"]),
    ],
)
def test_a_search_selects_by_all_that_is_given_in_the_order_of_ids(search: CatalogueSearch, ids: list[str]) -> None:
    ordered = catalogue(REPORT, COPY, LETTER).ordered()
    assert [row.document_id for row in search.select(ordered)] == ids


def test_a_family_shrinks_and_ends_with_its_members() -> None:
    rows = catalogue(REPORT, COPY, LETTER)
    assert rows.largest(5) == [FamilyCount("reports/2025", 2)]
    assert rows.family("reports/2025") == ["inbox/7"]
    rows.add(CatalogueRow("inbox/7", "inbox/7", None, Relation.REVISION))
    assert rows.largest(5) == []


def test_a_deleted_original_leaves_the_others_on_their_own() -> None:
    rows = catalogue(REPORT, COPY)
    rows.remove("reports/2025")
    rows.remove("reports/2025")
    assert [(row.document_id, row.group) for row in rows.ordered()] == [("inbox/7", "inbox/7")]
    assert rows.largest(5) == []


def test_a_full_catalogue_takes_no_other_document_and_says_so() -> None:
    rows = catalogue(REPORT, COPY, most=2)
    rows.add(COPY)
    was_full = rows.is_full
    rows.add(LETTER)
    assert (was_full, rows.is_full) == (False, True)
    assert "inbox/8" not in rows
    assert len(rows) == 2


async def test_rows_that_come_while_others_are_sorted_are_in_the_next_list() -> None:
    rows = catalogue(REPORT, COPY)

    async def sort_while_one_comes(work: Callable[[], list[CatalogueRow]]) -> list[CatalogueRow]:
        rows.add(LETTER)
        return work()

    first = await rows.ordered_by(sort_while_one_comes)
    assert [row.document_id for row in first] == ["inbox/7", "reports/2025"]
    assert [row.document_id for row in rows.ordered()] == ["inbox/7", "inbox/8", "reports/2025"]
    assert await rows.ordered_by(sort_while_one_comes) is rows.ordered()
