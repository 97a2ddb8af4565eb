"""Static members on a real broker: they come back unnoticed, leave when they are stopped, have no twins."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from gate.errors import ConfigError
from gate.stream.membership import InstanceId, Membership, heartbeat_seconds
from gate.stream.settings import KafkaSettings
from tests.stream.worker_harness import SECONDS, WorkerHarness, check_in, verdicts, worker_topics
from tests.support.brokers import KafkaServer, TopicFactory

KEPT = KafkaSettings(group_instance_id="pod-1")


def test_workers_of_an_instance_have_its_name_and_their_number() -> None:
    assert InstanceId.of(KEPT, worker=3, run_id="run") == InstanceId(name="pod-1-3", is_reused=True)
    assert InstanceId.of(KEPT, worker=0, run_id=None) == InstanceId(name="pod-1-0", is_reused=True)


def test_workers_that_a_supervisor_restarts_are_static_members_of_its_run() -> None:
    assert InstanceId.of(KafkaSettings(), worker=1, run_id="run") == InstanceId(name="run-1", is_reused=False)


def test_a_worker_alone_is_a_dynamic_member() -> None:
    assert InstanceId.of(KafkaSettings(), worker=0, run_id=None) is None


@pytest.mark.parametrize(("session", "heartbeat"), [(0.5, 0.1), (3.0, 0.6), (10.0, 1.0), (60.0, 1.0)])
def test_a_heartbeat_is_sent_each_second_and_five_times_a_session(session: float, heartbeat: float) -> None:
    assert heartbeat_seconds(session) == pytest.approx(heartbeat)


class ForgottenConsumer:
    """A consumer whose member id the broker does not know."""

    class _coordinator:  # noqa: N801 - the name that the library gives it
        member_id = ""


@pytest.mark.parametrize(("apart", "is_twin"), [(1.0, True), (6.0, False)])
def test_three_takeovers_within_a_session_are_those_of_a_twin(apart: float, is_twin: bool) -> None:
    now = 0.0
    kafka = KafkaSettings(session_timeout_seconds=10)
    instance = InstanceId(name="pod-1-0", is_reused=True)
    membership = Membership(kafka, ForgottenConsumer(), instance, clock=lambda: now)
    membership.record_revoked()  # before the first assignment, which every member begins with
    membership.record_assigned()
    for _ in range(3):
        membership.require_own()
        membership.record_revoked()
        now += apart
    if is_twin:
        with pytest.raises(ConfigError, match="kafka_group_instance_id: another worker of the group gate is pod-1-0"):
            membership.require_own()
    else:
        membership.require_own()


# On a broker


@pytest.fixture
def settings(kafka: KafkaServer, topic_factory: TopicFactory) -> KafkaSettings:
    settings = worker_topics(kafka, topic_factory)
    topics = replace(settings.topics, check_ins=(topic_factory.create("in", partitions=2),))
    return replace(settings, topics=topics)


async def wait_partitions(harness: WorkerHarness, partitions: int) -> None:
    async with asyncio.timeout(SECONDS):
        while harness.count("gate_assigned_partitions", worker="0") != partitions:
            await asyncio.sleep(0.05)


def rebalances(harness: WorkerHarness) -> float:
    return harness.count("gate_rebalances_total", kind="assigned")


def static(kafka: KafkaSettings, name: str, *, is_reused: bool = True) -> WorkerHarness:
    return WorkerHarness(kafka, instance=InstanceId(name=name, is_reused=is_reused))


async def test_a_static_member_that_is_restarted_gets_its_partitions_and_the_others_do_not_notice(
    settings: KafkaSettings,
) -> None:
    settings = replace(settings, session_timeout_seconds=20)
    first, second, restarted = static(settings, "a"), static(settings, "b"), static(settings, "b")
    async with first.running():
        await wait_partitions(first, 2)
        async with second.running():
            await wait_partitions(second, 1)
            await wait_partitions(first, 1)
            before = rebalances(first)
        async with restarted.running():
            await wait_partitions(restarted, 1)
            await check_in(settings, *"abcdef")
            assert len(await verdicts(settings, 6)) == 6
        assert rebalances(first) == before


async def test_a_static_member_whose_name_is_not_used_again_leaves_when_it_is_stopped(settings: KafkaSettings) -> None:
    settings = replace(settings, session_timeout_seconds=20 * SECONDS)
    first = static(settings, "a", is_reused=False)
    async with first.running():
        await wait_partitions(first, 2)
        async with static(settings, "b", is_reused=False).running():
            await wait_partitions(first, 1)
        await wait_partitions(first, 2)


async def test_of_two_workers_with_one_instance_id_the_older_one_ends_and_says_why(settings: KafkaSettings) -> None:
    older, newer = static(settings, "same"), static(settings, "same")
    task = asyncio.create_task(older.run())
    await wait_partitions(older, 2)
    async with AsyncExitStack() as running:
        await running.enter_async_context(newer.running())
        with pytest.raises(ConfigError, match=r"another worker of the group .+ is same too"):
            await task
        await check_in(settings, "a", "b")
        assert [document for document, _ in await verdicts(settings, 2)] == ["a", "b"]
