"""On a real broker: records that were deleted unread are counted, and offsets that hold no record are committed."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from gate.api import Gate
from gate.errors import ConfigError
from gate.model import Verdict
from gate.pipeline import SignedBatch
from gate.stream.admin import open_admin
from gate.stream.settings import DeliveryGuarantee, KafkaSettings
from gate.stream.topic_reader import OffsetRange, fetch_offset_ranges, open_consumer
from tests.stream.fake_records import TEXT
from tests.stream.worker_harness import (
    SECONDS,
    WorkerHarness,
    check_in,
    committed,
    delete_records,
    verdicts,
    worker_topics,
)
from tests.support.brokers import KafkaServer, TopicFactory

both = pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])


@pytest.fixture
def settings(kafka: KafkaServer, topic_factory: TopicFactory) -> KafkaSettings:
    return worker_topics(kafka, topic_factory)


def check_ins(settings: KafkaSettings) -> TopicPartition:
    return TopicPartition(settings.topics.check_ins[0], 0)


def lost(harness: WorkerHarness) -> float:
    topic = harness.kafka.topics.check_ins[0]
    value = harness.metrics.registry.get_sample_value("gate_records_lost_total", {"topic": topic, "partition": "0"})
    assert value is not None
    return value


def logged(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    return [record.msg for record in caplog.records if isinstance(record.msg, dict) and record.msg["event"] == event]


async def commit(settings: KafkaSettings, offset: int) -> None:
    async with AIOKafkaConsumer(
        bootstrap_servers=settings.brokers, group_id=settings.group, enable_auto_commit=False
    ) as consumer:
        consumer.assign([check_ins(settings)])
        await consumer.commit({check_ins(settings): offset})


async def send_in_transaction(settings: KafkaSettings, *document_ids: str, commits: bool) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=settings.brokers, transactional_id=f"{settings.group}.{commits}"
    ) as producer:
        await producer.begin_transaction()
        for document_id in document_ids:
            value = json.dumps({"document_id": document_id, "text": TEXT}).encode()
            await producer.send_and_wait(settings.topics.check_ins[0], value)
        await (producer.commit_transaction() if commits else producer.abort_transaction())


async def offsets(settings: KafkaSettings) -> OffsetRange:
    async with open_admin(settings) as admin, open_consumer(settings) as consumer:
        return (await fetch_offset_ranges(settings, admin, consumer, settings.topics.check_ins))[check_ins(settings)]


async def wait_committed(settings: KafkaSettings, offset: int) -> None:
    async with asyncio.timeout(SECONDS):
        while await committed(settings) != offset:
            await asyncio.sleep(0.05)


# Deleted before they were read


@both
async def test_records_that_were_deleted_while_no_worker_ran_are_counted_and_logged_and_the_next_one_is_judged(
    settings: KafkaSettings, delivery: DeliveryGuarantee, caplog: pytest.LogCaptureFixture
) -> None:
    await check_in(settings, "a", "b", "lost", "lost", "c")
    await commit(settings, 2)
    await delete_records(settings, 4)
    harness = WorkerHarness(settings, delivery=delivery)
    async with harness.running():
        assert await verdicts(settings, 1) == [("c", "new")]
    assert lost(harness) == 2
    [event] = logged(caplog, "records.lost")
    place = {"topic": settings.topics.check_ins[0], "partition": 0, "first_offset": 2, "last_offset": 3, "lost": 2}
    assert place.items() <= event.items()


class BlockedGate(Gate):
    """Judges nothing until it is released."""

    released = threading.Event()

    def check_in_signed(self, signed: SignedBatch) -> list[Verdict]:
        assert self.released.wait(SECONDS)
        return super().check_in_signed(signed)


@both
async def test_records_that_are_deleted_while_a_worker_is_behind_are_judged_or_counted(
    settings: KafkaSettings, delivery: DeliveryGuarantee
) -> None:
    BlockedGate.released = threading.Event()
    padding = "x" * 600_000  # one fetch returns two of these records, so most are still at the broker
    async with AIOKafkaProducer(bootstrap_servers=settings.brokers, max_request_size=2**20) as producer:
        for number in range(24):
            value = {"document_id": str(number), "text": f"{TEXT} {number}", "metadata": {"padding": padding}}
            await producer.send_and_wait(settings.topics.check_ins[0], json.dumps(value).encode())
    harness = WorkerHarness(settings, BlockedGate, delivery=delivery)
    async with harness.running():
        async with asyncio.timeout(SECONDS):
            while not (harness.metrics.registry.get_sample_value("gate_batch_documents_sum") or 0) >= 2:
                await asyncio.sleep(0.05)
        await delete_records(settings, 23)
        BlockedGate.released.set()
        await wait_committed(settings, 24)
    judged = [document for document, _ in await verdicts(settings, 24 - int(lost(harness)))]
    assert judged == [*map(str, range(len(judged) - 1)), "23"]
    assert lost(harness) >= 10


async def test_a_worker_stops_at_deleted_records_where_the_settings_say_so(settings: KafkaSettings) -> None:
    await check_in(settings, "a", "b", "c")
    await commit(settings, 1)
    await delete_records(settings, 2)
    harness = WorkerHarness(settings, on_lost_records="stop")
    with pytest.raises(ConfigError) as stopped:
        await harness.run()
    assert f"{settings.topics.check_ins[0]}[0]: offsets 1 to 1 were deleted" in str(stopped.value)
    assert "on_lost_records = continue" in str(stopped.value)
    assert (lost(harness), await committed(settings)) == (1, 1)


@both
async def test_a_new_group_has_lost_nothing_before_the_first_record(
    settings: KafkaSettings, delivery: DeliveryGuarantee
) -> None:
    await check_in(settings, "a", "b", "c")
    await delete_records(settings, 2)
    harness = WorkerHarness(settings, delivery=delivery, on_lost_records="stop")
    async with harness.running():
        assert await verdicts(settings, 1) == [("c", "new")]
    assert lost(harness) == 0


async def test_a_position_behind_the_end_starts_at_the_first_record_again(
    settings: KafkaSettings, caplog: pytest.LogCaptureFixture
) -> None:
    await check_in(settings, "a", "b")
    await commit(settings, 17)
    harness = WorkerHarness(settings, on_lost_records="stop")
    async with harness.running():
        assert await verdicts(settings, 2) == [("a", "new"), ("b", "exact")]
    assert lost(harness) == 0
    [event] = logged(caplog, "partition.truncated")
    assert (event["position"], event["end"]) == (17, 2)


# Nothing to read


@both
@pytest.mark.parametrize("endings", [(True,), (False,), (True, False, False)], ids=str)
async def test_the_lag_is_zero_behind_markers_and_aborted_records(
    settings: KafkaSettings, delivery: DeliveryGuarantee, endings: tuple[bool, ...]
) -> None:
    for number, commits in enumerate(endings):
        await send_in_transaction(settings, f"{number}a", f"{number}b", commits=commits)
    end = (await offsets(settings)).end
    assert end == 3 * len(endings)
    topic = settings.topics.check_ins[0]
    harness = WorkerHarness(settings, delivery=delivery)
    async with harness.running():
        await wait_committed(settings, end)
        async with asyncio.timeout(SECONDS):
            labels = {"topic": topic, "partition": "0"}
            while harness.metrics.registry.get_sample_value("gate_consumer_lag_records", labels) != 0:
                await asyncio.sleep(0.05)
        await check_in(settings, "last")
        assert (await verdicts(settings, 2 * sum(endings) + 1))[-1][0] == "last"
    assert lost(harness) == 0


async def test_a_deleted_marker_is_not_a_lost_record(settings: KafkaSettings) -> None:
    await send_in_transaction(settings, "a", commits=True)
    async with WorkerHarness(settings).running():
        await wait_committed(settings, 2)
    await delete_records(settings, 2)
    await check_in(settings, "b")
    harness = WorkerHarness(settings, on_lost_records="stop")
    async with harness.running():
        assert await verdicts(settings, 2) == [("a", "new"), ("b", "new")]
    assert lost(harness) == 0


async def test_a_commit_behind_markers_skips_no_record_that_arrives_meanwhile(settings: KafkaSettings) -> None:
    names = [str(number) for number in range(30)]
    harness = WorkerHarness(settings)
    async with harness.running():
        for name in names:
            await send_in_transaction(settings, name, commits=True)
            await send_in_transaction(settings, f"aborted {name}", commits=False)
        assert [document for document, _ in await verdicts(settings, len(names))] == names
        await wait_committed(settings, (await offsets(settings)).end)
