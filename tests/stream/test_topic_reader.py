"""A topic is read on a real broker to the end that it has at the start, whatever the last offsets hold."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition

from gate.errors import ConfigError, Unavailable
from gate.stream.settings import KafkaSettings
from gate.stream.topic_reader import OffsetRange, TopicReader, open_topic_reader, read_by_timestamp
from tests.support.brokers import KafkaServer, TopicFactory


@pytest.fixture
def settings(kafka: KafkaServer) -> KafkaSettings:
    return KafkaSettings(brokers=kafka.brokers)


async def values(reader: TopicReader) -> list[bytes | None]:
    return [record.value async for batch in reader.batches() for record in batch]


async def send(brokers: str, *records: tuple[str, int, int, bytes], commit: bool | None = None) -> None:
    """Send values to a topic and a partition, with a timestamp. `commit`: in a transaction, committed or aborted."""
    transactional_id = None if commit is None else f"{records[0][0]}.{commit}"
    async with AIOKafkaProducer(bootstrap_servers=brokers, transactional_id=transactional_id) as producer:
        if commit is not None:
            await producer.begin_transaction()
        for topic, partition, timestamp, value in records:
            await producer.send_and_wait(topic, value, partition=partition, timestamp_ms=timestamp)
        if commit is not None:
            await (producer.commit_transaction() if commit else producer.abort_transaction())


async def test_nothing_is_read_of_empty_topics(settings: KafkaSettings, topic_factory: TopicFactory) -> None:
    async with open_topic_reader(settings, [topic_factory.create(partitions=3)]) as reader:
        assert await values(reader) == []


async def test_records_of_aborted_transactions_are_skipped_and_their_offsets_are_not_waited_for(
    settings: KafkaSettings, topic_factory: TopicFactory
) -> None:
    topic = topic_factory.create()
    await send(settings.brokers, (topic, 0, 1, b"a"), commit=True)
    await send(settings.brokers, (topic, 0, 1, b"b"), (topic, 0, 1, b"c"), commit=False)
    async with open_topic_reader(settings, [topic]) as reader:
        assert await values(reader) == [b"a"]
        assert reader.offsets_read == 5


async def test_records_that_arrive_after_the_start_are_left_out(
    settings: KafkaSettings, topic_factory: TopicFactory
) -> None:
    topic = topic_factory.create()
    await send(settings.brokers, (topic, 0, 1, b"a"), (topic, 0, 1, b"b"))
    async with open_topic_reader(settings, [topic]) as reader:
        await send(settings.brokers, (topic, 0, 1, b"too late"))
        assert await values(reader) == [b"a", b"b"]
    async with open_topic_reader(settings, [topic]) as reader:
        reader.ranges[TopicPartition(topic, 0)] = OffsetRange(0, 1)  # as if the others had arrived after the start
        assert await values(reader) == [b"a"]


async def test_a_reader_may_start_at_a_later_offset(settings: KafkaSettings, topic_factory: TopicFactory) -> None:
    topic = topic_factory.create()
    await send(settings.brokers, (topic, 0, 1, b"a"), (topic, 0, 1, b"b"), (topic, 0, 1, b"c"))
    async with open_topic_reader(settings, [topic], start={TopicPartition(topic, 0): 1}) as reader:
        assert await values(reader) == [b"b", b"c"]


def test_partitions_and_topics_are_merged_by_timestamp_each_partition_in_its_own_order(
    settings: KafkaSettings, topic_factory: TopicFactory
) -> None:
    one, other = topic_factory.create(partitions=2), topic_factory.create()
    sent = [
        (one, 0, 30, b"c"),
        (one, 0, 20, b"d"),  # its clock was set back: it still follows the record before it
        (one, 1, 10, b"a"),
        (one, 1, 40, b"e"),
        (other, 0, 15, b"b"),
    ]
    asyncio.run(send(settings.brokers, *sent))
    read = partial(read_by_timestamp, settings)
    with read([one, other], max_records=2, max_bytes=1000) as (reader, batches):
        assert sorted(reader.ranges.values(), key=len) == [OffsetRange(0, 1), OffsetRange(0, 2), OffsetRange(0, 2)]
        assert [[record.value for record in batch] for batch in batches] == [[b"a", b"b"], [b"c", b"d"], [b"e"]]
        assert reader.offsets_read == 5
    with read([one], max_records=100, max_bytes=1) as (_, batches):
        assert [len(batch) for batch in batches] == [1, 1, 1, 1]


def test_keys_and_headers_count_for_the_size_of_a_batch_that_is_read(
    settings: KafkaSettings, topic_factory: TopicFactory
) -> None:
    topic = topic_factory.create()

    async def send_large() -> None:
        async with AIOKafkaProducer(bootstrap_servers=settings.brokers) as producer:
            for key, headers in ((b"k" * 600, []), (b"", [("h", b"x" * 600)]), (b"", [])):
                await producer.send_and_wait(topic, b"{}", key=key, headers=headers)

    with asyncio.Runner() as runner:
        runner.run(send_large())
    with read_by_timestamp(settings, [topic], max_records=100, max_bytes=1000) as (_, batches):
        assert [len(batch) for batch in batches] == [1, 2]


async def test_a_partition_that_needs_several_polls_is_merged_by_timestamp_too(
    settings: KafkaSettings, topic_factory: TopicFactory
) -> None:
    topic = topic_factory.create(partitions=2)
    large = [(topic, 0, timestamp, b"a" * 500_000) for timestamp in range(1, 7)]
    await send(settings.brokers, *large, (topic, 1, 10, b"b"), (topic, 1, 11, b"b"))
    small_fetches = replace(settings, fetch_bytes=2**20)  # two large records at a time
    async with open_topic_reader(small_fetches, [topic]) as reader:
        runs = [[record.timestamp for record in run] async for run in reader.runs_by_timestamp()]
    assert len(runs) > 1
    assert [timestamp for run in runs for timestamp in run] == [1, 2, 3, 4, 5, 6, 10, 11]


async def test_a_missing_topic_is_named(settings: KafkaSettings) -> None:
    with pytest.raises(ConfigError, match="topic nowhere: does not exist"):
        async with open_topic_reader(settings, ["nowhere"]):
            pass


async def test_a_broker_that_stops_answering_is_unavailable_after_the_time_of_a_request(
    kafka: KafkaServer, topic_factory: TopicFactory
) -> None:
    topic = topic_factory.create()
    await send(kafka.brokers, *((topic, 0, timestamp, b"a" * 500_000) for timestamp in range(1, 12)))
    settings = KafkaSettings(brokers=kafka.brokers, request_timeout_seconds=1.0, fetch_bytes=2**20)
    try:
        async with open_topic_reader(settings, [topic]) as reader:
            kafka.pause()
            with pytest.raises(Unavailable):  # one response does not hold all of it, so the broker is asked again
                await values(reader)
    finally:
        kafka.resume()
