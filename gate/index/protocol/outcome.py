"""What is claimed, and what comes of it: by the record of its entry and by what was found. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from gate.core.judge import EXACT, SAME_BYTES, EarlierDocument, Likeness, judge
from gate.core.stored_verdict import Answer
from gate.errors import UnreadableReason
from gate.index.protocol.candidates import CandidateSet
from gate.index.store import EntryRecord, Holder
from gate.limits import Limits, OnCapped
from gate.model import Degraded, Relation

_SEARCH_ENDED = frozenset((Degraded.BUCKET_CAPPED, Degraded.CANDIDATES_CAPPED))
NO_CANDIDATES = Answer(Relation.NEW, similar=False, candidates=0)


class Claim(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One document before the index."""

    document_id: str
    version: str | None
    source: str | None = None  # with the title: of no use to the index; the verdict repeats them
    title: str | None = None
    details: bytes = b""  # kept with the content, and of no use to the claim either
    content: bytes
    body: bytes
    empty: bool = False
    unreadable: UnreadableReason | None = None  # a file without text: the content is that of its bytes, and no body
    degraded: tuple[Degraded, ...] = ()  # what its signature left out


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """An answer, the records of the entries that it names, and whether later documents can match this one."""

    answer: Answer
    named: dict[int, EntryRecord]
    entered: bool


def judge_claim(
    claim: Claim,
    record: EntryRecord,
    candidate_set: CandidateSet | None,
    *,
    earlier_versions: bool,
    max_matches: int,
    undecided: OnCapped | None = None,
) -> Outcome:
    """The outcome by what is alike and holds a ticket, lower than the entry's own if that holds one. `undecided`: the
    entry is held up, and how."""
    copy = is_copy(claim, record)
    if candidate_set is None and not (copy or earlier_versions or claim.empty or claim.degraded) and claim.body:
        return Outcome(NO_CANDIDATES, {}, entered=bool(record.ticket))  # as most are
    earlier: list[tuple[EntryRecord, Likeness]] = []
    if copy:
        earlier = [(record, SAME_BYTES if claim.unreadable else EXACT)]
    elif candidate_set is not None:
        earlier = candidate_set.ticketed_before(record.ticket or None)
    answer = judge(
        claim.document_id,
        [EarlierDocument(other.entry, other.owner.document_id, other.ticket, measured) for other, measured in earlier],
        empty=claim.empty,
        short=not claim.body,
        unreadable=claim.unreadable,
        earlier_versions=earlier_versions,
        candidates=len(candidate_set.candidates) if candidate_set else 0,
        degraded=candidate_set.degraded.union(claim.degraded) if candidate_set else claim.degraded,
        max_matches=max_matches,
        ruled_out=len(candidate_set.ruled_out) if candidate_set else 0,
        undecided=undecided,
    )
    entries = entries_in([answer]) if earlier else ()
    named = {other.entry: other for other, _ in earlier if other.entry in entries}
    return Outcome(answer, named, entered=bool(record.ticket) and not copy)


def is_held_up(record: EntryRecord) -> bool:
    """Whether a limit ended the search for an entry, and it was kept out for that: it is registered as a duplicate of
    itself, so that no claim and no helper lets it in any more, and nothing is refused because of it."""
    return bool(record.duplicate_of) and record.duplicate_of == record.entry


def must_be_held_up(limits: Limits, candidate_set: CandidateSet | None) -> bool:
    """Whether to keep out an entry to which nothing alike was found, because not all was looked at."""
    if limits.on_capped == "pass" or candidate_set is None or candidate_set.alike:
        return False
    return not candidate_set.degraded.isdisjoint(_SEARCH_ENDED)


def is_copy(claim: Claim, record: EntryRecord) -> bool:
    """The very content is there, and another document passed with it: no candidates are needed."""
    return bool(record.ticket) and (claim.empty or record.owner.document_id != claim.document_id)


def subject_of(claim: Claim, record: EntryRecord) -> EntryRecord:
    """The record to find candidates for. Until it is registered an entry is its owner's, whichever claim brings it
    further; a duplicate that another document brings again is compared with the owner's other documents too."""
    return record._replace(holders=(Holder(claim.document_id, claim.version),)) if record.duplicate_of else record


def first_of(candidate_set: CandidateSet) -> EntryRecord:
    """Of what is alike, the one with the lowest ticket."""
    return min((record for record, _ in candidate_set.alike.values()), key=lambda record: record.ticket)


def entries_in(answers: Iterable[Answer]) -> set[int]:
    """The entries that answers name."""
    return {entry for answer in answers for entry in (answer.group, *(hit.entry for hit in answer.hits)) if entry}


def counts_against(record: EntryRecord | None, claim: Claim) -> bool:
    """Whether an entry still counts against a document: it is there, and was not handed over to that very document."""
    return record is not None and record.owner.document_id != claim.document_id


def valid_outcomes(
    claims: Sequence[Claim], answers: Mapping[int, Answer], living: dict[int, EntryRecord]
) -> dict[int, Outcome]:
    """The earlier answers that are still valid. The others name an entry that is gone: those claims are judged."""
    return {
        i: Outcome(answer, {entry: living[entry] for entry in entries_in([answer])}, answer.passed)
        for i, answer in answers.items()
        if all(counts_against(living.get(entry), claims[i]) for entry in entries_in([answer]))
    }
