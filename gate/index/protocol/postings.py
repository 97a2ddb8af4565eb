"""The postings that a record keeps in buckets, and the postings of others that match a document's probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gate.core.bands import Probes
from gate.core.method_registry import Method
from gate.index.store import EntryRecord, Keys, ProbeMatches, ProbingStore, Store

# Probed at a time. A wide radius has a thousand probes a document, with a dozen postings each: more would neither fit
# into the memory that a batch may take nor into a core's cache. Usual profiles have fewer in a whole batch.
MAX_PROBES = 16_384


def postings_of(method: Method, records: Sequence[EntryRecord]) -> tuple[Keys, Keys, Keys]:
    """Keys, entries and tags of everything that the records keep in buckets."""
    rows: Probes = method.postings([record.body for record in records])
    entries = np.array([record.entry for record in records], np.uint64)
    return rows.keys, entries[rows.rows], rows.tags


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


async def read_buckets(
    store: Store, method: Method, bodies: Mapping[int, bytes], *, since: BucketReading | None = None
) -> BucketReading:
    """Read every bucket where something alike may be kept, or what was appended to it since an earlier reading."""
    documents = list(bodies)
    mark = None if since is None else since.mark
    probes = None if since is None else since.probes_of(documents)
    if probes is None:
        probes = method.probes(list(bodies.values()))
    parts = [
        await _probe(store, probes.only(slice(first, first + MAX_PROBES)), mark)
        for first in range(0, len(probes), MAX_PROBES)
    ]
    if not parts:
        none = np.empty(0, np.uint64)
        return BucketReading(documents, probes, np.empty(0, np.int64), none, none, [], None)
    matched = np.concatenate([part.probes + n * MAX_PROBES for n, part in enumerate(parts)])
    entries = np.concatenate([part.entries for part in parts])
    capped = np.unique(probes.rows[np.concatenate([part.capped for part in parts])]).tolist()
    # The first mark is the oldest: what came after it, to whatever bucket, is read again by it.
    rows, keys = probes.rows[matched], probes.keys[matched]
    return BucketReading(documents, probes, rows, keys, entries, capped, parts[0].mark)


async def _probe(store: Store, probes: Probes, mark: int | None) -> ProbeMatches:
    if isinstance(store, ProbingStore):
        return await store.probe(probes.keys, probes.tags, probes.radii, since=mark)
    postings = await store.read(probes.keys, since=mark)
    differing = np.bitwise_count(postings.tags ^ np.repeat(probes.tags, postings.counts))
    close = np.flatnonzero(differing <= np.repeat(probes.radii, postings.counts))
    probe_of = np.searchsorted(np.cumsum(postings.counts), close, side="right")
    return ProbeMatches(probe_of, postings.entries[close], postings.mark, postings.capped)
