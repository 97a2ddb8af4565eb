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

A deletion lets the entry die first and removes what pointed to it after; whoever appended too late finds no
registration to be had, and takes its postings back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gate.core.bands import Probes
from gate.core.judge import EXACT, Answer, Known, decode_answer, encode_answer, judge
from gate.core.methods import Method
from gate.core.profile import Profile
from gate.core.verify import Likeness, likeness, verify
from gate.index.store import Enrolment, Holder, Keys, Memory, Record, Registration, Standing, Store
from gate.limits import Limits
from gate.model import Degraded


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One document before the index."""

    document_id: str
    version: str | None
    content: bytes
    body: bytes
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer, the entry it rests on, and the records of the entries that it names."""

    record: Record
    answer: Answer
    named: dict[int, Record]


@dataclass(slots=True)
class Sight:
    """What one document saw in its buckets."""

    alike: dict[int, tuple[Record, Likeness]] = field(default_factory=dict)
    candidates: set[int] = field(default_factory=set)
    degraded: set[Degraded] = field(default_factory=set)
    mark: int | None = None

    def ahead_of(self, ticket: int | None) -> list[tuple[Record, Likeness]]:
        """Whatever is alike and holds a ticket, lower than `ticket` if there is one."""
        return [
            (record, how)
            for record, how in self.alike.values()
            if record.ticket and (not ticket or record.ticket < ticket)
        ]

    def add(self, later: Sight) -> None:
        """Carry on: without the candidates of the first read, reading only the tail would be unsound."""
        self.alike.update(later.alike)
        self.candidates |= later.candidates
        self.degraded |= later.degraded


class Index:
    """The claim algorithm over any store. It decides; the store only stores."""

    def __init__(
        self, store: Store, method: Method, profile: Profile, limits: Limits, *, new_entry: Callable[[bytes], int]
    ) -> None:
        self._store = store
        self._method = method
        self._profile = profile
        self._limits = limits
        self._new_entry = new_entry  # from a content id; injected so that tests are repeatable

    async def claim(self, claims: Sequence[Claim]) -> list[Outcome]:
        """Settle claims that may race with anybody's but are not alike among themselves (`waves` sees to that)."""
        outcomes: dict[int, Outcome] = {}
        pending = list(range(len(claims)))
        while pending:
            settled = await self._attempt([claims[i] for i in pending])
            outcomes.update({i: outcome for i, outcome in zip(pending, settled, strict=True) if outcome is not None})
            pending = [i for i in pending if i not in outcomes]
        return [outcomes[i] for i in range(len(claims))]

    async def _attempt(self, claims: Sequence[Claim]) -> list[Outcome | None]:
        """One pass over the steps. None: the world changed underneath; begin again."""
        share = self._profile.index == "all"
        wishes = [
            Enrolment(c.document_id, c.version, c.content, self._new_entry(c.content), c.body, share and not c.empty)
            for c in claims
        ]
        standings = await self._store.enrol(wishes)
        outcomes, active = await self._replay(claims, standings)

        sights: dict[int, Sight] = {i: Sight() for i in active}
        records = {i: standings[i].record for i in active}
        reading = [i for i in active if not self._is_copy(claims[i], records[i])]
        sights |= dict(zip(reading, await self._look([records[i] for i in reading]), strict=True))
        await self._see_originals({i: records[i] for i in reading if records[i].duplicate_of}, sights)

        fresh = [i for i in reading if not records[i].registered]
        copies = [i for i in fresh if not share and sights[i].ahead_of(None)]
        entrants = [i for i in fresh if i not in set(copies)]
        records |= await self._register_copies({i: records[i] for i in copies}, sights)
        records |= await self._enter_and_reread({i: records[i] for i in entrants}, sights)

        answers: dict[int, tuple[Answer, dict[int, Record]]] = {}
        for i in active:
            if i in records and records[i].registered:
                answers[i] = self._judge(claims[i], standings[i], records[i], sights[i])
        for i in await self._remember(claims, standings, answers):
            outcomes[i] = Outcome(records[i], *answers[i])
        return [outcomes.get(i) for i in range(len(claims))]

    # 1. Enrolled: what stands already?

    async def _replay(
        self, claims: Sequence[Claim], standings: Sequence[Standing]
    ) -> tuple[dict[int, Outcome], list[int]]:
        """Outcomes of the claims that were answered before, and which of the others can go on now."""
        answered = {i: decode_answer(s.answer) for i, s in enumerate(standings) if s.answer is not None}
        wanted = {hit.entry for answer in answered.values() for hit in answer.hits}
        wanted |= {answer.group for answer in answered.values() if answer.group}
        wanted |= {s.record.duplicate_of for s in standings if s.record.duplicate_of}
        living = await self._living(wanted)

        outcomes: dict[int, Outcome] = {}
        active = []
        for i, standing in enumerate(standings):
            record, answer = standing.record, answered.get(i)
            if record.dead:
                await self._clear(record)  # somebody died before finishing this deletion
            elif record.duplicate_of and record.duplicate_of not in living:
                await self._kill(record.entry)  # the original was deleted: the copy is free to be judged anew
            elif answer is not None and all(hit.entry in living for hit in answer.hits):
                named = {
                    entry: living[entry] for entry in (*(h.entry for h in answer.hits), answer.group) if entry in living
                }
                outcomes[i] = Outcome(record, answer, named)
            else:
                active.append(i)
        return outcomes, active

    def _is_copy(self, claim: Claim, record: Record) -> bool:
        """The very content is there, passed by somebody else: nothing more needs to be looked up."""
        return bool(record.ticket) and (claim.empty or record.owner.document_id != claim.document_id)

    # 2. Read and help.

    async def _look(
        self, records: Sequence[Record], *, since: int | None = None, help_others: bool = True
    ) -> list[Sight]:
        """What is alike to each record. Entries of one owner are versions of one document, never alike."""
        sights = [Sight() for _ in records]
        probes = self._method.probes([record.body for record in records])
        if not len(probes):
            return sights
        postings = await self._store.read(probes.keys, since=since)
        for row in set(probes.rows[postings.capped].tolist()):
            sights[row].degraded.add(Degraded.BUCKET_CAPPED)
        probe_of = np.repeat(np.arange(len(probes)), postings.counts)
        close = np.flatnonzero(np.bitwise_count(postings.tags ^ probes.tags[probe_of]) <= probes.radii[probe_of])
        probe_of, entries = probe_of[close], postings.entries[close]
        met: dict[tuple[int, int], int] = {}
        for row, entry, key in zip(
            probes.rows[probe_of].tolist(), entries.tolist(), probes.keys[probe_of].tolist(), strict=True
        ):
            if entry != records[row].entry:
                met.setdefault((row, entry), key)
        for sight in sights:
            sight.mark = postings.mark
        known = await self._known({entry for _, entry in met}, met)

        pairs: list[tuple[int, Record]] = []
        for row, entry in met:
            other = known.get(entry)
            if (
                other is None
                or other.dead
                or other.duplicate_of
                or other.owner.document_id == records[row].owner.document_id
            ):
                continue
            if len(sights[row].candidates) >= self._limits.max_candidates:
                sights[row].degraded.add(Degraded.CANDIDATES_CAPPED)
                continue
            sights[row].candidates.add(entry)
            pairs.append((row, other))
        found = verify(
            self._method, self._profile, [records[row].body for row, _ in pairs], [other.body for _, other in pairs]
        )
        alike = [(row, other, how) for (row, other), how in zip(pairs, found, strict=True) if how is not None]
        helped: dict[int, Record | None] = {}
        if help_others:
            waiting = {other.entry: other for _, other, _ in alike if not other.registered}
            helped = {entry: record for entry, (record, _) in (await self._enter(waiting)).items()}
        for row, other, how in alike:
            stands = helped.get(other.entry, other)
            if stands is not None and not stands.duplicate_of:
                sights[row].alike[other.entry] = (stands, how)
        return sights

    async def _known(self, entries: set[int], met: dict[tuple[int, int], int]) -> dict[int, Record]:
        """The records of these entries. A posting without a record is what a crash left of a deletion: sweep it up."""
        ordered = sorted(entries)
        records = await self._store.records(ordered)
        known = {entry: record for entry, record in zip(ordered, records, strict=True) if record is not None}
        litter = [(key, entry) for (_, entry), key in met.items() if entry not in known]
        if litter:
            keys, gone = zip(*litter, strict=True)
            await self._store.withdraw(np.array(keys, np.uint64), np.array(gone, np.uint64))
        return known

    async def _see_originals(self, copies: dict[int, Record], sights: dict[int, Sight]) -> None:
        """A registered duplicate always sees its original, even where a capped bucket hides it."""
        missing = {i: r for i, r in copies.items() if r.duplicate_of not in sights[i].alike}
        living = await self._living({record.duplicate_of for record in missing.values()})
        for i, record in missing.items():
            if original := living.get(record.duplicate_of):
                measures = self._method.compare([record.body], [original.body])
                sights[i].alike[original.entry] = (original, likeness(measures, 0))

    # 3. Claim.

    async def _register_copies(self, copies: dict[int, Record], sights: dict[int, Sight]) -> dict[int, Record]:
        """Register duplicates of what was there first; those that turn out to hold a ticket begin again."""
        firsts = {i: min(sights[i].ahead_of(None), key=lambda pair: pair[0].ticket)[0] for i in copies}
        wanted = [Registration(copies[i].entry, duplicate_of=firsts[i].entry) for i in copies]
        standing = await self._store.register(wanted) if wanted else []
        return {
            i: stands if stands is not None and stands.duplicate_of else copies[i]
            for i, stands in zip(copies, standing, strict=True)
        }

    async def _enter(self, entrants: dict[int, Record]) -> dict[int, tuple[Record | None, bool]]:
        """Append everywhere, then draw tickets, then register: for oneself or for somebody who stopped half-way.

        The record that stands for each, and whether it stands by this very ticket. None: the entry died.
        """
        if not entrants:
            return {}
        records = list(entrants.values())
        await self._store.append(*self._postings(records))
        first = await self._store.draw(len(records))
        wanted = [Registration(record.entry, ticket=first + n) for n, record in enumerate(records)]
        standing = await self._store.register(wanted)
        late = [record for record, stands in zip(records, standing, strict=True) if stands is None]
        if late:
            keys, entries, _ = self._postings(late)
            await self._store.withdraw(keys, entries)
        return {
            i: (stands, stands is not None and stands.ticket == wish.ticket)
            for i, stands, wish in zip(entrants, standing, wanted, strict=True)
        }

    # 4. Re-read.

    async def _enter_and_reread(self, entrants: dict[int, Record], sights: dict[int, Sight]) -> dict[int, Record]:
        """Those that stand by their own ticket look again; the others are left as they were, and begin again."""
        entered = await self._enter(entrants)
        own = {i: record for i, (record, mine) in entered.items() if mine and record is not None}
        since = [mark for i in own if (mark := sights[i].mark) is not None]
        looks = await self._look(list(own.values()), since=min(since) if since else None)
        for i, later in zip(own, looks, strict=True):
            sights[i].add(later)
        return own

    # 5. Judge and remember.

    def _judge(
        self, claim: Claim, standing: Standing, record: Record, sight: Sight
    ) -> tuple[Answer, dict[int, Record]]:
        ahead = sight.ahead_of(record.ticket or None)
        if self._is_copy(claim, record):
            ahead = [(record, EXACT)]
        answer = judge(
            claim.document_id,
            [Known(other.entry, other.owner.document_id, other.ticket, how) for other, how in ahead],
            empty=claim.empty,
            short=not claim.body,
            earlier_versions=bool(standing.others),
            candidates=len(sight.candidates),
            degraded=sight.degraded,
            max_matches=self._limits.max_matches,
        )
        shown = {hit.entry for hit in answer.hits} | {answer.group}
        return answer, {other.entry: other for other, _ in ahead if other.entry in shown}

    async def _remember(
        self,
        claims: Sequence[Claim],
        standings: Sequence[Standing],
        answers: dict[int, tuple[Answer, dict[int, Record]]],
    ) -> list[int]:
        """Keep the answers; which of them stand. The others lost to a delete or to their own second delivery."""
        if self._profile.revisions == "replace":
            for i, (answer, _) in answers.items():
                if not answer.similar:
                    await self._retire(claims[i].document_id, standings[i].others)
        memories = {
            i: Memory(claims[i].document_id, claims[i].content, encode_answer(answer), standings[i].answer)
            for i, (answer, _) in answers.items()
        }
        kept = await self._store.remember(list(memories.values())) if memories else []
        return [i for (i, memory), stands in zip(memories.items(), kept, strict=True) if stands == memory.answer]

    # Reading without claiming.

    async def look(self, claims: Sequence[Claim]) -> list[Outcome]:
        """Judge as if checked in now, and leave no trace."""
        entries = await self._store.contents([claim.content for claim in claims])
        living = await self._living({entry for entry in entries if entry})
        records = []
        for claim, entry in zip(claims, entries, strict=True):
            there = living.get(entry or 0)
            if there is None or not self._is_copy(claim, there):
                there = Record(0, claim.content, (Holder(claim.document_id, claim.version),), claim.body)
            records.append(there)
        unknown = [i for i, record in enumerate(records) if not record.ticket]
        sights = [Sight() for _ in claims]
        for i, sight in zip(unknown, await self._look([records[i] for i in unknown], help_others=False), strict=True):
            sights[i] = sight
        outcomes = []
        for claim, record, sight in zip(claims, records, sights, strict=True):
            held = await self._store.document(claim.document_id)
            others = tuple(one.content for one in held if one.content != claim.content)
            outcomes.append(Outcome(record, *self._judge(claim, Standing(record, None, others), record, sight)))
        return outcomes

    async def alike(self, body: bytes) -> Sight:
        """Everything that is alike to a body, whoever owns it."""
        nobody = Record(0, b"", (Holder("", None),), body)
        return (await self._look([nobody], help_others=False))[0]

    async def delete(self, document_id: str) -> bool:
        """Let the document go, and every entry with its last holder. False: there was no such document."""
        known = False
        while held := await self._store.document(document_id):
            known = True
            for entry in await self._store.contents([one.content for one in held]):
                record = await self._store.disown(entry, document_id) if entry else None
                if record is not None and record.dead:
                    await self._clear(record)
            await self._store.forget(document_id, held)
        return known

    async def _retire(self, document_id: str, contents: Iterable[bytes]) -> None:
        """Take earlier versions out of the index; their answers stay."""
        for entry in await self._store.contents(list(contents)):
            record = await self._store.disown(entry, document_id) if entry else None
            if record is not None and record.dead:
                await self._clear(record)

    async def _kill(self, entry: int) -> None:
        if (record := await self._store.bury(entry)) is not None:
            await self._clear(record)

    async def _clear(self, record: Record) -> None:
        """Remove what pointed to a dead entry, and then the entry. Anybody may do it, any number of times."""
        keys, entries, _ = self._postings([record])
        await self._store.withdraw(keys, entries)
        await self._store.erase(record.entry)

    async def _living(self, entries: set[int]) -> dict[int, Record]:
        ordered = sorted(entries)
        records = await self._store.records(ordered) if ordered else []
        return {record.entry: record for record in records if record is not None and not record.dead}

    def _postings(self, records: Sequence[Record]) -> tuple[Keys, Keys, Keys]:
        """Keys, entries and tags of everything that the records keep in buckets."""
        kept: Probes = self._method.postings([record.body for record in records])
        own = np.array([record.entry for record in records], np.uint64)
        return kept.keys, own[kept.rows], kept.tags
