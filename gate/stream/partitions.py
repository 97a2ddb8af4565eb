"""The partitions of a worker: where each resumes, and what is in flight for it.

Each partition has an epoch, which ends when the partition is revoked or rewound to an earlier offset. What was polled
in an epoch that has ended is stale, and dropped wherever it is met: its records are polled again, here or by another
worker. Only the event loop uses a tracker.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import IllegalStateError

from gate.stream.batch import PartitionAnswers, PartitionSlice, Polled, PolledRecords, Refusals
from gate.stream.records import Record


@dataclass(slots=True, kw_only=True)
class PartitionState:
    """An assigned partition."""

    partition: TopicPartition
    epoch: int
    paused: bool  # its records are not taken: with exactly-once delivery, until its producer has started
    resume_offset: int | None = None  # everything before it is delivered; None: nothing was polled yet
    polled_offset: int | None = None  # where the last slice of this epoch ends; None: there is none
    lost_until: int = 0  # the records before it that were deleted unread are counted
    refused: Refusals = field(default_factory=dict)


class PartitionTracker:
    """Which partitions are assigned, which batches are in flight for them, and whether there is room for another."""

    def __init__(self, *, max_batches: int) -> None:
        self._states: dict[TopicPartition, PartitionState] = {}
        self._epochs = 0
        self._batches = 0
        self._in_flight: dict[
            int, set[PartitionSlice]
        ] = {}  # by batch, the slices that are neither delivered nor stale
        self._max_batches = max_batches
        self._changed = asyncio.Event()

    # Partitions

    def assign(self, partitions: Iterable[TopicPartition], *, paused: bool) -> None:
        for partition in partitions:
            self._epochs += 1
            self._states[partition] = PartitionState(partition=partition, epoch=self._epochs, paused=paused)

    def revoke(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._states.pop(partition, None)
        self._changed.set()

    def assigned(self) -> list[PartitionState]:
        return list(self._states.values())

    def state(self, partition: TopicPartition) -> PartitionState | None:
        """The state of a partition; None: it is not assigned."""
        return self._states.get(partition)

    def epochs(self) -> dict[TopicPartition, int]:
        return {state.partition: state.epoch for state in self._states.values()}

    def rewind(self, state: PartitionState, consumer: AIOKafkaConsumer, offset: int | None = None) -> None:
        """Start a new epoch, at an offset or, without one, where everything before is delivered."""
        self._epochs += 1
        state.epoch = self._epochs
        state.polled_offset = None
        if offset is not None:
            state.resume_offset = offset
        if state.resume_offset is not None:
            with suppress(IllegalStateError):  # revoked in this moment
                consumer.seek(state.partition, state.resume_offset)
        self._changed.set()

    def mark_refused(self, answers: Iterable[tuple[TopicPartition, int, str]]) -> None:
        """The answers to these records are too large for these topics: partition, offset and topic of each. When the
        records are polled again, their slice says how often, and smaller answers are made each time."""
        for partition, offset, topic in answers:
            if (state := self._states.get(partition)) is not None:
                times = state.refused.get(offset, {})
                state.refused = {**state.refused, offset: {**times, topic: times.get(topic, 0) + 1}}

    # Batches

    def accept(
        self, polled: PolledRecords, epochs: Mapping[TopicPartition, int], consumer: AIOKafkaConsumer
    ) -> PolledRecords:
        """The polled records of partitions that are still in the epoch in which the poll started.

        The others were polled at an offset that no longer counts, or too early: their partitions are polled again.
        """
        accepted = {}
        for partition, records in polled.items():
            state = self._states.get(partition)
            if state is None or state.paused:
                continue
            if epochs.get(partition) == state.epoch:
                if state.resume_offset is None:
                    state.resume_offset = records[0].offset
                accepted[partition] = records
            else:
                with suppress(IllegalStateError):  # revoked in this moment
                    consumer.seek(partition, records[0].offset if state.resume_offset is None else state.resume_offset)
        return accepted

    def start_batch(self, polled: PolledRecords, epochs: Mapping[TopicPartition, int]) -> Polled:
        """A batch of accepted records. It is in flight until each of its slices is finished."""
        self._batches += 1
        records: list[Record] = []
        slices: list[PartitionSlice] = []
        for partition, found in polled.items():
            first = len(records)
            records += found
            state = self._states.get(partition)
            start, end = found[0].offset, found[-1].offset + 1
            if state is not None and state.epoch == epochs[partition]:
                ends = (state.polled_offset, state.resume_offset)
                start = next((offset for offset in ends if offset is not None), start)
                state.polled_offset = end
            slices.append(
                PartitionSlice(
                    batch=self._batches,
                    partition=partition,
                    epoch=epochs[partition],
                    positions=range(first, len(records)),
                    offsets=tuple([record.offset for record in found]),
                    start_offset=start,
                    next_offset=end,
                    refused={} if state is None else state.refused,
                )
            )
        self._in_flight[self._batches] = set(slices)
        return Polled(records=tuple(records), slices=tuple(slices), arrived_at=time.time())

    def is_idle(self, state: PartitionState) -> bool:
        """Whether all that was polled of a partition is delivered."""
        return not state.paused and state.polled_offset in (None, state.resume_offset)

    def start_empty(self, state: PartitionState, end: int) -> PartitionSlice:
        """A slice without records of an idle partition, in flight like any other: up to `end` there are none."""
        self._batches += 1
        empty = PartitionSlice(
            batch=self._batches,
            partition=state.partition,
            epoch=state.epoch,
            positions=range(0),
            offsets=(),
            start_offset=end if state.resume_offset is None else state.resume_offset,
            next_offset=end,
        )
        state.polled_offset = end
        self._in_flight[self._batches] = {empty}
        return empty

    def is_current(self, partition_slice: PartitionSlice) -> bool:
        state = self._states.get(partition_slice.partition)
        return state is not None and state.epoch == partition_slice.epoch

    def drop_stale(self, slices: Iterable[PartitionSlice]) -> list[PartitionSlice]:
        """Finish the slices whose epoch has ended; the others are returned."""
        current = []
        for partition_slice in slices:
            if self.is_current(partition_slice):
                current.append(partition_slice)
            else:
                self.finish(partition_slice)
        return current

    def require_next(self, delivered: Iterable[PartitionAnswers]) -> None:
        """Each of these current slices starts where everything before is delivered. Otherwise a commit would skip
        records: that is a bug, and the worker ends with nothing more committed."""
        ends = {state.partition: state.resume_offset for state in self._states.values()}
        for answers in delivered:
            partition_slice = answers.slice
            if not self.is_current(partition_slice):
                continue
            end = ends[partition_slice.partition]
            if end is not None and partition_slice.start_offset != end:
                topic, partition = partition_slice.partition
                raise RuntimeError(
                    f"{topic}[{partition}]: offsets {end} to {partition_slice.start_offset} were skipped"
                )
            ends[partition_slice.partition] = partition_slice.next_offset

    def mark_delivered(self, delivered: Iterable[PartitionAnswers]) -> None:
        """The broker has acknowledged all of these answers."""
        for answers in delivered:
            partition_slice = answers.slice
            if self.is_current(partition_slice):
                state = self._states[partition_slice.partition]
                state.resume_offset = partition_slice.next_offset
                if state.refused:
                    end = state.resume_offset
                    state.refused = {offset: times for offset, times in state.refused.items() if offset >= end}
            self.finish(partition_slice)

    def finish(self, partition_slice: PartitionSlice) -> None:
        """A slice is delivered or stale: nothing remains to be done for it."""
        slices = self._in_flight.get(partition_slice.batch, set())
        slices.discard(partition_slice)
        if not slices:
            self._in_flight.pop(partition_slice.batch, None)
        self._changed.set()

    # Waiting

    def has_room(self) -> bool:
        return len(self._in_flight) < self._max_batches

    async def wait_for_room(self, seconds: float) -> bool:
        """Whether another batch may be started, after at most so many seconds."""
        return await self._wait_for(self.has_room, seconds)

    async def wait_drained(self, partitions: Collection[TopicPartition] | None, seconds: float) -> bool:
        """Whether nothing is in flight for these partitions (None: for any), after at most so many seconds."""

        def is_drained() -> bool:
            return not any(
                self.is_current(partition_slice) and (partitions is None or partition_slice.partition in partitions)
                for slices in self._in_flight.values()
                for partition_slice in slices
            )

        return await self._wait_for(is_drained, seconds)

    async def _wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        return condition()
