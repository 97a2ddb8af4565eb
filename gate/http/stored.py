"""What the index holds of a document: its latest content, with the signature and the details."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.core.document_details import decode_details
from gate.index.scan import ScannableStore
from gate.index.store import HeldContent, retry_stale
from gate.model import DocumentDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """A document by its latest content. An empty body is that of a text too short for a signature."""

    document_id: str
    held: HeldContent
    body: bytes

    @property
    def details(self) -> DocumentDetails | None:
        return decode_details(self.held.details)


async def read_stored(store: ScannableStore, document_ids: Sequence[str]) -> list[StoredDocument | None]:
    """Documents as they are stored; None for one that is not known."""
    return await retry_stale(lambda: _read(store, document_ids))


async def _read(store: ScannableStore, document_ids: Sequence[str]) -> list[StoredDocument | None]:
    latest = [contents[-1] if contents else None for contents in await store.documents(document_ids)]
    contents = list(dict.fromkeys(held.content for held in latest if held))
    entries = dict(zip(contents, await store.contents(contents), strict=True))
    numbers = [entry for entry in entries.values() if entry]
    bodies = {record.content: record.body for record in await store.records(numbers) if record and not record.dead}
    return [
        StoredDocument(document_id=document_id, held=held, body=bodies.get(held.content, b"")) if held else None
        for document_id, held in zip(document_ids, latest, strict=True)
    ]
