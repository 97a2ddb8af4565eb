"""Settling entries that hold a ticket: each was accepted, or it lost to an accepted one and becomes its duplicate.

    accepted    nothing alike that was accepted holds a lower ticket
    lost        something does: the entry becomes a duplicate of the first of those, and leaves the buckets

A claim settles its own entry before its answer is saved. Before it is refused for the sake of another entry it settles
that one too, and whatever that one may have lost to: an entry of which the claim is still under way, or stopped there,
could itself be refused, and no document is refused because of a document that was refused.

Why it is right: all that is alike to an entry and has a lower ticket was appended before the entry drew its own. So a
process that reads its buckets afterwards meets all of that, settles it by lower and lower tickets, and comes to the
same result as any other: the one that the documents would have got one by one, in the order of their tickets. An entry
counts as accepted when all that it could have lost to was made a duplicate, or is gone; that never changes again. Only
where a document is deleted in that very moment can two processes decide differently, by whether they still met it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gate.core.method_registry import Method
from gate.core.stored_verdict import decode_answer
from gate.index.protocol.candidates import CandidateFinder, CandidateSet
from gate.index.protocol.postings import remove_postings_of
from gate.index.protocol.registration import Registrar
from gate.index.store import Conversion, EntryRecord, Store

KNOWN_ACCEPTED = 65_536  # entries, twice at most, some 10 MB: what is copied again and again is looked up once


class Settler:
    """Settles entries of any process."""

    def __init__(self, store: Store, method: Method, finder: CandidateFinder, registrar: Registrar) -> None:
        self._store = store
        self._method = method
        self._finder = finder
        self._registrar = registrar
        self._known: set[int] = set()  # entries that were accepted, which is final
        self._known_longer: set[int] = set()

    def add_accepted(self, entries: Iterable[int]) -> None:
        """Remember entries that were accepted."""
        self._known.update(entries)
        if len(self._known) > KNOWN_ACCEPTED:
            self._known, self._known_longer = set(), self._known

    async def settle_candidates(self, sets: Mapping[int, CandidateSet], subjects: Mapping[int, EntryRecord]) -> None:
        """Leave in each set only what was accepted, and before the subject if that holds a ticket."""
        before = {i: sets[i].ticketed_before(subject.ticket) for i, subject in subjects.items() if i in sets}
        accepted = await self.accepted(other for pairs in before.values() for other, _ in pairs)
        for i, pairs in before.items():
            sets[i].alike = {pair[0].entry: pair for pair in pairs if pair[0].entry in accepted}

    async def accepted(self, ticketed: Iterable[EntryRecord]) -> set[int]:
        """Which of these entries were accepted. The others become duplicates."""
        entries = {record.entry: record for record in ticketed}
        undecided: dict[int, EntryRecord] = {}
        earlier: dict[int, list[EntryRecord]] = {}  # what each of those may have lost to
        fresh = entries
        while fresh := await self._unanswered(fresh):
            undecided |= fresh
            found = await self._earlier(fresh)
            earlier |= found
            fresh = {o.entry: o for others in found.values() for o in others if o.entry not in undecided}
        lost: dict[int, tuple[EntryRecord, EntryRecord]] = {}
        for record in sorted(undecided.values(), key=lambda record: record.ticket):
            winners = [other for other in earlier[record.entry] if other.entry not in lost]
            if winners:
                lost[record.entry] = (record, min(winners, key=lambda other: other.ticket))
        await self.convert(lost)
        self.add_accepted(undecided.keys() - lost.keys())
        return entries.keys() - lost.keys()

    async def convert(self, lost: Mapping[int, tuple[EntryRecord, EntryRecord]]) -> dict[int, EntryRecord]:
        """Make entries duplicates of what they lost to; the records then, of those that are alive."""
        if not lost:
            return {}
        conversions = [Conversion(loser.entry, loser.ticket, winner.entry) for loser, winner in lost.values()]
        converted = await self._store.convert(conversions)
        records = {i: record for i, record in zip(lost, converted, strict=True) if record is not None}
        await remove_postings_of(self._store, self._method, list(records.values()))
        return records

    async def _unanswered(self, records: Mapping[int, EntryRecord]) -> dict[int, EntryRecord]:
        """The entries that are not known to be accepted: their owner has no answer yet."""
        unknown = [r for r in records.values() if r.entry not in self._known and r.entry not in self._known_longer]
        documents = await self._store.documents([r.owner.document_id for r in unknown]) if unknown else []
        passed = {
            record.entry
            for record, contents in zip(unknown, documents, strict=True)
            for held in contents
            if held.content == record.content and held.answer and decode_answer(held.answer).passed
        }
        self.add_accepted(passed)
        return {record.entry: record for record in unknown if record.entry not in passed}

    async def _earlier(self, records: Mapping[int, EntryRecord]) -> dict[int, list[EntryRecord]]:
        """What is alike to each and holds a lower ticket."""
        reading = await self._finder.read({entry: record.body for entry, record in records.items()})
        sets = await self._registrar.find_registered(reading, records)
        return {
            entry: [other for other, _ in sets[entry].ticketed_before(record.ticket)] if entry in sets else []
            for entry, record in records.items()
        }
