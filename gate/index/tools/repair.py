"""Repairing what is wrong with an index, by the steps of the claim itself: nothing that a running gate does is undone.

    unfinished   what pointed to the entry goes, and then the entry
    broken       the entry goes: its documents are lost, its postings orphaned
    unlisted     the entry is appended where it is missing
    unreachable  the content points to it again; or to another entry of the same content: then this one goes
    unheld       the content is added to the document, as by a repeated check-in; its answer is lost
    lost         the answer is void: the document is judged again at its next check-in
    orphaned     the posting is removed
    misplaced    the posting is removed
    spare        the posting is removed

That is safe because an entry that is dead or gone never comes back, a registration is final, and an entry is in all
its buckets before it holds a ticket.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gate.core.method_registry import Method
from gate.index.protocol import deletion
from gate.index.protocol.postings import postings_of
from gate.index.scan import Document, PostingRows, ScannableStore
from gate.index.store import VOID, AnswerUpdate, EntryRecord, HeldContent
from gate.index.tools.findings import Fault, Finding


class Repairer:
    """Repairs, each idempotent, and each by what is stored when it is done and not by what was found."""

    def __init__(self, store: ScannableStore, method: Method) -> None:
        self._store = store
        self._scan = store.scan()
        self._method = method

    async def repair(self, fault: Fault, findings: Sequence[Finding]) -> None:
        match fault:
            case Fault.UNFINISHED:
                await self._finish(await self.records(findings))
            case Fault.BROKEN:
                entries = [finding.entry for finding in findings]
                await self._store.mark_dead(entries)
                await self._store.delete_records(entries)  # its postings are orphaned from now on
            case Fault.UNLISTED:
                # Should one have died since, its postings are orphaned, which is checked last.
                records = await self.living({finding.entry for finding in findings})
                await self._store.append(*self.postings_of(list(records.values())))
            case Fault.UNREACHABLE:
                records = await self.living({finding.entry for finding in findings})
                restored = await self._scan.restore(list(records.values()))
                others = [record.entry for record, current in zip(records.values(), restored) if current != record]
                await deletion.kill_entries(self._store, self._method, others)
            case Fault.UNHELD:
                await self._add_contents(findings)
            case Fault.LOST:
                await self._void(findings)
            case Fault.ORPHANED | Fault.MISPLACED | Fault.SPARE:
                keys, entries = ([finding.key for finding in findings], [finding.entry for finding in findings])
                await self._store.remove_postings(np.array(keys, np.uint64), np.array(entries, np.uint64))

    async def _finish(self, records: Sequence[EntryRecord]) -> None:
        await self._scan.restore([record for record in records if not record.holders])
        await deletion.clear(self._store, self._method, [record for record in records if self.is_whole(record)])
        await self._store.delete_records([record.entry for record in records])

    async def _add_contents(self, findings: Sequence[Finding]) -> None:
        """Add to documents what they hold, as a repeated check-in would. Their answers to it are lost."""
        records = await self.living({finding.entry for finding in findings})
        named = {(record.entry, holder.document_id): holder for record in records.values() for holder in record.holders}
        documents = []
        for finding in findings:
            if holder := named.get((finding.entry, finding.document_id)):
                restored = HeldContent(records[finding.entry].content, holder.version, None, finding.entry)
                documents.append(Document(holder.document_id, (restored,)))
        await self._scan.restore_documents(documents)

    async def _void(self, findings: Sequence[Finding]) -> None:
        names = [finding.document_id for finding in findings]
        updates = [
            AnswerUpdate(finding.document_id, finding.content, VOID, stored.answer)
            for finding, contents in zip(findings, await self._store.documents(names), strict=True)
            for stored in contents
            if stored.content == finding.content and stored.answer
        ]
        await self._store.save_answers(updates)

    async def records(self, suspects: Sequence[Finding]) -> list[EntryRecord]:
        """The records as they are now; where a content points to an entry without one, a dead one, as in a scan."""
        content_of = {finding.entry: finding.content for finding in suspects if finding.content}
        entries = list(dict.fromkeys(finding.entry for finding in suspects))
        records = await self._store.records(entries)
        missing = [
            entry for entry, record in zip(entries, records, strict=True) if record is None and entry in content_of
        ]
        pointers = await self._store.contents([content_of[entry] for entry in missing])
        return [record for record in records if record is not None] + [
            EntryRecord(entry, content_of[entry], (), b"", dead=True)
            for entry, pointer in zip(missing, pointers, strict=True)
            if entry == pointer
        ]

    def is_whole(self, record: EntryRecord) -> bool:
        return self._method.layout.holds(record.body)

    def postings_of(self, records: Sequence[EntryRecord]) -> PostingRows:
        return postings_of(self._method, records)

    async def living(self, entries: Iterable[int]) -> dict[int, EntryRecord]:
        records = await self._store.records(sorted(entries))
        return {record.entry: record for record in records if record is not None and not record.dead}
