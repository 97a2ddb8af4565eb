"""Scanning a whole index in batches, and restoring it: what the tools around an index are built on.

A batch is small, so memory does not grow with the index. What is there from the first batch to the last is scanned;
what comes or goes meanwhile may be scanned or not, and a posting may come twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import NamedTuple, Protocol

from gate.index.store import EntryRecord, HeldContent, Keys, Store

BATCH = 1024  # entries or documents of one batch, where a store may choose
POSTINGS = 1 << 14  # of one batch

PostingRows = tuple[Keys, Keys, Keys]  # keys, entries, tags


class Document(NamedTuple):
    """A document and all that it holds."""

    document_id: str
    contents: tuple[HeldContent, ...]


class DocumentSlice(NamedTuple):
    """Some documents, and where to go on: behind the last of them at `cursor` (empty: there are no more), behind any
    other at `base` and its id."""

    documents: Sequence[Document]
    cursor: str
    base: str
    read: int  # how many were read for them


class Scan(Protocol):
    """What a store supplies beside its primitives. Restoring is idempotent, and changes nothing that is there."""

    def entries(self) -> AsyncIterator[Sequence[EntryRecord]]:
        """Every record. A content that points to an entry without a record comes as a dead record without holders."""

    def documents(self) -> AsyncIterator[Sequence[Document]]: ...

    async def documents_after(self, cursor: str, count: int, *, id_prefix: str = "") -> DocumentSlice:
        """About `count` documents behind a cursor, empty for the first; it may be kept, and used by another process.
        There may be none although more come. The order is that of the ids, in Redis that of its tables, where a
        document may also come twice. ValueError: the cursor is none of this kind of index."""

    def postings(self, table: int | None = None) -> AsyncIterator[PostingRows]:
        """Every posting, or every one of a table."""

    async def missing(self, keys: Keys, entries: Keys, tags: Keys) -> PostingRows:
        """Those of the postings that are not in their buckets, however long these are."""

    async def restore(self, records: Sequence[EntryRecord]) -> list[EntryRecord]:
        """Write each record with its content's pointer, unless it has one; the record of each content then."""

    async def restore_documents(self, documents: Sequence[Document]) -> list[Document]:
        """Add to documents the contents that they do not hold yet, with their answers; what each holds then."""

    async def pass_ticket(self, ticket: int) -> None:
        """Draw only tickets above this one from now on."""


class ScannableStore(Store, Protocol):
    """A store that can be scanned, and that knows which index it is."""

    def scan(self) -> Scan: ...

    @property
    def identity(self) -> str:
        """Drawn at random when the index was created, and kept as long as its data; empty in memory."""

    async def replaced(self) -> frozenset[str]:
        """The identities of indexes that this one replaces: what was accepted under them is known to this one too, or
        given up."""

    async def replace(self, identities: Collection[str]) -> None:
        """Record that this index replaces others."""


def merge_contents(current: tuple[HeldContent, ...], more: tuple[HeldContent, ...]) -> tuple[HeldContent, ...]:
    """What a document holds after more was added: a content that it holds already stays as it is."""
    known = {stored.content for stored in current}
    return (*current, *(stored for stored in more if stored.content not in known))
