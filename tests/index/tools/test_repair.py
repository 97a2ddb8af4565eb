"""Each repair may be repeated, and goes by what is stored when it is done, not by what was found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.api import Gate
from gate.index.protocol.postings import postings_of
from gate.index.scan import ScannableStore
from gate.index.tools.findings import Fault, Finding
from gate.index.tools.repair import Repairer
from gate.model import Relation
from tests.index.corrupted_index import corpus, open_gate, profile_of, record_of

State = tuple[list[object], list[object], list[tuple[int, int, int]]]


@pytest.fixture(params=["memory", "sqlite"])
def gate(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Gate]:
    with open_gate(request.param, "", tmp_path, profile_of()) as opened:
        opened.check_in(corpus())
        yield opened


def repair(gate: Gate, *findings: Finding) -> None:
    async def run(store: ScannableStore) -> None:
        await Repairer(store, gate.method).repair(findings[0].fault, findings)

    gate.with_store(run)


def state(gate: Gate) -> State:
    """All that is stored."""

    async def read(store: ScannableStore) -> State:
        scan = store.scan()
        entries: list[object] = [record async for batch in scan.entries() for record in batch]
        documents: list[object] = [document async for batch in scan.documents() for document in batch]
        rows = [row async for batch in scan.postings() for row in zip(*(part.tolist() for part in batch), strict=True)]
        return entries, documents, sorted(rows)

    return gate.with_store(read)


def finding_of(gate: Gate, fault: Fault, document_id: str, *, key: int = 0) -> Finding:
    record = record_of(gate, document_id)
    return Finding(fault, record.entry, record.content, document_id, key)


@pytest.mark.parametrize("fault", [Fault.UNLISTED, Fault.UNREACHABLE, Fault.UNHELD])
def test_a_repair_of_what_is_whole_again_changes_nothing(gate: Gate, fault: Fault) -> None:
    found = finding_of(gate, fault, "lighthouse-0")
    before = state(gate)
    repair(gate, found)
    assert state(gate) == before


@pytest.mark.parametrize("fault", [Fault.UNLISTED, Fault.UNREACHABLE, Fault.UNHELD, Fault.LOST])
def test_a_repair_of_a_document_that_was_deleted_since_changes_nothing(gate: Gate, fault: Fault) -> None:
    found = finding_of(gate, fault, "lighthouse-0")
    gate.delete(["lighthouse-0"])
    before = state(gate)
    repair(gate, found)
    assert state(gate) == before


def test_missing_postings_are_appended_once_however_often_it_is_repaired(gate: Gate) -> None:
    record = record_of(gate, "lighthouse-0")
    before = state(gate)
    gate.with_store(lambda store: store.remove_postings(*postings_of(gate.method, [record])[:2]))
    assert state(gate) != before
    found = finding_of(gate, Fault.UNLISTED, "lighthouse-0")
    repair(gate, found, found)
    assert state(gate) == before


def test_a_broken_entry_goes_and_leaves_its_postings_to_be_removed_as_orphans(gate: Gate) -> None:
    record = record_of(gate, "lighthouse-0")
    found = finding_of(gate, Fault.BROKEN, "lighthouse-0")
    for _ in range(2):
        repair(gate, found)
    assert gate.with_store(lambda store: store.records([record.entry])) == [None]
    orphans = [key for key, entry, _ in state(gate)[2] if entry == record.entry]
    assert len(orphans) == len(postings_of(gate.method, [record])[0])
    repair(gate, *(Finding(Fault.ORPHANED, record.entry, key=key) for key in orphans))
    assert record.entry not in [entry for _, entry, _ in state(gate)[2]]


@pytest.mark.parametrize("fault", [Fault.ORPHANED, Fault.MISPLACED, Fault.SPARE])
def test_only_the_posting_that_was_found_is_removed(gate: Gate, fault: Fault) -> None:
    before = state(gate)
    key, entry, tag = before[2][0]
    for _ in range(2):
        repair(gate, Finding(fault, entry, key=key))
    assert state(gate) == (*before[:2], [row for row in before[2] if row != (key, entry, tag)])


def test_only_the_answer_to_the_lost_content_is_void(gate: Gate) -> None:
    first, second = gate.with_store(lambda store: store.documents(["bread"]))[0]
    repair(gate, Finding(Fault.LOST, 0, first.content, "bread"))
    [held] = gate.with_store(lambda store: store.documents(["bread"]))
    assert not held[0].answer
    assert held[1] == second
    assert second.answer


def test_an_unfinished_entry_goes_with_its_pointer_and_its_postings(gate: Gate) -> None:
    record = record_of(gate, "lighthouse-0")
    gate.with_store(lambda store: store.void_answers(["lighthouse-0"]))
    gate.with_store(lambda store: store.remove_holders([(record.entry, "lighthouse-0")]))
    found = Finding(Fault.UNFINISHED, record.entry, record.content)
    for _ in range(2):
        repair(gate, found)
    assert gate.with_store(lambda store: store.contents([record.content])) == [None]
    assert record.entry not in [entry for _, entry, _ in state(gate)[2]]
    assert gate.check_in(corpus()[:1])[0].relation is Relation.NEW
