"""Replay an archive: read its files in order, hand their documents to a target in batches, journal what is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from gate.archive.journal import Checkpoint
from gate.archive.parts import ArchivedEvent, ArchiveFile, EndOfFile
from gate.archive.replay_stats import ReplayStats, pause_seconds
from gate.archive.source import Source
from gate.errors import BadDocument
from gate.limits import Limits
from gate.wire import CheckInEvent, RejectedMessage

BATCH_DOCUMENTS = 500
PACED_BATCHES_PER_SECOND = 10  # with a rate: few enough to be cheap, many enough to be even


class ReplayItem(NamedTuple):
    """A document and the checkpoint that covers it; or a checkpoint alone, which is due after the items before it."""

    archived: ArchivedEvent | None
    checkpoint: Checkpoint


class ReplayTarget(Protocol):
    """Where documents go. Each method returns the checkpoints that are safe by now, in their order."""

    def send(self, batch: Sequence[ReplayItem]) -> list[Checkpoint]: ...

    def drain(self) -> list[Checkpoint]:
        """Wait until everything that was sent is safe."""

    def pause(self, seconds: float) -> None: ...


class Checkpoints(Protocol):
    """What is kept of a replay that may be resumed: a `Journal`, or a state that has one in it."""

    def is_done(self, file_key: str) -> bool: ...

    def last_line(self, file_key: str) -> int: ...

    def append(self, checkpoints: Iterable[Checkpoint]) -> None: ...


class Replay:
    """One run over an archive."""

    def __init__(
        self,
        target: ReplayTarget,
        *,
        stats: ReplayStats,
        limits: Limits,
        journal: Checkpoints | None,
        clock: Callable[[], float],
        rate: float | None = None,
        on_rejected: Callable[[RejectedMessage], None] = lambda rejected: None,
        on_without_text: Callable[[BadDocument], None] = lambda problem: None,
        on_progress: Callable[[int], None] = lambda read_bytes: None,
    ) -> None:
        self._target = target
        self._stats = stats
        self._limits = limits
        self._journal = journal
        self._clock = clock
        self._rate = rate
        self._on_rejected = on_rejected
        self._on_without_text = on_without_text
        self._on_progress = on_progress
        self._batch: list[ReplayItem] = []
        self._batch_characters = 0
        self._started = 0.0
        self._documents_sent = 0
        batch_documents = BATCH_DOCUMENTS if rate is None else max(1, round(rate / PACED_BATCHES_PER_SECOND))
        self._batch_documents = min(batch_documents, BATCH_DOCUMENTS)

    def run(self, source: Source) -> None:
        self._started = self._clock()
        for item in source.after(self._done_before):
            if item is None:  # the input pauses: a producer behind a pipe may wait for the answers
                self._send_batch()
                self._record(self._target.drain())
                continue
            file, position, result = item
            if isinstance(result, EndOfFile):
                self._end_file(file, result)
                self._on_progress(source.read_bytes())
                continue
            if isinstance(result, RejectedMessage):
                self._stats.count_rejected(result)
                self._on_rejected(result)
                if position is not None:
                    self._add(ReplayItem(None, Checkpoint(file.key, position)))
            else:
                self._count(result)
                # The one document of a file has the checkpoint of the file.
                self._add(ReplayItem(result, Checkpoint(file.key, position)))
            if len(self._batch) >= self._batch_documents or self._batch_characters >= self._limits.batch_chars:
                self._send_batch()
                self._on_progress(source.read_bytes())
        self._send_batch()
        self.finish()

    def _done_before(self, file: ArchiveFile) -> int | None:
        """The position up to which a file is done; None: all of it."""
        if self._journal is None:
            return 0
        return None if self._journal.is_done(file.key) else self._journal.last_line(file.key)

    def _end_file(self, file: ArchiveFile, end: EndOfFile) -> None:
        """A file of several documents gets a last checkpoint of its own; what could not be read is tried again."""
        if end is EndOfFile.SKIPPED:
            self._stats.skipped_files += 1
        elif end is EndOfFile.READ and file.path is not None:
            self._add(ReplayItem(None, Checkpoint(file.key)))

    def finish(self) -> None:
        """Wait until everything that was sent is safe, and journal it. Also called when the run was interrupted."""
        self._record(self._target.drain())

    def _count(self, archived: ArchivedEvent) -> None:
        self._stats.read += 1
        if isinstance(archived.event, CheckInEvent):
            self._stats.characters += len(archived.event.text or "")
            if archived.problem is not None:
                self._stats.count_without_text(archived.problem.code, str(archived.origin))
                self._on_without_text(archived.problem)
        else:
            self._stats.deletes += 1

    def _add(self, item: ReplayItem) -> None:
        self._batch.append(item)
        if item.archived is not None and isinstance(item.archived.event, CheckInEvent):
            self._batch_characters += item.archived.event.size

    def _send_batch(self) -> None:
        batch, self._batch, self._batch_characters = self._batch, [], 0
        if not batch:
            return
        if self._rate is not None:
            wait = pause_seconds(self._documents_sent, self._rate, self._started, self._clock())
            if wait:
                self._target.pause(wait)
        self._documents_sent += sum(item.archived is not None for item in batch)
        self._record(self._target.send(batch))

    def _record(self, checkpoints: Sequence[Checkpoint]) -> None:
        """Journal the last checkpoint of each file: it includes those before it."""
        if self._journal is not None and checkpoints:
            self._journal.append({one.file_key: one for one in checkpoints}.values())
