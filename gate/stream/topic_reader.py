"""Read topics from their beginning to their present end, without joining a group or committing an offset."""

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
from gate.pipeline import chunked
from gate.stream import decompression
from gate.stream.admin import Admin, open_admin
from gate.stream.client_calls import retry_call, start_client, stop_client
from gate.stream.client_options import client_options
from gate.stream.records import Record, size_bytes
from gate.stream.settings import KafkaSettings

POLL_MS = 500


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets that a partition holds; `end` is the first that it does not."""

    start: int
    end: int

    def __len__(self) -> int:
        return max(0, self.end - self.start)


class TopicReader:
    """Reads partitions once, up to the ends that they had when it was made.

    Only committed records are read. `Unavailable`: nothing came for the time of one request, although the end is
    known to be further on.
    """

    def __init__(
        self, kafka: KafkaSettings, consumer: AIOKafkaConsumer, ranges: Mapping[TopicPartition, OffsetRange]
    ) -> None:
        self.ranges = dict(ranges)
        self.offsets_read = 0  # those of transaction markers and aborted records count too
        self._kafka = kafka
        self._consumer = consumer
        self._positions = {partition: offsets.start for partition, offsets in ranges.items() if len(offsets)}

    async def batches(self) -> AsyncIterator[list[Record]]:
        """Records as they arrive, in order within each partition."""
        while self._positions:
            polled = await self._poll(list(self._positions))
            if batch := [record for records in polled.values() for record in records]:
                yield batch

    async def runs_by_timestamp(self) -> AsyncIterator[list[Record]]:
        """Records of all partitions merged by timestamp, each partition in its own order. A run ends where a partition
        has to be polled before it is known which record is next."""
        queues: dict[TopicPartition, deque[Record]] = {partition: deque() for partition in self._positions}
        heads: list[tuple[int, TopicPartition, int]] = []
        while True:
            while empty := [partition for partition in self._positions if not queues[partition]]:
                for partition, records in (await self._poll(empty)).items():
                    if records and not queues[partition]:
                        heapq.heappush(heads, (records[0].timestamp, partition, records[0].offset))
                    queues[partition].extend(records)
            if not heads:
                return
            run: list[Record] = []
            while heads:
                _, partition, _ = heapq.heappop(heads)
                run.append(queues[partition].popleft())
                if queues[partition]:
                    head = queues[partition][0]
                    heapq.heappush(heads, (head.timestamp, partition, head.offset))
                elif partition in self._positions:
                    break
            yield run

    async def _poll(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, list[Record]]:
        """Some records of these partitions; none where only transaction markers were left to read."""
        deadline = asyncio.get_running_loop().time() + self._kafka.request_timeout_seconds
        while True:
            with decompression.poll_limit(self._kafka.fetch_bytes):
                polled: dict[TopicPartition, list[Any]] = await retry_call(
                    self._kafka, lambda: self._consumer.getmany(*partitions, timeout_ms=POLL_MS)
                )
            has_advanced = False
            for partition in partitions:
                has_advanced |= self._advance(partition, await self._position(partition))
            if has_advanced:
                return {
                    partition: [record for record in records if record.offset < self.ranges[partition].end]
                    for partition, records in polled.items()
                }
            if asyncio.get_running_loop().time() > deadline:
                raise Unavailable(f"kafka: {self._kafka.brokers} sends no more of the records that it has")

    async def _position(self, partition: TopicPartition) -> int:
        position: int = await retry_call(self._kafka, lambda: self._consumer.position(partition))
        return position

    def _advance(self, partition: TopicPartition, position: int) -> bool:
        before, end = self._positions[partition], self.ranges[partition].end
        if position <= before:
            return False
        self.offsets_read += min(position, end) - before
        self._positions[partition] = position
        if position >= end:
            del self._positions[partition]
            self._consumer.pause(partition)
        return True


@asynccontextmanager
async def open_topic_reader(
    kafka: KafkaSettings, topics: Sequence[str], *, start: Mapping[TopicPartition, int] | None = None
) -> AsyncIterator[TopicReader]:
    """A reader of topics from their beginning, or from the offsets in `start` where those are later."""
    async with open_admin(kafka) as admin, open_consumer(kafka) as consumer:
        ranges = {
            partition: OffsetRange(min(max(stored.start, (start or {}).get(partition, 0)), stored.end), stored.end)
            for partition, stored in (await fetch_offset_ranges(kafka, admin, consumer, topics)).items()
        }
        consumer.assign(list(ranges))
        for partition, offsets in ranges.items():
            consumer.seek(partition, offsets.start)
            if not len(offsets):
                consumer.pause(partition)
        yield TopicReader(kafka, consumer, ranges)


async def fetch_offset_ranges(
    kafka: KafkaSettings, admin: Admin, consumer: AIOKafkaConsumer, topics: Sequence[str]
) -> dict[TopicPartition, OffsetRange]:
    """The offsets that each partition of these topics holds. ConfigError names topics that do not exist."""
    infos = await admin.require_topics(topics)
    partitions = [TopicPartition(name, number) for name in topics for number in range(infos[name].partitions)]
    starts = await retry_call(kafka, lambda: consumer.beginning_offsets(partitions))
    ends = await retry_call(kafka, lambda: consumer.end_offsets(partitions))
    return {partition: OffsetRange(starts[partition], ends[partition]) for partition in partitions}


@asynccontextmanager
async def open_consumer(kafka: KafkaSettings) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer without a group."""
    decompression.install_limit(kafka.unpacked_bytes)
    consumer = AIOKafkaConsumer(
        **client_options(kafka),
        enable_auto_commit=False,
        auto_offset_reset="earliest",  # records that retention dropped meanwhile cannot be read at all
        isolation_level="read_committed",
        fetch_max_bytes=kafka.fetch_bytes,
        max_partition_fetch_bytes=max(kafka.fetch_bytes // 4, 2**20),
    )
    try:
        await start_client(kafka, consumer)
        yield consumer
    finally:
        await stop_client(kafka, consumer.stop)


@contextmanager
def read_by_timestamp(
    kafka: KafkaSettings, topics: Sequence[str], *, max_records: int, max_bytes: int
) -> Iterator[tuple[TopicReader, Iterator[list[Record]]]]:
    """A reader, and batches of the records that it merges by timestamp, for a program without an event loop: one runs
    while the program waits for records."""
    with asyncio.Runner() as runner:
        opened = open_topic_reader(kafka, topics)
        reader = runner.run(opened.__aenter__())
        try:
            runs = reader.runs_by_timestamp()

            async def next_run() -> list[Record]:
                return await anext(runs, [])

            def records() -> Iterator[Record]:
                while run := runner.run(next_run()):
                    yield from run

            yield (
                reader,
                chunked(
                    records(),
                    size=size_bytes,
                    max_items=max_records,
                    max_size=max_bytes,
                ),
            )
        finally:
            runner.run(opened.__aexit__(None, None, None))
