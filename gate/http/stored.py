"""What the index holds of a document: its latest content, with the signature and the details."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.core.document_details import decode_details
from gate.core.stored_verdict import decode_answer
from gate.index.scan import ScannableStore
from gate.index.store import HeldContent, retry_stale
from gate.model import DocumentDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """A document by its latest content. An empty body is that of a text too short for a signature."""

    document_id: str
    held: HeldContent
    body: bytes
    group: str  # the id of the first of its family; its own where that was deleted

    @property
    def details(self) -> DocumentDetails | None:
        return decode_details(self.held.details)


async def read_stored(store: ScannableStore, document_ids: Sequence[str]) -> list[StoredDocument | None]:
    """Documents as they are stored; None for one that is not known."""
    return await retry_stale(lambda: _read(store, document_ids))


async def _read(store: ScannableStore, document_ids: Sequence[str]) -> list[StoredDocument | None]:
    latest = [contents[-1] if contents else None for contents in await store.documents(document_ids)]
    contents = list(dict.fromkeys(held.content for held in latest if held))
    entries = dict(zip(contents, await store.contents(contents), strict=True)) if contents else {}
    groups = [decode_answer(held.answer).group if held and held.answer else 0 for held in latest]
    numbers = sorted({entry for entry in (*entries.values(), *groups) if entry})
    records = await store.records(numbers) if numbers else []
    living = {record.entry: record for record in records if record is not None and not record.dead}
    stored: list[StoredDocument | None] = []
    for document_id, held, group in zip(document_ids, latest, groups, strict=True):
        if held is None:
            stored.append(None)
            continue
        record, first = living.get(entries[held.content] or 0), living.get(group)
        stored.append(
            StoredDocument(
                document_id=document_id,
                held=held,
                body=record.body if record else b"",
                group=first.owner.document_id if first else document_id,
            )
        )
    return stored


async def read_contents(store: ScannableStore, document_id: str) -> tuple[HeldContent, ...]:
    """The contents of a document, oldest first; none if it is not known."""
    [contents] = await retry_stale(lambda: store.documents([document_id]))
    return contents
