"""The story of a replay: read the files of an archive in their order, hand them over in batches, note what is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from gate.archive.journal import Fact, Journal
from gate.archive.readers import Found, Item, ItemReader
from gate.archive.tally import Tally, due
from gate.limits import Limits
from gate.wire import CheckInEvent, Rejected

BATCH_DOCUMENTS = 500
PACED_BATCHES = 10  # a second, where the pace is set: few enough to be cheap, many enough to be even


class Entry(NamedTuple):
    """A document and the fact that it is done; or the fact alone, for its turn."""

    found: Found | None
    fact: Fact


class Target(Protocol):
    """Where documents go. Each method tells which facts are true by now: what they tell of is safe."""

    def take(self, batch: Sequence[Entry]) -> list[Fact]: ...

    def drain(self) -> list[Fact]:
        """Wait until all that was taken is safe."""

    def pause(self, seconds: float) -> None: ...


class Replay:
    """One run over an archive."""

    def __init__(
        self,
        target: Target,
        *,
        tally: Tally,
        limits: Limits,
        journal: Journal | None,
        clock: Callable[[], float],
        rate: float | None = None,
        source: str | None = None,
        tell: Callable[[Rejected], None] = lambda rejected: None,
        progress: Callable[[int], None] = lambda read_bytes: None,
    ) -> None:
        self._target = target
        self._tally = tally
        self._limits = limits
        self._journal = journal
        self._clock = clock
        self._rate = rate
        self._source = source
        self._tell = tell
        self._progress = progress
        self._batch: list[Entry] = []
        self._characters = 0
        self._began = 0.0
        self._handed = 0
        self._before = 0  # bytes of the files that are done
        most = BATCH_DOCUMENTS if rate is None else max(1, round(rate / PACED_BATCHES))
        self._most = min(most, BATCH_DOCUMENTS)

    def run(self, items: Iterable[Item]) -> None:
        self._began = self._clock()
        for item in items:
            if self._journal is not None and self._journal.is_done(item.mark):
                self._tally.skipped += 1
            else:
                self._read(item)
            self._before += item.size_bytes
            self._progress(self._before)
        self._hand_over()
        self.finish()

    def finish(self) -> None:
        """See to it that all that was handed over is safe and noted. Also when the run was cut off."""
        self._note(self._target.drain())

    def _read(self, item: Item) -> None:
        after = self._journal.line(item.mark) if self._journal is not None else 0
        reader = ItemReader(item, limits=self._limits, source=self._source, after_line=after)
        by_lines = True  # otherwise its one document, or what is wrong with it, is all that there is to tell
        for one in reader:
            if one is None:  # whoever writes to us may wait for an answer
                self._hand_over()
                self._note(self._target.drain())
                continue
            line = one.origin.line if one.origin is not None else None
            if isinstance(one, Rejected):
                self._tally.refuse(one)
                self._tell(one)
                by_lines &= line is not None
                if line is not None:
                    self._add(Entry(None, Fact(item.mark, line)))
            else:
                self._count(one)
                self._add(Entry(one, Fact(item.mark, line)))
                by_lines &= line is not None
            if len(self._batch) >= self._most or self._characters >= self._limits.batch_chars:
                self._hand_over()
                self._progress(self._before + reader.read_bytes())
        if by_lines and item.path is not None:
            self._add(Entry(None, Fact(item.mark)))

    def _count(self, found: Found) -> None:
        self._tally.read += 1
        if isinstance(found.event, CheckInEvent):
            self._tally.characters += len(found.event.text or "")
        else:
            self._tally.deletes += 1

    def _add(self, entry: Entry) -> None:
        self._batch.append(entry)
        if entry.found is not None and isinstance(entry.found.event, CheckInEvent):
            self._characters += len(entry.found.event.text or "")

    def _hand_over(self) -> None:
        batch, self._batch, self._characters = self._batch, [], 0
        if not batch:
            return
        if self._rate is not None:
            wait = due(self._handed, self._rate, self._began, self._clock())
            if wait:
                self._target.pause(wait)
        self._handed += sum(entry.found is not None for entry in batch)
        self._note(self._target.take(batch))

    def _note(self, facts: Sequence[Fact]) -> None:
        """Of each file the last fact is enough."""
        if self._journal is not None and facts:
            self._journal.note({fact.mark: fact for fact in facts}.values())
