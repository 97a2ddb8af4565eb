"""A worker in this process on a real broker, and the records of its topics."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

from gate.api import Gate
from gate.core.builtin_profiles import BUILT_IN
from gate.limits import Limits
from gate.metrics import WorkerMetrics
from gate.pipeline import Signer
from gate.readiness import Readiness
from gate.stream.admin import open_admin
from gate.stream.group_index import GroupIndex, OpenedIndex
from gate.stream.membership import InstanceId
from gate.stream.processor import BatchProcessor, Judge
from gate.stream.settings import KafkaSettings, Topics, WorkerSettings
from gate.stream.worker import Worker
from tests.stream.fake_records import TEXT
from tests.support.brokers import KafkaServer, TopicFactory

SECONDS = 30.0  # for what happens soon


def worker_topics(kafka: KafkaServer, topic_factory: TopicFactory) -> KafkaSettings:
    """A group and topics of one partition each."""
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
    """A worker with its own readiness and metrics. Settings by name, as in `delivery="exactly_once"`."""

    def __init__(
        self,
        kafka: KafkaSettings,
        open_judge: Callable[[], Judge] = Gate,
        *,
        instance: InstanceId | None = None,
        **settings: Any,
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
        index = GroupIndex(lambda create: OpenedIndex(open_judge(), "", frozenset()), group=kafka.group)
        processor = BatchProcessor(
            Signer(BUILT_IN["standard"], limits=limits),
            index.open,
            limits=limits,
            topics=kafka.topics,
            on_index_unavailable="wait",
            content_root=None,
            metrics=self.metrics,
        )
        self._worker = Worker(
            kafka,
            WorkerSettings(drain_seconds=SECONDS, **settings),
            processor,
            index,
            limits=limits,
            metrics=self.metrics,
            readiness=self.readiness,
            instance=instance,
        )

    def count(self, name: str, **labels: str) -> float:
        """The value of a metric; 0 before it was set."""
        return self.metrics.registry.get_sample_value(name, labels) or 0.0

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


async def delete_records(kafka: KafkaSettings, before: int) -> None:
    """Delete the check-ins before an offset, as retention does."""
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.brokers)
    await admin.start()
    try:
        await admin.delete_records({TopicPartition(kafka.topics.check_ins[0], 0): RecordsToDelete(before)})
    finally:
        await admin.close()
