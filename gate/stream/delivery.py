"""The two delivery guarantees: how answers reach the broker, and when the offsets of their records are committed.

At least once: one idempotent producer; every answer is acknowledged before its offset is committed.
Exactly once: one transactional producer for each input partition. It is started when the partition is assigned, which
fences the producer of the earlier owner, and only then is read where to resume. Answers and offset are one transaction.

After any error the producer is discarded, the batches in flight are dropped, and the partition is rewound to where
everything before is delivered. That is safe, since a verdict that is given again is the same again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, Protocol

from aiokafka import TopicPartition

from gate.backoff import Backoff
from gate.stream.batch import Judged, PartitionAnswers
from gate.stream.client_calls import with_timeout
from gate.stream.kafka_errors import Action, action_for, error_name, remedy_for
from gate.stream.partitions import PartitionState, PartitionTracker
from gate.stream.sender import Sender

TRANSACTION_RECORDS = 4096  # of one transaction, at most


class Delivery(Protocol):
    """Sends the answers of judged batches. `run` works until it is cancelled, and raises what a retry cannot help."""

    async def run(self) -> None: ...

    async def put(self, judged: Judged) -> None:
        """Hand over a batch; waits while too many are waiting to be sent."""

    def commit_empty(self, answers: PartitionAnswers) -> None:
        """Commit the offset of a slice without records, at once or with what is waiting."""

    def on_assigned(self, partitions: Collection[TopicPartition]) -> None: ...

    def on_revoked(self, partitions: Collection[TopicPartition]) -> None: ...

    async def wait_committed(self, seconds: float) -> None:
        """Wait until the offsets of what was delivered are committed, for at most so many seconds."""

    async def close(self) -> None: ...


def current_answers(tracker: PartitionTracker, judged: Judged) -> list[PartitionAnswers]:
    """The answers of a batch whose partitions are still in the epoch in which it was polled; the others are dropped."""
    tracker.drop_stale(judged.slices)
    return [answers for answers in judged.answers if tracker.is_current(answers.slice)]


async def send(sender: Sender, producer: Any, answers: Sequence[PartitionAnswers]) -> None:
    """Send answers; every one is acknowledged. What is refused is marked, and answered by something smaller when its
    record is polled again; the refusal is raised like any other error, since the producer is of no use any more."""
    refusal = await sender.send(producer, answers)
    if refusal is not None:
        sender.tracker.mark_refused(refusal.answers)
        raise refusal.error


def transactional_id(group: str, topic: str, partition: int) -> str:
    """The id of the producer that answers one input partition for a group.

    No name of a topic holds a colon, so the last two separate the parts whatever the name of the group is. Two gates
    with one id would fence each other for ever.
    """
    return f"{group}:{topic}:{partition}"


class AtLeastOnce:
    """Send, wait for every acknowledgement, commit. One commit covers all that was acknowledged since the last one."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._tracker = sender.tracker
        self._judged: asyncio.Queue[Judged] = asyncio.Queue(1)
        self._producer: Any = None
        self._to_commit: dict[TopicPartition, int] = {}
        self._commit_requested = asyncio.Event()
        self._committed = asyncio.Event()
        self._committed.set()

    async def put(self, judged: Judged) -> None:
        await self._judged.put(judged)

    def commit_empty(self, answers: PartitionAnswers) -> None:
        self._request_commit([answers])

    def on_assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Nothing to prepare: what the earlier owner of a partition still sends is what this worker would send."""

    def on_revoked(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            self._to_commit.pop(partition, None)
        self._commit_requested.set()  # also where nothing is left to commit: `wait_committed` returns then

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send_batches())
            tasks.create_task(self._commit_offsets())

    async def _send_batches(self) -> None:
        backoff = Backoff()
        while True:
            judged = await self._judged.get()
            answers = current_answers(self._tracker, judged)
            if not answers:
                continue
            started = asyncio.get_running_loop().time()
            try:
                if self._producer is None:
                    self._producer = await self._sender.start_producer()
                await send(self._sender, self._producer, answers)
            except Exception as exc:  # noqa: BLE001 - sorted by the action it asks for; what is FATAL is raised again
                await self._send_again(exc, answers, backoff)
                continue
            self._sender.metrics.record_stage("produce", asyncio.get_running_loop().time() - started)
            self._sender.broker.recovered()
            backoff.reset()
            self._request_commit(answers)

    def _request_commit(self, delivered: Sequence[PartitionAnswers]) -> None:
        self._tracker.require_next(delivered)
        for answers in delivered:
            if self._tracker.is_current(answers.slice):
                self._to_commit[answers.slice.partition] = answers.slice.next_offset
                self._committed.clear()
        self._sender.record_delivered(delivered)
        self._tracker.mark_delivered(delivered)
        self._commit_requested.set()

    async def _send_again(self, error: Exception, unsent: Sequence[PartitionAnswers], backoff: Backoff) -> None:
        """Discard the producer and rewind the partitions: these records, and those after them, are polled again."""
        if action_for(error) is Action.FATAL:
            raise error
        if self._producer is not None:
            self._sender.metrics.record_producer_discarded(error_name(error))
            self._sender.discard(self._producer)
            self._producer = None
        if action_for(error) is not Action.TOO_LARGE:
            self._sender.broker.failed(error_name(error), remedy_for(error))
        for answers in unsent:
            state = self._tracker.state(answers.slice.partition)
            if state is not None and self._tracker.is_current(answers.slice):
                self._tracker.rewind(state, self._sender.consumer)
            self._tracker.finish(answers.slice)
        await asyncio.sleep(backoff.next_seconds())

    async def _commit_offsets(self) -> None:
        backoff = Backoff()
        while True:
            await self._commit_requested.wait()
            self._commit_requested.clear()
            offsets, self._to_commit = self._to_commit, {}
            started = asyncio.get_running_loop().time()
            try:
                if offsets:
                    commit = self._sender.consumer.commit(self._sender.with_metadata(offsets))
                    await with_timeout(commit, self._sender.call_timeout_seconds)
            except Exception as exc:  # noqa: BLE001 - sorted as above
                await self._commit_again(exc, offsets, backoff)
            else:
                self._sender.metrics.record_stage("commit", asyncio.get_running_loop().time() - started)
                backoff.reset()
            if not self._to_commit:
                self._committed.set()

    async def _commit_again(self, error: Exception, offsets: dict[TopicPartition, int], backoff: Backoff) -> None:
        match action_for(error):
            case Action.LOST | Action.FENCED:  # the group has changed; what was not committed is judged again
                return
            case Action.RETRY:
                self._sender.broker.failed(error_name(error))
                assigned = self._tracker.epochs()
                for partition, offset in offsets.items():
                    if partition in assigned:
                        self._to_commit.setdefault(partition, offset)
                self._commit_requested.set()
                await asyncio.sleep(backoff.next_seconds())
            case _:
                raise error

    async def wait_committed(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._committed.wait()

    async def close(self) -> None:
        if self._producer is not None:
            self._sender.discard(self._producer)
            self._producer = None
        await self._sender.wait_stopped(self._sender.kafka.request_timeout_seconds)


class ExactlyOnce:
    """A task for each partition, with a transactional producer of its own."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._tracker = sender.tracker
        self._queues: dict[TopicPartition, asyncio.Queue[PartitionAnswers]] = {}
        self._tasks: dict[TopicPartition, asyncio.Task[None]] = {}
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Wait for the failure of a partition's task; they run by themselves."""
        await asyncio.shield(self._failure)

    async def put(self, judged: Judged) -> None:
        for answers in current_answers(self._tracker, judged):
            self._queues[answers.slice.partition].put_nowait(answers)

    def commit_empty(self, answers: PartitionAnswers) -> None:
        if self._tracker.is_current(answers.slice):
            self._queues[answers.slice.partition].put_nowait(answers)
        else:
            self._tracker.finish(answers.slice)

    def on_assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Paused until the producer has started: the earlier owner's transaction may still be committed until then."""
        self.on_revoked(partitions)
        for partition in partitions:
            state = self._tracker.state(partition)
            if state is not None:
                self._sender.consumer.pause(partition)
                self._queues[partition] = asyncio.Queue()
                task = asyncio.ensure_future(self._work(state))
                task.add_done_callback(self._on_task_done)
                self._tasks[partition] = task

    def on_revoked(self, partitions: Collection[TopicPartition]) -> None:
        for partition in partitions:
            if (task := self._tasks.pop(partition, None)) is not None:
                task.cancel()
            self._finish_queued(self._queues.pop(partition, None))

    def _finish_queued(self, queue: asyncio.Queue[PartitionAnswers] | None) -> None:
        while queue is not None and not queue.empty():
            self._tracker.finish(queue.get_nowait().slice)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None and not self._failure.done():
            self._failure.set_exception(error)

    async def _work(self, state: PartitionState) -> None:
        """Start a producer and deliver; after an error, pause the partition and begin with a new producer."""
        backoff = Backoff()
        while True:
            producer = None
            try:
                producer = await self._start_fencing_producer(state)
                await self._resume(state)
                self._sender.broker.recovered()
                await self._deliver(producer, state, backoff)
            except Exception as exc:
                if action_for(exc) is Action.FATAL:
                    raise
                self._pause(state)
                self._sender.metrics.record_producer_discarded(error_name(exc))
                if action_for(exc) is Action.FENCED:
                    # Another worker has the partition; a rebalance will say so within a session. If none does, the
                    # broker gave this producer up by itself, and a new one may start.
                    self._sender.metrics.record_producer_fenced(*state.partition)
                    await asyncio.sleep(self._sender.kafka.session_timeout_seconds)
                elif action_for(exc) is not Action.TOO_LARGE:
                    self._sender.broker.failed(error_name(exc), remedy_for(exc))
                await asyncio.sleep(backoff.next_seconds())
            finally:
                if producer is not None:
                    self._sender.discard(producer)

    async def _start_fencing_producer(self, state: PartitionState) -> Any:
        """A producer in a transaction that has begun; from here on no earlier one can commit."""
        topic, partition = state.partition
        producer = await self._sender.start_producer(transactional_id(self._sender.kafka.group, topic, partition))
        try:
            await with_timeout(producer.begin_transaction(), self._sender.call_timeout_seconds)
        except BaseException:
            self._sender.discard(producer)
            raise
        return producer

    async def _resume(self, state: PartitionState) -> None:
        consumer, seconds = self._sender.consumer, self._sender.call_timeout_seconds
        committed = await with_timeout(consumer.committed(state.partition), seconds)
        self._tracker.rewind(state, consumer, committed)
        if committed is None and state.resume_offset is None:
            await with_timeout(consumer.seek_to_beginning(state.partition), seconds)
        state.paused = False
        consumer.resume(state.partition)

    def _pause(self, state: PartitionState) -> None:
        state.paused = True
        with suppress(Exception):  # revoked in this moment
            self._sender.consumer.pause(state.partition)
        self._tracker.rewind(state, self._sender.consumer)
        self._finish_queued(self._queues.get(state.partition))

    async def _deliver(self, producer: Any, state: PartitionState, backoff: Backoff) -> None:
        """One transaction after another, each of all that is waiting by then."""
        sender, loop, seconds = self._sender, asyncio.get_running_loop(), self._sender.call_timeout_seconds
        queue = self._queues[state.partition]
        while True:
            taken = [await queue.get()]
            while not queue.empty() and sum(len(answers.outgoing) for answers in taken) < TRANSACTION_RECORDS:
                taken.append(queue.get_nowait())
            try:
                current = [answers for answers in taken if self._tracker.is_current(answers.slice)]
                if not current:
                    continue
                started = loop.time()
                await send(sender, producer, current)
                self._tracker.require_next(current)
                sent = loop.time()
                offsets = sender.with_metadata({state.partition: current[-1].slice.next_offset})
                await with_timeout(producer.send_offsets_to_transaction(offsets, sender.kafka.group), seconds)
                await with_timeout(producer.commit_transaction(), seconds)
                sender.metrics.record_stage("produce", sent - started)
                sender.metrics.record_stage("commit", loop.time() - sent)
                sender.record_delivered(current)
                self._tracker.mark_delivered(current)
                sender.broker.recovered()
                backoff.reset()
            finally:
                for answers in taken:
                    self._tracker.finish(answers.slice)
            await with_timeout(producer.begin_transaction(), seconds)

    async def wait_committed(self, seconds: float) -> None:
        """Nothing to wait for: what is delivered is committed."""

    async def close(self) -> None:
        self.on_revoked(list(self._tasks))
        await self._sender.wait_stopped(self._sender.kafka.request_timeout_seconds)
