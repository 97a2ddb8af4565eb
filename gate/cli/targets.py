"""Where `gate replay` sends documents: nowhere, into a gate of its own, or to the topic of check-ins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gate.api import Gate
from gate.archive.journal import Checkpoint
from gate.archive.readers import ArchivedEvent
from gate.archive.replay import ReplayItem, ReplayTarget
from gate.archive.replay_stats import ReplayStats
from gate.model import CheckIn
from gate.stream.settings import KafkaSettings
from gate.wire import CheckInEvent, Origin

if TYPE_CHECKING:
    from gate.stream.check_in_producer import CheckInAnswer, CheckInProducer


class Ending(ReplayTarget):
    """A target that can be asked what became of all that it took."""

    def answers(self, patience_seconds: float, tell: Callable[[], None]) -> None:
        """Wait for the answers that are missing, as long as some come."""

    def unanswered(self) -> int:
        return 0


class Nowhere(Ending):
    def send(self, batch: Sequence[ReplayItem]) -> list[Checkpoint]:
        return []

    def drain(self) -> list[Checkpoint]:
        return []

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


class Embedded(Ending):
    """The gate in this process."""

    def __init__(self, gate: Gate, tally: ReplayStats) -> None:
        self._gate = gate
        self._tally = tally

    def send(self, batch: Sequence[ReplayItem]) -> list[Checkpoint]:
        """Judge a batch. A delete takes effect in its place: what came before it is judged before."""
        waiting: list[tuple[CheckIn, Origin]] = []
        for found in (entry.archived for entry in batch if entry.archived is not None):
            if isinstance(found.event, CheckInEvent):
                waiting.append((found.event.check_in(), found.origin))
            else:
                self._judge(waiting)
                waiting = []
                self._gate.delete([found.event.document_id])
                self._tally.sent += 1
        self._judge(waiting)
        return [entry.checkpoint for entry in batch]

    def _judge(self, waiting: list[tuple[CheckIn, Origin]]) -> None:
        good, refused = self._gate.validate(document for document, _ in waiting)
        for verdict in self._gate.check_in(good):
            self._tally.count_verdict(verdict.relation, verdict.group, similar=verdict.similar)
        self._tally.sent += len(good)
        for one in refused:
            self._tally.dead_lettered[one.error.code] += 1

    def drain(self) -> list[Checkpoint]:
        return []

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


class ToKafka(Ending):
    """The topic of check-ins. The event loop turns only while something is asked of it."""

    def __init__(self, feed: CheckInProducer[Checkpoint], runner: asyncio.Runner, tally: ReplayStats) -> None:
        self._feed = feed
        self._runner = runner
        self._tally = tally

    def send(self, batch: Sequence[ReplayItem]) -> list[Checkpoint]:
        from gate.stream.check_in_producer import TrackedRecord

        messages = [TrackedRecord(*_record(entry.archived), entry.checkpoint) for entry in batch]
        return self._safe(self._runner.run(self._feed.send(messages)))

    def drain(self) -> list[Checkpoint]:
        return self._safe(self._runner.run(self._feed.drain()))

    def _safe(self, facts: list[Checkpoint]) -> list[Checkpoint]:
        self._tally.sent = self._feed.acknowledged
        if self._feed.refused:
            self._tally.dead_lettered["too_large_for_topic"] = self._feed.refused
        return facts

    def pause(self, seconds: float) -> None:
        async def watch() -> None:
            end = asyncio.get_running_loop().time() + seconds
            await self._feed.poll_answers(0)
            await asyncio.sleep(end - asyncio.get_running_loop().time())

        self._runner.run(watch())

    def answers(self, patience_seconds: float, tell: Callable[[], None]) -> None:
        since = time.monotonic()
        while self.unanswered() and time.monotonic() - since < patience_seconds:
            if self._runner.run(self._feed.poll_answers()):
                since = time.monotonic()
                tell()

    def unanswered(self) -> int:
        return len(self._feed.pending)


def _record(found: ArchivedEvent | None) -> tuple[bytes, bytes | None, bool]:
    if found is None:
        return b"", None, False
    return found.event.document_id.encode(), found.message, isinstance(found.event, CheckInEvent)


@contextmanager
def to_kafka(kafka: KafkaSettings, tally: ReplayStats, *, watch: bool) -> Iterator[ToKafka]:
    from gate.stream.check_in_producer import (  # here, as the library of Kafka is: few commands need it
        VerdictSummary,
        open_check_in_producer,
    )

    def tell(answer: CheckInAnswer) -> None:
        if isinstance(answer, VerdictSummary):
            tally.count_verdict(answer.relation, answer.group, similar=answer.similar)
        else:
            tally.dead_lettered[answer.reason] += 1

    with asyncio.Runner() as runner:
        entered = open_check_in_producer(kafka, watch=watch, on_answer=tell)
        feed = runner.run(entered.__aenter__())
        try:
            yield ToKafka(feed, runner, tally)
        finally:
            runner.run(entered.__aexit__(None, None, None))
