"""Lists of what an index holds, page by page: so many documents are read for a page at most, whatever it looks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.core.document_details import decode_details
from gate.core.stored_verdict import decode_answer
from gate.errors import UsageError
from gate.index.scan import ScannableStore
from gate.index.store import HeldContent, retry_stale
from gate.index.tools.stored_documents import StoredDocument, with_records
from gate.model import Relation

SLICE = 512  # documents that are read at once
MAX_READ = 20_000  # documents of one page, so that a filter that fits nothing does not hold up the index


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFilter:
    """What the documents of a list have in common, by their latest content. Empty or None: anything."""

    id_prefix: str = ""
    title: str = ""  # contained in the title, whatever the case
    relation: Relation | None = None
    group: str | None = None  # id of the first of a family

    @property
    def is_selective(self) -> bool:
        """Whether documents are read that are not listed."""
        return bool(self.title or self.relation is not None or self.group is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """Some of the documents. A page may be short, or empty, although more follow: there is a cursor then."""

    documents: Sequence[StoredDocument]
    cursor: str  # of the next page; empty: this was the last
    read: int  # documents that were looked at


async def list_documents(
    store: ScannableStore,
    matching: DocumentFilter | None = None,
    *,
    limit: int = 100,
    cursor: str = "",
    max_read: int = MAX_READ,
) -> DocumentPage:
    """The next documents that match, at most `limit` of them. A cursor may be kept as long as the index, and stays
    right whatever comes and goes: what is there all the time is on one of the pages; in Redis it may be on two.

    UsageError: the cursor is none of this index."""
    wanted = matching or DocumentFilter()
    return await retry_stale(lambda: _page(store, wanted, limit=limit, cursor=cursor, max_read=max_read))


async def _page(
    store: ScannableStore, matching: DocumentFilter, *, limit: int, cursor: str, max_read: int
) -> DocumentPage:
    scan = store.scan()
    entries = await _entries_of(store, matching.group)
    listed: list[StoredDocument] = []
    read = 0
    while True:
        try:
            most = min(SLICE, max_read - read) if matching.is_selective else min(SLICE, limit - len(listed))
            part = await scan.documents_after(cursor, most, id_prefix=matching.id_prefix)
        except ValueError as exc:
            raise UsageError(f"cursor: {exc}; give the one of an earlier page, or none to begin anew") from exc
        read += part.read
        latest = [(document.document_id, document.contents[-1]) for document in part.documents if document.contents]
        likely = [pair for pair in latest if _may_match(*pair, matching, entries)]
        if matching.group is None:  # then all of them match
            likely = likely[: limit - len(listed)]
        for stored in await with_records(store, likely) if likely else ():
            if matching.group is not None and stored.group != matching.group:
                continue
            listed.append(stored)
            if len(listed) == limit:
                last = stored.document_id == part.documents[-1].document_id
                following = part.cursor if last else part.base + stored.document_id
                return DocumentPage(documents=listed, cursor=following, read=read)
        cursor = part.cursor
        if not cursor or read >= max_read:
            return DocumentPage(documents=listed, cursor=cursor, read=read)


async def _entries_of(store: ScannableStore, group: str | None) -> set[int | None]:
    """The entries of the contents of the document that a family is named after."""
    if group is None:
        return set()
    [held] = await store.documents([group])
    return set(await store.contents([one.content for one in held])) if held else set()


def _may_match(document_id: str, held: HeldContent, matching: DocumentFilter, entries: set[int | None]) -> bool:
    """Whether a document matches, as far as its own record says."""
    if matching.title:
        details = decode_details(held.details)
        if details is None or matching.title.casefold() not in (details.title or "").casefold():
            return False
    if matching.relation is None and matching.group is None:
        return True
    answer = decode_answer(held.answer) if held.answer else None
    if matching.relation is not None and (answer is None or answer.relation is not matching.relation):
        return False
    return matching.group is None or document_id == matching.group or (answer is not None and answer.group in entries)
