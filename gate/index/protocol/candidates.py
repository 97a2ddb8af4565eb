"""The candidates of each document: entries whose postings match its probes, read, fetched and compared with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gate.core.bands import Probes
from gate.core.judge import Likeness
from gate.core.method_registry import Method
from gate.core.profile import Profile
from gate.index.protocol.comparison import CandidateComparison
from gate.index.protocol.ranking import nth_of_row, rank
from gate.index.reading import Bucketfuls, ReadLimit
from gate.index.store import EntryRecord, Holder, Keys, ProbeMatches, ProbingStore, Store
from gate.limits import Limits
from gate.model import Degraded

# Probed at a time. A wide radius has a thousand probes a document, with a dozen postings each: more would neither fit
# into the memory that a batch may take nor into a core's cache. Usual profiles have fewer in a whole batch.
MAX_PROBES = 16_384
MATCHES = 4  # postings that match, for each candidate that may be compared: it is met in several buckets
MATCHED = 1 << 15  # postings that are ranked at a time
_NOBODY = EntryRecord(0, b"", (Holder("", None),), b"")  # in the place of a document that needs no candidates


@dataclass(frozen=True, slots=True)
class BucketReading:
    """Postings that match the probes of some documents: posting i, in bucket `keys[i]`, matches `documents[rows[i]]`.

    A document is known by its number among the claims of a batch.
    """

    documents: Sequence[int]
    probes: Probes
    rows: NDArray[np.int64]
    keys: Keys
    entries: Keys
    capped: list[int]  # rows of documents for which a bucket was not read whole
    mark: int | None  # None: none of the documents has a bucket
    cut: Sequence[int] = ()  # rows of documents that match more postings than are looked at
    ruled_out: tuple[NDArray[np.int64], Keys] = (np.empty(0, np.int64), np.empty(0, np.uint64))  # rows and entries

    def posted(self, entries: Mapping[int, int]) -> set[int]:
        """Of some documents, each with its entry, those whose own entry is in a bucket that was read."""
        own = np.array([entries.get(i, 0) for i in self.documents], np.uint64)
        return {self.documents[row] for row in self.rows[self.entries == own[self.rows]].tolist()}

    def without(self, too_unequal: NDArray[np.bool_]) -> BucketReading:
        """The reading without some of its postings, of documents that are not alike whatever else is said of them."""
        rows, entries = self.rows[too_unequal], self.entries[too_unequal]
        several = np.unique(np.stack((rows.astype(np.uint64), entries)), axis=1)
        remaining = ~too_unequal
        return replace(
            self,
            rows=self.rows[remaining],
            keys=self.keys[remaining],
            entries=self.entries[remaining],
            ruled_out=(several[0].astype(np.int64), several[1]),
        )

    def probes_of(self, documents: Sequence[int]) -> Probes | None:
        """The probes of some of the documents, in that order; None if not all of them are in this reading."""
        row_of = {i: row for row, i in enumerate(self.documents)}
        if not row_of.keys() >= set(documents):
            return None
        rows = np.full(len(self.documents), -1)
        rows[[row_of[i] for i in documents]] = np.arange(len(documents))
        rows = rows[self.probes.rows]
        some = self.probes.only(np.flatnonzero(rows >= 0))
        return replace(some, rows=rows[rows >= 0])


@dataclass(slots=True)
class CandidateSet:
    """What one document was compared with, and what of that is alike to it."""

    alike: dict[int, tuple[EntryRecord, Likeness]] = field(default_factory=dict)
    candidates: set[int] = field(default_factory=set)
    ruled_out: Keys = field(default_factory=lambda: np.empty(0, np.uint64))  # by their length: neither fetched nor here
    degraded: set[Degraded] = field(default_factory=set)

    def ticketed_before(self, ticket: int | None) -> list[tuple[EntryRecord, Likeness]]:
        """What is alike and holds a ticket, lower than `ticket` if there is one."""
        return [
            (record, likeness)
            for record, likeness in self.alike.values()
            if record.ticket and (not ticket or record.ticket < ticket)
        ]

    def merge(self, later: CandidateSet) -> None:
        """Add a later read: without the candidates of the first one, reading only the tail would be unsound."""
        self.alike.update(later.alike)
        self.candidates |= later.candidates
        if later.ruled_out.size:
            self.ruled_out = np.union1d(self.ruled_out, later.ruled_out)
        self.degraded |= later.degraded


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What was found beside some documents. `alike` are pairs, not yet in the sets: their entries may have to be
    registered first."""

    sets: dict[int, CandidateSet]  # of those documents that have candidates, or a bucket that was capped
    alike: list[tuple[int, EntryRecord, Likeness]]
    dangling: tuple[Keys, Keys]  # postings whose entry has no record: keys and entries
    dead: list[EntryRecord] = field(default_factory=list)
    duplicates: list[EntryRecord] = field(default_factory=list)  # that still have postings, and should have none


class CandidateFinder:
    """Finds the candidates of documents and compares them. It changes nothing in the store."""

    def __init__(self, store: Store, method: Method, profile: Profile, limits: Limits) -> None:
        self._store = store
        self._method = method
        self._profile = profile
        self._limits = limits

    async def read(
        self, bodies: Mapping[int, bytes], *, since: BucketReading | None = None, ignoring: Collection[int] = ()
    ) -> BucketReading:
        """Read every bucket where something alike may be kept, or what was appended to it since an earlier reading, but
        for the entries to ignore."""
        documents = list(bodies)
        mark = None if since is None else since.mark
        probes = None if since is None else since.probes_of(documents)
        if probes is None:
            probes = self._method.probes(list(bodies.values()))
        parts = [
            await self._probe(probes.only(slice(first, first + MAX_PROBES)), mark, ignoring)
            for first in range(0, len(probes), MAX_PROBES)
        ]
        if not parts:
            none = np.empty(0, np.uint64)
            return BucketReading(documents, probes, np.empty(0, np.int64), none, none, [], None)
        matched = np.concatenate([part.probes + n * MAX_PROBES for n, part in enumerate(parts)])
        entries = np.concatenate([part.entries for part in parts])
        too_unequal = probes.ruled_out(matched, np.concatenate([part.tags for part in parts]))
        capped, cut = (
            np.unique(probes.rows[np.concatenate(flags)]).tolist()
            for flags in ([part.capped for part in parts], [part.cut for part in parts])
        )
        # The first mark is the oldest: what came after it, to whatever bucket, is read again by it.
        rows, keys = probes.rows[matched], probes.keys[matched]
        reading = BucketReading(documents, probes, rows, keys, entries, capped, parts[0].mark, cut)
        return reading if too_unequal is None else reading.without(too_unequal)

    async def _probe(self, probes: Probes, mark: int | None, ignoring: Collection[int]) -> ProbeMatches:
        limit = ReadLimit(probes.rows, self._limits.max_postings, MATCHES * self._limits.max_candidates)
        keys, tags, radii, any_bits = probes.keys, probes.tags, probes.radii, probes.length_bits
        if isinstance(self._store, ProbingStore):
            matches = await self._store.probe(
                keys, tags, radii, any_bits=any_bits, since=mark, limit=limit, ignoring=ignoring
            )
            return matches.within(limit)
        postings = await self._store.read(keys, since=mark, limit=limit, ignoring=ignoring)
        begins = np.cumsum(postings.counts) - postings.counts
        read = Bucketfuls(begins, postings.counts, postings.entries, postings.tags)
        probe_of, entries, found, cut = read.matching(keys, tags, radii, any_bits, limit)
        return ProbeMatches(probe_of, entries, found, postings.mark, postings.capped, cut)

    async def find(self, reading: BucketReading, subjects: Mapping[int, EntryRecord]) -> Neighbourhood:
        """Fetch what a reading found for each subject, and compare. Entries of one owner are versions of one document,
        never alike."""
        documents = reading.documents
        sets: dict[int, CandidateSet] = {}
        for rows_of, reason in ((reading.capped, Degraded.BUCKET_CAPPED), (reading.cut, Degraded.CANDIDATES_CAPPED)):
            for row in rows_of:
                if documents[row] in subjects:
                    sets.setdefault(documents[row], CandidateSet()).degraded.add(reason)
        for row, ruled_out in _by_row(*reading.ruled_out):
            if documents[row] in subjects:
                sets.setdefault(documents[row], CandidateSet()).ruled_out = ruled_out
        own = np.array([subjects[i].entry if i in subjects else 0 for i in documents], np.uint64)
        of_others = reading.entries != own[reading.rows]
        if len(subjects) < len(documents):
            of_others &= np.array([i in subjects for i in documents], np.bool_)[reading.rows]
        rows, keys, entries = reading.rows[of_others], reading.keys[of_others], reading.entries[of_others]
        if not len(entries):
            return Neighbourhood(sets, [], (keys, entries))
        most = self._limits.max_candidates
        records = [subjects.get(i, _NOBODY) for i in documents]
        comparison = CandidateComparison(self._store, self._method, self._profile, records, most)
        for some in _parts(rows):
            ranking = rank(rows[some], keys[some], entries[some], most)
            comparison.full.update(ranking.crowded)
            nth = nth_of_row(ranking.rows)
            await comparison.compare(ranking.rows[nth < most], ranking.entries[nth < most])
            # Some of the best may be gone, or versions of the document itself: then others have their places.
            others = (nth >= most) & (comparison.counts[ranking.rows] < most)
            comparison.full.update(ranking.rows[(nth >= most) & ~others].tolist())
            await comparison.compare(ranking.rows[others], ranking.entries[others])
        for row, candidates in comparison.candidates.items():
            sets.setdefault(documents[row], CandidateSet()).candidates = candidates
        for row in comparison.full:
            sets.setdefault(documents[row], CandidateSet()).degraded.add(Degraded.CANDIDATES_CAPPED)
        alike = [(documents[row], other, likeness) for row, other, likeness in comparison.alike]
        missing = np.array(sorted(comparison.missing), np.uint64)
        dangling = np.isin(entries, missing) if missing.size else np.zeros(len(entries), np.bool_)
        dead, duplicates = list(comparison.dead.values()), list(comparison.duplicates.values())
        return Neighbourhood(sets, alike, (keys[dangling], entries[dangling]), dead, duplicates)


def _by_row(rows: NDArray[np.int64], entries: Keys) -> Iterator[tuple[int, Keys]]:
    """The entries of each row. Rows ascend."""
    distinct, first = np.unique(rows, return_index=True)
    return zip(distinct.tolist(), np.split(entries, first[1:]), strict=True) if rows.size else iter(())


def _parts(rows: NDArray[np.int64]) -> Iterator[slice]:
    """Cut what matches so that a document is not divided, and a part fits into a core's cache."""
    first = 0
    while first < rows.size:
        last = min(first + MATCHED, rows.size)
        if last < rows.size:
            begin = int(np.searchsorted(rows, rows[last]))  # of the document that would be divided
            last = begin if begin > first else int(np.searchsorted(rows, rows[last], side="right"))
        yield slice(first, last)
        first = last
