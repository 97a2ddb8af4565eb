"""The claim: among near-duplicates exactly the first passes, however many processes race, crash and repeat.

Every document runs the same steps, each of them idempotent and none of them locking anything:

    1. register   the content's entry, with its owner and body, is there before anything points to it
    2. read       all buckets where something alike may be kept
       help       entries that were appended and have no registration: do for them what comes next
    3. claim      something alike holds a ticket: register as its duplicate; nothing is appended
                  nothing does: append to all own buckets, then draw a ticket, then register it
    4. re-read    what was appended meanwhile; what is alike and holds a lower ticket was first
    5. save       the answer, before it is returned: a repeated check-in gets the same

Why it is right: an entry is in all its buckets before its ticket is drawn. Of two entries alike, the one with the
higher ticket therefore re-reads after the other has appended, and finds it: registered, or to be helped to a
registration that is final. So it knows the lower ticket and yields. A registration is written once per entry; a claim
that finds another than it wanted to write restarts, as after a crash, and obeys what it reads.

Hence what may run concurrently (`gather`): registering the content and the first read, registering a ticket and the
re-read. But a claim that finds its entry registered already re-reads too: the ticket may be younger than its first
read.

A deletion (`deletion`) marks the entry dead first and removes what pointed to it after; a claim that appended too late
gets no registration, and removes its postings.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gate.core.judge import EXACT, EarlierDocument, Likeness, judge, likeness_of_pair
from gate.core.method_registry import Method
from gate.core.profile import Profile
from gate.core.stored_verdict import Answer, decode_answer, encode_answer
from gate.index.protocol import deletion
from gate.index.protocol.candidates import BucketReading, CandidateFinder, CandidateSet
from gate.index.protocol.postings import postings_of
from gate.index.store import VOID, AnswerUpdate, ContentState, EntryRecord, Holder, NewEntry, Registration, Store
from gate.limits import Limits
from gate.model import Degraded, Relation

Gather = Callable[..., Awaitable[Sequence[Any]]]

NO_CANDIDATES = Answer(Relation.NEW, similar=False, candidates=0)


async def run_sequentially(*steps: Coroutine[Any, Any, Any]) -> list[Any]:
    """Run steps that could be concurrent one after another: an embedded store gains nothing by more."""
    try:
        return [await step for step in steps]
    finally:
        for step in steps:
            step.close()  # what an error left unstarted


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
    degraded: tuple[Degraded, ...] = ()  # what its signature left out


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """An answer, the records of the entries that it names, and whether later documents can match this one."""

    answer: Answer
    named: dict[int, EntryRecord]
    entered: bool


class Index:
    """The claim algorithm over any store. It decides; the store only stores."""

    def __init__(
        self,
        store: Store,
        method: Method,
        profile: Profile,
        limits: Limits,
        *,
        new_entry_id: Callable[[bytes], int],
        gather: Gather = run_sequentially,
    ) -> None:
        self._store = store
        self._method = method
        self._profile = profile
        self._limits = limits
        self._finder = CandidateFinder(store, method, profile, limits)
        self._new_entry_id = new_entry_id  # from a content id; injected so that tests are repeatable
        self._gather = gather  # concurrently where the store waits for a network

    async def claim(self, claims: Sequence[Claim]) -> list[Outcome]:
        """Settle claims that may race with any others but are not alike among themselves (see `batch_order`)."""
        outcomes: dict[int, Outcome] = {}
        pending = list(range(len(claims)))
        while pending:
            settled = await self._attempt([claims[i] for i in pending])
            outcomes.update({pending[n]: outcome for n, outcome in settled.items()})
            pending = [i for i in pending if i not in outcomes]
        return [outcomes[i] for i in range(len(claims))]

    async def _attempt(self, claims: Sequence[Claim]) -> dict[int, Outcome]:
        """One pass over the steps. A claim without an outcome found the index changed by others, and restarts."""
        states, first = await self._register_and_read(claims)
        outcomes, records = await self._replay(claims, states)

        subjects = {i: _subject(claims[i], r) for i, r in records.items() if not _is_copy(claims[i], r)}
        candidates = await self._find_registered(first, subjects)
        await self._add_originals({i: r for i, r in subjects.items() if r.duplicate_of}, candidates)

        fresh = {i: r for i, r in subjects.items() if not r.registered}
        copies = {
            i: fresh[i] for i, candidate_set in candidates.items() if i in fresh and candidate_set.ticketed_before(None)
        }
        if self._profile.index == "all":
            copies = {}
        entrants = {i: r for i, r in fresh.items() if i not in copies}
        ticketed = {i: r for i, r in subjects.items() if r.ticket}
        records |= await self._register_copies(copies, candidates)
        records |= await self._enter_and_reread(entrants, ticketed, candidates, first)

        judged = {
            i: self._judge(claims[i], record, candidates.get(i), earlier_versions=bool(states[i].others))
            for i, record in records.items()
            if record.registered
        }
        # A duplicate of nothing: what it was a copy of has just gone, or is an earlier version of this document.
        judged = {i: outcome for i, outcome in judged.items() if outcome.answer.similar or not records[i].duplicate_of}
        if self._profile.revisions == "replace":
            await self._retire_versions(claims, records, judged)
        return outcomes | await self._save_answers(claims, states, judged)

    # 1. Register the content. What is there already?

    async def _register_and_read(self, claims: Sequence[Claim]) -> tuple[list[ContentState], BucketReading]:
        """Both at once where that pays: what was read for claims that need no candidates is dropped."""
        share = self._profile.index == "all"
        new = [
            NewEntry(
                c.document_id,
                c.version,
                c.content,
                self._new_entry_id(c.content),
                c.body,
                share and not c.empty,
                c.details,
            )
            for c in claims
        ]
        states: list[ContentState] = []

        async def register() -> None:
            states.extend(await self._store.register_content(new))

        async def read() -> BucketReading:
            # There are no states yet, unless the steps run sequentially.
            settled = {i for i, s in enumerate(states) if s.record is None or _is_copy(claims[i], s.record)}
            return await self._finder.read({i: c.body for i, c in enumerate(claims) if i not in settled})

        _, reading = await self._gather(register(), read())
        return states, reading

    async def _replay(
        self, claims: Sequence[Claim], states: Sequence[ContentState]
    ) -> tuple[dict[int, Outcome], dict[int, EntryRecord]]:
        """Outcomes of the claims that were answered before, and the records of those that can go on now."""
        answers = {i: decode_answer(s.answer) for i, s in enumerate(states) if s.answer is not None}
        records = {i: s.record for i, s in enumerate(states) if s.record is not None}
        originals = {record.duplicate_of for record in records.values() if record.duplicate_of}
        living = await self._living(_entries_in(answers.values()) | originals)

        outcomes = _valid_outcomes(claims, answers, living)
        invalid = [i for i in answers if i not in outcomes]
        if invalid:
            updates = [
                AnswerUpdate(claims[i].document_id, claims[i].content, VOID, states[i].answer, states[i].stamp)
                for i in invalid
            ]
            await self._store.save_answers(updates)

        dead = [record for record in records.values() if record.dead]  # a deletion stopped half-way
        orphaned = {
            i: record.entry
            for i, record in records.items()
            if record.duplicate_of and not _counts_against(living.get(record.duplicate_of), claims[i])
        }
        if dead:
            await deletion.clear(self._store, self._method, dead)
        if orphaned:
            await deletion.kill_entries(self._store, self._method, list(orphaned.values()))
        return outcomes, {i: r for i, r in records.items() if not r.dead and i not in orphaned}

    # 2. Read and help.

    async def _find_registered(
        self, reading: BucketReading, subjects: Mapping[int, EntryRecord]
    ) -> dict[int, CandidateSet]:
        """The candidates of each subject that has any. Those that are alike are registered: they are helped to it."""
        neighbourhood = await self._finder.find(reading, subjects)
        if neighbourhood.dead:
            # What a crash may have left of a deletion.
            await deletion.clear(self._store, self._method, neighbourhood.dead)
        if len(neighbourhood.dangling[0]):
            await self._store.remove_postings(*neighbourhood.dangling)
        helped = await self._help({other.entry: other for _, other, _ in neighbourhood.alike if not other.registered})
        for i, other, measured in neighbourhood.alike:
            record = helped.get(other.entry, other)
            if record is not None and not record.duplicate_of:
                neighbourhood.sets[i].alike[other.entry] = (record, measured)
        return neighbourhood.sets

    async def _help(self, unregistered: dict[int, EntryRecord]) -> dict[int, EntryRecord | None]:
        """Enter for claims that stopped half-way; the record of each entry then. None: the entry died."""
        entries = sorted(unregistered)  # whatever their order in the buckets: that is no order of arrival
        records = [unregistered[entry] for entry in entries]
        return dict(zip(entries, await self._register(records, await self._append_and_draw(records)), strict=True))

    async def _add_originals(self, copies: dict[int, EntryRecord], candidates: dict[int, CandidateSet]) -> None:
        """A registered duplicate is always compared with its original, even where a capped bucket hides that."""
        missing = {i: r for i, r in copies.items() if i not in candidates or r.duplicate_of not in candidates[i].alike}
        living = await self._living({record.duplicate_of for record in missing.values()})
        for i, record in missing.items():
            if original := living.get(record.duplicate_of):
                measures = self._method.compare([record.body], [original.body])
                candidate_set = candidates.setdefault(i, CandidateSet())
                candidate_set.alike[original.entry] = (original, likeness_of_pair(measures, 0, self._profile))

    # 3. Claim.

    async def _register_copies(
        self, copies: dict[int, EntryRecord], candidates: dict[int, CandidateSet]
    ) -> dict[int, EntryRecord]:
        """Register duplicates of what was there first; those that turn out to hold a ticket restart."""
        firsts = {i: min(candidates[i].ticketed_before(None), key=lambda pair: pair[0].ticket)[0] for i in copies}
        registrations = [Registration(copies[i].entry, duplicate_of=firsts[i].entry) for i in copies]
        records = await self._store.register(registrations) if registrations else []
        return {i: r for i, r in zip(copies, records, strict=True) if r is not None and r.duplicate_of}

    async def _append_and_draw(self, records: Sequence[EntryRecord]) -> list[Registration]:
        """Append everywhere, and only then draw tickets: for own entries, or for those of claims that stopped."""
        if not records:
            return []
        keys, entries, tags = postings_of(self._method, records)
        if len(keys):
            await self._store.append(keys, entries, tags)
        first = await self._store.draw(len(records))
        return [Registration(record.entry, ticket=first + n) for n, record in enumerate(records)]

    async def _register(
        self, records: Sequence[EntryRecord], registrations: Sequence[Registration]
    ) -> list[EntryRecord | None]:
        """Register tickets; the records then. None: the entry died, and the postings appended for it are removed."""
        registered = await self._store.register(registrations) if registrations else []
        late = [record for record, current in zip(records, registered, strict=True) if current is None]
        if late:
            keys, entries, _ = postings_of(self._method, late)
            if len(keys):
                await self._store.remove_postings(keys, entries)
        return registered

    # 4. Re-read.

    async def _enter_and_reread(
        self,
        entrants: dict[int, EntryRecord],
        ticketed: dict[int, EntryRecord],
        candidates: dict[int, CandidateSet],
        first: BucketReading,
    ) -> dict[int, EntryRecord]:
        """Claims with a ticket of their own, drawn now or before, read again; the others restart."""
        if not entrants and not ticketed:
            return {}
        records = list(entrants.values())
        registrations = await self._append_and_draw(records)
        bodies = {i: record.body for i, record in (entrants | ticketed).items()}
        registered, tail = await self._gather(
            self._register(records, registrations), self._finder.read(bodies, since=first)
        )
        own = ticketed | {
            i: record
            for i, record, registration in zip(entrants, registered, registrations, strict=True)
            if record is not None and record.ticket == registration.ticket
        }
        for i, later in (await self._find_registered(tail, own)).items():
            candidates.setdefault(i, CandidateSet()).merge(later)
        return own

    # 5. Judge and save.

    def _judge(
        self, claim: Claim, record: EntryRecord, candidate_set: CandidateSet | None, *, earlier_versions: bool
    ) -> Outcome:
        copy = _is_copy(claim, record)
        if candidate_set is None and not (copy or earlier_versions or claim.empty or claim.degraded) and claim.body:
            return Outcome(NO_CANDIDATES, {}, entered=bool(record.ticket))  # as most are
        earlier: list[tuple[EntryRecord, Likeness]] = []
        if copy:
            earlier = [(record, EXACT)]
        elif candidate_set is not None:
            earlier = candidate_set.ticketed_before(record.ticket or None)
        answer = judge(
            claim.document_id,
            [
                EarlierDocument(other.entry, other.owner.document_id, other.ticket, measured)
                for other, measured in earlier
            ],
            empty=claim.empty,
            short=not claim.body,
            earlier_versions=earlier_versions,
            candidates=len(candidate_set.candidates) if candidate_set else 0,
            degraded=candidate_set.degraded.union(claim.degraded) if candidate_set else claim.degraded,
            max_matches=self._limits.max_matches,
        )
        entries = _entries_in([answer]) if earlier else ()
        named = {other.entry: other for other, _ in earlier if other.entry in entries}
        return Outcome(answer, named, entered=bool(record.ticket) and not copy)

    async def _retire_versions(
        self, claims: Sequence[Claim], records: Mapping[int, EntryRecord], judged: Mapping[int, Outcome]
    ) -> None:
        """Those that pass take the place of their earlier versions, before the answer is saved: a crash would otherwise
        leave the earlier ones where they are."""
        latest = [
            deletion.Version(claims[i].document_id, claims[i].content, None if claims[i].empty else records[i].ticket)
            for i, outcome in judged.items()
            if not outcome.answer.similar
        ]
        await deletion.retire_versions(self._store, self._method, latest)

    async def _save_answers(
        self, claims: Sequence[Claim], states: Sequence[ContentState], judged: Mapping[int, Outcome]
    ) -> dict[int, Outcome]:
        """Save the answers; those that were saved. The others lost to a delete or to their own second delivery."""
        updates = [
            AnswerUpdate(claims[i].document_id, claims[i].content, encode_answer(o.answer), stamp=states[i].stamp)
            for i, o in judged.items()
        ]
        saved = await self._store.save_answers(updates) if updates else []
        return {
            i: outcome
            for (i, outcome), update, answer in zip(judged.items(), updates, saved, strict=True)
            if answer == update.answer
        }

    # Without claiming.

    async def preview(self, claims: Sequence[Claim]) -> list[Outcome]:
        """Judge as if checked in now, and change nothing in the index."""
        documents, entries = await self._gather(
            self._store.documents([claim.document_id for claim in claims]),
            self._store.contents([claim.content for claim in claims]),
        )
        stored_contents = {
            (c.document_id, stored.content): stored for c, contents in zip(claims, documents) for stored in contents
        }
        answers = {
            i: decode_answer(stored.answer)
            for i, claim in enumerate(claims)
            if (stored := stored_contents.get((claim.document_id, claim.content))) is not None and stored.answer
        }
        living = await self._living(_entries_in(answers.values()) | {entry for entry in entries if entry})
        outcomes = _valid_outcomes(claims, answers, living)

        records: dict[int, EntryRecord] = {}
        for i, (claim, entry) in enumerate(zip(claims, entries, strict=True)):
            record = living.get(entry)
            if record is None or not record.ticket:
                record = EntryRecord(0, claim.content, (Holder(claim.document_id, claim.version),), claim.body)
            if i not in outcomes:
                records[i] = record
        subjects = {i: record for i, record in records.items() if not _is_copy(claims[i], record)}
        candidates = await self._find_without_helping(subjects)
        for i, record in records.items():
            others = any(stored.content != claims[i].content for stored in documents[i])
            outcomes[i] = self._judge(claims[i], record, candidates.get(i), earlier_versions=others)
        return [outcomes[i] for i in range(len(claims))]

    async def find_alike(self, body: bytes) -> CandidateSet:
        """Everything that is alike to a body, whatever document owns it."""
        subject = EntryRecord(0, b"", (Holder("", None),), body)
        return (await self._find_without_helping({0: subject})).get(0, CandidateSet())

    async def _find_without_helping(self, subjects: Mapping[int, EntryRecord]) -> dict[int, CandidateSet]:
        reading = await self._finder.read({i: record.body for i, record in subjects.items()})
        neighbourhood = await self._finder.find(reading, subjects)
        for i, other, measured in neighbourhood.alike:
            neighbourhood.sets[i].alike[other.entry] = (other, measured)
        return neighbourhood.sets

    async def delete(self, document_ids: Sequence[str]) -> list[bool]:
        """Delete documents, and every entry with its last holder. False: there was no such document."""
        return await deletion.delete(self._store, self._method, document_ids)

    async def confirm(self) -> None:
        """To be awaited before an outcome leaves the process (see `Store.confirm`)."""
        await self._store.confirm()

    async def _living(self, entries: set[int]) -> dict[int, EntryRecord]:
        records = await self._store.records(sorted(entries)) if entries else []
        return {record.entry: record for record in records if record is not None and not record.dead}


def _is_copy(claim: Claim, record: EntryRecord) -> bool:
    """The very content is there, and another document passed with it: no candidates are needed."""
    return bool(record.ticket) and (claim.empty or record.owner.document_id != claim.document_id)


def _subject(claim: Claim, record: EntryRecord) -> EntryRecord:
    """The record to find candidates for. Until it is registered an entry is its owner's, whichever claim brings it
    further; a duplicate that another document brings again is compared with the owner's other documents too."""
    return record._replace(holders=(Holder(claim.document_id, claim.version),)) if record.duplicate_of else record


def _entries_in(answers: Iterable[Answer]) -> set[int]:
    """The entries that answers name."""
    return {entry for answer in answers for entry in (answer.group, *(hit.entry for hit in answer.hits)) if entry}


def _counts_against(record: EntryRecord | None, claim: Claim) -> bool:
    """Whether an entry still counts against a document: it is there, and was not handed over to that very document."""
    return record is not None and record.owner.document_id != claim.document_id


def _valid_outcomes(
    claims: Sequence[Claim], answers: Mapping[int, Answer], living: dict[int, EntryRecord]
) -> dict[int, Outcome]:
    """The earlier answers that are still valid. The others name an entry that is gone: those claims are judged."""
    return {
        i: Outcome(answer, {entry: living[entry] for entry in _entries_in([answer])}, not answer.similar)
        for i, answer in answers.items()
        if all(_counts_against(living.get(entry), claims[i]) for entry in _entries_in([answer]))
    }
