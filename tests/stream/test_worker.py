"""A worker in this process, on a real broker: from the first poll to the last commit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import NewTopic

from gate.api import Gate
from gate.core.builtin_profiles import BUILT_IN
from gate.errors import ConfigError, Unavailable
from gate.limits import Limits
from gate.metrics import WorkerMetrics
from gate.model import Verdict
from gate.pipeline import SignedBatch, Signer
from gate.readiness import Readiness
from gate.stream.admin import open_admin
from gate.stream.processor import BatchProcessor, Judge
from gate.stream.settings import DeliveryGuarantee, KafkaSettings, Topics, WorkerSettings
from gate.stream.worker import Worker
from tests.stream.fake_records import TEXT
from tests.stream.flaky_gate import FlakyGate
from tests.support.brokers import KafkaServer, TopicFactory, create_topic

SECONDS = 30.0  # for what happens soon


@pytest.fixture
def settings(kafka: KafkaServer, topic_factory: TopicFactory) -> KafkaSettings:
    return KafkaSettings(
        brokers=kafka.brokers,
        group=topic_factory.group(),
        topics=Topics(
            check_ins=(topic_factory.create("in"),),
            verdicts=topic_factory.create("verdicts"),
            dead_letters=topic_factory.create("dead"),
        ),
        session_timeout_seconds=3,
        request_timeout_seconds=5,
    )


class WorkerHarness:
    """A worker with its own readiness and metrics."""

    def __init__(
        self,
        kafka: KafkaSettings,
        open_judge: Callable[[], Judge] = Gate,
        *,
        delivery: DeliveryGuarantee = "at_least_once",
    ) -> None:
        self.kafka = kafka
        self.stop = asyncio.Event()
        self.changes: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def changed(reasons: Mapping[str, str]) -> None:
            loop.call_soon_threadsafe(self.changes.put_nowait, dict(reasons))

        self.readiness = Readiness(changed)
        self.metrics = WorkerMetrics()
        limits = Limits(batch_documents=2)
        processor = BatchProcessor(
            Signer(BUILT_IN["standard"], limits=limits),
            open_judge,
            limits=limits,
            topics=kafka.topics,
            on_index_unavailable="wait",
            content_root=None,
            metrics=self.metrics,
        )
        self._worker = Worker(
            kafka,
            WorkerSettings(delivery=delivery, drain_seconds=SECONDS),
            processor,
            limits=limits,
            metrics=self.metrics,
            readiness=self.readiness,
        )

    async def run(self) -> None:
        async with asyncio.timeout(2 * SECONDS):
            await self._worker.run(self.stop)

    async def wait_reason(self, part: str) -> str:
        """Wait until a part is not ready; the reason."""
        async with asyncio.timeout(SECONDS):
            while part not in (reasons := await self.changes.get()):
                pass
        return reasons[part]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the worker meanwhile, and stop it at the end."""
        task = asyncio.create_task(self.run())
        try:
            yield
        finally:
            self.stop.set()
            await task


async def check_in(kafka: KafkaSettings, *document_ids: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=kafka.brokers) as producer:
        for document_id in document_ids:
            value = json.dumps({"document_id": document_id, "text": TEXT}).encode()
            await producer.send_and_wait(kafka.topics.check_ins[0], value, key=document_id.encode())


async def verdicts(kafka: KafkaSettings, count: int) -> list[tuple[str, str]]:
    """The documents and relations of so many verdicts."""
    consumer = AIOKafkaConsumer(
        kafka.topics.verdicts,
        bootstrap_servers=kafka.brokers,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(SECONDS), consumer:
        while len(found) < count:
            value: dict[str, Any] = json.loads((await consumer.getone()).value)
            found.append((value["document_id"], value["relation"]))
    return found


async def committed(kafka: KafkaSettings) -> int | None:
    partition = TopicPartition(kafka.topics.check_ins[0], 0)
    async with open_admin(kafka) as admin:
        return (await admin.committed_offsets(kafka.group, [partition])).get(partition)


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
async def test_check_ins_are_answered_in_order_and_committed_when_the_worker_has_stopped(
    settings: KafkaSettings, delivery: DeliveryGuarantee
) -> None:
    await check_in(settings, "a", "b", "c", "d", "e")
    harness = WorkerHarness(settings, delivery=delivery)
    async with harness.running():
        expected = [("a", "new"), ("b", "exact"), ("c", "exact"), ("d", "exact"), ("e", "exact")]
        assert await verdicts(settings, 5) == expected
    offset = await committed(settings)
    assert offset is not None
    assert offset >= 5
    assert harness.readiness.reasons() == {"consumer": "stopping"}


async def test_a_batch_is_judged_again_until_the_index_is_available(settings: KafkaSettings) -> None:
    gate = FlakyGate()
    gate.failing_calls = (1, 2, 4)
    await check_in(settings, "a", "b", "c")
    harness = WorkerHarness(settings, lambda: gate)
    async with harness.running():
        assert await harness.wait_reason("index") == "unavailable: the index is unavailable"
        assert await verdicts(settings, 3) == [("a", "new"), ("b", "exact"), ("c", "exact")]
    assert gate.calls - gate.checked_in == 3
    assert "index" not in harness.readiness.reasons()
    assert await committed(settings) == 3


class BrokenGate(Gate):
    """A gate with a bug."""

    def check_in_signed(self, signed: SignedBatch) -> list[Verdict]:
        raise ValueError("a bug")


async def test_an_unknown_error_ends_the_worker_with_nothing_committed(settings: KafkaSettings) -> None:
    await check_in(settings, "a")
    with pytest.raises(ValueError, match="a bug"):
        await WorkerHarness(settings, BrokenGate).run()
    assert await committed(settings) is None


async def test_topics_that_do_not_exist_are_named_before_the_worker_joins(settings: KafkaSettings) -> None:
    topics = replace(settings.topics, accepted="nowhere", quarantine="neither")
    harness = WorkerHarness(replace(settings, topics=topics))
    with pytest.raises(ConfigError, match="has no topic neither, nowhere"):
        await harness.run()
    assert harness.readiness.reasons()["consumer"] == "starting"


async def test_a_worker_can_be_stopped_while_it_waits_for_the_index(settings: KafkaSettings) -> None:
    def open_judge() -> Gate:
        raise Unavailable("the index is unavailable")

    await check_in(settings, "a")
    harness = WorkerHarness(settings, open_judge)
    async with harness.running():
        await harness.wait_reason("index")
    assert await committed(settings) is None


async def test_a_worker_can_be_stopped_while_it_waits_for_the_broker(settings: KafkaSettings) -> None:
    harness = WorkerHarness(replace(settings, brokers="127.0.0.1:1", request_timeout_seconds=0.5))
    async with harness.running():
        assert "127.0.0.1:1 does not answer" in await harness.wait_reason("broker")
    assert harness.readiness.reasons()["consumer"] == "starting"


async def test_a_dot_in_a_group_and_in_a_topic_does_not_make_two_gates_fence_each_other(
    settings: KafkaSettings,
) -> None:
    [name] = settings.topics.check_ins
    await create_topic(settings.brokers, NewTopic(f"x.{name}", 1, 1))
    one = replace(settings, topics=replace(settings.topics, check_ins=(f"x.{name}",)))
    other = replace(settings, group=f"{settings.group}.x")
    first, second = (WorkerHarness(kafka, delivery="exactly_once") for kafka in (one, other))
    async with first.running():
        await check_in(one, "a")
        await verdicts(settings, 1)
        async with second.running():
            await check_in(other, "b")
            await verdicts(settings, 2)
            await check_in(one, "c")
            assert [document for document, _ in await verdicts(settings, 3)] == ["a", "b", "c"]
    for harness in (first, second):
        assert harness.metrics.registry.get_sample_value("gate_producers_fenced_total") == 0


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
async def test_a_worker_whose_time_the_broker_refuses_waits_and_asks_for_the_clock_to_be_checked(
    settings: KafkaSettings, topic_factory: TopicFactory, delivery: DeliveryGuarantee
) -> None:
    # To a broker that takes no timestamp of the past, every clock is wrong.
    topic = topic_factory.create("verdicts", message_timestamp_before_max_ms="0")
    kafka = replace(settings, topics=replace(settings.topics, verdicts=topic))
    await check_in(kafka, "a")
    harness = WorkerHarness(kafka, delivery=delivery)
    async with harness.running():
        assert "check the clock" in await harness.wait_reason("broker")
    assert await committed(kafka) is None
