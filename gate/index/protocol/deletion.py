"""Taking documents and entries out of the index. Any process may do any of it, any number of times, and stop anywhere.

    1. void      the document's answers: from here on none is valid that no entry backs
    2. remove    the document leaves the holders of its contents' entries; without a holder an entry is marked dead
    3. clear     what pointed to a dead entry goes first, the entry's record last
    4. finish    the document's own record goes, unless the document was checked in again meanwhile: then once more

An entry is dead before its postings are removed, so a claim that appends to it too late is refused a registration and
removes its postings; and its record is there until they are gone, so a process that takes over knows where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gate.core.method_registry import Method
from gate.index.protocol.postings import remove_postings_of
from gate.index.store import EntryRecord, Store, retry_stale


class Version(NamedTuple):
    """The content that is a document's latest version, and its ticket (None: it needs none, it is empty)."""

    document_id: str
    content: bytes
    ticket: int | None


async def delete(store: Store, method: Method, document_ids: Sequence[str]) -> list[bool]:
    """Delete documents, and every entry with its last holder. False: there was no such document."""
    known: set[str] = set()
    remaining = list(dict.fromkeys(document_ids))

    async def remove() -> list[str]:
        """One round; the documents that are still there. One that was known in a round that is repeated is known,
        though it may be gone."""
        contents = await store.void_answers(remaining)
        holdings = [
            (document_id, contents_held)
            for document_id, contents_held in zip(remaining, contents, strict=True)
            if contents_held
        ]
        known.update(document_id for document_id, _ in holdings)
        pairs = [(document_id, stored.content) for document_id, contents in holdings for stored in contents]
        entries = await store.contents([content for _, content in pairs]) if pairs else []
        holders = [(entry, document_id) for (document_id, _), entry in zip(pairs, entries, strict=True) if entry]
        if holders:
            await clear(store, method, await store.remove_holders(holders))
        removed = await store.remove_contents(holdings) if holdings else []
        return [document_id for (document_id, _), was_removed in zip(holdings, removed, strict=True) if not was_removed]

    while remaining:
        remaining = await retry_stale(remove)
    return [document_id in known for document_id in document_ids]


async def retire_versions(store: Store, method: Method, latest: Sequence[Version]) -> None:
    """Take the earlier versions of documents out of the index; their answers stay. A version not registered yet, or one
    that drew a higher ticket, is the later one and stays: were two that race to retire each other, none would be
    left."""
    contents = await store.documents([version.document_id for version in latest]) if latest else []
    others = [
        (version, stored.content)
        for version, contents_held in zip(latest, contents, strict=True)
        for stored in contents_held
        if stored.content != version.content
    ]
    entries = await store.contents([content for _, content in others]) if others else []
    existing = [entry for entry in entries if entry]
    records = dict(zip(existing, await store.records(existing), strict=True)) if existing else {}
    holders = [
        (entry, version.document_id)
        for (version, _), entry in zip(others, entries, strict=True)
        if entry and (record := records[entry]) is not None and (record.dead or _is_before(record, version.ticket))
    ]
    if holders:
        await clear(store, method, await store.remove_holders(holders))


def _is_before(record: EntryRecord, ticket: int | None) -> bool:
    return record.registered and (ticket is None or record.ticket < ticket)


async def kill_entries(store: Store, method: Method, entries: Sequence[int]) -> None:
    """Mark entries dead, whatever holds them, and clear them."""
    if entries:
        await clear(store, method, await store.mark_dead(entries))


async def clear(store: Store, method: Method, records: Iterable[EntryRecord | None]) -> None:
    """Of the records that are dead, remove the postings and then the records."""
    dead = [record for record in records if record is not None and record.dead]
    if dead:
        await remove_postings_of(store, method, dead)
        await store.delete_records([record.entry for record in dead])
