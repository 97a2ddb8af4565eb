"""What is read of stored documents, on every kind of index that is in one process."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from gate import CheckIn, Gate
from gate.demo import BREAD, LIGHTHOUSE
from gate.index.tools.stored_documents import StoredDocument, read_contents, read_stored


@pytest.mark.parametrize("index", [None, "gate.sqlite"])
def test_documents_come_by_their_latest_content_in_the_order_asked_for(index: str | None, tmp_path: Path) -> None:
    with Gate(index=None if index is None else tmp_path / index) as gate:
        gate.check_in([CheckIn(document_id="a", text=LIGHTHOUSE, version="1", title="First")])
        gate.check_in([CheckIn(document_id="a", text=BREAD, version="2", title="Second")])
        gate.check_in([CheckIn(document_id="short", text="Back at noon.")])
        [expected] = gate.signer.sign([CheckIn(document_id="?", text=BREAD)]).claims
        short, nothing, bread = gate.with_store(partial(read_stored, document_ids=["short", "unknown", "a"]))
    assert nothing is None
    assert isinstance(short, StoredDocument)
    assert short.body == b""
    assert isinstance(bread, StoredDocument)
    assert (bread.held.content, bread.body, bread.held.version) == (expected.content, expected.body, "2")
    assert bread.details is not None
    assert (bread.details.title, bread.group) == ("Second", "a")


def test_a_copy_names_the_first_of_its_family_until_that_is_deleted() -> None:
    def group_of(document_id: str) -> str:
        [stored] = gate.with_store(partial(read_stored, document_ids=[document_id]))
        assert stored is not None
        return stored.group

    with Gate() as gate:
        gate.check_in([CheckIn(document_id=name, text=LIGHTHOUSE) for name in "ab"])
        assert [group_of(name) for name in "ab"] == ["a", "a"]
        gate.delete(["a"])
        assert group_of("b") == "b"


def test_contents_come_oldest_first() -> None:
    with Gate() as gate:
        gate.check_in([CheckIn(document_id="a", text=text, version=text[:3]) for text in (LIGHTHOUSE, BREAD)])
        contents = gate.with_store(partial(read_contents, document_id="a"))
        assert [held.version for held in contents] == ["The", "Mix"]
        assert gate.with_store(partial(read_contents, document_id="b")) == ()
