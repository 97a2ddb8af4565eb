"""The claim: of documents alike exactly the first passes, however many processes race, crash and repeat.

Every document runs the same steps, each of them idempotent and none of them locking anything:

    1. enrol      the content's entry, with its owner and body, is there before anything points to it
    2. read       all buckets where something alike may be kept
       help       whoever has appended and holds no registration: do for it what it would do next
    3. claim      something alike holds a ticket: register as its duplicate; nothing is appended
                  nothing does: append to all own buckets, then draw a ticket, then register it
    4. re-read    what was appended meanwhile; whatever is alike and holds a lower ticket was first
    5. remember   the answer, before anybody hears it: a repeated check-in is told the same

Why it is right: an entry is in all its buckets before its ticket is drawn. Of two entries alike, the one with the
higher ticket therefore re-reads after the other has appended, and meets it: registered, or to be helped to a
registration that stands for good. So it knows the lower ticket and yields. A registration is written once per
entry; whoever finds another than it wanted to write begins again, as after a crash, and obeys what it reads.

Hence what may run side by side (`together`): enrolling and the first read, registering and the re-read. But whoever
finds itself registered already re-reads too: its ticket may be younger than its first read.

A deletion (`deletion`) lets the entry die first and removes what pointed to it after; whoever appended too
late finds no registration to be had, and takes its postings back.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gate.core.judge import EXACT, Known, judge
from gate.core.method_registry import Method
from gate.core.profile import Profile
from gate.core.stored_verdict import Answer, decode_answer, encode_answer
from gate.core.verify import Likeness, likeness
from gate.index.protocol import deletion
from gate.index.protocol.candidates import Neighbours, Reading, Sight
from gate.index.store import VOID, Enrolment, Holder, Memory, Record, Registration, Standing, Store
from gate.limits import Limits
from gate.model import Degraded, Relation

Gather = Callable[..., Awaitable[Sequence[Any]]]

ALONE = Answer(Relation.NEW, similar=False, candidates=0)  # to a document that met nobody


async def run_in_turn(*steps: Coroutine[Any, Any, Any]) -> list[Any]:
    """Run steps that could be run together one after another: an embedded store gains nothing by more."""
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
    content: bytes
    body: bytes
    empty: bool = False
    degraded: tuple[Degraded, ...] = ()  # what its signature left out


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """An answer, the records of the entries that it names, and whether the document is one that later ones can meet."""

    answer: Answer
    named: dict[int, Record]
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
        gather: Gather = run_in_turn,
    ) -> None:
        self._store = store
        self._method = method
        self._profile = profile
        self._limits = limits
        self._neighbours = Neighbours(store, method, profile, limits)
        self._new_entry = new_entry_id  # from a content id; injected so that tests are repeatable
        self._gather = gather  # side by side where the store waits for a network

    async def claim(self, claims: Sequence[Claim]) -> list[Outcome]:
        """Settle claims that may race with anybody's but are not alike among themselves (`waves` sees to that)."""
        outcomes: dict[int, Outcome] = {}
        pending = list(range(len(claims)))
        while pending:
            settled = await self._attempt([claims[i] for i in pending])
            outcomes.update({pending[n]: outcome for n, outcome in settled.items()})
            pending = [i for i in pending if i not in outcomes]
        return [outcomes[i] for i in range(len(claims))]

    async def _attempt(self, claims: Sequence[Claim]) -> dict[int, Outcome]:
        """One pass over the steps. Whoever has no outcome found the world changed underneath, and begins again."""
        standings, first = await self._enrol_and_read(claims)
        outcomes, records = await self._replay(claims, standings)

        looking = {i: _seen_by(claims[i], r) for i, r in records.items() if not _is_copy(claims[i], r)}
        sights = await self._look(first, looking)
        await self._see_originals({i: r for i, r in looking.items() if r.duplicate_of}, sights)

        fresh = {i: r for i, r in looking.items() if not r.registered}
        copies = {i: fresh[i] for i, sight in sights.items() if i in fresh and sight.ahead_of(None)}
        if self._profile.index == "all":
            copies = {}
        entrants = {i: r for i, r in fresh.items() if i not in copies}
        holding = {i: r for i, r in looking.items() if r.ticket}
        records |= await self._register_copies(copies, sights)
        records |= await self._enter_and_reread(entrants, holding, sights, first)

        judged = {
            i: self._judge(claims[i], record, sights.get(i), earlier_versions=bool(standings[i].others))
            for i, record in records.items()
            if record.registered
        }
        # A duplicate of nothing: what it was a copy of has just gone, or is an earlier version of this document.
        judged = {i: outcome for i, outcome in judged.items() if outcome.answer.similar or not records[i].duplicate_of}
        if self._profile.revisions == "replace":
            await self._retire_versions(claims, records, judged)
        return outcomes | await self._remember(claims, standings, judged)

    # 1. Enrol. What stands already?

    async def _enrol_and_read(self, claims: Sequence[Claim]) -> tuple[list[Standing], Reading]:
        """Both at once where that pays: what was read for those who need not look is dropped."""
        share = self._profile.index == "all"
        wishes = [
            Enrolment(c.document_id, c.version, c.content, self._new_entry(c.content), c.body, share and not c.empty)
            for c in claims
        ]
        standings: list[Standing] = []

        async def enrol() -> None:
            standings.extend(await self._store.enrol(wishes))

        async def read() -> Reading:
            told = dict(enumerate(standings))  # nothing yet, unless the steps are run in turn
            settled = {i for i, s in told.items() if s.record is None or _is_copy(claims[i], s.record)}
            return await self._neighbours.read({i: c.body for i, c in enumerate(claims) if i not in settled})

        _, reading = await self._gather(enrol(), read())
        return standings, reading

    async def _replay(
        self, claims: Sequence[Claim], standings: Sequence[Standing]
    ) -> tuple[dict[int, Outcome], dict[int, Record]]:
        """Outcomes of the claims that were answered before, and the records of those that can go on now."""
        answers = {i: decode_answer(s.answer) for i, s in enumerate(standings) if s.answer is not None}
        records = {i: s.record for i, s in enumerate(standings) if s.record is not None}
        originals = {record.duplicate_of for record in records.values() if record.duplicate_of}
        living = await self._living(_named(answers.values()) | originals)

        outcomes = _standing(claims, answers, living)
        void = [i for i in answers if i not in outcomes]
        if void:
            memories = [
                Memory(claims[i].document_id, claims[i].content, VOID, standings[i].answer, standings[i].stamp)
                for i in void
            ]
            await self._store.remember(memories)

        dead = [record for record in records.values() if record.dead]  # somebody stopped half-way through a deletion
        orphaned = {
            i: record.entry
            for i, record in records.items()
            if record.duplicate_of and not _counts(living.get(record.duplicate_of), claims[i])
        }
        await deletion.clear(self._store, self._method, dead)
        await deletion.kill(self._store, self._method, list(orphaned.values()))
        return outcomes, {i: r for i, r in records.items() if not r.dead and i not in orphaned}

    # 2. Read and help.

    async def _look(self, reading: Reading, viewers: Mapping[int, Record]) -> dict[int, Sight]:
        """What is alike to each viewer that met anybody, and registered: by itself, or with our help."""
        met = await self._neighbours.meet(reading, viewers)
        await deletion.clear(self._store, self._method, met.dead)  # what a crash may have left of a deletion
        if len(met.litter[0]):
            await self._store.withdraw(*met.litter)
        helped = await self._help({other.entry: other for _, other, _ in met.alike if not other.registered})
        for i, other, how in met.alike:
            stands = helped.get(other.entry, other)
            if stands is not None and not stands.duplicate_of:
                met.sights[i].alike[other.entry] = (stands, how)
        return met.sights

    async def _help(self, waiting: dict[int, Record]) -> dict[int, Record | None]:
        """Enter for those who stopped half-way; what stands for each. None: the entry died."""
        entries = sorted(waiting)  # whatever their order in the buckets: that is no order of arrival
        records = [waiting[entry] for entry in entries]
        return dict(zip(entries, await self._register(records, await self._append_and_draw(records)), strict=True))

    async def _see_originals(self, copies: dict[int, Record], sights: dict[int, Sight]) -> None:
        """A registered duplicate always sees its original, even where a capped bucket hides it."""
        missing = {i: r for i, r in copies.items() if i not in sights or r.duplicate_of not in sights[i].alike}
        living = await self._living({record.duplicate_of for record in missing.values()})
        for i, record in missing.items():
            if original := living.get(record.duplicate_of):
                measures = self._method.compare([record.body], [original.body])
                sights.setdefault(i, Sight()).alike[original.entry] = (original, likeness(measures, 0, self._profile))

    # 3. Claim.

    async def _register_copies(self, copies: dict[int, Record], sights: dict[int, Sight]) -> dict[int, Record]:
        """Register duplicates of what was there first; those that turn out to hold a ticket begin again."""
        firsts = {i: min(sights[i].ahead_of(None), key=lambda pair: pair[0].ticket)[0] for i in copies}
        wanted = [Registration(copies[i].entry, duplicate_of=firsts[i].entry) for i in copies]
        standing = await self._store.register(wanted) if wanted else []
        return {i: r for i, r in zip(copies, standing, strict=True) if r is not None and r.duplicate_of}

    async def _append_and_draw(self, records: Sequence[Record]) -> list[Registration]:
        """Append everywhere, and only then draw tickets: for oneself or for somebody who stopped half-way."""
        if not records:
            return []
        keys, entries, tags = deletion.postings_of(self._method, records)
        if len(keys):
            await self._store.append(keys, entries, tags)
        first = await self._store.draw(len(records))
        return [Registration(record.entry, ticket=first + n) for n, record in enumerate(records)]

    async def _register(self, records: Sequence[Record], wanted: Sequence[Registration]) -> list[Record | None]:
        """Register tickets; what stands for each. None: the entry died, and what was appended is taken back."""
        standing = await self._store.register(wanted) if wanted else []
        late = [record for record, stands in zip(records, standing, strict=True) if stands is None]
        keys, entries, _ = deletion.postings_of(self._method, late)
        if len(keys):
            await self._store.withdraw(keys, entries)
        return standing

    # 4. Re-read.

    async def _enter_and_reread(
        self, entrants: dict[int, Record], holding: dict[int, Record], sights: dict[int, Sight], first: Reading
    ) -> dict[int, Record]:
        """Whoever stands by its own ticket, drawn now or before, looks again; the others begin again."""
        if not entrants and not holding:
            return {}
        records = list(entrants.values())
        wanted = await self._append_and_draw(records)
        bodies = {i: record.body for i, record in (entrants | holding).items()}
        standing, tail = await self._gather(self._register(records, wanted), self._neighbours.read(bodies, since=first))
        own = holding | {
            i: stands
            for i, stands, wish in zip(entrants, standing, wanted, strict=True)
            if stands is not None and stands.ticket == wish.ticket
        }
        for i, later in (await self._look(tail, own)).items():
            sights.setdefault(i, Sight()).add(later)
        return own

    # 5. Judge and remember.

    def _judge(self, claim: Claim, record: Record, sight: Sight | None, *, earlier_versions: bool) -> Outcome:
        copy = _is_copy(claim, record)
        if sight is None and not (copy or earlier_versions or claim.empty or claim.degraded) and claim.body:
            return Outcome(ALONE, {}, entered=bool(record.ticket))  # as most are
        ahead: list[tuple[Record, Likeness]] = []
        if copy:
            ahead = [(record, EXACT)]
        elif sight is not None:
            ahead = sight.ahead_of(record.ticket or None)
        answer = judge(
            claim.document_id,
            [Known(other.entry, other.owner.document_id, other.ticket, how) for other, how in ahead],
            empty=claim.empty,
            short=not claim.body,
            earlier_versions=earlier_versions,
            candidates=len(sight.candidates) if sight else 0,
            degraded=sight.degraded.union(claim.degraded) if sight else claim.degraded,
            max_matches=self._limits.max_matches,
        )
        shown = _named([answer]) if ahead else ()
        named = {r.entry: r for r, _ in ahead if r.entry in shown}
        return Outcome(answer, named, entered=bool(record.ticket) and not copy)

    async def _retire_versions(
        self, claims: Sequence[Claim], records: Mapping[int, Record], judged: Mapping[int, Outcome]
    ) -> None:
        """Those that pass take the place of their earlier versions, before the answer is kept: a crash would else leave
        the earlier ones where they are."""
        latest = [
            deletion.Version(claims[i].document_id, claims[i].content, None if claims[i].empty else records[i].ticket)
            for i, outcome in judged.items()
            if not outcome.answer.similar
        ]
        await deletion.retire(self._store, self._method, latest)

    async def _remember(
        self, claims: Sequence[Claim], standings: Sequence[Standing], judged: Mapping[int, Outcome]
    ) -> dict[int, Outcome]:
        """Keep the answers; those that stand. The others lost to a delete or to their own second delivery."""
        memories = [
            Memory(claims[i].document_id, claims[i].content, encode_answer(outcome.answer), stamp=standings[i].stamp)
            for i, outcome in judged.items()
        ]
        kept = await self._store.remember(memories) if memories else []
        return {
            i: outcome
            for (i, outcome), memory, stands in zip(judged.items(), memories, kept, strict=True)
            if stands == memory.answer
        }

    # Without claiming.

    async def look(self, claims: Sequence[Claim]) -> list[Outcome]:
        """Judge as if checked in now, and leave no trace."""
        documents, entries = await self._gather(
            self._store.documents([claim.document_id for claim in claims]),
            self._store.contents([claim.content for claim in claims]),
        )
        held = {(c.document_id, one.content): one for c, contents in zip(claims, documents) for one in contents}
        answers = {
            i: decode_answer(mine.answer)
            for i, claim in enumerate(claims)
            if (mine := held.get((claim.document_id, claim.content))) is not None and mine.answer
        }
        living = await self._living(_named(answers.values()) | {entry for entry in entries if entry})
        outcomes = _standing(claims, answers, living)

        records: dict[int, Record] = {}
        for i, (claim, entry) in enumerate(zip(claims, entries, strict=True)):
            there = living.get(entry)
            if there is None or not there.ticket:
                there = Record(0, claim.content, (Holder(claim.document_id, claim.version),), claim.body)
            if i not in outcomes:
                records[i] = there
        looking = {i: record for i, record in records.items() if not _is_copy(claims[i], record)}
        sights = await self._glance(looking)
        for i, record in records.items():
            others = any(one.content != claims[i].content for one in documents[i])
            outcomes[i] = self._judge(claims[i], record, sights.get(i), earlier_versions=others)
        return [outcomes[i] for i in range(len(claims))]

    async def alike(self, body: bytes) -> Sight:
        """Everything that is alike to a body, whoever owns it."""
        return (await self._glance({0: Record(0, b"", (Holder("", None),), body)})).get(0, Sight())

    async def _glance(self, viewers: Mapping[int, Record]) -> dict[int, Sight]:
        """Look, and help nobody."""
        reading = await self._neighbours.read({i: record.body for i, record in viewers.items()})
        met = await self._neighbours.meet(reading, viewers)
        for i, other, how in met.alike:
            met.sights[i].alike[other.entry] = (other, how)
        return met.sights

    async def delete(self, document_ids: Sequence[str]) -> list[bool]:
        """Let documents go, and every entry with its last holder. False: there was no such document."""
        return await deletion.delete(self._store, self._method, document_ids)

    async def _living(self, entries: set[int]) -> dict[int, Record]:
        records = await self._store.records(sorted(entries)) if entries else []
        return {record.entry: record for record in records if record is not None and not record.dead}


def _is_copy(claim: Claim, record: Record) -> bool:
    """The very content is there, passed by somebody else: nothing more needs to be looked up."""
    return bool(record.ticket) and (claim.empty or record.owner.document_id != claim.document_id)


def _seen_by(claim: Claim, record: Record) -> Record:
    """Whose eyes to look with. Until it is registered an entry's fate is its owner's, whoever brings it about; a
    duplicate that another document brings again is compared with the owner's other documents too."""
    return record._replace(holders=(Holder(claim.document_id, claim.version),)) if record.duplicate_of else record


def _named(answers: Iterable[Answer]) -> set[int]:
    """The entries that answers rest on."""
    return {entry for answer in answers for entry in (answer.group, *(hit.entry for hit in answer.hits)) if entry}


def _counts(record: Record | None, claim: Claim) -> bool:
    """Whether something still counts against a document: it is there, and was not handed over to that very document."""
    return record is not None and record.owner.document_id != claim.document_id


def _standing(claims: Sequence[Claim], answers: Mapping[int, Answer], living: dict[int, Record]) -> dict[int, Outcome]:
    """The earlier answers that still stand. The others name somebody who is gone: those documents are judged anew."""
    return {
        i: Outcome(answer, {entry: living[entry] for entry in _named([answer])}, not answer.similar)
        for i, answer in answers.items()
        if all(_counts(living.get(entry), claims[i]) for entry in _named([answer]))
    }
