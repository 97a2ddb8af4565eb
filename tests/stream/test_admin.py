"""Administrative requests on a real broker: topics are created and described, offsets are read."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaConsumer, OffsetAndMetadata, TopicPartition
from aiokafka.admin import NewTopic

from gate.errors import ConfigError, Unavailable
from gate.stream.admin import Admin, TopicInfo, open_admin
from gate.stream.settings import KafkaSettings
from tests.support.brokers import KafkaServer, TopicFactory
from tests.support.servers import free_ports


@pytest.fixture
async def admin(kafka: KafkaServer) -> AsyncIterator[Admin]:
    async with open_admin(KafkaSettings(brokers=kafka.brokers)) as opened:
        yield opened


async def test_the_brokers_of_the_cluster_are_counted(admin: Admin) -> None:
    assert await admin.count_brokers() == 1


async def test_a_topic_is_created_once_and_usable_when_the_call_returns(
    admin: Admin, topic_factory: TopicFactory
) -> None:
    topic = NewTopic(topic_factory.name("new"), 3, 1, topic_configs={"retention.ms": "1000"})
    assert await admin.create_topic(topic)
    assert not await admin.create_topic(topic)
    assert await admin.describe_topics([topic.name]) == {topic.name: TopicInfo(3, 1)}
    assert (await admin.describe_configs([topic.name]))[topic.name]["retention.ms"] == "1000"


@pytest.mark.parametrize(
    ("partitions", "replication_factor", "configs"), [(0, 1, {}), (1, 5, {}), (1, 1, {"retention.ms": "soon"})]
)
async def test_a_topic_that_the_broker_refuses_is_a_configuration_error_with_its_name(
    admin: Admin, topic_factory: TopicFactory, partitions: int, replication_factor: int, configs: dict[str, str]
) -> None:
    topic = NewTopic(topic_factory.name("refused"), partitions, replication_factor, topic_configs=configs)
    with pytest.raises(ConfigError, match=f"topic {topic.name}: "):
        await admin.create_topic(topic)
    assert await admin.describe_topics([topic.name]) == {}


async def test_all_missing_topics_are_named_with_the_command_that_creates_them(
    admin: Admin, topic_factory: TopicFactory
) -> None:
    existing = topic_factory.create()
    with pytest.raises(ConfigError) as missing:
        await admin.require_topics([existing, "nowhere", "neither"])
    assert str(missing.value).count("`gate topics create`") == 2
    assert existing not in str(missing.value)
    assert await admin.require_topics([existing]) == {existing: TopicInfo(1, 1)}


async def test_only_partitions_with_a_committed_offset_are_returned(
    admin: Admin, kafka: KafkaServer, topic_factory: TopicFactory
) -> None:
    topic, group = topic_factory.create(partitions=2), topic_factory.group()
    partitions = [TopicPartition(topic, number) for number in range(2)]
    assert await admin.committed_offsets(group, partitions) == {}
    async with AIOKafkaConsumer(bootstrap_servers=kafka.brokers, group_id=group, enable_auto_commit=False) as consumer:
        consumer.assign(partitions)
        await consumer.commit({partitions[1]: 17})
    assert await admin.committed_offsets(group, partitions) == {partitions[1]: 17}


async def test_the_identities_in_the_metadata_of_all_partitions_are_read(
    admin: Admin, kafka: KafkaServer, topic_factory: TopicFactory
) -> None:
    topics = [topic_factory.create(partitions=3), topic_factory.create()]
    group = topic_factory.group()
    assert await admin.committed_identities(group, [*topics, "nowhere"]) == frozenset()
    committed = [
        (TopicPartition(topics[0], 0), "gate-index=1a"),
        (TopicPartition(topics[0], 2), "of another program"),
        (TopicPartition(topics[1], 0), "gate-index=2b,3c"),
    ]
    async with AIOKafkaConsumer(bootstrap_servers=kafka.brokers, group_id=group, enable_auto_commit=False) as consumer:
        consumer.assign([partition for partition, _ in committed])
        await consumer.commit({partition: OffsetAndMetadata(7, metadata) for partition, metadata in committed})
    assert await admin.committed_identities(group, topics) == {"1a", "2b", "3c"}


async def test_a_broker_that_does_not_listen_is_unavailable() -> None:
    [port] = free_ports()
    settings = KafkaSettings(brokers=f"127.0.0.1:{port}", request_timeout_seconds=0.5)
    with pytest.raises(Unavailable, match=f"127.0.0.1:{port} does not answer"):
        async with open_admin(settings):
            pass
