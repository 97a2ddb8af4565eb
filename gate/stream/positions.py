"""The positions of a consumer in its partitions, where it is not the next record that decides them.

    nothing committed                  the group is new: start at the first record
    position before the first record   the records between were deleted unread: count them, then continue or stop
    position behind the last record    the log was truncated, or the topic made anew: start at the first record
    only transaction markers left      nothing to read: commit the position, for nothing else will

The library would move a position that is out of range by itself, and not report it: check-ins that retention deleted
would be skipped in silence. So its reset is switched off, and it raises the errors that end up here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError, NoOffsetForPartitionError, OffsetOutOfRangeError

from gate.errors import ConfigError
from gate.metrics import WorkerMetrics
from gate.stream.batch import PartitionAnswers, PolledRecords
from gate.stream.client_calls import with_timeout
from gate.stream.partitions import PartitionTracker
from gate.stream.settings import KafkaSettings, OnLostRecords

NO_POSITION = (NoOffsetForPartitionError, OffsetOutOfRangeError)  # what a poll raises


class ConsumerPositions:
    """Positions of the assigned partitions."""

    def __init__(
        self,
        kafka: KafkaSettings,
        consumer: Any,
        tracker: PartitionTracker,
        metrics: WorkerMetrics,
        *,
        on_lost_records: OnLostRecords,
    ) -> None:
        self._kafka = kafka
        self._consumer = consumer
        self._tracker = tracker
        self._metrics = metrics
        self._on_lost_records = on_lost_records

    # Out of range

    async def recover(self, error: Exception) -> None:
        """Move the partitions that a poll failed for to records that exist. ConfigError: records were deleted before
        they were read, and the settings ask to stop."""
        if isinstance(error, NoOffsetForPartitionError):
            [partition] = error.args
            await self._start(partition)
        elif isinstance(error, OffsetOutOfRangeError):
            for partition, position in error.args[0].items():
                await self._move(partition, position)

    async def _start(self, partition: TopicPartition) -> None:
        first, _ = await self._fetch_range(partition)
        state = self._tracker.state(partition)
        if state is not None and state.resume_offset is None:
            state.resume_offset = first
            self._consumer.seek(partition, first)

    async def _move(self, partition: TopicPartition, position: int) -> None:
        first, end = await self._fetch_range(partition)
        state = self._tracker.state(partition)
        if state is None or await self._position(partition) != position:
            return  # the error is older than the last move
        if position < first:  # what is in flight was read before: it stays so
            counted, state.lost_until = max(position, state.lost_until), first
            if counted < first:
                self._report_lost(partition, counted, first)
            self._consumer.seek(partition, first)
        elif position > end:
            self._metrics.log_truncated(*partition, position=position, end=end)
            self._tracker.rewind(state, self._consumer, first)
        # Or else a replica had not caught up: the position is tried again.

    def _report_lost(self, partition: TopicPartition, start: int, end: int) -> None:
        topic, number = partition
        self._metrics.record_lost(topic, number, start, end)
        if self._on_lost_records == "stop":
            raise ConfigError(
                f"on_lost_records: {topic}[{number}]: offsets {start} to {end - 1} were deleted before they were read: "
                "raise the retention of the topic, send their check-ins again, and start with on_lost_records = "
                "continue"
            )

    async def _fetch_range(self, partition: TopicPartition) -> tuple[int, int]:
        """The first offset, and the one behind the last that can be read."""
        seconds = self._kafka.request_timeout_seconds
        first = await with_timeout(self._consumer.beginning_offsets([partition]), seconds)
        end = await with_timeout(self._consumer.end_offsets([partition]), seconds)
        return first[partition], end[partition]

    # Nothing to read

    async def skip_markers(
        self, polled: PolledRecords, epochs: Mapping[TopicPartition, int]
    ) -> AsyncIterator[PartitionAnswers]:
        """Answers to nothing, for partitions that were read to behind their last record: markers of transactions have
        offsets too, and so have the records of aborted ones.

        It is called right after a poll that returned `polled`, and `epochs` are from before it. So a partition in the
        same epoch, of which nothing was polled now and all from before is delivered, has no record before its position.
        """
        for state in self._tracker.assigned():
            if state.partition in polled or state.epoch != epochs.get(state.partition):
                continue
            if self._tracker.is_idle(state):
                position = await self._position(state.partition)
                if position is not None and (state.resume_offset is None or position > state.resume_offset):
                    yield PartitionAnswers.none(self._tracker.start_empty(state, position))

    async def _position(self, partition: TopicPartition) -> int | None:
        """The position now; None: there is none. The library would wait for one."""
        with suppress(IllegalStateError, TimeoutError):
            async with asyncio.timeout(0):
                position: int = await self._consumer.position(partition)
                return position
        return None
