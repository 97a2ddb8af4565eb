"""The targets of `gate replay`: none, the gate in this process, or the topic of check-ins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gate.api import Gate
from gate.archive.journal import Checkpoint
from gate.archive.parts import ArchivedEvent
from gate.archive.replay import ReplayItem, ReplayTarget
from gate.archive.replay_stats import ReplayStats
from gate.cli.reports import RunReport
from gate.model import CheckIn
from gate.pipeline import Deletes, steps
from gate.report.results import Result
from gate.stream.settings import KafkaSettings
from gate.wire import CheckInEvent

if TYPE_CHECKING:
    from gate.stream.check_in_producer import CheckInAnswer, CheckInProducer, VerdictSummary


class AnsweringTarget(ReplayTarget):
    """A target that knows how many of its documents have no verdict yet."""

    def wait_answers(self, timeout_seconds: float, on_answers: Callable[[], None]) -> None:
        """Wait for missing verdicts until none has come for so long."""

    def unanswered(self) -> int:
        return 0


class NullTarget(AnsweringTarget):
    """Takes documents and does nothing with them, for a dry run."""

    def send(self, batch: Sequence[ReplayItem]) -> list[Checkpoint]:
        return []

    def drain(self) -> list[Checkpoint]:
        return []

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


class GateTarget(AnsweringTarget):
    """The gate in this process."""

    def __init__(self, gate: Gate, stats: ReplayStats, *, report: RunReport | None = None) -> None:
        self._gate = gate
        self._stats = stats
        self._report = report

    @property
    def identity(self) -> str:
        """Of the index that documents go to."""
        return self._gate.identity

    def send(self, batch: Sequence[ReplayItem]) -> list[Checkpoint]:
        """Judge a batch. A delete takes effect in its place: the documents before it are judged first."""
        for step in steps(item.archived.event if item.archived is not None else None for item in batch):
            if isinstance(step, Deletes):
                self._gate.delete(step.document_ids)
                self._stats.sent += len(step.document_ids)
            else:
                self._judge(step.documents)
        return [item.checkpoint for item in batch]

    def _judge(self, documents: list[CheckIn]) -> None:
        valid, refused = self._gate.validate(documents)
        verdicts = self._gate.check_in(valid)
        if self._report is not None:
            self._report.add(valid, verdicts)
        for verdict in verdicts:
            self._stats.count_verdict(verdict.relation, verdict.group, similar=verdict.similar)
        self._stats.sent += len(valid)
        for refusal in refused:
            self._stats.dead_lettered[refusal.error.code] += 1

    def drain(self) -> list[Checkpoint]:
        return []

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


class KafkaTarget(AnsweringTarget):
    """The topic of check-ins. The event loop runs only during a call."""

    def __init__(self, producer: CheckInProducer[Checkpoint], runner: asyncio.Runner, stats: ReplayStats) -> None:
        self._producer = producer
        self._runner = runner
        self._stats = stats

    def send(self, batch: Sequence[ReplayItem]) -> list[Checkpoint]:
        from gate.stream.check_in_producer import TrackedRecord

        messages = [TrackedRecord(*_record(entry.archived), entry.checkpoint) for entry in batch]
        return self._safe_checkpoints(self._runner.run(self._producer.send(messages)))

    def drain(self) -> list[Checkpoint]:
        return self._safe_checkpoints(self._runner.run(self._producer.drain()))

    def _safe_checkpoints(self, checkpoints: list[Checkpoint]) -> list[Checkpoint]:
        self._stats.sent = self._producer.acknowledged
        if self._producer.refused:
            self._stats.dead_lettered["too_large_for_topic"] = self._producer.refused
        return checkpoints

    def pause(self, seconds: float) -> None:
        async def poll_until_end() -> None:
            end = asyncio.get_running_loop().time() + seconds
            await self._producer.poll_answers(0)
            await asyncio.sleep(end - asyncio.get_running_loop().time())

        self._runner.run(poll_until_end())

    def wait_answers(self, timeout_seconds: float, on_answers: Callable[[], None]) -> None:
        last_answer = time.monotonic()
        while self.unanswered() and time.monotonic() - last_answer < timeout_seconds:
            if self._runner.run(self._producer.poll_answers()):
                last_answer = time.monotonic()
                on_answers()

    def unanswered(self) -> int:
        return len(self._producer.pending)


def _record(archived: ArchivedEvent | None) -> tuple[bytes, bytes | None, bool]:
    if archived is None:
        return b"", None, False
    return archived.event.document_id.encode(), archived.message, isinstance(archived.event, CheckInEvent)


def _result_of(answer: VerdictSummary) -> Result:
    """What a report has of a verdict from a topic. How large the document was, the verdict does not say."""
    best = answer.matches[0] if answer.matches else None
    return Result(
        document=answer.document_id,
        relation=answer.relation,
        similar=answer.similar,
        original=answer.group if answer.group != answer.document_id else None,
        best=best.document_id if best else None,
        resemblance=best.resemblance if best else None,
        containment=best.containment if best else None,
        distance=best.distance if best else None,
        dated=answer.checked_in_at,
        unreadable=answer.unreadable_reason,
    )


@contextmanager
def open_kafka_target(
    kafka: KafkaSettings, stats: ReplayStats, *, watch: bool, report: RunReport | None = None
) -> Iterator[KafkaTarget]:
    from gate.stream.check_in_producer import (  # here, as the library of Kafka is: few commands need it
        VerdictSummary,
        open_check_in_producer,
    )

    def count(answer: CheckInAnswer) -> None:
        if isinstance(answer, VerdictSummary):
            stats.count_verdict(answer.relation, answer.group, similar=answer.similar)
            if report is not None:
                report.add_results([_result_of(answer)])
        else:
            stats.dead_lettered[answer.reason] += 1

    with asyncio.Runner() as runner:
        opened = open_check_in_producer(kafka, watch=watch, on_answer=count)
        producer = runner.run(opened.__aenter__())
        try:
            yield KafkaTarget(producer, runner, stats)
        finally:
            runner.run(opened.__aexit__(None, None, None))
