"""Candidates fetched and compared, a slice at a time: whatever a batch meets, it takes memory for some thousands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gate.core.judge import Likeness, find_alike
from gate.core.method import Repeated
from gate.core.method_registry import Method
from gate.core.profile import Profile
from gate.index.protocol.ranking import nth_of_row
from gate.index.store import EntryRecord, Keys, Store

PAIRS = 8192  # compared at a time, and records fetched at most: more would not fit into a core's cache
SLICE_BYTES = 8 * 2**20  # of bodies that are compared at a time, where bodies are large
KNOWN_BYTES = 16 * 2**20  # of records that are remembered for the other documents of the batch
OVERHEAD_BYTES = 400  # of a record, beside its body
_UNUSABLE, _STRANGER = -2, -1


class CandidateComparison:
    """Compares some documents with entries. A document is known by its row; `subjects` are in the order of rows."""

    def __init__(
        self, store: Store, method: Method, profile: Profile, subjects: Sequence[EntryRecord], most: int
    ) -> None:
        self.candidates: dict[int, set[int]] = {}  # by row
        self.alike: list[tuple[int, EntryRecord, Likeness]] = []
        self.full: set[int] = set()  # rows with more candidates than may be compared
        self.missing: set[int] = set()  # entries without a record
        self.dead: dict[int, EntryRecord] = {}
        self.duplicates: dict[int, EntryRecord] = {}
        self._store, self._method, self._profile, self._most = store, method, profile, most
        self._bodies = [record.body for record in subjects]
        self._owners = {record.owner.document_id: n for n, record in enumerate(subjects)}
        self._owner_of = np.array([self._owners[record.owner.document_id] for record in subjects], np.int64)
        self._counts = np.zeros(len(subjects), np.int64)
        self._known: dict[int, EntryRecord | None] = {}
        self._known_owners: dict[int, int] = {}
        self._known_bytes = 0
        self._pairs = _pairs_of(max((len(record.body) for record in subjects), default=0))

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many candidates each row was compared with."""
        return self._counts

    async def compare(self, rows: NDArray[np.int64], entries: Keys) -> None:
        """Compare each row with each of its entries, as long as it has not been compared with too many. Rows ascend."""
        first = 0
        while first < rows.size:
            part = slice(first, first + self._pairs)
            first = part.stop
            await self._compare(rows[part], entries[part])

    async def _compare(self, rows: NDArray[np.int64], entries: Keys) -> None:
        distinct, which = np.unique(entries, return_inverse=True)
        records, owner_of = await self._fetch(distinct.tolist())
        owners = np.array(owner_of, np.int64)[which]
        # Entries of one owner are versions of one document, never alike.
        others = np.flatnonzero((owners != _UNUSABLE) & (owners != self._owner_of[rows]))
        rows, which = rows[others], which[others]
        nth = nth_of_row(rows) + self._counts[rows]
        self.full.update(rows[nth >= self._most].tolist())
        rows, which = rows[nth < self._most], which[nth < self._most]
        if not rows.size:
            return
        self._counts += np.bincount(rows, minlength=len(self._counts))
        bounds = np.flatnonzero(np.append(True, rows[1:] != rows[:-1])).tolist()
        numbers = distinct[which].tolist()
        for begin, end, row in zip(bounds, [*bounds[1:], rows.size], rows[bounds].tolist(), strict=True):
            self.candidates.setdefault(row, set()).update(numbers[begin:end])
        rights = Repeated([b"" if record is None else record.body for record in records], which)
        for i, likeness in find_alike(self._method, self._profile, Repeated(self._bodies, rows), rights):
            if (record := records[which[i]]) is not None:
                self.alike.append((int(rows[i]), record, likeness))

    def _owner(self, record: EntryRecord | None) -> int:
        if record is None or record.dead or record.duplicate_of:
            return _UNUSABLE
        return self._owners.get(record.owner.document_id, _STRANGER)

    async def _fetch(self, entries: Sequence[int]) -> tuple[list[EntryRecord | None], list[int]]:
        """The records of entries, and the number of each one's owner."""
        if self._known_bytes > KNOWN_BYTES:
            self._known, self._known_owners, self._known_bytes = {}, {}, 0
        fresh = [entry for entry in entries if entry not in self._known]
        fetched = await self._store.records(fresh) if fresh else []
        size = 0
        for entry, record in zip(fresh, fetched, strict=True):
            self._known[entry] = record
            self._known_owners[entry] = self._owner(record)
            if record is None:
                self.missing.add(entry)
                continue
            size += OVERHEAD_BYTES + len(record.body)
            if record.dead:
                self.dead[entry] = record
            elif record.duplicate_of:
                self.duplicates[entry] = record
        self._known_bytes += size
        if fresh:
            self._pairs = min(self._pairs, _pairs_of(size // len(fresh)))
        return list(map(self._known.__getitem__, entries)), list(map(self._known_owners.__getitem__, entries))


def _pairs_of(body_bytes: int) -> int:
    """How many pairs to compare at a time."""
    return max(min(PAIRS, SLICE_BYTES // max(body_bytes, 1)), 1)
