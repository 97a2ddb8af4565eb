"""Producers: how they are started and stopped, and how the answers of a batch are packed, sent and acknowledged."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, OffsetAndMetadata, TopicPartition
from aiokafka.partitioner import DefaultPartitioner

from gate.metrics import WorkerMetrics
from gate.stream.batch import PartitionAnswers
from gate.stream.batch_sizes import BatchSizes
from gate.stream.client_calls import with_timeout
from gate.stream.client_options import producer_options
from gate.stream.kafka_errors import Action, action_for
from gate.stream.outage import Outage
from gate.stream.partitions import PartitionTracker
from gate.stream.records import OutgoingRecord, passes, size_bytes
from gate.stream.settings import KafkaSettings

partition_for = DefaultPartitioner()  # the same choice as that of other clients


@dataclass(frozen=True, slots=True)
class Refusal:
    """At least one of the answers was too large for its topic, so the producer has to be replaced.

    `answers` are those that are too large by themselves: partition and offset of the record, and the topic of the
    answer. Smaller ones have to be made. Where there are none, a batch was too large, and later ones to that topic are
    smaller.
    """

    error: BaseException
    answers: frozenset[tuple[TopicPartition, int, str]]


class Sender:
    """What both delivery guarantees share: producers, and sending with every acknowledgement awaited."""

    def __init__(
        self,
        kafka: KafkaSettings,
        consumer: AIOKafkaConsumer,
        tracker: PartitionTracker,
        metrics: WorkerMetrics,
        broker: Outage,
        *,
        metadata: Callable[[], str] = str,
        make_producer: Callable[..., Any] = AIOKafkaProducer,
    ) -> None:
        self.kafka = kafka
        self.consumer = consumer
        self.tracker = tracker
        self.metrics = metrics
        self._metadata = metadata
        self.broker = broker
        self._make_producer = make_producer
        self._sizes = BatchSizes()
        self._stopping: set[asyncio.Task[None]] = set()

    @property
    def call_timeout_seconds(self) -> float:
        """For one call: the library limits most of them to the request timeout, and a few not at all."""
        return 2 * self.kafka.request_timeout_seconds

    def with_metadata(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetAndMetadata]:
        """Offsets to commit, with the identity of the index that everything before them was judged by."""
        metadata = self._metadata()
        return {partition: OffsetAndMetadata(offset, metadata) for partition, offset in offsets.items()}

    # Producers

    async def start_producer(self, transactional_id: str | None = None) -> Any:
        options = producer_options(self.kafka)
        if transactional_id is not None:
            options["transactional_id"] = transactional_id
            options["transaction_timeout_ms"] = int(max(60.0, 2 * self.call_timeout_seconds) * 1000)
        producer = self._make_producer(**options)
        try:
            await with_timeout(producer.start(), self.call_timeout_seconds)
        except BaseException:
            self.discard(producer)
            raise
        return producer

    def discard(self, producer: Any) -> None:
        """Stop a producer without waiting for it: while the broker is unavailable, stopping may never end."""
        task = asyncio.ensure_future(self._stop(producer))
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)

    async def _stop(self, producer: Any) -> None:
        with suppress(Exception):  # it failed already, or is discarded
            await with_timeout(producer.stop(), self.call_timeout_seconds)

    async def wait_stopped(self, seconds: float) -> None:
        """Wait for the discarded producers to stop, for at most so many seconds."""
        if self._stopping:
            await asyncio.wait(self._stopping, timeout=seconds)

    # Sending

    async def send(self, producer: Any, answers: Sequence[PartitionAnswers]) -> Refusal | None:
        """Send all of these answers. None: every record has an acknowledged one. Raises the first error of another
        kind than that of a refusal."""
        batches: list[ProduceBatch] = []
        try:
            async with asyncio.timeout(self.call_timeout_seconds):
                async for batch in self._pack(producer, answers):
                    batch.future = await producer.send_batch(batch.builder, batch.topic, partition=batch.partition)
                    batches.append(batch)
        finally:
            # All of them, whatever happens: an error that is not looked at would be lost, and committed over.
            results = await self._wait_acknowledged([batch.future for batch in batches])
        failed = [(batch, result) for batch, result in zip(batches, results, strict=True) if result is not None]
        if not failed:
            _require_answered(answers, batches)
            return None
        # After a batch was refused its producer fails the later ones too: the first error is the cause.
        error = failed[0][1]
        if action_for(error) is not Action.TOO_LARGE:
            raise error
        refused: set[tuple[TopicPartition, int, str]] = set()
        for batch, result in failed:
            if action_for(result) is not Action.TOO_LARGE:
                continue
            if len(batch.answered) > 1:
                self._sizes.lower(batch.topic, batch.size_bytes)
            else:
                refused.update((partition, offset, batch.topic) for partition, offset in batch.answered)
        return Refusal(error, frozenset(refused))

    async def _pack(self, producer: Any, answers: Sequence[PartitionAnswers]) -> AsyncIterator[ProduceBatch]:
        """The answers in batches, one at a time for each partition that their keys belong to, as soon as it is full."""
        partitions: dict[str, list[int]] = {}
        filling: dict[tuple[str, int], ProduceBatch] = {}
        for one in answers:
            for record in one.outgoing:
                if record.topic not in partitions:
                    partitions[record.topic] = sorted(await producer.partitions_for(record.topic))
                number = partition_for(record.key, partitions[record.topic], partitions[record.topic])
                max_bytes = self._sizes.limit(record.topic)
                batch = filling.get((record.topic, number))
                if batch is None or not batch.add(one.slice.partition, record, max_bytes):
                    if batch is not None:
                        yield batch
                    batch = ProduceBatch(record.topic, number, producer.create_batch())
                    if not batch.add(one.slice.partition, record, max_bytes):
                        raise RuntimeError(f"{record.topic}: an empty batch takes no record")
                    filling[record.topic, number] = batch
        for batch in filling.values():
            yield batch

    async def _wait_acknowledged(self, futures: Sequence[asyncio.Future[Any]]) -> list[BaseException | None]:
        """The error of each send; None: it is acknowledged."""
        if not futures:
            return []
        with suppress(TimeoutError):
            async with asyncio.timeout(self.call_timeout_seconds):
                await asyncio.wait(futures)
        return [_error_of(future) for future in futures]

    def record_delivered(self, delivered: Sequence[PartitionAnswers]) -> None:
        """Count answers that are acknowledged."""
        verdicts = [verdict for answers in delivered for verdict in answers.verdicts]
        self.metrics.record_verdicts(
            verdicts,
            [source for answers in delivered for source in answers.sources],
            [at for answers in delivered for at in answers.checked_in_at],
            [answers.arrived_at for answers in delivered for _ in answers.verdicts],
            time.time(),
        )
        self.metrics.record_dead_letters([reason for answers in delivered for reason in answers.reasons])
        accepted = sum(map(passes, verdicts))
        if self.kafka.topics.quarantine and accepted < len(verdicts):
            self.metrics.record_routed("quarantine", len(verdicts) - accepted)
        if self.kafka.topics.accepted and accepted:
            self.metrics.record_routed("accepted", accepted)


@dataclass(eq=False, slots=True)
class ProduceBatch:
    """Records that are sent together to one partition of a topic."""

    topic: str
    partition: int
    builder: Any
    answered: set[tuple[TopicPartition, int]] = field(default_factory=set)  # partition and offset of the input records
    size_bytes: int = 0
    future: Any = None

    def add(self, answered: TopicPartition, record: OutgoingRecord, max_bytes: int) -> bool:
        """Add a record that answers one of a partition. False: the batch is full. A record that is larger than a batch
        may be is a batch of its own."""
        size = size_bytes(record)
        if self.answered and self.size_bytes + size > max_bytes:
            return False
        if self.builder.append(timestamp=None, key=record.key, value=record.value, headers=record.headers) is None:
            return False
        self.answered.add((answered, record.answers_offset))
        self.size_bytes += size
        return True


def _require_answered(answers: Sequence[PartitionAnswers], acknowledged: Sequence[ProduceBatch]) -> None:
    """Every record of these slices has an acknowledged answer, or needs none. Otherwise its check-in would be lost
    when the offset behind it is committed: that is a bug, and the worker ends with nothing committed."""
    answered = {place for batch in acknowledged for place in batch.answered}
    for one in answers:
        topic, partition = one.slice.partition
        for offset in one.slice.offsets:
            if offset not in one.unanswered and (one.slice.partition, offset) not in answered:
                raise RuntimeError(f"{topic}[{partition}]@{offset}: has no acknowledged answer")


def _error_of(future: asyncio.Future[Any]) -> BaseException | None:
    if not future.done():
        future.cancel()
        return TimeoutError("not acknowledged in time")
    return TimeoutError("cancelled") if future.cancelled() else future.exception()
