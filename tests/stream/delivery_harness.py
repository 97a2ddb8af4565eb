"""A delivery over a fake broker, and the part of a worker that polls records again and judges them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from aiokafka import OffsetAndMetadata, TopicPartition, errors

from gate.metrics import WorkerMetrics
from gate.readiness import Readiness
from gate.stream.batch import Judged, PartitionAnswers
from gate.stream.delivery import AtLeastOnce, Delivery, ExactlyOnce
from gate.stream.outage import Outage
from gate.stream.partitions import PartitionTracker
from gate.stream.records import OutgoingRecord
from gate.stream.sender import Sender
from gate.stream.settings import KafkaSettings, Topics
from tests.stream.fake_records import PARTITION, fake_records

Guarantee = type[AtLeastOnce] | type[ExactlyOnce]


class FakeConsumer:
    """Keeps the committed offsets, and where it was asked to read."""

    def __init__(self) -> None:
        self.offsets: dict[TopicPartition, int] = {}
        self.seeks: list[tuple[TopicPartition, int]] = []
        self.commit_failures: list[BaseException] = []
        self.metadata: dict[TopicPartition, str] = {}

    async def commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        if self.commit_failures:
            raise self.commit_failures.pop(0)
        self.offsets |= {partition: committed.offset for partition, committed in offsets.items()}
        self.metadata |= {partition: committed.metadata for partition, committed in offsets.items()}

    async def committed(self, partition: TopicPartition) -> int | None:
        return self.offsets.get(partition)

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self.seeks += [(partition, 0) for partition in partitions]

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.seeks.append((partition, offset))

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...


class FakeBroker:
    """Keeps the records of the producers that it makes. The next call of a name fails where `failures` has an error."""

    def __init__(self) -> None:
        self.consumer = FakeConsumer()
        self.failures: dict[str, list[Exception]] = defaultdict(list)
        self.records: list[bytes] = []
        self.producers: list[FakeProducer] = []
        self.max_batch_bytes = 10**9

    def make_producer(self, **options: Any) -> FakeProducer:
        self.producers.append(FakeProducer(self, options))
        return self.producers[-1]

    def fail_if_due(self, call: str) -> None:
        if self.failures[call]:
            raise self.failures[call].pop(0)


class FakeBatchBuilder:
    def __init__(self) -> None:
        self.values: list[bytes] = []

    def append(self, *, timestamp: float | None, key: bytes | None, value: bytes, headers: Any) -> object:
        self.values.append(value)
        return self


class FakeProducer:
    def __init__(self, broker: FakeBroker, options: dict[str, Any]) -> None:
        self.broker = broker
        self.options = options
        self.stopped = False
        self.uncommitted: list[bytes] = []
        self.uncommitted_offsets: dict[TopicPartition, OffsetAndMetadata] = {}

    async def start(self) -> None:
        self.broker.fail_if_due("start")

    async def stop(self) -> None:
        self.stopped = True

    async def partitions_for(self, topic: str) -> set[int]:
        self.broker.fail_if_due("partitions_for")
        return {0}

    def create_batch(self) -> FakeBatchBuilder:
        return FakeBatchBuilder()

    async def send_batch(self, batch: FakeBatchBuilder, topic: str, *, partition: int) -> asyncio.Future[None]:
        assert not self.stopped
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            self.broker.fail_if_due("send")
            if sum(map(len, batch.values)) > self.broker.max_batch_bytes:
                raise errors.MessageSizeTooLargeError("x")
        except Exception as exc:  # noqa: BLE001 - the error that the test chose
            future.set_exception(exc)
        else:
            future.set_result(None)
            is_transactional = "transactional_id" in self.options
            (self.uncommitted if is_transactional else self.broker.records).extend(batch.values)
        return future

    async def begin_transaction(self) -> None:
        self.broker.fail_if_due("begin_transaction")
        self.uncommitted, self.uncommitted_offsets = [], {}

    async def send_offsets_to_transaction(self, offsets: dict[TopicPartition, OffsetAndMetadata], group: str) -> None:
        self.broker.fail_if_due("send_offsets_to_transaction")
        self.uncommitted_offsets |= offsets

    async def commit_transaction(self) -> None:
        self.broker.fail_if_due("commit_transaction")
        self.broker.records += self.uncommitted
        await self.broker.consumer.commit(self.uncommitted_offsets)
        self.broker.fail_if_due("answer_of_commit")


class SenderHarness:
    """A sender over a fake broker, and a tracker with one assigned partition."""

    def __init__(self, *, paused: bool = False, topics: Topics | None = None) -> None:
        self.broker = FakeBroker()
        self.tracker = PartitionTracker(max_batches=4)
        self.metrics = WorkerMetrics()
        self.readiness = Readiness()
        consumer: Any = self.broker.consumer
        self.sender = Sender(
            KafkaSettings(session_timeout_seconds=0.01, request_timeout_seconds=0.5, topics=topics or Topics()),
            consumer,
            self.tracker,
            self.metrics,
            Outage("broker", self.metrics, self.readiness),
            metadata=lambda: "gate-index=1a",
            make_producer=self.broker.make_producer,
        )
        self.tracker.assign([PARTITION], paused=paused)

    def answer(self, first: int, count: int, *, long: int | None = None) -> PartitionAnswers:
        """Answers to new records: `out N` for offset N, a longer one for offset `long` unless that was refused."""
        records = fake_records(first, count)
        polled = self.tracker.start_batch({PARTITION: records}, self.tracker.epochs())
        [partition_slice] = polled.slices
        values = {record.offset: b"out %d" % record.offset for record in records}
        if long in values:
            values[long] = b"instead of %d" % long if partition_slice.refused.get(long) else values[long] * 10
        return PartitionAnswers(
            slice=partition_slice,
            outgoing=tuple([OutgoingRecord("v", b"k", value, [], offset) for offset, value in values.items()]),
            verdicts=(),
            sources=(),
            checked_in_at=(),
            arrived_at=polled.arrived_at,
            reasons=(),
        )


class DeliveryHarness(SenderHarness):
    """A delivery, and the part of a worker that hands it the answers to records until they are delivered."""

    def __init__(self, guarantee: Guarantee, *, records: int = 1, long: int | None = None) -> None:
        super().__init__(paused=guarantee is ExactlyOnce)
        self._records = records  # of the first batch; the second has one
        self._long = long
        self.delivery: Delivery = guarantee(self.sender)
        self.delivery.on_assigned([PARTITION])

    async def run(self) -> None:
        """Deliver two batches. Raises the error that ended the delivery, if one did."""
        running = asyncio.ensure_future(self.delivery.run())
        delivering = asyncio.ensure_future(self._deliver_both())
        done, _ = await asyncio.wait((running, delivering), return_when=asyncio.FIRST_COMPLETED)
        for task in (delivering, running):
            task.cancel()
        await asyncio.gather(delivering, running, return_exceptions=True)
        await self.delivery.close()
        for task in done:
            task.result()

    async def _deliver_both(self) -> None:
        await self._deliver(0, self._records)
        await self._deliver(self._records, 1)

    async def _deliver(self, first: int, count: int) -> None:
        state = self.tracker.state(PARTITION)
        assert state is not None
        async with asyncio.timeout(20):
            while state.resume_offset is None or state.resume_offset <= first:
                await self.tracker.wait_drained(None, 20)
                if not state.paused and (state.resume_offset is None or state.resume_offset <= first):
                    state.resume_offset = first
                    answers = self.answer(first, count, long=self._long)
                    await self.delivery.put(Judged(answers=(answers,)))
                await asyncio.sleep(0.001)
            await self.delivery.wait_committed(5)
