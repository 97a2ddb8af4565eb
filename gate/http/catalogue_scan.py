"""Keeps the catalogue of a process like the index: scans it a page at a time, between the requests of others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

from gate.core.document_details import decode_details
from gate.core.stored_verdict import decode_answer
from gate.errors import Unavailable
from gate.http.catalogue import Catalogue, CatalogueRow
from gate.http.served_gate import ServedGate
from gate.index.scan import Document, ScannableStore
from gate.model import Verdict

SCAN_SECONDS = 30.0  # what other processes check in is listed after so long
SCAN_SHARE = 0.05  # of the time, at most, that may go into scanning
WAIT_SECONDS = 1.0  # the first request waits so long for the first scan, and then gets what is there


class LiveCatalogue:
    """A catalogue that is scanned when it is asked for and old. `is_shared`: other processes write to the index."""

    def __init__(
        self,
        gate: Callable[[], ServedGate],
        *,
        most: int,
        is_shared: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gate = gate
        self._most = most
        self._is_shared = is_shared
        self._clock = clock
        self._current = Catalogue(most)
        self._next: Catalogue | None = None  # that of the scan in progress
        self._deleted: set[str] = set()  # since it began
        self._scanning: asyncio.Task[None] | None = None
        self._scanned_at: float | None = None
        self._took = 0.0

    async def read(self) -> Catalogue:
        """The catalogue as it is now."""
        self.refresh()
        if self._scanned_at is None and self._scanning is not None:
            await asyncio.wait({self._scanning}, timeout=WAIT_SECONDS)
        return self._current

    @property
    def is_complete(self) -> bool:
        """Whether every document is in it that was known when it was scanned."""
        return self._scanned_at is not None and not self._current.is_full

    @property
    def age_seconds(self) -> float | None:
        """How long ago the scan was; 0 where no other process writes to the index, None: before the first."""
        if self._scanned_at is None:
            return None
        return round(self._clock() - self._scanned_at, 3) if self._is_shared else 0.0

    def latest(self) -> Catalogue:
        """The catalogue without waiting; a scan is begun where it is old."""
        self.refresh()
        return self._current

    def refresh(self) -> None:
        if self._scanning is None and self._is_due():
            self._scanning = asyncio.create_task(self._scan())
            self._scanning.add_done_callback(self._ended)

    def _is_due(self) -> bool:
        if self._scanned_at is None:
            return True
        least = max(SCAN_SECONDS, self._took / SCAN_SHARE)
        return self._is_shared and self._clock() - self._scanned_at > least

    async def close(self) -> None:
        if self._scanning is not None:
            self._scanning.cancel()
            await asyncio.wait({self._scanning})

    # What this process does is seen at once

    def add_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        self._current.add_verdicts(verdicts)
        if self._next is not None:
            self._next.add_verdicts(verdicts)
            self._deleted.difference_update(verdict.document_id for verdict in verdicts)

    def remove(self, document_id: str) -> None:
        self._current.remove(document_id)
        if self._next is not None:
            self._next.remove(document_id)
            self._deleted.add(document_id)

    # Scanning

    async def _scan(self) -> None:
        begun_at = self._clock()
        self._next, self._deleted = Catalogue(self._most), set()
        pages: list[AsyncIterator[Sequence[Document]]] = []
        owners: dict[int, str] = {}
        gate = self._gate()
        while not self._next.is_full:
            rows = await gate.with_store(partial(_next_rows, pages=pages, owners=owners))
            if rows is None:
                break
            for row in rows:
                if row.document_id not in self._deleted and row.document_id not in self._next:
                    self._next.add(row)
        self._current, self._next = self._next, None
        self._scanned_at = self._clock()
        self._took = self._scanned_at - begun_at

    def _ended(self, scanning: asyncio.Task[None]) -> None:
        self._scanning, self._next = None, None
        # Unavailable is reported by the gate; an index that changed is scanned again when the next one asks.
        if not scanning.cancelled() and (error := scanning.exception()) and not isinstance(error, Unavailable):
            raise error


async def _next_rows(
    store: ScannableStore, *, pages: list[AsyncIterator[Sequence[Document]]], owners: dict[int, str]
) -> list[CatalogueRow] | None:
    """The rows of the next page of a scan, which is kept in `pages`; None: it has ended."""
    if not pages:
        pages.append(store.scan().documents())
    try:
        documents = await anext(pages[0])
    except StopAsyncIteration:
        return None
    return await rows_of(store, documents, owners)


async def rows_of(store: ScannableStore, documents: Sequence[Document], owners: dict[int, str]) -> list[CatalogueRow]:
    """The rows of documents. `owners` keeps whose an entry is, for the pages that follow."""
    latest = [(document.document_id, document.contents[-1]) for document in documents]
    answers = [decode_answer(held.answer) if held.answer else None for _, held in latest]
    groups = sorted({answer.group for answer in answers if answer and answer.group and answer.group not in owners})
    for record in await store.records(groups) if groups else ():
        if record is not None and not record.dead:
            owners[record.entry] = record.owner.document_id
    rows = []
    for (document_id, held), answer in zip(latest, answers, strict=True):
        details = decode_details(held.details)
        rows.append(
            CatalogueRow(
                document_id,
                owners.get(answer.group, document_id) if answer else document_id,
                details.title if details else None,
                answer.relation if answer else None,
            )
        )
    return rows
