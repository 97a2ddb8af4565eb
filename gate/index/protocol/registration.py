"""Registering entries: everything appended first, then a ticket drawn, then the registration; for entries of one's own,
and, where a claim stopped half-way, for those of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gate.core.method_registry import Method
from gate.index.protocol import deletion
from gate.index.protocol.candidates import BucketReading, CandidateFinder, CandidateSet
from gate.index.protocol.postings import postings_of, remove_postings_of
from gate.index.store import EntryRecord, Registration, Store


class Registrar:
    """Brings entries to a registration."""

    def __init__(self, store: Store, method: Method, finder: CandidateFinder) -> None:
        self._store = store
        self._method = method
        self._finder = finder

    async def find_registered(
        self, reading: BucketReading, subjects: Mapping[int, EntryRecord]
    ) -> dict[int, CandidateSet]:
        """The candidates of each subject that has any. Those that are alike hold a ticket: they are helped to it."""
        neighbourhood = await self._finder.find(reading, subjects)
        if neighbourhood.dead:
            # What a crash may have left of a deletion.
            await deletion.clear(self._store, self._method, neighbourhood.dead)
        if neighbourhood.duplicates:
            # What a crash may have left of a conversion, or a helper that was too late.
            await remove_postings_of(self._store, self._method, neighbourhood.duplicates)
        if len(neighbourhood.dangling[0]):
            await self._store.remove_postings(*neighbourhood.dangling)
        helped = await self.help({other.entry: other for _, other, _ in neighbourhood.alike if not other.registered})
        for i, other, measured in neighbourhood.alike:
            record = helped.get(other.entry, other)
            if record is not None and not record.duplicate_of:
                neighbourhood.sets[i].alike[other.entry] = (record, measured)
        return neighbourhood.sets

    async def help(self, unregistered: dict[int, EntryRecord]) -> dict[int, EntryRecord | None]:
        """Enter for claims that stopped half-way; the record of each entry then. None: the entry died."""
        entries = sorted(unregistered)  # whatever their order in the buckets: that is no order of arrival
        records = [unregistered[entry] for entry in entries]
        return dict(zip(entries, await self.register(records, await self.append_and_draw(records)), strict=True))

    async def append_and_draw(self, records: Sequence[EntryRecord]) -> list[Registration]:
        """Append everywhere, and only then draw tickets: for own entries, or for those of claims that stopped."""
        if not records:
            return []
        keys, entries, tags = postings_of(self._method, records)
        if len(keys):
            await self._store.append(keys, entries, tags)
        first = await self._store.draw(len(records))
        return [Registration(record.entry, ticket=first + n) for n, record in enumerate(records)]

    async def register(
        self, records: Sequence[EntryRecord], registrations: Sequence[Registration]
    ) -> list[EntryRecord | None]:
        """Register tickets; the records then. None: the entry died. Of that, and of an entry that is a duplicate by
        now, the postings that were appended too late are removed."""
        registered = await self._store.register(registrations) if registrations else []
        late = [
            record
            for record, current in zip(records, registered, strict=True)
            if current is None or current.duplicate_of
        ]
        await remove_postings_of(self._store, self._method, late)
        return registered
