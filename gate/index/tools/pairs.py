"""All pairs of documents that are alike, batch by batch: each document is looked up as if it came now.

Where an index keeps all documents, every pair is found, once. Where it keeps originals, those are not alike among each
other, unless the threshold is lower than the one they came in by; and each refused copy is paired with its originals.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gate.core.judge import EXACT, Likeness, best_first
from gate.core.method_parameters import MAX_RADIUS, Fingerprinted
from gate.core.method_registry import Method
from gate.core.profile import Profile, decides_by_bits
from gate.errors import ConfigError
from gate.index.protocol.candidates import CandidateSet
from gate.index.protocol.claim import Index
from gate.index.scan import Document, ScannableStore
from gate.index.store import EntryRecord, Keys, retry_stale
from gate.index.tools.fingerprint_scan import FIRST_BLOCK_TABLE, compare_entries
from gate.limits import Limits
from gate.model import Degraded

BATCH = 256  # documents that are looked up at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two documents that are alike. `likeness` is how the first relates to the second."""

    document_id: str
    other_id: str
    likeness: Likeness


@dataclass(frozen=True, slots=True, kw_only=True)
class PairBatch:
    """The pairs of some documents, the best of each first."""

    pairs: list[Pair]
    documents: int  # that were looked up
    capped: int  # of these, how many were compared with a part of their candidates only


class PairFinder:
    """Looks up every document of an index."""

    def __init__(self, store: ScannableStore, index: Index, method: Method, profile: Profile, limits: Limits) -> None:
        """`index` is over the same store, method and profile."""
        self._store = store
        self._index = index
        self._method = method
        self._profile = profile
        self._limits = limits
        self._fingerprints: tuple[Keys, Keys] | None = None  # entries and fingerprints, where they are scanned

    async def batches(self) -> AsyncIterator[PairBatch]:
        """ConfigError: more fingerprints would have to be scanned for each document than may be."""
        parameters = self._profile.method
        if isinstance(parameters, Fingerprinted) and decides_by_bits(self._profile) and parameters.radius > MAX_RADIUS:
            self._fingerprints = await retry_stale(self._read_fingerprints)
        cursor = ""
        while True:
            part = await retry_stale(partial(self._store.scan().documents_after, cursor, BATCH))
            if part.documents:
                yield await retry_stale(partial(self._batch, part.documents))
            if not (cursor := part.cursor):
                return

    async def _read_fingerprints(self) -> tuple[Keys, Keys]:
        """All of them: sixteen bytes for each document."""
        entries, tags = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
        count, most = 0, self._limits.max_scanned
        async for _, some, fingerprints in self._store.scan().postings(FIRST_BLOCK_TABLE):
            count += len(some)
            if count > most:
                raise ConfigError(
                    f"threshold: pairs so distant are found by a scan, and there are more fingerprints than "
                    f"limits.max_scanned = {most}; give 0.75 or more, or raise that limit"
                )
            entries.append(some)
            tags.append(fingerprints)
        return np.concatenate(entries), np.concatenate(tags)

    async def _batch(self, documents: Sequence[Document]) -> PairBatch:
        held = [(document.document_id, one.content) for document in documents for one in document.contents]
        contents = list(dict.fromkeys(content for _, content in held))
        entries = dict(zip(contents, await self._store.contents(contents), strict=True))
        numbers = [entry for entry in entries.values() if entry]
        records = dict(zip(numbers, await self._store.records(numbers), strict=True))
        own = {content: records.get(entry or 0) for content, entry in entries.items()}
        found = dict(zip(contents, await self._alike([one.body if one else b"" for one in own.values()]), strict=True))
        pairs: list[Pair] = []
        capped = 0
        for document in documents:
            mine = [one.content for one in document.contents]
            capped += any(Degraded.CANDIDATES_CAPPED in found[content].degraded for content in mine)
            pairs += self._pairs_of(document.document_id, [(own[content], found[content]) for content in mine])
        return PairBatch(pairs=pairs, documents=len(documents), capped=capped)

    async def _alike(self, bodies: Sequence[bytes]) -> list[CandidateSet]:
        if self._fingerprints is None:
            return await self._index.find_alike(bodies)
        return [await self._near(body) if body else CandidateSet() for body in bodies]

    async def _near(self, body: bytes) -> CandidateSet:
        assert self._fingerprints is not None  # noqa: S101 - then buckets are probed
        assert isinstance(self._profile.method, Fingerprinted)  # noqa: S101
        entries, fingerprints = self._fingerprints
        distances = np.bitwise_count(fingerprints ^ np.uint64(self._method.fingerprint(body) or 0))
        near = np.flatnonzero(distances <= self._profile.method.radius)
        nearest = entries[near[np.argsort(distances[near], kind="stable")]]
        most = self._limits.max_candidates
        found = await compare_entries(self._store, self._method, self._profile, body, nearest[:most].tolist())
        if len(nearest) > most:
            found.degraded.add(Degraded.CANDIDATES_CAPPED)
        return found

    @staticmethod
    def _pairs_of(document_id: str, contents: Sequence[tuple[EntryRecord | None, CandidateSet]]) -> list[Pair]:
        """The pairs of one document. Of two that find each other, the one with the higher id names the pair."""
        best: dict[str, Likeness] = {}
        for own, found in contents:
            alike = [pair for pair in found.alike.values() if own is None or pair[0].entry != own.entry]
            if own is not None and not own.dead and own.ticket:
                alike.append((own, EXACT))
            holds = own is not None and any(holder.document_id == document_id for holder in own.holders)
            is_found = own is not None and holds and bool(own.ticket)
            for record, likeness in alike:
                for holder in record.holders if record.ticket else ():
                    other_id = holder.document_id
                    if other_id == document_id or (is_found and other_id > document_id):
                        continue
                    if other_id not in best or best_first(likeness) < best_first(best[other_id]):
                        best[other_id] = likeness
        ordered = sorted(best.items(), key=lambda item: (*best_first(item[1]), item[0]))
        return [Pair(document_id=document_id, other_id=other, likeness=likeness) for other, likeness in ordered]
