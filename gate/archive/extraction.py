"""Extract the texts of documents on several cores, ahead of what is taken, and give all results in their order.

While a batch is judged in this process, child processes read the next files. What they are ahead is bounded in
documents, in bytes of files, and in characters of texts.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from threading import Condition
from typing import NamedTuple, get_args

from msgspec import structs

from gate.archive.parts import (
    ArchivedEvent,
    ArchiveFile,
    EndOfFile,
    ReadItem,
    SourceItem,
    UnreadDocument,
    reject,
)
from gate.archive.text_files import unreadable
from gate.errors import BadDocument, UnreadableReason
from gate.extract.pool import ExtractorPool
from gate.extract.text_of import ExtractedText, ReadOptions
from gate.wire import CheckInEvent, RejectedMessage

_AHEAD_DOCUMENTS = 256  # as many as are judged at once
_AHEAD_BYTES = 64 * 2**20
_AHEAD_CHARS = 32 * 2**20
_REASONS = frozenset(get_args(UnreadableReason))

Extracted = ArchivedEvent | RejectedMessage


class _ItemAhead(NamedTuple):
    file: ArchiveFile
    position: int | None
    result: Future[Extracted] | Extracted | EndOfFile
    size: int


class ParallelExtraction:
    """The processes are started when the first file needs one. Close it, or use it in a `with` block."""

    def __init__(self, options: ReadOptions, processes: int | None = None) -> None:
        self._options = options
        self._processes = processes
        self._pool: ExtractorPool | None = None
        self._budget = _CharacterBudget(_AHEAD_CHARS)

    def in_order(self, items: Iterable[ReadItem | None]) -> Iterator[SourceItem | None]:
        """Each item with its text, in their order. None: the input pauses, and all that came before it is given."""
        waiting: deque[_ItemAhead] = deque()
        ahead_bytes = submitted = 0
        for item in items:
            if item is None:
                yield from self._take(waiting)
                ahead_bytes = 0
                yield None
                continue
            file, position, result = item
            if isinstance(result, UnreadDocument):
                size = result.size_bytes
                waiting.append(_ItemAhead(file, position, self._submit(result, submitted), size))
                submitted += 1
            elif waiting:
                size = _text_size(result)
                waiting.append(_ItemAhead(file, position, result, size))
            else:
                yield SourceItem(file, position, result)
                continue
            ahead_bytes += size
            while len(waiting) > _AHEAD_DOCUMENTS or (ahead_bytes > _AHEAD_BYTES and waiting):
                ahead_bytes -= waiting[0].size
                yield self._take_first(waiting)
        yield from self._take(waiting)

    def _take(self, waiting: deque[_ItemAhead]) -> Iterator[SourceItem]:
        while waiting:
            yield self._take_first(waiting)

    def _take_first(self, waiting: deque[_ItemAhead]) -> SourceItem:
        file, position, result, _ = waiting.popleft()
        if not isinstance(result, Future):
            return SourceItem(file, position, result)
        extracted = result.result()
        self._budget.taken(_text_size(extracted))
        return SourceItem(file, position, extracted)

    def _submit(self, document: UnreadDocument, number: int) -> Future[Extracted]:
        if self._pool is None:
            self._pool = ExtractorPool(options=self._options, processes=self._processes)
        pool = self._pool

        def extract() -> Extracted:
            self._budget.wait(number)
            extracted = _finish(document, pool.ask(document.content))
            self._budget.finished(number, _text_size(extracted))
            return extracted

        return pool.run(extract)

    def close(self) -> None:
        self._budget.close()
        if self._pool is not None:
            self._pool.close()

    def __enter__(self) -> ParallelExtraction:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _CharacterBudget:
    """Bounds the characters of texts that are extracted and not taken. The document that is next may always begin."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._chars = 0
        self._next = 0  # of all that were taken so far, the number after the last
        self._closed = False
        self._changed = Condition()

    def wait(self, number: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._chars <= self._most or number == self._next)

    def finished(self, number: int, chars: int) -> None:
        with self._changed:
            self._chars += chars

    def taken(self, chars: int) -> None:
        with self._changed:
            self._chars -= chars
            self._next += 1
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def _text_size(result: Extracted | EndOfFile) -> int:
    if isinstance(result, ArchivedEvent) and isinstance(result.event, CheckInEvent):
        return len(result.event.text or "")
    return 0


def _finish(document: UnreadDocument, result: ExtractedText | BadDocument) -> Extracted:
    """The event of a document: with its text, or else with the hash of its bytes and the reason."""
    event, origin = document.event, document.origin
    size = event.size_bytes if event.size_bytes is not None else document.size_bytes
    if isinstance(result, ExtractedText):
        event = structs.replace(
            event,
            text=result.text,
            title=event.title or result.title,
            size_bytes=size,
            mime_type=event.mime_type or result.mime_type,
        )
        return ArchivedEvent(event=event, origin=origin)
    problem = BadDocument(result.code, f"{origin}: {result}")
    if result.code not in _REASONS:
        return reject(str(origin), result, size_bytes=document.size_bytes)
    try:
        digest = _sha256(document.content)
    except OSError as exc:
        return reject(str(origin), unreadable(exc), size_bytes=document.size_bytes)
    event = structs.replace(event, content_sha256=digest, unreadable_reason=result.code, size_bytes=size)
    return ArchivedEvent(event=event, origin=origin, problem=problem)


def _sha256(content: Path | bytes) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
