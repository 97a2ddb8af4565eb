"""Replay an archive: read its files in order, hand their documents to a target in batches, journal what is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from gate.archive.journal import Checkpoint, Journal
from gate.archive.readers import ArchivedEvent, ArchiveFile, FileReader
from gate.archive.replay_stats import ReplayStats, pause_seconds
from gate.limits import Limits
from gate.stream.field_names import OWN_NAMES, FieldNames
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


class Replay:
    """One run over an archive."""

    def __init__(
        self,
        target: ReplayTarget,
        *,
        stats: ReplayStats,
        limits: Limits,
        journal: Journal | None,
        clock: Callable[[], float],
        rate: float | None = None,
        source: str | None = None,
        field_names: FieldNames = OWN_NAMES,
        content_root: Path | None = None,
        on_rejected: Callable[[RejectedMessage], None] = lambda rejected: None,
        on_progress: Callable[[int], None] = lambda read_bytes: None,
    ) -> None:
        self._target = target
        self._stats = stats
        self._limits = limits
        self._journal = journal
        self._clock = clock
        self._rate = rate
        self._source = source
        self._field_names = field_names
        self._content_root = content_root
        self._on_rejected = on_rejected
        self._on_progress = on_progress
        self._batch: list[ReplayItem] = []
        self._batch_characters = 0
        self._started = 0.0
        self._documents_sent = 0
        self._bytes_before = 0  # of the files that are done
        batch_documents = BATCH_DOCUMENTS if rate is None else max(1, round(rate / PACED_BATCHES_PER_SECOND))
        self._batch_documents = min(batch_documents, BATCH_DOCUMENTS)

    def run(self, files: Iterable[ArchiveFile]) -> None:
        self._started = self._clock()
        for file in files:
            if self._journal is not None and self._journal.is_done(file.key):
                self._stats.skipped_files += 1
            else:
                self._replay_file(file)
            self._bytes_before += file.size_bytes
            self._on_progress(self._bytes_before)
        self._send_batch()
        self.finish()

    def finish(self) -> None:
        """Wait until everything that was sent is safe, and journal it. Also called when the run was interrupted."""
        self._record(self._target.drain())

    def _replay_file(self, file: ArchiveFile) -> None:
        after = self._journal.last_line(file.key) if self._journal is not None else 0
        reader = FileReader(
            file,
            limits=self._limits,
            source=self._source,
            after_line=after,
            field_names=self._field_names,
            content_root=self._content_root,
        )
        # A file of lines gets a last checkpoint of its own. In any other file the one document has the checkpoint, and
        # a file that could not be read has none, so that it is tried again.
        by_lines = True
        for result in reader:
            if result is None:  # the input pauses: a producer behind a pipe may wait for the answers
                self._send_batch()
                self._record(self._target.drain())
                continue
            line = result.origin.line if result.origin is not None else None
            by_lines &= line is not None
            if isinstance(result, RejectedMessage):
                self._stats.count_rejected(result)
                self._on_rejected(result)
                if line is not None:
                    self._add(ReplayItem(None, Checkpoint(file.key, line)))
            else:
                self._count(result)
                self._add(ReplayItem(result, Checkpoint(file.key, line)))
            if len(self._batch) >= self._batch_documents or self._batch_characters >= self._limits.batch_chars:
                self._send_batch()
                self._on_progress(self._bytes_before + reader.read_bytes())
        if by_lines and file.path is not None:
            self._add(ReplayItem(None, Checkpoint(file.key)))

    def _count(self, archived: ArchivedEvent) -> None:
        self._stats.read += 1
        if isinstance(archived.event, CheckInEvent):
            self._stats.characters += len(archived.event.text or "")
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
