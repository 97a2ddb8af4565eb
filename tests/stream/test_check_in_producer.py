"""Each check-in that was sent is matched with one answer by its origin, whichever comes first."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import Unavailable
from gate.model import Relation
from gate.stream.check_in_producer import (
    PendingCheckIns,
    TrackedRecord,
    VerdictSummary,
    open_check_in_producer,
)
from gate.stream.settings import KafkaSettings, Topics
from gate.stream.topic_reader import open_topic_reader
from gate.wire import Origin
from tests.support.brokers import KafkaServer, TopicFactory


def verdict(offset: int) -> VerdictSummary:
    origin = Origin(topic="in", partition=0, offset=offset)
    return VerdictSummary(origin=origin, relation=Relation.NEW, group=str(offset), similar=False)


@pytest.mark.slow
@given(st.data())
def test_each_check_in_of_this_producer_is_answered_once_and_none_of_another(data: st.DataObject) -> None:
    ours = sorted(data.draw(st.sets(st.integers(0, 30), max_size=15)))
    deletes = data.draw(st.sets(st.sampled_from(ours))) if ours else set()
    answers = data.draw(
        st.lists(st.integers(0, 30), max_size=60)
    )  # to records of any producer, in any order, some twice
    pending, counted = PendingCheckIns(), list[int]()
    events = [("sent", offset) for offset in ours]
    for answer in answers:
        events.insert(data.draw(st.integers(0, len(events))), ("answer", answer))
    for kind, offset in events:
        if kind == "sent":
            early = pending.acknowledge(0, offset, is_check_in=offset not in deletes)
            if early is not None:
                assert isinstance(early, VerdictSummary)
                counted.append(int(early.group))
        elif pending.resolve(0, offset, verdict(offset)):
            counted.append(offset)
    assert len(counted) == len(set(counted))
    assert set(counted) <= set(ours) - deletes
    assert len(pending) == len(set(ours) - deletes) - len(counted)


def test_answers_that_come_long_before_the_acknowledgements_are_counted() -> None:
    pending = PendingCheckIns()
    assert not any(pending.resolve(0, offset, verdict(offset)) for offset in range(100))
    assert [pending.acknowledge(0, offset, is_check_in=True) for offset in range(0, 100, 2)] == [
        verdict(offset) for offset in range(0, 100, 2)
    ]
    assert len(pending) == 0


def test_an_answer_of_another_partition_resolves_nothing() -> None:
    pending = PendingCheckIns()
    pending.acknowledge(0, 5, is_check_in=True)
    assert not pending.resolve(1, 5, verdict(5))
    assert pending.resolve(0, 5, verdict(5))
    assert not pending.resolve(0, 5, verdict(5))  # again


# On a broker


def record(number: int, value: bytes | None) -> TrackedRecord[int]:
    return TrackedRecord(b"%d" % number, value, True, number)


async def test_receipts_come_in_order_and_only_records_beyond_the_limit_of_the_client_are_refused(
    kafka: KafkaServer, topic_factory: TopicFactory
) -> None:
    settings = KafkaSettings(
        brokers=kafka.brokers, topics=Topics(check_ins=(topic_factory.create(),)), max_record_bytes=50_000
    )
    noise = random.Random(1)
    values = [b"small", None, noise.randbytes(60_000), b"small too", noise.randbytes(40_000), None]
    async with open_check_in_producer(settings, watch=False, on_answer=lambda answer: None) as producer:
        receipts = await producer.send([record(number, value) for number, value in enumerate(values)])
        receipts += await producer.drain()
    assert receipts == [0, 1, 2, 3, 4, 5]
    assert producer.refused == 1
    async with open_topic_reader(settings, settings.topics.check_ins) as reader:
        stored = [one.value async for batch in reader.batches() for one in batch]
    assert stored == [values[0], values[3], values[4]]


async def test_a_broker_that_stops_answering_is_unavailable_and_gives_no_receipt(
    kafka: KafkaServer, topic_factory: TopicFactory
) -> None:
    topics = Topics(check_ins=(topic_factory.create(),))
    settings = KafkaSettings(brokers=kafka.brokers, topics=topics, request_timeout_seconds=1.0)
    async with open_check_in_producer(settings, watch=False, on_answer=lambda answer: None) as producer:
        await producer.send([record(0, b"first")])
        assert await producer.drain() == [0]
        kafka.pause()
        try:
            assert await producer.send([record(1, b"second")]) == []
            with pytest.raises(Unavailable):
                await producer.drain()
        finally:
            kafka.resume()
