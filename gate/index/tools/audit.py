"""The audit: whether an index is whole. It may run beside gates that work on the index, and stop anywhere.

What other processes are doing just now looks like a fault for a moment: a delete that has not cleared its entry yet, a
document that was deleted while it was checked in. So what looks wrong is checked again, after all the rest of its kind
and a pause, and only what is wrong then too is reported as a fault (`gate.index.tools.findings`); how each is repaired
is in `gate.index.tools.repair`.

Noted, but no faults: entries without a registration (of check-ins that go on now, or were never finished), copies of
what is gone (they are judged again at their next check-in), documents that were never answered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gate.core.method_registry import Method
from gate.core.profile import Profile
from gate.core.stored_verdict import decode_answer
from gate.errors import Stale, Unavailable
from gate.index.scan import Document, PostingRows, ScannableStore
from gate.index.store import STALE_ATTEMPTS, EntryRecord, HeldContent, Keys
from gate.index.tools.findings import Fault, Finding, Note, Report
from gate.index.tools.repair import Repairer
from gate.model import Relation

SUSPECTS = 4096  # that wait for their second check at most
EXAMPLES = 10  # of each fault, for people

T = TypeVar("T")
Pause = Callable[[], Awaitable[None]]
Progress = Callable[[str, int], None]


async def no_pause() -> None:
    """For an index that no other process works on."""


async def audit(
    store: ScannableStore,
    method: Method,
    profile: Profile,
    *,
    fix: bool = False,
    pause: Pause = no_pause,
    progress: Progress = lambda kind, count: None,
) -> Report:
    """Check everything; with `fix`, repair what is wrong."""
    for _ in range(STALE_ATTEMPTS):
        work = _Audit(store, method, profile, fix=fix, pause=pause, progress=progress)
        try:
            # In this order: what repairing one part leaves behind is found in the next.
            await work.entries()
            await work.documents()
            await work.postings()
        except Stale:
            continue  # a generation of the index began or ended meanwhile
        return work.report
    raise Unavailable(f"the index changed during each of {STALE_ATTEMPTS} audits; try again")


class _Audit:
    def __init__(
        self, store: ScannableStore, method: Method, profile: Profile, *, fix: bool, pause: Pause, progress: Progress
    ) -> None:
        self.report = Report()
        self._store = store
        self._scan = store.scan()
        self._repairer = Repairer(store, method)
        self._profile = profile
        self._fix = fix
        self._pause = pause
        self._progress = progress

    async def _check_twice(
        self,
        batches: AsyncIterator[T],
        check: Callable[[T], Awaitable[list[Finding]]],
        check_again: Callable[[Sequence[Finding]], Awaitable[list[Finding]]],
    ) -> None:
        """Check each batch, and again what was suspicious."""
        suspects: dict[Finding, None] = {}
        async for batch in batches:
            suspects.update(dict.fromkeys(await check(batch)))
            if len(suspects) >= SUSPECTS:
                await self._confirm(list(suspects), check_again)
                suspects = {}
        await self._confirm(list(suspects), check_again)

    async def _confirm(
        self, suspects: list[Finding], check_again: Callable[[Sequence[Finding]], Awaitable[list[Finding]]]
    ) -> None:
        if not suspects:
            return
        await self._pause()
        again = set(await check_again(suspects))
        confirmed = [finding for finding in suspects if finding in again]
        by_fault: dict[Fault, list[Finding]] = defaultdict(list)
        for finding in confirmed:
            by_fault[finding.fault].append(finding)
        for fault, findings in by_fault.items():
            self.report.found[fault] += len(findings)
            examples = self.report.examples[fault]
            examples += map(str, findings[: EXAMPLES - len(examples)])
            if self._fix:
                await self._repairer.repair(fault, findings)
                self.report.repaired[fault] += len(findings)

    def _count_checked(self, kind: str, count: int) -> None:
        self.report.checked[kind] += count
        self._progress(kind, self.report.checked[kind])

    # Entries.

    async def entries(self) -> None:
        highest = 0

        async def check(records: Sequence[EntryRecord]) -> list[Finding]:
            nonlocal highest
            self._count_checked("entries", len(records))
            highest = max(highest, *(record.ticket for record in records), 0)
            await self._note_entries([record for record in records if not record.dead])
            return await self._wrong_entries(records)

        await self._check_twice(self._scan.entries(), check, self._recheck_entries)
        if await self._store.draw(0) <= highest:
            self.report.found[Fault.TICKETS] += 1
            if self._fix:
                await self._scan.pass_ticket(highest)
                self.report.repaired[Fault.TICKETS] += 1

    async def _note_entries(self, living: Sequence[EntryRecord]) -> None:
        self.report.notes[Note.WAITING] += sum(not record.registered for record in living)
        originals = {record.duplicate_of for record in living if record.duplicate_of}
        deleted = originals - (await self._repairer.living(originals)).keys()
        self.report.notes[Note.FREED] += sum(record.duplicate_of in deleted for record in living)

    async def _wrong_entries(self, records: Sequence[EntryRecord]) -> list[Finding]:
        findings = [Finding(Fault.UNFINISHED, record.entry, record.content) for record in records if record.dead]
        living = [record for record in records if not record.dead]
        findings += [
            Finding(Fault.BROKEN, record.entry, record.content)
            for record in living
            if not self._repairer.is_whole(record)
        ]
        sound = [record for record in living if self._repairer.is_whole(record)]

        _, unlisted, _ = await self._scan.missing(
            *self._repairer.postings_of([record for record in sound if record.ticket])
        )
        findings += [Finding(Fault.UNLISTED, entry) for entry in np.unique(unlisted).tolist()]

        pointers = await self._store.contents([record.content for record in sound])
        findings += [
            Finding(Fault.UNREACHABLE, record.entry, record.content)
            for record, entry in zip(sound, pointers, strict=True)
            if entry != record.entry
        ]
        holdings = [(holder.document_id, record) for record in sound for holder in record.holders]
        contents_of_holders = await self._store.documents([document_id for document_id, _ in holdings])
        findings += [
            Finding(Fault.UNHELD, record.entry, record.content, document_id)
            for (document_id, record), contents in zip(holdings, contents_of_holders, strict=True)
            if all(stored.content != record.content for stored in contents)
        ]
        return findings

    async def _recheck_entries(self, suspects: Sequence[Finding]) -> list[Finding]:
        return await self._wrong_entries(await self._repairer.records(suspects))

    # Documents.

    async def documents(self) -> None:
        async def check(documents: Sequence[Document]) -> list[Finding]:
            self._count_checked("documents", len(documents))
            self.report.notes[Note.UNANSWERED] += sum(
                not stored.answer for _, contents in documents for stored in contents
            )
            return await self._wrong_documents(documents)

        async def check_again(suspects: Sequence[Finding]) -> list[Finding]:
            names = list(dict.fromkeys(finding.document_id for finding in suspects))
            contents = await self._store.documents(names)
            return await self._wrong_documents(list(map(Document, names, contents)))

        await self._check_twice(self._scan.documents(), check, check_again)

    async def _wrong_documents(self, documents: Sequence[Document]) -> list[Finding]:
        """Documents that passed, and are not in the index for it. One that was refused, or taken back, need not be; and
        an empty one may be there in another's name."""
        passed = [(name, stored) for name, contents in documents for stored in contents if _relation_passed(stored)]
        entries = await self._store.contents([stored.content for _, stored in passed])
        living = await self._repairer.living({entry for entry in entries if entry})
        lost: list[Finding] = []
        present: set[str] = set()
        for (document_id, stored), entry in zip(passed, entries, strict=True):
            record = living.get(entry or 0)
            if _relation_passed(stored) is Relation.EMPTY or (
                record is not None
                and not record.duplicate_of
                and any(holder.document_id == document_id for holder in record.holders)
            ):
                present.add(document_id)
            else:
                lost.append(Finding(Fault.LOST, content=stored.content, document_id=document_id))
        if self._profile.revisions == "replace":
            # Earlier versions were taken out when a later one passed; that one is there, or about to be.
            present |= {name for name, contents in documents if not all(stored.answer for stored in contents)}
            lost = list(
                {finding.document_id: finding for finding in lost if finding.document_id not in present}.values()
            )
        return lost

    # Postings.

    async def postings(self) -> None:
        async def check(batch: PostingRows) -> list[Finding]:
            self._count_checked("postings", len(batch[0]))
            return await self._wrong_postings(*batch)

        async def check_again(suspects: Sequence[Finding]) -> list[Finding]:
            columns = (
                [suspect.key for suspect in suspects],
                [suspect.entry for suspect in suspects],
                [suspect.tag for suspect in suspects],
            )
            keys, entries, tags = (np.array(column, np.uint64) for column in columns)
            missing = _mixed(*await self._scan.missing(keys, entries, tags))
            remaining = ~np.isin(_mixed(keys, entries, tags), missing)
            return await self._wrong_postings(keys[remaining], entries[remaining], tags[remaining])

        await self._check_twice(self._scan.postings(), check, check_again)

    async def _wrong_postings(self, keys: Keys, entries: Keys, tags: Keys) -> list[Finding]:
        """Postings of no entry, of copies, and in buckets where their entry should have none. A second tag in the
        right bucket is left alone: it does no harm, and removing it would remove the right one for a moment."""
        numbers = np.unique(entries).tolist()
        records = dict(zip(numbers, await self._store.records(numbers), strict=True))
        known = [record for record in records.values() if record is not None and not record.dead]
        owners = [record for record in known if not record.duplicate_of and self._repairer.is_whole(record)]
        due_keys, due_entries, _ = self._repairer.postings_of(owners)
        owned = _among(entries, [record.entry for record in owners])
        wrong = {
            Fault.ORPHANED: _among(entries, [entry for entry in numbers if records[entry] is None]),
            Fault.MISPLACED: owned & ~np.isin(_mixed(keys, entries), _mixed(due_keys, due_entries)),
            Fault.SPARE: _among(entries, [record.entry for record in known if record.duplicate_of]),
        }
        return [
            Finding(fault, int(entries[row]), key=int(keys[row]), tag=int(tags[row]))
            for fault, rows in wrong.items()
            for row in np.flatnonzero(rows).tolist()
        ]


def _relation_passed(stored: HeldContent) -> Relation | None:
    """The relation by which a document passed; None: it was refused, or has no answer."""
    answer = decode_answer(stored.answer) if stored.answer else None
    return answer.relation if answer is not None and answer.passed else None


def _among(entries: Keys, some: Sequence[int]) -> NDArray[np.bool_]:
    return np.isin(entries, np.array(some, np.uint64))


def _mixed(*columns: Keys) -> Keys:
    """One number for each row: equal for equal rows, and for others by a chance of one in 2^64."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed
