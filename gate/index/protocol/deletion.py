"""Taking documents and entries out of the index. Anybody may do any of it, any number of times, and stop anywhere.

    1. recall     the document's answers are taken back: from here on it is nobody's answer that nothing stands for
    2. disown     it leaves the holders of its contents' entries; an entry dies with its last holder
    3. clear      what pointed to a dead entry goes first, the entry's record last
    4. forget     the document's own record goes, unless the document was checked in again meanwhile: then once more

An entry is dead before its postings are withdrawn, so whoever appends to it too late is refused a registration and
takes its postings back; and its record is there until they are gone, so whoever takes over knows where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gate.core.bands import Probes
from gate.core.method_registry import Method
from gate.index.protocol.stale import retry_stale
from gate.index.store import Keys, Record, Store


class Version(NamedTuple):
    """A content that a document is known by from now on, and its ticket (None: it needs none, it is empty)."""

    document_id: str
    content: bytes
    ticket: int | None


def postings_of(method: Method, records: Sequence[Record]) -> tuple[Keys, Keys, Keys]:
    """Keys, entries and tags of everything that the records keep in buckets."""
    kept: Probes = method.postings([record.body for record in records])
    own = np.array([record.entry for record in records], np.uint64)
    return kept.keys, own[kept.rows], kept.tags


async def delete(store: Store, method: Method, document_ids: Sequence[str]) -> list[bool]:
    """Let documents go, and every entry with its last holder. False: there was no such document."""
    known: set[str] = set()
    leaving = list(dict.fromkeys(document_ids))

    async def left() -> list[str]:
        """One round; who was known in one that is begun again is known, though it may be gone."""
        held = await store.recall(leaving)
        holdings = [(name, contents) for name, contents in zip(leaving, held, strict=True) if contents]
        known.update(name for name, _ in holdings)
        owned = [(name, one.content) for name, contents in holdings for one in contents]
        entries = await store.contents([content for _, content in owned]) if owned else []
        owning = [(entry, name) for (name, _), entry in zip(owned, entries, strict=True) if entry]
        if owning:
            await clear(store, method, await store.disown(owning))
        gone = await store.forget(holdings) if holdings else []
        return [name for (name, _), is_gone in zip(holdings, gone, strict=True) if not is_gone]

    while leaving:
        leaving = await retry_stale(left)
    return [document_id in known for document_id in document_ids]


async def retire(store: Store, method: Method, latest: Sequence[Version]) -> None:
    """Take the earlier versions of documents out of the index; their answers stay. A version not registered yet, or one
    that drew a higher ticket, is the later one and stays: were two that race to retire each other, none would be
    left."""
    held = await store.documents([version.document_id for version in latest]) if latest else []
    others = [
        (version, one.content)
        for version, contents in zip(latest, held, strict=True)
        for one in contents
        if one.content != version.content
    ]
    entries = await store.contents([content for _, content in others]) if others else []
    there = [entry for entry in entries if entry]
    records = dict(zip(there, await store.records(there), strict=True)) if there else {}
    holdings = [
        (entry, version.document_id)
        for (version, _), entry in zip(others, entries, strict=True)
        if entry and (record := records[entry]) is not None and (record.dead or _is_before(record, version.ticket))
    ]
    if holdings:
        await clear(store, method, await store.disown(holdings))


def _is_before(record: Record, ticket: int | None) -> bool:
    return record.registered and (ticket is None or record.ticket < ticket)


async def kill(store: Store, method: Method, entries: Sequence[int]) -> None:
    """Let entries die, whoever holds them."""
    if entries:
        await clear(store, method, await store.bury(entries))


async def clear(store: Store, method: Method, records: Iterable[Record | None]) -> None:
    """Remove what pointed to those that are dead, and then their records."""
    dead = [record for record in records if record is not None and record.dead]
    if dead:
        keys, entries, _ = postings_of(method, dead)
        if len(keys):
            await store.withdraw(keys, entries)
        await store.erase([record.entry for record in dead])
