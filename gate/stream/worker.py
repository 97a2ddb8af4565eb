"""One worker: a member of the consumer group that polls check-ins and answers each with a verdict.

    1 join ─▶ 2 poll ──▶ 3 prepare ──▶ 4 judge ──▶ 5 deliver ──▶ 6 commit
              event loop   a thread      a thread    event loop    event loop

Each stage works on another batch at the same time. A batch is what has arrived while the one before it was prepared:
one document under light load, as many as the limits allow under heavy load. Nothing waits for a batch to fill. An
error that a stage does not know ends the worker, with the batches in flight uncommitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition

from gate.backoff import Backoff
from gate.errors import ConfigError, GateError, IndexLost, Unavailable
from gate.limits import Limits
from gate.metrics import WorkerMetrics
from gate.readiness import Readiness
from gate.stream import decompression
from gate.stream.admin import open_admin
from gate.stream.batch import Judged, Polled, PolledRecords, Prepared, cut_polled
from gate.stream.client_calls import retry_call, start_client, stop_client, with_timeout
from gate.stream.client_options import consumer_options
from gate.stream.delivery import AtLeastOnce, Delivery, ExactlyOnce
from gate.stream.group_index import GroupIndex
from gate.stream.kafka_errors import DENIED, Action, action_for, error_name, translate_error
from gate.stream.membership import InstanceId, Membership
from gate.stream.outage import Outage
from gate.stream.partitions import PartitionTracker
from gate.stream.positions import NO_POSITION, ConsumerPositions
from gate.stream.processor import BatchProcessor
from gate.stream.sender import Sender
from gate.stream.settings import KafkaSettings, WorkerSettings

T = TypeVar("T")

POLL_SECONDS = 0.5
LAG_SECONDS = 1.0
NO_PARTITION = TopicPartition("", -1)
UNJUDGED_BATCHES = 1  # that wait to be judged: with more, each would be cut sooner, be smaller, and wait longer


class Stopped(Exception):
    """The stop event was set before the worker had joined the group."""


class Worker(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    """One member of the consumer group."""

    def __init__(
        self,
        kafka: KafkaSettings,
        settings: WorkerSettings,
        processor: BatchProcessor,
        index: GroupIndex,
        *,
        limits: Limits,
        metrics: WorkerMetrics,
        readiness: Readiness,
        instance: InstanceId | None = None,
    ) -> None:
        self._kafka = kafka
        self._instance = instance
        self._settings = settings
        self._processor = processor
        self._group_index = index
        self._limits = limits
        self._metrics = metrics
        self._readiness = readiness
        self._index = Outage("index", metrics, readiness)
        self._broker = Outage("broker", metrics, readiness)
        self._prepare_thread = ThreadPoolExecutor(1, "prepare")
        self._judge_thread = ThreadPoolExecutor(1, "judge")
        self._polled: asyncio.Queue[Polled] = asyncio.Queue(1)
        self._prepared: asyncio.Queue[Prepared] = asyncio.Queue(1)
        self._unjudged = asyncio.Semaphore(UNJUDGED_BATCHES)  # held by a batch from its poll until it is being judged
        self._tracker = PartitionTracker(max_batches=settings.in_flight_batches)
        self._consumer: Any = None
        self._delivery: Delivery | None = None
        self._positions: ConsumerPositions | None = None
        self._membership: Membership | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, then finish the batches in flight, within bounds. ConfigError: it cannot start."""
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await self._unless_stopped(stopping, self._expect_index())
            await self._unless_stopped(stopping, self._open_index())
            await self._unless_stopped(stopping, self._join())
            self._metrics.log_started(
                group=self._kafka.group, delivery=self._settings.delivery, index=self._group_index.identity
            )
            async with asyncio.TaskGroup() as tasks:
                stages = (
                    self._poll(stop),
                    self._prepare(),
                    self._judge(),
                    self.delivery.run(),  # commits too
                    self._report_lag(),
                )
                running = [tasks.create_task(stage) for stage in stages]
                await stopping
                self._metrics.log_stop_requested("signal")
                self.membership.leave()
                self._readiness.set("consumer", "stopping")
                await self._drain()
                for task in running:
                    task.cancel()
        except Stopped:
            pass
        except BaseExceptionGroup as group:
            error = _first_error(group)  # that of the stage that failed: the others were cancelled after it
            raise (translate_error(error, self._kafka) if isinstance(error, DENIED) else error) from None
        finally:
            stopping.cancel()
            await self._close()

    @property
    def delivery(self) -> Delivery:
        if self._delivery is None:
            raise RuntimeError("the worker has not joined the group")
        return self._delivery

    @property
    def positions(self) -> ConsumerPositions:
        if self._positions is None:
            raise RuntimeError("the worker has not joined the group")
        return self._positions

    @property
    def membership(self) -> Membership:
        if self._membership is None:
            raise RuntimeError("the worker has not joined the group")
        return self._membership

    async def _unless_stopped(self, stopping: asyncio.Future[Any], call: Coroutine[Any, Any, None]) -> None:
        """Run a call that may retry for long. Stopped: the worker was stopped before it returned."""
        task = asyncio.ensure_future(call)
        await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            raise Stopped
        task.result()

    # 1 Join: the index first, so that no partition is assigned to a worker that cannot judge

    async def _expect_index(self) -> None:
        """Learn under which index the group has committed: only that one may be opened, or one that replaces it."""
        backoff = Backoff()
        while True:
            try:
                await self._read_committed()
            except Unavailable as exc:
                self._broker.failed(exc.code, str(exc))
                await asyncio.sleep(backoff.next_seconds())
            else:
                self._broker.recovered()
                return

    async def _read_committed(self) -> None:
        async with open_admin(self._kafka) as admin:
            identities = await admin.committed_identities(self._kafka.group, self._kafka.topics.check_ins)
        self._group_index.expect(identities)

    async def _index_failed(self, error: Unavailable) -> None:
        self._index.failed(error.code, str(error))
        if isinstance(error, IndexLost):
            with suppress(Unavailable):  # meanwhile another worker may have gone on to an index that replaces it
                await self._read_committed()

    async def _open_index(self) -> None:
        backoff = Backoff()
        while True:
            try:
                await self._in_thread(self._judge_thread, self._processor.open)
            except Unavailable as exc:
                await self._index_failed(exc)
                await asyncio.sleep(backoff.next_seconds())
            else:
                self._index.recovered()
                return

    async def _join(self) -> None:
        decompression.install_limit(self._kafka.unpacked_bytes)
        backoff = Backoff()
        while True:
            rebalance = self._settings.drain_seconds + self._kafka.session_timeout_seconds
            name = None if self._instance is None else self._instance.name
            options = consumer_options(self._kafka, rebalance_seconds=rebalance, instance_id=name)
            consumer = AIOKafkaConsumer(**options)
            try:
                await start_client(self._kafka, consumer)
                await self._require_topics(consumer)
            except BaseException as exc:
                await stop_client(self._kafka, consumer.stop)
                if not isinstance(exc, Unavailable):
                    raise
                self._broker.failed(exc.code, str(exc))
                await asyncio.sleep(backoff.next_seconds())
            else:
                break
        self._broker.recovered()
        self._consumer = consumer
        self._membership = Membership(self._kafka, consumer, self._instance)
        self._positions = ConsumerPositions(
            self._kafka, consumer, self._tracker, self._metrics, on_lost_records=self._settings.on_lost_records
        )
        sender = Sender(
            self._kafka, consumer, self._tracker, self._metrics, self._broker, metadata=self._group_index.metadata
        )
        self._delivery = ExactlyOnce(sender) if self._settings.delivery == "exactly_once" else AtLeastOnce(sender)
        consumer.subscribe(list(self._kafka.topics.check_ins), listener=self)

    async def _require_topics(self, consumer: Any) -> None:
        """ConfigError: a topic does not exist. Without this check the library would wait for it in silence."""
        existing = await retry_call(self._kafka, consumer.topics)
        topics = self._kafka.topics
        required = (*topics.check_ins, topics.verdicts, topics.dead_letters, topics.accepted, topics.quarantine)
        missing = sorted({topic for topic in required if topic is not None} - set(existing))
        if missing:
            raise ConfigError(
                f"kafka: {self._kafka.brokers} has no topic {', '.join(missing)}, or does not show it to this user: "
                "make it with `gate topics create`"
            )

    # Partitions come and go

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Deliver the batches in flight for them before another worker takes over, if that is possible at all."""
        self.membership.record_revoked()
        if revoked and not self._index.active and not self._broker.active:
            await self._tracker.wait_drained(revoked, self._settings.drain_seconds)
            await self.delivery.wait_committed(self._settings.drain_seconds)
        self._tracker.revoke(revoked)
        self.delivery.on_revoked(revoked)
        if revoked:
            self._metrics.record_revoked([tuple(partition) for partition in revoked])

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.membership.record_assigned()
        self._tracker.assign(assigned, paused=self._settings.delivery == "exactly_once")
        self.delivery.on_assigned(assigned)
        self._metrics.record_assigned([tuple(partition) for partition in assigned])
        self._readiness.set("consumer", None)

    # 2 Poll

    async def _poll(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            self.membership.require_own()
            if not await self._tracker.wait_for_room(POLL_SECONDS) or not await self._wait_judge_free(POLL_SECONDS):
                await self._stay_in_group()
                continue
            epochs = self._tracker.epochs()
            polled = await self._poll_records(POLL_SECONDS)
            accepted = self._tracker.accept(polled, epochs, self._consumer)
            async for answers in self.positions.skip_markers(polled, epochs):
                self.delivery.commit_empty(answers)
            for piece in cut_polled(
                accepted, max_records=self._limits.batch_documents, max_bytes=self._settings.batch_bytes
            ):
                while not await self._wait_judge_free(POLL_SECONDS):
                    await self._stay_in_group()
                await self._unjudged.acquire()
                await self._polled.put(self._tracker.start_batch(piece, epochs))

    async def _poll_records(self, seconds: float, *partitions: TopicPartition) -> PolledRecords:
        """What the broker has, of these partitions or all; nothing where it does not answer."""
        try:
            return await self._poll_or_recover(seconds, *partitions)
        except GateError:
            raise
        except Exception as exc:
            if action_for(exc) is Action.FATAL:
                raise translate_error(exc, self._kafka) from exc
            self._broker.failed(error_name(exc))
            await asyncio.sleep(POLL_SECONDS)
            return {}

    async def _poll_or_recover(self, seconds: float, *partitions: TopicPartition) -> PolledRecords:
        try:
            with decompression.poll_limit(self._settings.batch_bytes):
                polled: PolledRecords = await self._consumer.getmany(
                    *partitions, timeout_ms=int(seconds * 1000), max_records=self._limits.batch_documents
                )
        except NO_POSITION as exc:
            await self.positions.recover(exc)
            return {}
        return polled

    async def _wait_judge_free(self, seconds: float) -> bool:
        """Whether no batch waits to be judged, after at most so many seconds: what arrives until then is one batch."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._unjudged.acquire()
                self._unjudged.release()
                return True
        return False

    async def _stay_in_group(self) -> None:
        """Poll for nothing: a member that does not poll while it has no room for more would be removed. No partition is
        paused for it, since the library throws away what it has fetched for a paused one."""
        await self._poll_records(0, NO_PARTITION)

    # 3 Prepare

    async def _prepare(self) -> None:
        while True:
            polled = await self._polled.get()
            if self._tracker.drop_stale(polled.slices):
                prepare = partial(self._processor.prepare, polled)
                await self._prepared.put(await self._in_thread(self._prepare_thread, prepare))
            else:
                self._unjudged.release()

    # 4 Judge, 5 deliver and 6 commit

    async def _judge(self) -> None:
        backoff = Backoff()
        while True:
            prepared = await self._prepared.get()
            self._unjudged.release()
            while self._tracker.drop_stale(prepared.polled.slices):
                judged = await self._judge_once(prepared)
                if judged is not None:
                    if judged.error is None:
                        backoff.reset()
                    await self.delivery.put(judged)
                    break
                await asyncio.sleep(backoff.next_seconds())

    async def _judge_once(self, prepared: Prepared) -> Judged | None:
        """None: the index is unavailable."""
        try:
            judged = await self._in_thread(self._judge_thread, partial(self._processor.judge, prepared))
        except Unavailable as exc:
            await self._index_failed(exc)
            return None
        if judged.error is None:
            self._index.recovered()
        else:
            await self._index_failed(judged.error)
        return judged

    async def _report_lag(self) -> None:
        while True:
            await asyncio.sleep(LAG_SECONDS)
            for state in self._tracker.assigned():
                end = self._consumer.last_stable_offset(state.partition)  # what is behind it cannot be read yet
                if end is not None and state.resume_offset is not None:
                    topic, partition = state.partition
                    self._metrics.set_lag(topic, partition, max(end - state.resume_offset, 0))

    # Stop

    async def _drain(self) -> None:
        """Finish and commit the batches in flight, where index and broker are available."""
        seconds = 0.0 if self._index.active or self._broker.active else self._settings.drain_seconds
        await self._tracker.wait_drained(None, seconds)
        await self.delivery.wait_committed(seconds)

    async def _close(self) -> None:
        """Give up the partitions, leave the group, and close the index; each within a time limit."""
        assigned = [state.partition for state in self._tracker.assigned()]
        self._tracker.revoke(assigned)
        if self._delivery is not None:
            self._delivery.on_revoked(assigned)
            await self._delivery.close()
        if self._consumer is not None:
            await stop_client(self._kafka, self._consumer.stop)
        with suppress(Exception):
            await with_timeout(
                self._in_thread(self._judge_thread, self._processor.close), self._kafka.request_timeout_seconds
            )
        for thread in (self._prepare_thread, self._judge_thread):
            thread.shutdown(wait=False, cancel_futures=True)
        self._metrics.log_stopped()

    async def _in_thread(self, thread: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(thread, work)


def _first_error(error: BaseException) -> BaseException:
    return _first_error(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
