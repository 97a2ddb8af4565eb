"""The claim: among near-duplicates exactly the first passes, however many processes race, crash and repeat.

Every document runs the same steps, each of them idempotent and none of them locking anything:

    1. register   the content's entry, with its owner and body, is there before anything points to it
    2. read       all buckets where something alike may be kept
       help       entries that were appended and have no registration: do for them what comes next
    3. claim      something alike holds a ticket: register as its duplicate; nothing is appended
                  nothing does: append to all own buckets, then draw a ticket, then register it
    4. re-read    what was appended meanwhile; what is alike and holds a lower ticket was first
       settle     was that accepted itself? Then this entry lost: it becomes a duplicate and leaves the buckets
    5. save       the answer, before it is returned: a repeated check-in gets the same

Why it is right: an entry is in all its buckets before its ticket is drawn. Of two entries alike, the one with the
higher ticket therefore re-reads after the other has appended, and finds it: registered, or to be helped to a
registration. So it knows the lower ticket and yields, unless the other one lost itself (`settlement`): every process
comes to the same result, the one that the documents would have got one by one in the order of their tickets. A
registration is set if absent and changes once at most, from a ticket to a duplicate; a claim that finds another than it
wanted to write restarts, as after a crash, and obeys what it reads.

Hence what may run concurrently (`gather`): registering the content and the first read, registering a ticket and the
re-read. But a claim that finds its entry registered already re-reads too: the ticket may be younger than its first
read.

A deletion (`deletion`) marks the entry dead first and removes what pointed to it after; a claim that appended too late
gets no registration, and removes its postings.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

from msgspec import structs

from gate.core.judge import likeness_of_pair
from gate.core.method_registry import Method
from gate.core.profile import Profile
from gate.core.stored_verdict import decode_answer, encode_answer
from gate.index.protocol import deletion
from gate.index.protocol.candidates import BucketReading, CandidateFinder, CandidateSet
from gate.index.protocol.outcome import (
    Claim,
    Outcome,
    counts_against,
    entries_in,
    first_of,
    is_copy,
    is_held_up,
    judge_claim,
    must_be_held_up,
    subject_of,
    valid_outcomes,
)
from gate.index.protocol.postings import remove_postings_of
from gate.index.protocol.registration import Registrar
from gate.index.protocol.settlement import Settler
from gate.index.store import VOID, AnswerUpdate, ContentState, EntryRecord, Holder, NewEntry, Registration, Store
from gate.limits import Limits

OF_PARTS = 8  # times as many candidates where parts are looked for: passages in common bring unlike documents together
SEARCHED = 256  # candidates compared in a look-up: people and programs search less often than documents are checked in
Gather = Callable[..., Awaitable[Sequence[Any]]]


async def run_sequentially(*steps: Coroutine[Any, Any, Any]) -> list[Any]:
    """Run steps that could be concurrent one after another: an embedded store gains nothing by more."""
    try:
        return [await step for step in steps]
    finally:
        for step in steps:
            step.close()  # what an error left unstarted


class Index:
    """The claim algorithm over any store. It decides; the store only stores."""

    registrar = Registrar  # the tests of the protocol weaken these two
    settler = Settler

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
        if profile.containment is not None:
            limits = structs.replace(limits, max_candidates=OF_PARTS * limits.max_candidates)
        self._limits = limits
        self._finder = CandidateFinder(store, method, profile, limits)
        searching = structs.replace(limits, max_candidates=max(limits.max_candidates, SEARCHED))
        self._searcher = CandidateFinder(store, method, profile, searching)
        self._registrar = self.registrar(store, method, self._finder)
        self._settler = self.settler(store, method, self._finder, self._registrar)
        self._settles = profile.index == "originals"  # where all are kept, a copy counts as much as an original
        self._new_entry_id = new_entry_id  # from a content id; injected so that tests are repeatable
        self._gather = gather  # concurrently where the store waits for a network

    async def claim(self, claims: Sequence[Claim], *, unlike: bool = False) -> list[Outcome]:
        """Settle claims that may race with any others. `unlike`: no two of them are alike (see `batch_order`), so that
        what each of them appends need not be compared with the others again."""
        outcomes: dict[int, Outcome] = {}
        pending = list(range(len(claims)))
        while pending:
            settled = await self._attempt([claims[i] for i in pending], unlike=unlike)
            outcomes.update({pending[n]: outcome for n, outcome in settled.items()})
            pending = [i for i in pending if i not in outcomes]
        return [outcomes[i] for i in range(len(claims))]

    async def _attempt(self, claims: Sequence[Claim], *, unlike: bool) -> dict[int, Outcome]:
        """One pass over the steps. A claim without an outcome found the index changed by others, and restarts."""
        states, first = await self._register_and_read(claims)
        outcomes, records = await self._replay(claims, states)
        records = await self._settle_shared(claims, records)

        subjects = {i: subject_of(claims[i], r) for i, r in records.items() if not is_copy(claims[i], r)}
        candidates = await self._registrar.find_registered(first, subjects)
        await self._add_originals({i: r for i, r in subjects.items() if r.duplicate_of}, candidates)

        fresh = {i: r for i, r in subjects.items() if not r.registered}
        copies: dict[int, EntryRecord] = {}
        if self._settles:
            await self._settler.settle_candidates(candidates, subjects)
            copies = {i: fresh[i] for i, candidate_set in candidates.items() if i in fresh and candidate_set.alike}
        held_up = {
            i: r for i, r in fresh.items() if i not in copies and must_be_held_up(self._limits, candidates.get(i))
        }
        entrants = {i: r for i, r in fresh.items() if i not in copies and i not in held_up}
        ticketed = {i: r for i, r in subjects.items() if r.ticket}
        records |= await self._register_copies(copies, candidates)
        records |= await self._register_held_up(held_up)
        await self._remove_leftovers(claims, records, first)
        own = await self._enter_and_reread(entrants, ticketed, candidates, first, unlike=unlike)
        records |= await self._convert_lost(claims, own, candidates) if self._settles else own

        judged = {
            i: self._judged(claims[i], record, candidates.get(i), earlier_versions=bool(states[i].others))
            for i, record in records.items()
            if record.registered
        }
        if self._settles:
            self._settler.add_accepted(records[i].entry for i, outcome in judged.items() if outcome.entered)
        # A duplicate of nothing: what it was a copy of has just gone, or is an earlier version of this document.
        judged = {
            i: outcome
            for i, outcome in judged.items()
            if outcome.answer.similar or not records[i].duplicate_of or is_held_up(records[i])
        }
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
            settled = {i for i, s in enumerate(states) if s.record is None or is_copy(claims[i], s.record)}
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
        living = await self._living(entries_in(answers.values()) | originals)

        outcomes = valid_outcomes(claims, answers, living)
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
            if record.duplicate_of
            and (is_held_up(record) or not counts_against(living.get(record.duplicate_of), claims[i]))
        }
        if dead:
            await deletion.clear(self._store, self._method, dead)
        if orphaned:
            await deletion.kill_entries(self._store, self._method, list(orphaned.values()))
        return outcomes, {i: r for i, r in records.items() if not r.dead and i not in orphaned}

    async def _settle_shared(self, claims: Sequence[Claim], records: dict[int, EntryRecord]) -> dict[int, EntryRecord]:
        """Settle contents that another document holds: a claim of one that lost is no copy of it, and restarts."""
        if not self._settles:
            return records
        shared = {i: r for i, r in records.items() if is_copy(claims[i], r) and not claims[i].empty}
        accepted = await self._settler.accepted(shared.values()) if shared else set()
        return {i: r for i, r in records.items() if i not in shared or r.entry in accepted}

    # 2. Read.

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
        registrations = [Registration(r.entry, duplicate_of=first_of(candidates[i]).entry) for i, r in copies.items()]
        records = await self._store.register(registrations) if registrations else []
        return {i: r for i, r in zip(copies, records, strict=True) if r is not None and r.duplicate_of}

    async def _register_held_up(self, held_up: dict[int, EntryRecord]) -> dict[int, EntryRecord]:
        """Keep out what a limit of the search hides; that is settled by the registration, as everything is. What turns
        out to hold a ticket, because it was helped to it, restarts and stands: others may yield to it already."""
        registrations = [Registration(record.entry, duplicate_of=record.entry) for record in held_up.values()]
        records = await self._store.register(registrations) if registrations else []
        return {i: r for i, r in zip(held_up, records, strict=True) if r is not None and is_held_up(r)}

    async def _remove_leftovers(
        self, claims: Sequence[Claim], records: Mapping[int, EntryRecord], first: BucketReading
    ) -> None:
        """Remove the postings of duplicates whose claim stopped after it had appended, or half-way in a conversion."""
        duplicates = {
            i: r for i, r in records.items() if r.duplicate_of and r.owner.document_id == claims[i].document_id
        }
        posted = first.posted({i: record.entry for i, record in duplicates.items()}) if duplicates else set()
        await remove_postings_of(self._store, self._method, [duplicates[i] for i in sorted(posted)])

    # 4. Re-read.

    async def _enter_and_reread(
        self,
        entrants: dict[int, EntryRecord],
        ticketed: dict[int, EntryRecord],
        candidates: dict[int, CandidateSet],
        first: BucketReading,
        *,
        unlike: bool = False,
    ) -> dict[int, EntryRecord]:
        """Claims with a ticket of their own, drawn now or before, read again; the others restart."""
        if not entrants and not ticketed:
            return {}
        records = list(entrants.values())
        registrations = await self._registrar.append_and_draw(records)
        bodies = {i: record.body for i, record in (entrants | ticketed).items()}
        ignoring = {record.entry for record in records} if unlike else ()
        registered, tail = await self._gather(
            self._registrar.register(records, registrations),
            self._finder.read(bodies, since=first, ignoring=ignoring),
        )
        own = ticketed | {
            i: record
            for i, record, registration in zip(entrants, registered, registrations, strict=True)
            if record is not None and record.ticket == registration.ticket
        }
        later = await self._registrar.find_registered(tail, own)
        if self._settles:
            await self._settler.settle_candidates(later, own)
        for i, candidate_set in later.items():
            candidates.setdefault(i, CandidateSet()).merge(candidate_set)
        return own

    async def _convert_lost(
        self, claims: Sequence[Claim], own: dict[int, EntryRecord], candidates: Mapping[int, CandidateSet]
    ) -> dict[int, EntryRecord]:
        """Entries that lost become duplicates of the first that was accepted. A claim of a content that another
        document owns restarts then: it is no copy of that any more."""
        lost = {
            i: (record, first_of(candidates[i])) for i, record in own.items() if i in candidates and candidates[i].alike
        }
        converted = await self._settler.convert(lost)
        kept = {i: r for i, r in converted.items() if r.owner.document_id == claims[i].document_id}
        return {i: record for i, record in own.items() if i not in lost} | kept

    # 5. Judge and save.

    def _judged(
        self, claim: Claim, record: EntryRecord, candidate_set: CandidateSet | None, *, earlier_versions: bool
    ) -> Outcome:
        held_up = is_held_up(record) or (not record.registered and must_be_held_up(self._limits, candidate_set))
        return judge_claim(
            claim,
            record,
            candidate_set,
            earlier_versions=earlier_versions,
            max_matches=self._limits.max_matches,
            undecided=self._limits.on_capped if held_up else None,
        )

    async def _retire_versions(
        self, claims: Sequence[Claim], records: Mapping[int, EntryRecord], judged: Mapping[int, Outcome]
    ) -> None:
        """Those that pass take the place of their earlier versions, before the answer is saved: a crash would otherwise
        leave the earlier ones where they are."""
        latest = [
            deletion.Version(claims[i].document_id, claims[i].content, None if claims[i].empty else records[i].ticket)
            for i, outcome in judged.items()
            if outcome.answer.passed
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
        living = await self._living(entries_in(answers.values()) | {entry for entry in entries if entry})
        outcomes = valid_outcomes(claims, answers, living)

        records: dict[int, EntryRecord] = {}
        for i, (claim, entry) in enumerate(zip(claims, entries, strict=True)):
            record = living.get(entry)
            if record is None or not record.ticket:
                record = EntryRecord(0, claim.content, (Holder(claim.document_id, claim.version),), claim.body)
            if i not in outcomes:
                records[i] = record
        subjects = {i: record for i, record in records.items() if not is_copy(claims[i], record)}
        candidates = await self._find_without_helping(self._finder, subjects)
        for i, record in records.items():
            others = any(stored.content != claims[i].content for stored in documents[i])
            outcomes[i] = self._judged(claims[i], record, candidates.get(i), earlier_versions=others)
        return [outcomes[i] for i in range(len(claims))]

    async def find_alike(self, bodies: Sequence[bytes]) -> list[CandidateSet]:
        """Everything that is alike to each body, whatever document owns it."""
        subjects = {i: EntryRecord(0, b"", (Holder("", None),), body) for i, body in enumerate(bodies)}
        sets = await self._find_without_helping(self._searcher, subjects)
        return [sets.get(i, CandidateSet()) for i in subjects]

    async def _find_without_helping(
        self, finder: CandidateFinder, subjects: Mapping[int, EntryRecord]
    ) -> dict[int, CandidateSet]:
        reading = await finder.read({i: record.body for i, record in subjects.items()})
        neighbourhood = await finder.find(reading, subjects)
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
