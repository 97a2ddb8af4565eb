"""What documents meet in their buckets: postings, then records, then what is alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gate.core.bands import Probes
from gate.core.distinct import standing_for
from gate.core.method_registry import Method
from gate.core.profile import Profile
from gate.core.verify import Likeness, verify
from gate.index.store import Answering, Answers, Keys, Record, Store
from gate.limits import Limits
from gate.model import Degraded

# Probed at a time. A wide radius has a thousand probes a document, with a dozen postings each: more would neither fit
# into the memory that a batch may take nor into a core's cache. Usual profiles have fewer in a whole batch.
PROBES = 16_384
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(slots=True)
class Sight:
    """What one document saw."""

    alike: dict[int, tuple[Record, Likeness]] = field(default_factory=dict)
    candidates: set[int] = field(default_factory=set)
    degraded: set[Degraded] = field(default_factory=set)

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


@dataclass(frozen=True, slots=True)
class Reading:
    """Postings that answer the probes of some documents: posting i, in bucket `keys[i]`, answers `who[rows[i]]`."""

    who: Sequence[int]
    probes: Probes
    rows: NDArray[np.int64]
    keys: Keys
    entries: Keys
    capped: list[int]  # rows of documents that may not have been shown everything
    mark: int | None  # None: none of the documents has a bucket

    def probes_of(self, who: Sequence[int]) -> Probes | None:
        """The probes of some of the documents, in that order; None if not all of them were looked at."""
        row_of = {i: row for row, i in enumerate(self.who)}
        if not row_of.keys() >= set(who):
            return None
        rows = np.full(len(self.who), -1)
        rows[[row_of[i] for i in who]] = np.arange(len(who))
        rows = rows[self.probes.rows]
        some = self.probes.only(np.flatnonzero(rows >= 0))
        return replace(some, rows=rows[rows >= 0])


@dataclass(frozen=True, slots=True)
class Meeting:
    """Who met whom: sights without likeness yet, the pairs that are alike, the dead, and postings without a record."""

    sights: dict[int, Sight]  # of those who met anybody
    alike: list[tuple[int, Record, Likeness]]
    litter: tuple[Keys, Keys]
    dead: list[Record] = field(default_factory=list)


class Neighbours:
    """Reads buckets and tells who is alike. It changes nothing in the store."""

    def __init__(self, store: Store, method: Method, profile: Profile, limits: Limits) -> None:
        self._store = store
        self._method = method
        self._profile = profile
        self._limits = limits

    async def read(self, bodies: Mapping[int, bytes], *, since: Reading | None = None) -> Reading:
        """Read every bucket where something alike may be kept, or what came to it since an earlier reading of it."""
        who = list(bodies)
        mark = None if since is None else since.mark
        probes = None if since is None else since.probes_of(who)
        if probes is None:
            probes = self._method.probes(list(bodies.values()))
        parts = [
            await self._answers(probes.only(slice(first, first + PROBES)), mark)
            for first in range(0, len(probes), PROBES)
        ]
        if not parts:
            none = np.empty(0, np.uint64)
            return Reading(who, probes, np.empty(0, np.int64), none, none, [], None)
        met = np.concatenate([part.probes + n * PROBES for n, part in enumerate(parts)])
        entries = np.concatenate([part.entries for part in parts])
        capped = np.unique(probes.rows[np.concatenate([part.capped for part in parts])]).tolist()
        # The first mark is the oldest: what came after it, to whatever bucket, is read again by it.
        return Reading(who, probes, probes.rows[met], probes.keys[met], entries, capped, parts[0].mark)

    async def _answers(self, probes: Probes, mark: int | None) -> Answers:
        if isinstance(self._store, Answering):
            return await self._store.answer(probes.keys, probes.tags, probes.radii, since=mark)
        postings = await self._store.read(probes.keys, since=mark)
        differing = np.bitwise_count(postings.tags ^ np.repeat(probes.tags, postings.counts))
        close = np.flatnonzero(differing <= np.repeat(probes.radii, postings.counts))
        probe_of = np.searchsorted(np.cumsum(postings.counts), close, side="right")
        return Answers(probe_of, postings.entries[close], postings.mark, postings.capped)

    async def meet(self, reading: Reading, viewers: Mapping[int, Record]) -> Meeting:
        """What is alike to each viewer. Entries of one owner are versions of one document, never alike."""
        who = reading.who
        sights: dict[int, Sight] = {}
        for row in reading.capped:
            if who[row] in viewers:
                sights[who[row]] = Sight(degraded={Degraded.BUCKET_CAPPED})
        own = np.array([viewers[i].entry if i in viewers else 0 for i in who], np.uint64)
        kept = reading.entries != own[reading.rows]
        if len(viewers) < len(who):
            kept &= np.array([i in viewers for i in who], np.bool_)[reading.rows]
        rows, keys, entries = reading.rows[kept], reading.keys[kept], reading.entries[kept]
        if not len(entries):
            return Meeting(sights, [], (keys, entries))
        # Who is alike is met in many buckets: once is enough.
        standing = standing_for(entries * _MIX ^ rows.view(np.uint64), np.array([0, len(entries)]))
        repeated = (entries[standing] == entries) & (rows[standing] == rows) & (standing != np.arange(len(entries)))
        left = self._nearest_first(np.flatnonzero(~repeated), rows, standing)
        known: dict[int, Record | None] = {}
        pairs: dict[tuple[int, int], Record] = {}
        most = self._limits.max_candidates
        while left.size:
            # No more records are fetched than may be compared: of a crowd, most never are.
            chosen, left = left, left[:0]
            if np.bincount(rows[chosen]).max() > most:  # then they stand in the order of rows
                nth = np.arange(chosen.size) - np.searchsorted(rows[chosen], rows[chosen])
                chosen, left = chosen[nth < most], chosen[nth >= most]
            fresh = [entry for entry in np.unique(entries[chosen]).tolist() if entry not in known]
            known |= await self._known(fresh)
            for row, entry in dict.fromkeys(zip(rows[chosen].tolist(), entries[chosen].tolist(), strict=True)):
                i, other = who[row], known[entry]
                if (
                    other is None
                    or other.dead
                    or other.duplicate_of
                    or other.owner.document_id == viewers[i].owner.document_id
                ):
                    continue
                sight = sights.setdefault(i, Sight())
                if len(sight.candidates) >= most:
                    sight.degraded.add(Degraded.CANDIDATES_CAPPED)
                    continue
                sight.candidates.add(entry)
                pairs[i, entry] = other
            full = [row for row in np.unique(rows[left]).tolist() if _is_full(sights.get(who[row]), most)]
            for row in full:
                sights[who[row]].degraded.add(Degraded.CANDIDATES_CAPPED)
            left = left[~np.isin(rows[left], full)]
        found = verify(
            self._method, self._profile, [viewers[i].body for i, _ in pairs], [other.body for other in pairs.values()]
        )
        alike = [(i, other, how) for ((i, _), other), how in zip(pairs.items(), found, strict=True) if how is not None]
        missing = [entry for entry, record in known.items() if record is None]
        gone = np.isin(entries, np.array(missing, np.uint64)) if missing else np.zeros(len(entries), np.bool_)
        dead = [record for record in known.values() if record is not None and record.dead]
        return Meeting(sights, alike, (keys[gone], entries[gone]), dead)

    def _nearest_first(
        self, places: NDArray[np.int64], rows: NDArray[np.int64], standing: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Where somebody met more than are compared, those first that it met in the most buckets: who shares a phrase
        with everybody would otherwise be shown anybody but its own copy."""
        met = rows[places]
        if not met.size or np.bincount(met).max() <= self._limits.max_candidates:
            return places
        times = np.bincount(standing, minlength=standing.size)[places]
        return places[np.lexsort((-times, met))]

    async def _known(self, entries: list[int]) -> dict[int, Record | None]:
        return dict(zip(entries, await self._store.records(entries), strict=True))


def _is_full(sight: Sight | None, most: int) -> bool:
    return sight is not None and len(sight.candidates) >= most
