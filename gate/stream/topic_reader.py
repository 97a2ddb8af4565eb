"""Topics read from where they begin to where they end now. No group is joined, and nothing is committed."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from gate.errors import Unavailable
from gate.stream import unpacking
from gate.stream.admin import Admin, asked, connected, started, stopped
from gate.stream.events import Record
from gate.stream.kafka_errors import client_options
from gate.stream.settings import KafkaSettings

POLL_MS = 500


@dataclass(frozen=True, slots=True)
class Span:
    """The offsets of a partition that are there: `end` is the first that is not."""

    begin: int
    end: int

    def __len__(self) -> int:
        return max(0, self.end - self.begin)


class Reading:
    """What is there of some partitions, once, up to the ends that were found when it began.

    Only what was committed is read. Where nothing comes for the time of one request, `Unavailable` is raised: the end
    is known to be further on.
    """

    def __init__(self, kafka: KafkaSettings, consumer: AIOKafkaConsumer, spans: Mapping[TopicPartition, Span]) -> None:
        self.spans = dict(spans)
        self.done = 0  # offsets, whether they held a record that anybody may see or not
        self._kafka = kafka
        self._consumer = consumer
        self._left = {partition: span.begin for partition, span in spans.items() if len(span)}

    async def batches(self) -> AsyncIterator[list[Record]]:
        """Records as they come, those of a partition in their order."""
        while self._left:
            found = await self._more(list(self._left))
            if records := [record for some in found.values() for record in some]:
                yield records

    async def in_time(self, *, records: int, size_bytes: int) -> AsyncIterator[list[Record]]:
        """Records of all partitions in the order of their time stamps, as nearly as each partition's own order allows;
        so many at once, or as many as have so many bytes."""
        waiting: dict[TopicPartition, deque[Record]] = {partition: deque() for partition in self._left}
        heads: list[tuple[int, TopicPartition, int]] = []
        batch: list[Record] = []
        size = 0
        while True:
            while needed := [one for one in self._left if not waiting[one]]:
                for partition, some in (await self._more(needed)).items():
                    if some and not waiting[partition]:
                        heapq.heappush(heads, (some[0].timestamp, partition, some[0].offset))
                    waiting[partition].extend(some)
            if not heads:
                break
            _, partition, _ = heapq.heappop(heads)
            record = waiting[partition].popleft()
            if waiting[partition]:
                following = waiting[partition][0]
                heapq.heappush(heads, (following.timestamp, partition, following.offset))
            batch.append(record)
            size += len(record.value or b"")
            if len(batch) >= records or size >= size_bytes:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    async def _more(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, list[Record]]:
        """Some records of these partitions; none where only the ends of transactions were left to read."""
        deadline = asyncio.get_running_loop().time() + self._kafka.request_timeout_seconds
        while True:
            found: dict[TopicPartition, list[Any]] = await asked(
                self._kafka, lambda: self._consumer.getmany(*partitions, timeout_ms=POLL_MS)
            )
            has_moved = False
            for partition in partitions:
                position = await asked(self._kafka, lambda one=partition: self._consumer.position(one))  # type: ignore[misc]
                has_moved |= self._moved(partition, position)
            if has_moved:
                return {one: [r for r in some if r.offset < self.spans[one].end] for one, some in found.items()}
            if asyncio.get_running_loop().time() > deadline:
                raise Unavailable(f"kafka: {self._kafka.brokers} sends no more of what it has")

    def _moved(self, partition: TopicPartition, position: int) -> bool:
        before, span = self._left[partition], self.spans[partition]
        if position <= before:
            return False
        self.done += min(position, span.end) - before
        self._left[partition] = position
        if position >= span.end:
            del self._left[partition]
            self._consumer.pause(partition)
        return True


@asynccontextmanager
async def reading(
    kafka: KafkaSettings, topics: Sequence[str], *, begin: Mapping[TopicPartition, int] | None = None
) -> AsyncIterator[Reading]:
    """Read topics from their beginnings, or from the offsets in `begin` where those are later."""
    async with connected(kafka) as admin, opened(kafka) as consumer:
        spans = {
            one: Span(min(max(span.begin, (begin or {}).get(one, 0)), span.end), span.end)
            for one, span in (await spans_of(kafka, admin, consumer, topics)).items()
        }
        consumer.assign(list(spans))
        for partition, span in spans.items():
            consumer.seek(partition, span.begin)
            if not len(span):
                consumer.pause(partition)
        yield Reading(kafka, consumer, spans)


async def spans_of(
    kafka: KafkaSettings, admin: Admin, consumer: AIOKafkaConsumer, topics: Sequence[str]
) -> dict[TopicPartition, Span]:
    """What is there of each partition. ConfigError names topics that are missing."""
    known = await admin.needed(topics)
    partitions = [TopicPartition(name, number) for name in topics for number in range(known[name].partitions)]
    first = await asked(kafka, lambda: consumer.beginning_offsets(partitions))
    last = await asked(kafka, lambda: consumer.end_offsets(partitions))
    return {one: Span(first[one], last[one]) for one in partitions}


@asynccontextmanager
async def opened(kafka: KafkaSettings) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer without a group."""
    unpacking.install(kafka.unpacked_bytes)
    consumer = AIOKafkaConsumer(
        **client_options(kafka),
        enable_auto_commit=False,
        auto_offset_reset="earliest",  # what was dropped meanwhile cannot be read by anybody
        isolation_level="read_committed",
        fetch_max_bytes=kafka.fetch_bytes,
        max_partition_fetch_bytes=max(kafka.fetch_bytes // 4, 2**20),
    )
    try:
        await started(kafka, consumer)
        yield consumer
    finally:
        await stopped(kafka, consumer.stop)


@contextmanager
def read_in_time(
    kafka: KafkaSettings, topics: Sequence[str], *, records: int, size_bytes: int
) -> Iterator[tuple[Reading, Iterator[list[Record]]]]:
    """`Reading.in_time` for a program that has no event loop: it turns only while the next records are asked for."""
    with asyncio.Runner() as runner:
        entered = reading(kafka, topics)
        found = runner.run(entered.__aenter__())
        try:
            steps = found.in_time(records=records, size_bytes=size_bytes)

            async def following() -> list[Record]:
                return await anext(steps, [])

            def batches() -> Iterator[list[Record]]:
                while batch := runner.run(following()):
                    yield batch

            yield found, batches()
        finally:
            runner.run(entered.__aexit__(None, None, None))
