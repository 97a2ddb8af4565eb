"""All of an index, batch by batch, and a way to put it back: what the tools around an index are built on.

A batch is small, so memory does not grow with the index. What is there from the first batch to the last is met; what
comes or goes meanwhile may be met or not, and a posting may come twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

from gate.index.store import Held, Keys, Record, Store

BATCH = 1024  # entries or documents of one batch, where a store may choose
POSTINGS = 1 << 14  # of one batch

Triples = tuple[Keys, Keys, Keys]  # keys, entries, tags


class Document(NamedTuple):
    """A document and all that it holds."""

    document_id: str
    held: tuple[Held, ...]


class Scan(Protocol):
    """What a store supplies beside its primitives. To restore is idempotent, and changes nothing that is there."""

    def entries(self) -> AsyncIterator[Sequence[Record]]:
        """Every record. A content that leads to an entry without a record is met as a dead one without holders."""

    def documents(self) -> AsyncIterator[Sequence[Document]]: ...

    def postings(self) -> AsyncIterator[Triples]: ...

    async def missing(self, keys: Keys, entries: Keys, tags: Keys) -> Triples:
        """Those postings that are not in their buckets, however long these are."""

    async def restore(self, records: Sequence[Record]) -> list[Record]:
        """Write each record as it is, with its content's pointer, unless there is one; what stands for each content."""

    async def restore_documents(self, documents: Sequence[Document]) -> list[Document]:
        """Let documents hold what they do not hold yet, with its answer; what each holds then."""

    async def pass_ticket(self, ticket: int) -> None:
        """From now on, tickets above this one are drawn."""


class ScannableStore(Store, Protocol):
    """A store that can be walked."""

    def scan(self) -> Scan: ...


def added(there: tuple[Held, ...], more: tuple[Held, ...]) -> tuple[Held, ...]:
    """What a document holds after it was given more: of a content that it holds already, its own word stands."""
    known = {one.content for one in there}
    return (*there, *(one for one in more if one.content not in known))
