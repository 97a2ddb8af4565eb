"""What comes of a claim, by its entry and by what was found."""

from __future__ import annotations

from gate.core.judge import EXACT
from gate.index.protocol.candidates import CandidateSet
from gate.index.protocol.outcome import NO_CANDIDATES, Claim, first_of, is_copy, judge_claim, subject_of
from gate.index.store import EntryRecord, Holder
from gate.model import Relation

CLAIM = Claim(document_id="d", version="2", content=b"c", body=b"b")


def record(entry: int, owner: str = "d", *, ticket: int = 0, duplicate_of: int = 0) -> EntryRecord:
    return EntryRecord(entry, b"c", (Holder(owner, "1"),), b"b", ticket, duplicate_of)


def candidates(*records: EntryRecord) -> CandidateSet:
    return CandidateSet(alike={r.entry: (r, EXACT) for r in records}, candidates={r.entry for r in records})


def test_a_document_without_candidates_is_new() -> None:
    outcome = judge_claim(CLAIM, record(1, ticket=3), None, earlier_versions=False, max_matches=9)
    assert (outcome.answer, outcome.named, outcome.entered) == (NO_CANDIDATES, {}, True)


def test_a_content_that_another_document_passed_with_is_an_exact_copy() -> None:
    other = record(1, "o", ticket=3)
    assert is_copy(CLAIM, other)
    outcome = judge_claim(CLAIM, other, None, earlier_versions=False, max_matches=9)
    assert (outcome.answer.relation, outcome.answer.group, outcome.entered) == (Relation.EXACT, 1, False)


def test_only_lower_tickets_count_and_the_lowest_is_the_group() -> None:
    found = candidates(record(5, "o", ticket=5), record(2, "p", ticket=2), record(8, "q", ticket=8))
    outcome = judge_claim(CLAIM, record(1, ticket=6), found, earlier_versions=False, max_matches=9)
    assert (outcome.answer.group, [hit.entry for hit in outcome.answer.hits]) == (2, [2, 5])
    assert set(outcome.named) == {2, 5}
    assert first_of(found).entry == 2


def test_a_duplicate_is_compared_as_the_document_that_brings_it() -> None:
    assert subject_of(CLAIM, record(1, "o", duplicate_of=7)).owner == Holder("d", "2")
    assert subject_of(CLAIM, record(1, "o")).owner == Holder("o", "1")
