"""Mend what is wrong with an index, by what the claim itself would do: nothing that a living gate does is undone.

    unfinished   what pointed to the entry goes, and then the entry
    broken       the entry goes: its documents are lost, its postings orphaned
    unlisted     the entry is appended where it is missing
    unreachable  the content leads to it again; or to another entry of the same content: then this one goes
    unheld       the document is told, as by a repeated check-in; its answer is not known any more
    lost         the answer is void: the document is judged anew at its next check-in
    orphaned     the posting is withdrawn
    misplaced    the posting is withdrawn
    spare        the posting is withdrawn

That is safe because an entry that is dead or gone never comes back, a registration is for good, and an entry stands in
all its buckets before it holds a ticket.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gate.core.method_registry import Method
from gate.index.protocol import deletion
from gate.index.scan import Document, ScannableStore, Triples
from gate.index.store import VOID, Held, Memory, Record
from gate.index.tools.findings import Fault, Finding


class Mender:
    """Repairs, each idempotent, and each by what stands when it is done and not by what was found."""

    def __init__(self, store: ScannableStore, method: Method) -> None:
        self._store = store
        self._scan = store.scan()
        self._method = method

    async def mend(self, fault: Fault, findings: Sequence[Finding]) -> None:
        match fault:
            case Fault.UNFINISHED:
                await self._finish(await self.records(findings))
            case Fault.BROKEN:
                entries = [finding.entry for finding in findings]
                await self._store.bury(entries)
                await self._store.erase(entries)  # its postings are orphans from now on
            case Fault.UNLISTED:
                # Should one have died since, its postings are orphans, which are looked for last.
                records = await self.living({finding.entry for finding in findings})
                await self._store.append(*self.postings_of(list(records.values())))
            case Fault.UNREACHABLE:
                records = await self.living({finding.entry for finding in findings})
                standing = await self._scan.restore(list(records.values()))
                others = [record.entry for record, stands in zip(records.values(), standing) if stands != record]
                await deletion.kill(self._store, self._method, others)
            case Fault.UNHELD:
                await self._hold(findings)
            case Fault.LOST:
                await self._void(findings)
            case Fault.ORPHANED | Fault.MISPLACED | Fault.SPARE:
                keys, entries = ([one.key for one in findings], [one.entry for one in findings])
                await self._store.withdraw(np.array(keys, np.uint64), np.array(entries, np.uint64))

    async def _finish(self, records: Sequence[Record]) -> None:
        await self._scan.restore([record for record in records if not record.holders])
        await deletion.clear(self._store, self._method, [record for record in records if self.is_whole(record)])
        await self._store.erase([record.entry for record in records])

    async def _hold(self, findings: Sequence[Finding]) -> None:
        """Tell documents what they hold, as a repeated check-in would. What they were answered is forgotten."""
        records = await self.living({finding.entry for finding in findings})
        named = {(record.entry, holder.document_id): holder for record in records.values() for holder in record.holders}
        told = []
        for finding in findings:
            if holder := named.get((finding.entry, finding.document_id)):
                held = Held(records[finding.entry].content, holder.version, None, finding.entry)
                told.append(Document(holder.document_id, (held,)))
        await self._scan.restore_documents(told)

    async def _void(self, findings: Sequence[Finding]) -> None:
        names = [finding.document_id for finding in findings]
        memories = [
            Memory(finding.document_id, finding.content, VOID, one.answer)
            for finding, held in zip(findings, await self._store.documents(names), strict=True)
            for one in held
            if one.content == finding.content and one.answer
        ]
        await self._store.remember(memories)

    async def records(self, suspects: Sequence[Finding]) -> list[Record]:
        """The records as they are now; where a content leads to an entry without one, a dead one, as in a walk."""
        content_of = {finding.entry: finding.content for finding in suspects if finding.content}
        entries = list(dict.fromkeys(finding.entry for finding in suspects))
        found = await self._store.records(entries)
        gone = [entry for entry, record in zip(entries, found, strict=True) if record is None and entry in content_of]
        led_to = await self._store.contents([content_of[entry] for entry in gone])
        return [record for record in found if record is not None] + [
            Record(entry, content_of[entry], (), b"", dead=True)
            for entry, led in zip(gone, led_to, strict=True)
            if entry == led
        ]

    def is_whole(self, record: Record) -> bool:
        return self._method.room.holds(record.body)

    def postings_of(self, records: Sequence[Record]) -> Triples:
        return deletion.postings_of(self._method, records)

    async def living(self, entries: Iterable[int]) -> dict[int, Record]:
        records = await self._store.records(sorted(entries))
        return {record.entry: record for record in records if record is not None and not record.dead}
