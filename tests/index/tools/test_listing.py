"""Documents are listed in pages, by what they have in common, from every kind of index."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from gate.api import Gate
from gate.core.builtin_profiles import BUILT_IN
from gate.demo import BREAD, BRIDGE, LIGHTHOUSE
from gate.errors import UsageError
from gate.index.tools.listing import DocumentFilter, DocumentPage, list_documents
from gate.index.tools.stored_documents import StoredDocument
from gate.model import CheckIn, Relation
from tests.index.corrupted_index import KINDS, open_gate, profile_of, server_url, unrelated_documents

EDITED = LIGHTHOUSE.replace("three summers", "four summers")


def all_of(gate: Gate, limit: int = 2, max_read: int = 3, **wanted: object) -> list[StoredDocument]:
    """What a filter selects, from pages that are as small as can be."""
    matching = DocumentFilter(**wanted)  # type: ignore[arg-type]
    listed: list[StoredDocument] = []
    cursor = ""
    while True:
        page = gate.with_store(
            partial(list_documents, matching=matching, limit=limit, cursor=cursor, max_read=max_read)
        )
        assert len(page.documents) <= limit
        listed += page.documents
        if not (cursor := page.cursor):
            return listed


def ids(documents: list[StoredDocument]) -> list[str]:
    return sorted({document.document_id for document in documents})


def filled(gate: Gate) -> None:
    gate.check_in(
        [
            CheckIn(document_id="light/1", text=LIGHTHOUSE, title="The Lighthouse"),
            CheckIn(document_id="light/2", text=EDITED, title="THE LIGHTHOUSE, again"),
            CheckIn(document_id="bread", text=BRIDGE, title="A draft", version="1"),
            CheckIn(document_id="bread", text=BREAD, title="Bread", version="2"),
            CheckIn(document_id="short", text="Back at noon."),
            *unrelated_documents(20),
        ]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_documents_are_listed_by_id_title_relation_and_group(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    with open_gate(kind, server_url(request, kind), tmp_path, profile_of()) as gate:
        filled(gate)
        others = [document.document_id for document in unrelated_documents(20)]
        assert ids(all_of(gate)) == sorted(["light/1", "light/2", "bread", "short", *others])
        assert ids(all_of(gate, id_prefix="light/")) == ["light/1", "light/2"]
        assert ids(all_of(gate, title="lighthouse")) == ["light/1", "light/2"]
        assert ids(all_of(gate, title="draft")) == []  # of an earlier version
        assert ids(all_of(gate, relation=Relation.NEAR)) == ["light/2"]
        assert ids(all_of(gate, relation=Relation.REVISION)) == ["bread"]
        assert ids(all_of(gate, group="light/1")) == ["light/1", "light/2"]
        assert ids(all_of(gate, group="light/2")) == []
        assert ids(all_of(gate, group="unknown")) == []
        assert ids(all_of(gate, group="light/1", id_prefix="light/2", relation=Relation.NEAR)) == ["light/2"]


def test_a_listed_document_comes_with_its_latest_content() -> None:
    with Gate() as gate:
        filled(gate)
        [bread], [copy] = all_of(gate, id_prefix="bread"), all_of(gate, id_prefix="light/2")
        assert (bread.held.version, bread.relation, bread.group) == ("2", Relation.REVISION, "bread")
        assert bread.details is not None
        assert bread.details.title == "Bread"
        [claim] = gate.signer.sign([CheckIn(document_id="?", text=BREAD)]).claims
        assert bread.body == claim.body
        assert (copy.relation, copy.group) == (Relation.NEAR, "light/1")


def test_a_copy_of_what_was_deleted_is_a_family_of_its_own() -> None:
    with Gate() as gate:
        filled(gate)
        gate.delete(["light/1"])
        assert ids(all_of(gate, group="light/1")) == []
        assert ids(all_of(gate, group="light/2")) == ["light/2"]


def test_members_of_a_family_are_found_under_a_profile_that_keeps_all() -> None:
    with Gate(BUILT_IN["roth-2013"]) as gate:
        gate.check_in([CheckIn(document_id=name, text=text) for name, text in zip("abc", (LIGHTHOUSE, BREAD, EDITED))])
        assert ids(all_of(gate, group="a")) == ["a", "c"]


def test_a_page_reads_no_more_than_it_may_and_goes_on_from_there() -> None:
    def page(cursor: str) -> DocumentPage:
        matching = DocumentFilter(title="nothing has this title")
        return gate.with_store(partial(list_documents, matching=matching, cursor=cursor, max_read=10))

    with Gate() as gate:
        gate.check_in(unrelated_documents(15))
        first = page("")
        assert (len(first.documents), first.read) == (0, 10)
        assert first.cursor
        assert (page(first.cursor).read, page(first.cursor).cursor) == (5, "")


@pytest.mark.redis
def test_a_cursor_that_is_none_is_refused_with_the_remedy(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with (
        open_gate("redis", server_url(request, "redis"), tmp_path, profile_of()) as gate,
        pytest.raises(UsageError, match=r"cursor: is none .* give the one of an earlier page"),
    ):
        gate.with_store(partial(list_documents, cursor="nonsense"))
