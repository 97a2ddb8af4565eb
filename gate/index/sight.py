"""What documents meet in their buckets: postings, then records, then what is alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gate.core.bands import Probes
from gate.core.methods import Method
from gate.core.profile import Profile
from gate.core.verify import Likeness, verify
from gate.index.store import Keys, Postings, Record, Store
from gate.limits import Limits
from gate.model import Degraded


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
    """The buckets of some documents as they were at one time: `who` are the documents, in the order of the rows."""

    who: Sequence[int]
    probes: Probes
    postings: Postings | None  # None: none of the documents has a bucket


@dataclass(frozen=True, slots=True)
class Meeting:
    """Who met whom: sights without likeness yet, the pairs that are alike, and postings without a record."""

    sights: dict[int, Sight]
    alike: list[tuple[int, Record, Likeness]]
    litter: tuple[Keys, Keys]


class Neighbours:
    """Reads buckets and tells who is alike. It changes nothing in the store."""

    def __init__(self, store: Store, method: Method, profile: Profile, limits: Limits) -> None:
        self._store = store
        self._method = method
        self._profile = profile
        self._limits = limits

    async def read(self, bodies: Mapping[int, bytes], *, since: Reading | None = None) -> Reading:
        """Read every bucket where something alike may be kept, or what came to it since an earlier reading of it."""
        probes = self._method.probes(list(bodies.values()))
        if not len(probes):
            return Reading(list(bodies), probes, None)
        mark = None if since is None or since.postings is None else since.postings.mark
        return Reading(list(bodies), probes, await self._store.read(probes.keys, since=mark))

    async def meet(self, reading: Reading, viewers: Mapping[int, Record]) -> Meeting:
        """What is alike to each viewer. Entries of one owner are versions of one document, never alike."""
        sights = {i: Sight() for i in viewers}
        probes, postings = reading.probes, reading.postings
        nothing = Meeting(sights, [], (np.empty(0, np.uint64), np.empty(0, np.uint64)))
        if postings is None or not viewers:
            return nothing
        for row in set(probes.rows[postings.capped].tolist()):
            if reading.who[row] in viewers:
                sights[reading.who[row]].degraded.add(Degraded.BUCKET_CAPPED)

        probe_of = np.repeat(np.arange(len(probes)), postings.counts)
        close = np.bitwise_count(postings.tags ^ probes.tags[probe_of]) <= probes.radii[probe_of]
        own = np.array([viewers[i].entry if i in viewers else 0 for i in reading.who], np.uint64)
        watched = np.array([i in viewers for i in reading.who], np.bool_)
        rows = probes.rows[probe_of]
        kept = np.flatnonzero(close & watched[rows] & (postings.entries != own[rows]))
        if not len(kept):
            return nothing
        rows, entries = rows[kept], postings.entries[kept]
        known = await self._known(np.unique(entries).tolist())

        pairs: dict[tuple[int, int], Record] = {}
        for row, entry in dict.fromkeys(zip(rows.tolist(), entries.tolist(), strict=True)):
            i, other = reading.who[row], known.get(entry)
            if (
                other is None
                or other.dead
                or other.duplicate_of
                or other.owner.document_id == viewers[i].owner.document_id
            ):
                continue
            if len(sights[i].candidates) >= self._limits.max_candidates:
                sights[i].degraded.add(Degraded.CANDIDATES_CAPPED)
                continue
            sights[i].candidates.add(entry)
            pairs[i, entry] = other
        found = verify(
            self._method, self._profile, [viewers[i].body for i, _ in pairs], [other.body for other in pairs.values()]
        )
        alike = [(i, other, how) for ((i, _), other), how in zip(pairs.items(), found, strict=True) if how is not None]
        gone = np.isin(entries, np.array([e for e in known if known[e] is None], np.uint64))
        return Meeting(sights, alike, (probes.keys[probe_of[kept[gone]]], entries[gone]))

    async def _known(self, entries: list[int]) -> dict[int, Record | None]:
        return dict(zip(entries, await self._store.records(entries), strict=True))
