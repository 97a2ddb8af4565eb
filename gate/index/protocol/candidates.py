"""The candidates of each document: entries whose postings match its probes, read, fetched and compared with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gate.core.bands import Probes
from gate.core.judge import Likeness, verify
from gate.core.method_registry import Method
from gate.core.profile import Profile
from gate.core.shingles import representatives
from gate.index.store import EntryRecord, Keys, ProbeMatches, ProbingStore, Store
from gate.limits import Limits
from gate.model import Degraded

# Probed at a time. A wide radius has a thousand probes a document, with a dozen postings each: more would neither fit
# into the memory that a batch may take nor into a core's cache. Usual profiles have fewer in a whole batch.
MAX_PROBES = 16_384
_MIX = np.uint64(0x9E3779B97F4A7C15)


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
    capped: list[int]  # rows of documents for which a bucket was longer than the limit
    mark: int | None  # None: none of the documents has a bucket
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

    async def read(self, bodies: Mapping[int, bytes], *, since: BucketReading | None = None) -> BucketReading:
        """Read every bucket where something alike may be kept, or what was appended to it since an earlier reading."""
        documents = list(bodies)
        mark = None if since is None else since.mark
        probes = None if since is None else since.probes_of(documents)
        if probes is None:
            probes = self._method.probes(list(bodies.values()))
        parts = [
            await self._probe(probes.only(slice(first, first + MAX_PROBES)), mark)
            for first in range(0, len(probes), MAX_PROBES)
        ]
        if not parts:
            none = np.empty(0, np.uint64)
            return BucketReading(documents, probes, np.empty(0, np.int64), none, none, [], None)
        matched = np.concatenate([part.probes + n * MAX_PROBES for n, part in enumerate(parts)])
        entries = np.concatenate([part.entries for part in parts])
        too_unequal = probes.ruled_out(matched, np.concatenate([part.tags for part in parts]))
        capped = np.unique(probes.rows[np.concatenate([part.capped for part in parts])]).tolist()
        # The first mark is the oldest: what came after it, to whatever bucket, is read again by it.
        rows, keys = probes.rows[matched], probes.keys[matched]
        reading = BucketReading(documents, probes, rows, keys, entries, capped, parts[0].mark)
        return reading if too_unequal is None else reading.without(too_unequal)

    async def _probe(self, probes: Probes, mark: int | None) -> ProbeMatches:
        if isinstance(self._store, ProbingStore):
            return await self._store.probe(
                probes.keys, probes.tags, probes.radii, any_bits=probes.length_bits, since=mark
            )
        postings = await self._store.read(probes.keys, since=mark)
        differing = (postings.tags ^ np.repeat(probes.tags, postings.counts)) >> np.uint64(probes.length_bits)
        close = np.flatnonzero(np.bitwise_count(differing) <= np.repeat(probes.radii, postings.counts))
        probe_of = np.searchsorted(np.cumsum(postings.counts), close, side="right")
        return ProbeMatches(probe_of, postings.entries[close], postings.tags[close], postings.mark, postings.capped)

    async def find(self, reading: BucketReading, subjects: Mapping[int, EntryRecord]) -> Neighbourhood:
        """Fetch what a reading found for each subject, and compare. Entries of one owner are versions of one document,
        never alike."""
        documents = reading.documents
        sets: dict[int, CandidateSet] = {}
        for row in reading.capped:
            if documents[row] in subjects:
                sets[documents[row]] = CandidateSet(degraded={Degraded.BUCKET_CAPPED})
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
        # What is alike is found in many buckets: it is compared once.
        same_as = representatives(entries * _MIX ^ rows.view(np.uint64), np.array([0, len(entries)]))
        repeated = (entries[same_as] == entries) & (rows[same_as] == rows) & (same_as != np.arange(len(entries)))
        most = self._limits.max_candidates
        remaining = _nearest_first(np.flatnonzero(~repeated), rows, same_as, most)
        known: dict[int, EntryRecord | None] = {}
        pairs: dict[tuple[int, int], EntryRecord] = {}
        while remaining.size:
            # No more records are fetched than may be compared: of a crowded bucket, most never are.
            current, remaining = remaining, remaining[:0]
            if np.bincount(rows[current]).max() > most:  # then they are in the order of rows
                nth = np.arange(current.size) - np.searchsorted(rows[current], rows[current])
                current, remaining = current[nth < most], current[nth >= most]
            fresh = [entry for entry in np.unique(entries[current]).tolist() if entry not in known]
            known.update(zip(fresh, await self._store.records(fresh), strict=True))
            for row, entry in dict.fromkeys(zip(rows[current].tolist(), entries[current].tolist(), strict=True)):
                i, other = documents[row], known[entry]
                if (
                    other is None
                    or other.dead
                    or other.duplicate_of
                    or other.owner.document_id == subjects[i].owner.document_id
                ):
                    continue
                candidate_set = sets.setdefault(i, CandidateSet())
                if len(candidate_set.candidates) >= most:
                    candidate_set.degraded.add(Degraded.CANDIDATES_CAPPED)
                    continue
                candidate_set.candidates.add(entry)
                pairs[i, entry] = other
            full = [row for row in np.unique(rows[remaining]).tolist() if _is_full(sets.get(documents[row]), most)]
            for row in full:
                sets[documents[row]].degraded.add(Degraded.CANDIDATES_CAPPED)
            remaining = remaining[~np.isin(rows[remaining], full)]
        verified = verify(
            self._method, self._profile, [subjects[i].body for i, _ in pairs], [other.body for other in pairs.values()]
        )
        alike = [
            (i, other, likeness)
            for ((i, _), other), likeness in zip(pairs.items(), verified, strict=True)
            if likeness is not None
        ]
        missing = [entry for entry, record in known.items() if record is None]
        dangling = np.isin(entries, np.array(missing, np.uint64)) if missing else np.zeros(len(entries), np.bool_)
        there = [record for record in known.values() if record is not None]
        dead = [record for record in there if record.dead]
        duplicates = [record for record in there if record.duplicate_of and not record.dead]
        return Neighbourhood(sets, alike, (keys[dangling], entries[dangling]), dead, duplicates)


def _by_row(rows: NDArray[np.int64], entries: Keys) -> Iterator[tuple[int, Keys]]:
    """The entries of each row. Rows ascend."""
    distinct, first = np.unique(rows, return_index=True)
    return zip(distinct.tolist(), np.split(entries, first[1:]), strict=True) if rows.size else iter(())


def _nearest_first(
    places: NDArray[np.int64], rows: NDArray[np.int64], same_as: NDArray[np.int32], most: int
) -> NDArray[np.int64]:
    """Where a document has more candidates than are compared, those first that share the most buckets with it:
    a document with a phrase that many share would otherwise be compared with any of them but its own copy."""
    owners = rows[places]
    if not owners.size or np.bincount(owners).max() <= most:
        return places
    times = np.bincount(same_as, minlength=same_as.size)[places]
    return places[np.lexsort((-times, owners))]


def _is_full(candidate_set: CandidateSet | None, most: int) -> bool:
    return candidate_set is not None and len(candidate_set.candidates) >= most
