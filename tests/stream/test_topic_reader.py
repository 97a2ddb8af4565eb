"""TopicReader a topic to its end as of now, on a real broker: the end is found, whatever the last offsets hold."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition

from gate.errors import ConfigError, Unavailable
from gate.stream.settings import KafkaSettings
from gate.stream.topic_reader import OffsetRange, TopicReader, open_topic_reader, read_by_timestamp
from tests.support.brokers import KafkaServer, TopicFactory


def found_by(kafka: KafkaSettings, topics: list[str], read: Callable[[TopicReader], Awaitable[Any]], **how: Any) -> Any:
    async def run() -> Any:
        async with open_topic_reader(kafka, topics, **how) as found:
            return await read(found)

    return asyncio.run(run())


async def values(found: TopicReader) -> list[bytes | None]:
    return [record.value async for batch in found.batches() for record in batch]


async def send(brokers: str, *records: tuple[str, int, int, bytes], transaction: str | None = None) -> None:
    async with AIOKafkaProducer(bootstrap_servers=brokers, transactional_id=transaction) as producer:
        if transaction:
            await producer.begin_transaction()
        for topic, partition, time, value in records:
            await producer.send_and_wait(topic, value, partition=partition, timestamp_ms=time)
        if transaction and transaction.endswith("kept"):
            await producer.commit_transaction()
        elif transaction:
            await producer.abort_transaction()


def test_nothing_is_read_of_empty_topics(kafka: KafkaServer, topic_factory: TopicFactory) -> None:
    assert found_by(KafkaSettings(brokers=kafka.brokers), [topic_factory.create(partitions=3)], values) == []


def test_transactions_that_were_dropped_are_not_read_and_their_ends_are_no_reason_to_wait(
    kafka: KafkaServer, topic_factory: TopicFactory
) -> None:
    topic = topic_factory.create()
    asyncio.run(send(kafka.brokers, (topic, 0, 1, b"a"), transaction=f"{topic}.kept"))
    asyncio.run(send(kafka.brokers, (topic, 0, 1, b"b"), (topic, 0, 1, b"c"), transaction=f"{topic}.dropped"))

    async def read(found: TopicReader) -> tuple[list[bytes | None], int]:
        return await values(found), found.offsets_read

    assert found_by(KafkaSettings(brokers=kafka.brokers), [topic], read) == ([b"a"], 5)


def test_what_comes_later_than_the_beginning_is_left_out(kafka: KafkaServer, topic_factory: TopicFactory) -> None:
    topic = topic_factory.create()
    asyncio.run(send(kafka.brokers, (topic, 0, 1, b"a"), (topic, 0, 1, b"b")))

    async def read(found: TopicReader) -> list[bytes | None]:
        await send(kafka.brokers, (topic, 0, 1, b"too late"))
        return await values(found)

    assert found_by(KafkaSettings(brokers=kafka.brokers), [topic], read) == [b"a", b"b"]

    async def read_one(found: TopicReader) -> list[bytes | None]:
        found.ranges[TopicPartition(topic, 0)] = OffsetRange(0, 1)  # as if the others had come in the meantime
        return await values(found)

    assert found_by(KafkaSettings(brokers=kafka.brokers), [topic], read_one) == [b"a"]
    begin = {TopicPartition(topic, 0): 1}
    assert found_by(KafkaSettings(brokers=kafka.brokers), [topic], values, start=begin) == [b"b", b"too late"]


def test_partitions_and_topics_are_merged_by_time_and_keep_their_own_order(
    kafka: KafkaServer, topic_factory: TopicFactory
) -> None:
    one, other = topic_factory.create(partitions=2), topic_factory.create()
    sent = [
        (one, 0, 30, b"c"),
        (one, 0, 20, b"d"),  # its clock went back: it still comes after the one before it
        (one, 1, 10, b"a"),
        (one, 1, 40, b"e"),
        (other, 0, 15, b"b"),
    ]
    asyncio.run(send(kafka.brokers, *sent))
    with read_by_timestamp(KafkaSettings(brokers=kafka.brokers), [one, other], max_records=2, max_bytes=1000) as (
        found,
        batches,
    ):
        assert sorted(found.ranges.values(), key=len) == [OffsetRange(0, 1), OffsetRange(0, 2), OffsetRange(0, 2)]
        assert [[record.value for record in batch] for batch in batches] == [[b"a", b"b"], [b"c", b"d"], [b"e"]]
    with read_by_timestamp(KafkaSettings(brokers=kafka.brokers), [one], max_records=100, max_bytes=1) as (_, batches):
        assert [len(batch) for batch in batches] == [1, 1, 1, 1]


def test_a_missing_topic_is_named(kafka: KafkaServer) -> None:
    with pytest.raises(ConfigError, match="topic nowhere: does not exist"):
        found_by(KafkaSettings(brokers=kafka.brokers), ["nowhere"], values)


def test_a_broker_that_falls_silent_is_not_waited_for_without_end(
    kafka: KafkaServer, topic_factory: TopicFactory
) -> None:
    topic = topic_factory.create()
    asyncio.run(send(kafka.brokers, *((topic, 0, n, b"a" * 500_000) for n in range(1, 12))))

    async def read(found: TopicReader) -> None:
        kafka.pause()
        await values(found)

    try:
        with pytest.raises(Unavailable):  # no answer of the broker holds all of it, so it has to be asked again
            found_by(
                KafkaSettings(brokers=kafka.brokers, request_timeout_seconds=1.0, fetch_bytes=2**20), [topic], read
            )
    finally:
        kafka.resume()
