"""How answers reach the broker, and how far the input is then done with.

At least once: one idempotent producer; every answer is acknowledged before its offset is committed.
Exactly once: one transactional producer for each input partition. It is made when the partition is assigned, which
shuts out whoever wrote for it before, and only then is read where to begin. Answers and offset are one transaction.

Whatever goes wrong, the producer is thrown away, what it had is dropped, and the lane goes back to what is known to be
delivered. A verdict that is given again is the same again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, Protocol

from aiokafka import TopicPartition

from gate.stream.client_calls import with_timeout
from gate.stream.kafka_errors import Action, action_for, error_name
from gate.stream.outage import Backoff
from gate.stream.partitions import Lane
from gate.stream.processor import Batch, Part
from gate.stream.sender import Sender

TRANSACTION_RECORDS = 4096  # at most so many answers are one transaction


class Outbox(Protocol):
    """Takes batches that are judged. `run` works until it is cancelled, and raises what cannot be mended."""

    async def run(self) -> None: ...

    async def put(self, batch: Batch) -> None: ...

    def assigned(self, partitions: Collection[TopicPartition]) -> None: ...

    def revoked(self, partitions: Collection[TopicPartition]) -> None: ...

    async def settled(self, seconds: float) -> None:
        """Wait until the offsets of what was delivered are committed too."""

    async def close(self) -> None: ...


class AtLeastOnce:
    """Send, wait for every acknowledgement, commit. Commits take in whatever was acknowledged meanwhile."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._lanes = sender.lanes
        self._judged: asyncio.Queue[Batch] = asyncio.Queue(1)
        self._producer: Any = None
        self._to_commit: dict[TopicPartition, int] = {}
        self._ripe = asyncio.Event()
        self._committed = asyncio.Event()
        self._committed.set()

    async def put(self, batch: Batch) -> None:
        await self._judged.put(batch)

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Nothing to prepare: who wrote for a partition before writes nothing else than this worker would."""

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            self._to_commit.pop(partition, None)
        self._ripe.set()  # whoever waits for the rest to be committed is told, also where nothing is left

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send_all())
            tasks.create_task(self._commit_all())

    async def _send_all(self) -> None:
        backoff = Backoff()
        while True:
            batch = await self._judged.get()
            parts = self._lanes.drop_stale(batch)
            if not parts:
                continue
            begun = asyncio.get_running_loop().time()
            try:
                if self._producer is None:
                    self._producer = await self._sender.producer()
                await self._sender.send(self._producer, parts)
            except Exception as exc:  # noqa: BLE001 - sorted by what it asks for; what nobody knows is raised again
                await self._failed(exc, parts, backoff)
                continue
            self._sender.metrics.record_stage("produce", asyncio.get_running_loop().time() - begun)
            self._sender.broker.over()
            backoff.reset()
            self._deliver(parts)

    def _deliver(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if self._lanes.is_current(part):
                self._to_commit[part.partition] = part.next_offset
                self._committed.clear()
        self._sender.tell(parts)
        self._lanes.delivered(parts)
        self._ripe.set()

    async def _failed(self, error: Exception, parts: Sequence[Part], backoff: Backoff) -> None:
        """Back to what is delivered: these parts, and what follows them, come again from the broker."""
        if action_for(error) is Action.FATAL:
            raise error
        if self._producer is not None:
            self._sender.metrics.record_producer_discarded(error_name(error))
            self._sender.discard(self._producer)
            self._producer = None
        if action_for(error) is not Action.TOO_LARGE:
            self._sender.broker.noted(error_name(error))
        for part in parts:
            if self._lanes.is_current(part) and (lane := self._lanes.lane(part.partition)) is not None:
                self._lanes.go_back(lane, self._sender.consumer)
            self._lanes.settle(part)
        await backoff.wait()

    async def _commit_all(self) -> None:
        backoff = Backoff()
        while True:
            await self._ripe.wait()
            self._ripe.clear()
            offsets, self._to_commit = self._to_commit, {}
            begun = asyncio.get_running_loop().time()
            try:
                if offsets:
                    await with_timeout(self._sender.consumer.commit(offsets), self._sender.patience)
            except Exception as exc:  # noqa: BLE001 - sorted as above
                await self._uncommitted(exc, offsets, backoff)
            else:
                self._sender.metrics.record_stage("commit", asyncio.get_running_loop().time() - begun)
                backoff.reset()
            if not self._to_commit:
                self._committed.set()

    async def _uncommitted(self, error: Exception, offsets: dict[TopicPartition, int], backoff: Backoff) -> None:
        match action_for(error):
            case Action.LOST | Action.FENCED:  # the group has changed; what was not committed is judged again
                return
            case Action.RETRY:
                self._sender.broker.noted(error_name(error))
                held = self._lanes.epochs()
                for partition, offset in offsets.items():
                    if partition in held:
                        self._to_commit.setdefault(partition, offset)
                self._ripe.set()
                await backoff.wait()
            case _:
                raise error

    async def settled(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await with_timeout(self._wait_committed(), seconds)

    async def _wait_committed(self) -> None:
        await self._committed.wait()

    async def close(self) -> None:
        if self._producer is not None:
            self._sender.discard(self._producer)
            self._producer = None
        await self._sender.goodbye(self._sender.kafka.request_timeout_seconds)


class ExactlyOnce:
    """A task for each lane, with the lane's own transactional producer."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._lanes = sender.lanes
        self._queues: dict[TopicPartition, asyncio.Queue[Part]] = {}
        self._tasks: dict[TopicPartition, asyncio.Task[None]] = {}
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Lanes work by themselves; wait for one that cannot go on."""
        await asyncio.shield(self._broken)

    async def put(self, batch: Batch) -> None:
        for part in self._lanes.drop_stale(batch):
            self._queues[part.partition].put_nowait(part)

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Shut until the producer is there: what the partition's last owner has begun may still be committed."""
        self.revoked(partitions)
        for partition in partitions:
            lane = self._lanes.lane(partition)
            if lane is not None:
                self._sender.consumer.pause(partition)
                self._queues[partition] = asyncio.Queue()
                task = asyncio.ensure_future(self._work(lane))
                task.add_done_callback(self._ended)
                self._tasks[partition] = task

    def revoked(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            if (task := self._tasks.pop(partition, None)) is not None:
                task.cancel()
            queue = self._queues.pop(partition, None)
            while queue is not None and not queue.empty():
                self._lanes.settle(queue.get_nowait())

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None and not self._broken.done():
            self._broken.set_exception(error)

    async def _work(self, lane: Lane) -> None:
        """Open the lane, deliver until something fails, and open it anew."""
        backoff = Backoff()
        while True:
            producer = None
            try:
                producer = await self._fence(lane)
                await self._open(lane)
                self._sender.broker.over()
                await self._deliver(producer, lane, backoff)
            except Exception as exc:
                if action_for(exc) is Action.FATAL:
                    raise
                self._shut(lane)
                self._sender.metrics.record_producer_discarded(error_name(exc))
                if action_for(exc) is Action.FENCED:
                    # Somebody newer has the partition. If not, and the broker gave this producer up by itself, the
                    # group would have told by then.
                    self._sender.metrics.record_producer_fenced(*lane.partition)
                    await asyncio.sleep(self._sender.kafka.session_timeout_seconds)
                elif action_for(exc) is not Action.TOO_LARGE:
                    self._sender.broker.noted(error_name(exc))
                await backoff.wait()
            finally:
                if producer is not None:
                    self._sender.discard(producer)

    async def _fence(self, lane: Lane) -> Any:
        """A producer in a transaction that has begun; from here on no earlier one can commit."""
        topic, partition = lane.partition
        producer = await self._sender.producer(f"{self._sender.kafka.group}.{topic}.{partition}")
        try:
            await with_timeout(producer.begin_transaction(), self._sender.patience)
        except BaseException:
            self._sender.discard(producer)
            raise
        return producer

    async def _open(self, lane: Lane) -> None:
        consumer = self._sender.consumer
        committed = await with_timeout(consumer.committed(lane.partition), self._sender.patience)
        self._lanes.go_back(lane, consumer, committed)
        if committed is None and lane.goes_back_to is None:
            await with_timeout(consumer.seek_to_beginning(lane.partition), self._sender.patience)
        lane.open = True
        consumer.resume(lane.partition)

    def _shut(self, lane: Lane) -> None:
        lane.open = False
        with suppress(Exception):  # given away in this moment
            self._sender.consumer.pause(lane.partition)
        self._lanes.go_back(lane, self._sender.consumer)
        queue = self._queues.get(lane.partition)
        while queue is not None and not queue.empty():
            self._lanes.settle(queue.get_nowait())

    async def _deliver(self, producer: Any, lane: Lane, backoff: Backoff) -> None:
        sender, loop = self._sender, asyncio.get_running_loop()
        queue = self._queues[lane.partition]
        while True:
            parts = [await queue.get()]
            while not queue.empty() and sum(len(part.outgoing) for part in parts) < TRANSACTION_RECORDS:
                parts.append(queue.get_nowait())
            try:
                current = [part for part in parts if self._lanes.is_current(part)]
                if not current:
                    continue
                begun = loop.time()
                await sender.send(producer, current)
                sent = loop.time()
                offsets = {lane.partition: current[-1].next_offset}
                await with_timeout(producer.send_offsets_to_transaction(offsets, sender.kafka.group), sender.patience)
                await with_timeout(producer.commit_transaction(), sender.patience)
                sender.metrics.record_stage("produce", sent - begun)
                sender.metrics.record_stage("commit", loop.time() - sent)
                sender.tell(current)
                self._lanes.delivered(current)
                sender.broker.over()
                backoff.reset()
            finally:
                for part in parts:
                    self._lanes.settle(part)
            await with_timeout(producer.begin_transaction(), sender.patience)

    async def settled(self, seconds: float) -> None:
        """What is delivered is committed."""

    async def close(self) -> None:
        self.revoked(list(self._tasks))
        await self._sender.goodbye(self._sender.kafka.request_timeout_seconds)
