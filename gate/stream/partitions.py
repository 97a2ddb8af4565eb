"""The partitions that a worker holds, and what is under way for each.

A lane has an epoch, which ends when the partition is given away or when the worker goes back to an earlier offset.
What was begun in an epoch that has ended is dropped wherever it is met: it comes again, here or elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import IllegalStateError

from gate.stream.processor import Batch, Part, batch_of
from gate.stream.records import Record


@dataclass(slots=True)
class Lane:
    partition: TopicPartition
    epoch: int
    open: bool = True  # whether its records may be taken; until its producer is there, an exactly-once lane is shut
    goes_back_to: int | None = None  # where reading began, or goes on after an error: all before it is delivered


class Lanes:
    """What is assigned, what is under way, and room for more of it."""

    def __init__(self, *, under_way: int) -> None:
        self._lanes: dict[TopicPartition, Lane] = {}
        self._epochs = 0
        self._under_way: set[Batch] = set()
        self._most = under_way
        self._changed = asyncio.Event()

    # Partitions

    def assign(self, partitions: Iterable[TopicPartition], *, shut: bool) -> None:
        for partition in partitions:
            self._epochs += 1
            self._lanes[partition] = Lane(partition, self._epochs, open=not shut)

    def revoke(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._lanes.pop(partition, None)
        self._notice()

    def held(self) -> list[Lane]:
        return list(self._lanes.values())

    def lane(self, partition: TopicPartition) -> Lane | None:
        return self._lanes.get(partition)

    def epochs(self) -> dict[TopicPartition, int]:
        return {lane.partition: lane.epoch for lane in self._lanes.values()}

    def is_current(self, part: Part) -> bool:
        lane = self._lanes.get(part.partition)
        return lane is not None and lane.epoch == part.epoch

    def go_back(self, lane: Lane, consumer: AIOKafkaConsumer, offset: int | None = None) -> None:
        """Begin a new epoch, at an offset, or behind what was delivered."""
        self._epochs += 1
        lane.epoch = self._epochs
        if offset is not None:
            lane.goes_back_to = offset
        if lane.goes_back_to is not None:
            with suppress(IllegalStateError):  # given away in this moment
                consumer.seek(lane.partition, lane.goes_back_to)
        self._notice()

    # Batches

    def admit(
        self, polled: dict[TopicPartition, list[Record]], before: dict[TopicPartition, int], consumer: AIOKafkaConsumer
    ) -> dict[TopicPartition, list[Record]]:
        """Of what was polled, what belongs to lanes that are still in the epoch in which the poll began.

        The rest was read at an offset that no longer counts, or too early; its lane reads it again.
        """
        good = {}
        for partition, records in polled.items():
            lane = self._lanes.get(partition)
            if lane is None:
                continue
            if lane.open and before.get(partition) == lane.epoch:
                if lane.goes_back_to is None:
                    lane.goes_back_to = records[0].offset
                good[partition] = records
            elif lane.open:
                again = lane.goes_back_to if lane.goes_back_to is not None else records[0].offset
                with suppress(IllegalStateError):
                    consumer.seek(partition, again)
        return good

    def begin(self, polled: dict[TopicPartition, list[Record]], epochs: dict[TopicPartition, int]) -> Batch:
        batch = batch_of(polled, epochs)
        self._under_way.add(batch)
        return batch

    def delivered(self, parts: Iterable[Part]) -> None:
        """The broker has acknowledged every answer of these."""
        for part in parts:
            if self.is_current(part):
                self._lanes[part.partition].goes_back_to = part.next_offset
            self.settle(part)

    def settle(self, part: Part) -> None:
        """Nothing is left to do for it: it is delivered, or dropped."""
        part.batch.left.discard(part.partition)
        if not part.batch.left:
            self._under_way.discard(part.batch)
        self._notice()

    def drop_stale(self, batch: Batch) -> list[Part]:
        """Settle what belongs to epochs that have ended; the parts that still count."""
        current = []
        for part in batch.parts.values():
            if part.partition not in batch.left:
                continue
            if self.is_current(part):
                current.append(part)
            else:
                self.settle(part)
        return current

    # Waiting

    def has_room(self) -> bool:
        return len(self._under_way) < self._most

    async def room(self, seconds: float) -> bool:
        return await self._until(self.has_room, seconds)

    async def quiet(self, partitions: Collection[TopicPartition] | None, seconds: float) -> bool:
        """Wait until nothing that counts is under way for these partitions, or for any."""

        def is_quiet() -> bool:
            return not any(
                self.is_current(part) and (partitions is None or part.partition in partitions)
                for batch in self._under_way
                for part in batch.parts.values()
                if part.partition in batch.left
            )

        return await self._until(is_quiet, seconds)

    async def _until(self, holds: Callable[[], bool], seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        return holds()

    def _notice(self) -> None:
        self._changed.set()
