"""A look-up by fingerprint that goes through all fingerprints: for distances that no bucket brings together cheaply.

Each fingerprint is the tag of its posting in the first table of blocks, so the scan reads that table alone, counts
differing bits of whole batches, and fetches the records of the nearest only.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import numpy as np

from gate.core.judge import verify
from gate.core.method_registry import Method
from gate.core.profile import Profile
from gate.errors import Stale
from gate.index.protocol.candidates import CandidateSet
from gate.index.scan import ScannableStore
from gate.index.store import STALE_ATTEMPTS, retry_stale
from gate.model import Degraded

FIRST_BLOCK_TABLE = 0


class FingerprintScan:
    """One scan, step by step: a step takes the store for milliseconds, and other work may come in between."""

    def __init__(
        self, store: ScannableStore, fingerprint: int, radius: int, *, max_candidates: int, max_scanned: int
    ) -> None:
        self._store = store
        self._fingerprint = np.uint64(fingerprint)
        self._radius = radius
        self._most = max_candidates
        self._max_scanned = max_scanned
        self._attempts = 0
        self._begin()

    def _begin(self) -> None:
        self._rows = self._store.scan().postings(FIRST_BLOCK_TABLE)
        self.scanned = 0
        self.complete = True  # False: there were more fingerprints than may be scanned
        self._near: list[tuple[int, int]] = []  # distance and entry
        self._capped = False

    async def step(self) -> bool:
        """Scan some more. False: the scan is at its end."""
        try:
            rows = await anext(self._rows, None)
        except Stale:  # a generation of the index began or ended: what was scanned may be gone
            self._attempts += 1
            if self._attempts == STALE_ATTEMPTS:
                raise
            self._begin()
            return True
        if rows is None:
            return False
        _, entries, tags = rows
        room = self._max_scanned - self.scanned
        if len(tags) > room:
            entries, tags, self.complete = entries[:room], tags[:room], False
            if isinstance(self._rows, AsyncGenerator):
                await self._rows.aclose()
        self.scanned += len(tags)
        distances = np.bitwise_count(tags ^ self._fingerprint)
        near = np.flatnonzero(distances <= self._radius)
        self._near += zip(distances[near].tolist(), entries[near].tolist(), strict=True)
        if len(self._near) > 2 * self._most:
            self._keep_nearest()
        return self.complete

    def _keep_nearest(self) -> None:
        nearest = sorted(set(self._near))  # a posting may be scanned twice
        self._capped |= len(nearest) > self._most
        self._near = nearest[: self._most]

    async def found(self, method: Method, profile: Profile, body: bytes) -> CandidateSet:
        """What is alike to a body with that fingerprint, of the nearest that were scanned."""
        self._keep_nearest()
        result = await compare_entries(self._store, method, profile, body, [entry for _, entry in self._near])
        if self._capped:
            result.degraded.add(Degraded.CANDIDATES_CAPPED)
        return result


async def compare_entries(
    store: ScannableStore, method: Method, profile: Profile, body: bytes, entries: Sequence[int]
) -> CandidateSet:
    """Compare a body with some entries, whatever brought them together."""
    records = await retry_stale(lambda: store.records(entries)) if entries else []
    living = [record for record in records if record is not None and not record.dead and not record.duplicate_of]
    result = CandidateSet(candidates={record.entry for record in living})
    verified = verify(method, profile, [body] * len(living), [record.body for record in living])
    for record, likeness in zip(living, verified, strict=True):
        if likeness is not None:
            result.alike[record.entry] = (record, likeness)
    return result
