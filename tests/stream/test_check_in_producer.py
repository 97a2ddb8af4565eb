"""Which answers are ours: told apart by their places, each counted once, whatever comes first."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import Unavailable
from gate.model import Relation
from gate.stream.check_in_producer import (
    CheckInProducer,
    PendingCheckIns,
    TrackedRecord,
    VerdictSummary,
    open_check_in_producer,
)
from gate.stream.settings import KafkaSettings, Topics
from gate.stream.topic_reader import open_topic_reader
from gate.wire import Origin
from tests.support.brokers import KafkaServer, TopicFactory


def told(offset: int) -> VerdictSummary:
    origin = Origin(topic="in", partition=0, offset=offset)
    return VerdictSummary(origin=origin, relation=Relation.NEW, group=str(offset), similar=False)


@given(st.data())
def test_each_of_ours_is_answered_once_and_nobody_elses_ever(data: st.DataObject) -> None:
    ours = sorted(data.draw(st.sets(st.integers(0, 30), max_size=15)))
    deletes = data.draw(st.sets(st.sampled_from(ours))) if ours else set()
    answers = data.draw(st.lists(st.integers(0, 30), max_size=60))  # of anybody, in any order, some of them twice
    waiting, counted = PendingCheckIns(), list[int]()
    events = [("sent", offset) for offset in ours]
    for answer in answers:
        events.insert(data.draw(st.integers(0, len(events))), ("answer", answer))
    for kind, offset in events:
        if kind == "sent":
            early = waiting.acknowledge(0, offset, is_check_in=offset not in deletes)
            if early is not None:
                assert isinstance(early, VerdictSummary)
                counted.append(int(early.group))
        elif waiting.resolve(0, offset, told(offset)):
            counted.append(offset)
    assert len(counted) == len(set(counted))
    assert set(counted) <= set(ours) - deletes
    assert len(waiting) == len(set(ours) - deletes) - len(counted)


def test_answers_in_order_are_counted_however_far_ahead_of_the_acknowledgements_they_are() -> None:
    waiting = PendingCheckIns()
    assert not any(waiting.resolve(0, offset, told(offset)) for offset in range(100))
    assert [waiting.acknowledge(0, offset, is_check_in=True) for offset in range(0, 100, 2)] == [
        told(offset) for offset in range(0, 100, 2)
    ]
    assert len(waiting) == 0


def test_partitions_are_told_apart() -> None:
    waiting = PendingCheckIns()
    waiting.acknowledge(0, 5, is_check_in=True)
    assert not waiting.resolve(1, 5, told(5))
    assert waiting.resolve(0, 5, told(5))
    assert not waiting.resolve(0, 5, told(5))  # again


# On a broker


def message(number: int, value: bytes | None) -> TrackedRecord[int]:
    return TrackedRecord(b"%d" % number, value, True, number)


def test_facts_come_back_in_order_once_all_before_them_is_acknowledged(
    kafka: KafkaServer, topic_factory: TopicFactory
) -> None:
    settings = KafkaSettings(
        brokers=kafka.brokers, topics=Topics(check_ins=(topic_factory.create(),)), max_record_bytes=50_000
    )
    noise = random.Random(1)
    values = [b"small", None, noise.randbytes(60_000), b"small too", noise.randbytes(40_000), None]

    async def run() -> tuple[list[int], int, list[bytes | None]]:
        async with open_check_in_producer(settings, watch=False, on_answer=lambda answer: None) as feed:
            done = await feed.send([message(n, value) for n, value in enumerate(values)])
            done += await feed.drain()
        async with open_topic_reader(settings, settings.topics.check_ins) as found:
            return done, feed.refused, [record.value async for batch in found.batches() for record in batch]

    done, refused, kept = asyncio.run(run())
    assert done == [0, 1, 2, 3, 4, 5]
    assert refused == 1  # more than the client itself may send
    assert kept == [values[0], values[3], values[4]]


def test_a_broker_that_falls_silent_is_told_and_nothing_is_called_safe(
    kafka: KafkaServer, topic_factory: TopicFactory
) -> None:
    topics = Topics(check_ins=(topic_factory.create(),))
    settings = KafkaSettings(brokers=kafka.brokers, topics=topics, request_timeout_seconds=1.0)

    async def run(feed: CheckInProducer[int]) -> None:
        await feed.send([message(0, b"first")])
        assert await feed.drain() == [0]
        kafka.pause()
        assert await feed.send([message(1, b"second")]) == []
        await feed.drain()

    async def whole() -> None:
        async with open_check_in_producer(settings, watch=False, on_answer=lambda answer: None) as feed:
            try:
                with pytest.raises(Unavailable):
                    await run(feed)
            finally:
                kafka.resume()

    asyncio.run(whole())
