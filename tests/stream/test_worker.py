"""A worker in this process, on a real broker: from the first poll to the last commit."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from aiokafka.admin import NewTopic

from gate.api import Gate
from gate.errors import ConfigError, Unavailable
from gate.model import Verdict
from gate.pipeline import SignedBatch
from gate.stream.decompression import BoundedRecords
from gate.stream.settings import DeliveryGuarantee, KafkaSettings
from gate.stream.worker import POLL_SECONDS
from tests.stream.flaky_gate import FlakyGate
from tests.stream.worker_harness import WorkerHarness, check_in, committed, verdicts, worker_topics
from tests.support.brokers import KafkaServer, TopicFactory, create_topic


@pytest.fixture
def settings(kafka: KafkaServer, topic_factory: TopicFactory) -> KafkaSettings:
    return worker_topics(kafka, topic_factory)


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


class SlowGate(Gate):
    """Its first batch takes several polls."""

    is_first = True

    def check_in_signed(self, signed: SignedBatch) -> list[Verdict]:
        if self.is_first:
            self.is_first = False
            time.sleep(6 * POLL_SECONDS)
        return super().check_in_signed(signed)


async def test_records_are_fetched_once_however_long_the_index_takes(
    settings: KafkaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[int] = []
    original = BoundedRecords.__init__

    def counted(self: BoundedRecords, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        if self._tp.topic == settings.topics.check_ins[0]:
            fetched.append(self.next_fetch_offset)

    monkeypatch.setattr(BoundedRecords, "__init__", counted)
    await check_in(settings, *"abcdefghijkl")
    async with WorkerHarness(settings, SlowGate).running():
        assert len(await verdicts(settings, 12)) == 12
    assert fetched == [0]


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
