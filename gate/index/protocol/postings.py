"""The postings that records keep in buckets, and their removal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gate.core.bands import Probes
from gate.core.method_registry import Method
from gate.index.store import EntryRecord, Keys, Store


def postings_of(method: Method, records: Sequence[EntryRecord]) -> tuple[Keys, Keys, Keys]:
    """Keys, entries and tags of everything that the records keep in buckets."""
    rows: Probes = method.postings([record.body for record in records])
    entries = np.array([record.entry for record in records], np.uint64)
    return rows.keys, entries[rows.rows], rows.tags


async def remove_postings_of(store: Store, method: Method, records: Sequence[EntryRecord]) -> None:
    """Remove everything that the records may keep in buckets."""
    if records:
        keys, entries, _ = postings_of(method, records)
        if len(keys):
            await store.remove_postings(keys, entries)
