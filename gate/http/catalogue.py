"""The documents of the index by id, title, relation and family, to be searched and paged: an index has no order.

    scan of the index ──▶ rows ◀── verdicts and deletes of this process, at once

A row is small, so some hundred thousand documents fit into memory; more than `most` are not listed, and the catalogue
says that it is not complete. What other processes check in comes with the next scan.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from gate.model import Relation, Verdict

_AFTER_ALL = "\U0010ffff"  # sorts behind every character


class CatalogueRow(msgspec.Struct, frozen=True, gc=False):
    """A document by its latest content. `group` is the id of the first of its family. No relation: not answered yet."""

    document_id: str
    group: str
    title: str | None = None
    relation: Relation | None = None


InThread = Callable[[Callable[[], list[CatalogueRow]]], Awaitable[list[CatalogueRow]]]


class CatalogueSearch(msgspec.Struct, frozen=True, kw_only=True):
    """What a document has to be like. `text`: its id begins with it, or its title has it."""

    text: str = ""
    prefix: str = ""
    title: str = ""
    relation: Relation | None = None
    group: str | None = None

    def select(self, ordered: Sequence[CatalogueRow]) -> list[CatalogueRow]:
        """The rows, in the order of their ids."""
        first = bisect_left(ordered, self.prefix, key=_id_of) if self.prefix else 0
        end = bisect_right(ordered, self.prefix + _AFTER_ALL, key=_id_of) if self.prefix else len(ordered)
        rows: Iterable[CatalogueRow] = ordered[first:end]
        if self.relation is not None:
            rows = [row for row in rows if row.relation is self.relation]
        if self.group is not None:
            rows = [row for row in rows if row.group == self.group]
        if self.title:
            words = self.title.casefold()
            rows = [row for row in rows if row.title and words in row.title.casefold()]
        if self.text:
            words = self.text.casefold()
            rows = [
                row
                for row in rows
                if row.document_id.startswith(self.text) or (row.title and words in row.title.casefold())
            ]
        return rows if isinstance(rows, list) else [*rows]


class FamilyCount(NamedTuple):
    """A document and how many are in its family, itself counted."""

    group: str
    members: int


class Catalogue:
    """Rows by id, and the families among them; for one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: dict[str, CatalogueRow] = {}
        self._families: dict[str, dict[str, None]] = {}  # the others of a family, by the id of its first
        self._ordered: list[CatalogueRow] | None = None
        self._changes = 0
        self.is_full = False

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, document_id: str) -> bool:
        return document_id in self._rows

    def add(self, row: CatalogueRow) -> None:
        """Put a row in, or in the place of an older one."""
        current = self._rows.get(row.document_id)
        if current is None and len(self._rows) >= self._most:
            self.is_full = True
            return
        if current is not None:
            self._leave_family(current)
        self._rows[row.document_id] = row
        if row.group != row.document_id:
            self._families.setdefault(row.group, {})[row.document_id] = None
        self._changed()

    def add_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        for verdict in verdicts:
            self.add(CatalogueRow(verdict.document_id, verdict.group, verdict.title, verdict.relation))

    def remove(self, document_id: str) -> None:
        """Take a document out. The others of its family are then on their own."""
        row = self._rows.pop(document_id, None)
        if row is not None:
            self._leave_family(row)
        for other in self._families.pop(document_id, ()):
            self._rows[other] = msgspec.structs.replace(self._rows[other], group=other)
        self._changed()

    def _changed(self) -> None:
        self._ordered = None
        self._changes += 1

    def _leave_family(self, row: CatalogueRow) -> None:
        if (others := self._families.get(row.group)) is not None:
            others.pop(row.document_id, None)
            if not others:
                del self._families[row.group]

    def ordered(self) -> list[CatalogueRow]:
        """All rows by their ids; not to be changed."""
        if self._ordered is None:
            self._ordered = in_order(self._rows.values())
        return self._ordered

    async def ordered_by(self, run: InThread) -> list[CatalogueRow]:
        """The same, sorted by `run` in a thread: of many rows that takes a while."""
        if self._ordered is not None:
            return self._ordered
        rows, changes = [*self._rows.values()], self._changes
        ordered = await run(partial(in_order, rows))
        if changes == self._changes:
            self._ordered = ordered
        return ordered

    def family(self, group: str) -> list[str]:
        """The ids of the other members of a family, in the order in which they came."""
        return [*self._families.get(group, ())]

    def largest(self, count: int) -> list[FamilyCount]:
        largest = heapq.nlargest(count, self._families.items(), key=lambda family: len(family[1]))
        return [FamilyCount(group, len(others) + 1) for group, others in largest]

    def title(self, document_id: str) -> str | None:
        row = self._rows.get(document_id)
        return row.title if row else None


def in_order(rows: Iterable[CatalogueRow]) -> list[CatalogueRow]:
    return sorted(rows, key=_id_of)


def _id_of(row: CatalogueRow) -> str:
    return row.document_id
