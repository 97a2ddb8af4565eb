"""Producers: how they are made and let go, and how the answers of a batch are packed, sent and acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.partitioner import DefaultPartitioner

from gate.metrics import WorkerMetrics
from gate.stream.client_calls import with_timeout
from gate.stream.client_options import producer_options
from gate.stream.kafka_errors import Action, action_for
from gate.stream.outage import Absence
from gate.stream.partitions import Lanes
from gate.stream.processor import Part
from gate.stream.records import OutgoingRecord
from gate.stream.settings import KafkaSettings

BATCH_BYTES = 256 * 1024  # of records that go to one partition together

partition_for = DefaultPartitioner()  # as every other client does it


class Sender:
    """What both ways of delivery share: producers, and what to do when one fails."""

    def __init__(
        self,
        kafka: KafkaSettings,
        consumer: AIOKafkaConsumer,
        lanes: Lanes,
        metrics: WorkerMetrics,
        broker: Absence,
        *,
        tell: Callable[[Sequence[Part]], None],
        too_large: set[tuple[str, int, int]],
        make: Callable[..., Any] = AIOKafkaProducer,
    ) -> None:
        self.kafka = kafka
        self.consumer = consumer
        self.lanes = lanes
        self.metrics = metrics
        self.broker = broker
        self.tell = tell
        self.too_large = too_large
        self._make = make
        self._most_bytes: dict[str, int] = {}  # of a batch, for topics that have refused a larger one
        self._leaving: set[asyncio.Task[None]] = set()

    @property
    def patience(self) -> float:
        """For one call: the library bounds most of them by the request's timeout, and a few not at all."""
        return 2 * self.kafka.request_timeout_seconds

    async def producer(self, transactional_id: str | None = None) -> Any:
        options = producer_options(self.kafka)
        if transactional_id is not None:
            options["transactional_id"] = transactional_id
            options["transaction_timeout_ms"] = int(max(60.0, 2 * self.patience) * 1000)
        made = self._make(**options)
        try:
            await with_timeout(made.start(), self.patience)
        except BaseException:
            self.discard(made)
            raise
        return made

    def discard(self, producer: Any) -> None:
        """Let go of a producer without waiting for it: with the broker away, it may never say good-bye."""
        task = asyncio.ensure_future(self._stop(producer))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _stop(self, producer: Any) -> None:
        with suppress(Exception):  # it failed already, or is being thrown away
            await with_timeout(producer.stop(), self.patience)

    async def goodbye(self, seconds: float) -> None:
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=seconds)

    async def send(self, producer: Any, parts: Sequence[Part]) -> None:
        """Send all answers of these parts; returns when every one is acknowledged."""
        packs: list[Pack] = []
        try:
            async with asyncio.timeout(self.patience):
                async for pack in self._packed(producer, parts):
                    pack.future = await producer.send_batch(pack.builder, pack.topic, partition=pack.partition)
                    packs.append(pack)
        finally:
            # All of them, whatever happens: an error that nobody asks for would be lost, and be committed over.
            results = await self._acknowledged([pack.future for pack in packs])
        for result, pack in zip(results, packs, strict=True):
            if isinstance(result, BaseException):
                if action_for(result) is Action.TOO_LARGE:
                    self._learn_size(pack)
                raise result

    async def _packed(self, producer: Any, parts: Sequence[Part]) -> AsyncIterator[Pack]:
        """The answers, in batches for the partitions that their keys belong to, each as soon as it is full."""
        partitions: dict[str, list[int]] = {}
        open_packs: dict[tuple[str, int], Pack] = {}
        for part in parts:
            for one in part.outgoing:
                if one.topic not in partitions:
                    partitions[one.topic] = sorted(await producer.partitions_for(one.topic))
                number = partition_for(one.key, partitions[one.topic], partitions[one.topic])
                most = self._most_bytes.get(one.topic, BATCH_BYTES)
                pack = open_packs.get((one.topic, number))
                if pack is None or not pack.add(part, one, most):
                    if pack is not None:
                        yield pack
                    pack = open_packs[one.topic, number] = Pack(one.topic, number, producer.create_batch())
                    pack.add(part, one, most)
        for pack in open_packs.values():
            yield pack

    async def _acknowledged(self, futures: Sequence[asyncio.Future[Any]]) -> list[Any]:
        if not futures:
            return []
        with suppress(TimeoutError):
            async with asyncio.timeout(self.patience):
                await asyncio.wait(futures)
        return [_result(future) for future in futures]

    def _learn_size(self, pack: Pack) -> None:
        """A topic's limit is for a batch: send smaller ones. What is refused by itself is answered by something
        smaller, or it would come again and again."""
        if len(pack.answered) > 1:
            self._most_bytes[pack.topic] = min(pack.size, self._most_bytes.get(pack.topic, BATCH_BYTES)) // 2
        else:
            self.too_large |= pack.answered


@dataclass(eq=False, slots=True)
class Pack:
    """A batch of records for one partition of a topic."""

    topic: str
    partition: int
    builder: Any
    answered: set[tuple[str, int, int]] = field(default_factory=set)  # places of the records that it answers
    size: int = 0
    future: Any = None

    def add(self, part: Part, one: OutgoingRecord, most: int) -> bool:
        """False: it is full. A record that is larger than a batch may be is a batch of its own."""
        size = len(one.value or b"") + len(one.key or b"")
        if self.answered and self.size + size > most:
            return False
        if self.builder.append(timestamp=None, key=one.key, value=one.value, headers=one.headers) is None:
            return False
        self.answered.add((*part.partition, one.answers_offset))
        self.size += size
        return True


def _result(future: asyncio.Future[Any]) -> Any:
    if not future.done():
        future.cancel()
        return TimeoutError("not acknowledged in time")
    return future.exception() if not future.cancelled() else TimeoutError("given up")
