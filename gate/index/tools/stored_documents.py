"""What an index holds of a document: its latest content, with the verdict on it, the signature and the details."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.core.document_details import decode_details
from gate.core.stored_verdict import decode_answer
from gate.index.scan import ScannableStore
from gate.index.store import HeldContent, Store, retry_stale
from gate.model import DocumentDetails, Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """A document by its latest content. An empty body is that of a text too short for a signature."""

    document_id: str
    held: HeldContent
    body: bytes
    relation: Relation | None  # of the verdict on it; None: it has none yet, or lost it to a delete
    group: str  # the id of the first of its family; its own where that was deleted

    @property
    def details(self) -> DocumentDetails | None:
        return decode_details(self.held.details)


async def read_stored(store: ScannableStore, document_ids: Sequence[str]) -> list[StoredDocument | None]:
    """Documents as they are stored; None for one that is not known."""
    return await retry_stale(lambda: _read(store, document_ids))


async def _read(store: ScannableStore, document_ids: Sequence[str]) -> list[StoredDocument | None]:
    known = zip(document_ids, await store.documents(document_ids), strict=True)
    latest = {document_id: contents[-1] for document_id, contents in known if contents}
    stored = dict(zip(latest, await with_records(store, list(latest.items())), strict=True))
    return [stored.get(document_id) for document_id in document_ids]


async def with_records(store: Store, latest: Sequence[tuple[str, HeldContent]]) -> list[StoredDocument]:
    """Documents, each with its latest content, with what other records say of them."""
    contents = list(dict.fromkeys(held.content for _, held in latest))
    entries = dict(zip(contents, await store.contents(contents), strict=True)) if contents else {}
    answers = [decode_answer(held.answer) if held.answer else None for _, held in latest]
    groups = [answer.group if answer else 0 for answer in answers]
    numbers = sorted({entry for entry in (*entries.values(), *groups) if entry})
    records = await store.records(numbers) if numbers else []
    living = {record.entry: record for record in records if record is not None and not record.dead}
    stored: list[StoredDocument] = []
    for (document_id, held), answer, group in zip(latest, answers, groups, strict=True):
        record, first = living.get(entries[held.content] or 0), living.get(group)
        stored.append(
            StoredDocument(
                document_id=document_id,
                held=held,
                body=record.body if record else b"",
                relation=answer.relation if answer else None,
                group=first.owner.document_id if first else document_id,
            )
        )
    return stored


async def read_contents(store: ScannableStore, document_id: str) -> tuple[HeldContent, ...]:
    """The contents of a document, oldest first; none if it is not known."""
    [contents] = await retry_stale(lambda: store.documents([document_id]))
    return contents
