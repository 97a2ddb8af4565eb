"""The story of one worker: poll, prepare, judge, answer, commit, each batch in turn and several at a time.

    poll ──▶ prepare ──▶ judge ──▶ outbox ──▶ commit
    loop     a thread    a thread   loop       loop

A batch is whatever has come in while the one before it was taken on: one document when it is quiet, as many as the
limits allow under load. Nothing waits for a batch to fill. Whatever a stage raises that it does not know ends the
worker, with what is under way uncommitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition

from gate.errors import ConfigError, Unavailable
from gate.limits import Limits
from gate.metrics import WorkerMetrics
from gate.readiness import Readiness
from gate.stream import decompression
from gate.stream.client_calls import retry_call, start_client, stop_client, with_timeout
from gate.stream.client_options import consumer_options
from gate.stream.delivery import AtLeastOnce, ExactlyOnce, Outbox
from gate.stream.kafka_errors import Action, action_for, error_name, translate_error
from gate.stream.outage import Absence, Backoff
from gate.stream.partitions import Lanes
from gate.stream.processor import Batch, Desk, cut
from gate.stream.records import Record
from gate.stream.sender import Sender
from gate.stream.settings import KafkaSettings, WorkerSettings

T = TypeVar("T")

POLL_SECONDS = 0.5
LAG_SECONDS = 1.0
AHEAD = 1  # batches that wait to be judged: with more, each would be cut sooner, be smaller, and wait longer


class Stopped(Exception):
    """The worker was told to stop and has done what it could."""


class Worker(ConsumerRebalanceListener):  # type: ignore[misc]  # the library has no types
    """One member of the consumer group."""

    def __init__(
        self,
        kafka: KafkaSettings,
        settings: WorkerSettings,
        desk: Desk,
        *,
        limits: Limits,
        metrics: WorkerMetrics,
        readiness: Readiness,
    ) -> None:
        self._kafka = kafka
        self._settings = settings
        self._desk = desk
        self._limits = limits
        self._metrics = metrics
        self._readiness = readiness
        self._index = Absence("index", metrics, readiness)
        self._broker = Absence("broker", metrics, readiness)
        self._signer = ThreadPoolExecutor(1, "sign")
        self._judge = ThreadPoolExecutor(1, "judge")
        self._to_sign: asyncio.Queue[Batch] = asyncio.Queue(1)
        self._to_judge: asyncio.Queue[Batch] = asyncio.Queue(1)
        self._ahead = asyncio.Semaphore(AHEAD)
        self._lanes = Lanes(under_way=settings.in_flight_batches)
        self._consumer: Any = None
        self._outbox: Outbox | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Work until told to stop, then finish what is under way, within bounds. ConfigError: it cannot begin."""
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await self._unless(stopping, self._open_index())
            await self._unless(stopping, self._join())
            self._metrics.log_started(group=self._kafka.group, delivery=self._settings.delivery)
            async with asyncio.TaskGroup() as tasks:
                stages = [tasks.create_task(one) for one in (self._poll(stop), self._prepare(), self._judge_all())]
                stages += [tasks.create_task(one) for one in (self.outbox.run(), self._watch_lag())]
                await stopping
                self._metrics.log_stopping("told to")
                self._readiness.set("consumer", "stopping")
                await self._drain()
                for stage in stages:
                    stage.cancel()
        except Stopped:
            pass
        except BaseExceptionGroup as group:
            raise _first(group) from None  # of the stage that failed; the others were ended for its sake
        finally:
            stopping.cancel()
            await self._close()

    @property
    def outbox(self) -> Outbox:
        if self._outbox is None:
            raise RuntimeError("the worker has not joined")
        return self._outbox

    async def _unless(self, stopping: asyncio.Future[Any], begun: Any) -> None:
        """Begin, unless told to stop meanwhile."""
        task = asyncio.ensure_future(begun)
        await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            raise Stopped
        task.result()

    # Beginning and ending

    async def _open_index(self) -> None:
        backoff = Backoff()
        while True:
            try:
                await self._on(self._judge, self._desk.open)
            except Unavailable as exc:
                self._index.noted(exc.code, str(exc))
                await backoff.wait()
            else:
                self._index.over()
                return

    async def _join(self) -> None:
        decompression.install_limit(self._kafka.unpacked_bytes)
        backoff = Backoff()
        while True:
            rebalance = self._settings.drain_seconds + self._kafka.session_timeout_seconds
            consumer = AIOKafkaConsumer(**consumer_options(self._kafka, rebalance_seconds=rebalance))
            try:
                await start_client(self._kafka, consumer)
                await self._find_topics(consumer)
            except BaseException as exc:
                await stop_client(self._kafka, consumer.stop)
                if not isinstance(exc, Unavailable):
                    raise
                self._broker.noted(exc.code, str(exc))
                await backoff.wait()
            else:
                break
        self._broker.over()
        self._consumer = consumer
        sender = Sender(
            self._kafka,
            consumer,
            self._lanes,
            self._metrics,
            self._broker,
            tell=self._desk.tell,
            too_large=self._desk.too_large,
        )
        self._outbox = ExactlyOnce(sender) if self._settings.delivery == "exactly_once" else AtLeastOnce(sender)
        consumer.subscribe(list(self._kafka.topics.check_ins), listener=self)

    async def _find_topics(self, consumer: Any) -> None:
        """A topic that is not there would be waited for without a word."""
        there = await retry_call(self._kafka, consumer.topics)
        topics = self._kafka.topics
        needed = (*topics.check_ins, topics.verdicts, topics.dead_letters, topics.accepted, topics.quarantine)
        missing = sorted({topic for topic in needed if topic is not None} - set(there))
        if missing:
            raise ConfigError(
                f"kafka: {self._kafka.brokers} has no topic {', '.join(missing)}, or does not show it to this user: "
                "make it with `gate topics create`"
            )

    async def _drain(self) -> None:
        """Finish what is under way, commit, and let go of the partitions; all of it bounded."""
        seconds = 0.0 if self._index.now or self._broker.now else self._settings.drain_seconds
        await self._lanes.quiet(None, seconds)
        await self.outbox.settled(seconds)

    async def _close(self) -> None:
        held = [lane.partition for lane in self._lanes.held()]
        self._lanes.revoke(held)
        if self._outbox is not None:
            self._outbox.revoked(held)
            await self._outbox.close()
        if self._consumer is not None:
            await stop_client(self._kafka, self._consumer.stop)
        with suppress(Exception):
            await with_timeout(self._on(self._judge, self._desk.close), self._kafka.request_timeout_seconds)
        for executor in (self._signer, self._judge):
            executor.shutdown(wait=False, cancel_futures=True)
        self._metrics.log_stopped()

    # Partitions come and go

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Deliver what is under way for them before somebody else takes over, if that can be done at all."""
        if revoked and not self._index.now and not self._broker.now:
            await self._lanes.quiet(revoked, self._settings.drain_seconds)
            await self.outbox.settled(self._settings.drain_seconds)
        self._lanes.revoke(revoked)
        self.outbox.revoked(revoked)
        if revoked:
            self._metrics.record_revoked([tuple(partition) for partition in revoked])

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self._lanes.assign(assigned, shut=self._settings.delivery == "exactly_once")
        self.outbox.assigned(assigned)
        self._metrics.record_assigned([tuple(partition) for partition in assigned])
        self._readiness.set("consumer", None)

    # Stages

    async def _poll(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            if not await self._lanes.room(POLL_SECONDS) or not await self._free(POLL_SECONDS):
                await self._stay_in_group()
                continue
            epochs = self._lanes.epochs()
            polled = await self._polled(POLL_SECONDS)
            good = self._lanes.admit(polled, epochs, self._consumer)
            for piece in cut(good, documents=self._limits.batch_documents, nbytes=self._settings.batch_bytes):
                while not await self._free(POLL_SECONDS):
                    await self._stay_in_group()
                await self._ahead.acquire()
                await self._to_sign.put(self._lanes.begin(piece, epochs))

    async def _polled(self, seconds: float) -> dict[TopicPartition, list[Record]]:
        try:
            polled: dict[TopicPartition, list[Record]] = await self._consumer.getmany(
                timeout_ms=int(seconds * 1000), max_records=self._limits.batch_documents
            )
        except Exception as exc:
            if action_for(exc) is Action.FATAL:
                raise translate_error(exc, self._kafka) from exc
            self._broker.noted(error_name(exc))
            await asyncio.sleep(POLL_SECONDS)
            return {}
        return polled

    async def _free(self, seconds: float) -> bool:
        """Wait until the judge has taken on what was cut before: what comes in until then is one batch."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ahead.acquire()
                self._ahead.release()
                return True
        return False

    async def _stay_in_group(self) -> None:
        """Ask for nothing, so that the group sees that this worker is alive while it cannot take on more."""
        shut = set(self._consumer.paused())
        opened = [partition for partition in self._consumer.assignment() if partition not in shut]
        self._consumer.pause(*opened)
        try:
            await self._polled(0)
        finally:
            held = self._consumer.assignment()
            lanes = {lane.partition for lane in self._lanes.held() if lane.open}
            self._consumer.resume(*(partition for partition in opened if partition in held and partition in lanes))

    async def _prepare(self) -> None:
        while True:
            batch = await self._to_sign.get()
            if self._lanes.drop_stale(batch):
                await self._to_judge.put(await self._on(self._signer, partial(self._desk.prepare, batch)))
            else:
                self._ahead.release()

    async def _judge_all(self) -> None:
        backoff = Backoff()
        while True:
            batch = await self._to_judge.get()
            self._ahead.release()
            while self._lanes.drop_stale(batch):
                try:
                    await self._on(self._judge, partial(self._desk.judge, batch))
                except Unavailable as exc:
                    self._index.noted(exc.code, str(exc))
                    await backoff.wait()
                    continue
                if self._desk.was_checked(batch):
                    self._index.over()
                    backoff.reset()
                else:
                    self._index.noted("unchecked")
                await self.outbox.put(batch)
                break

    async def _watch_lag(self) -> None:
        while True:
            await asyncio.sleep(LAG_SECONDS)
            for lane in self._lanes.held():
                end = self._consumer.highwater(lane.partition)
                if end is not None and lane.goes_back_to is not None:
                    topic, partition = lane.partition
                    self._metrics.set_lag(topic, partition, max(end - lane.goes_back_to, 0))

    async def _on(self, executor: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(executor, work)


def _first(error: BaseException) -> BaseException:
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error
