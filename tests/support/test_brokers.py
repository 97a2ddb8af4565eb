"""The brokers that tests start keep what they were told, let nobody in without a password, and say what is missing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaConnectionError

from tests.support import brokers
from tests.support.brokers import BrokerSecurity, KafkaServer, TopicFactory, kafka_cluster, kafka_server


async def send(where: str, topic: str, value: bytes) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=where, enable_idempotence=True, acks="all", max_request_size=40 * 2**20
    ) as producer:
        await producer.send_and_wait(topic, value)


async def first(where: str, topic: str) -> bytes:
    async with AIOKafkaConsumer(topic, bootstrap_servers=where, auto_offset_reset="earliest") as consumer:
        record = await consumer.getone()
        return bytes(record.value)


def test_a_record_of_32_mb_comes_back_whole(kafka: KafkaServer, topic_factory: TopicFactory) -> None:
    topic = topic_factory.create()
    asyncio.run(send(kafka.brokers, topic, b"x" * (32 * 2**20)))
    assert len(asyncio.run(first(kafka.brokers, topic))) == 32 * 2**20


def test_fresh_topics_and_groups_have_names_that_nobody_else_has(topic_factory: TopicFactory) -> None:
    names = {topic_factory.create(partitions=2), topic_factory.create(), topic_factory.group(), topic_factory.group()}
    assert len(names) == 4


def test_with_one_of_three_nodes_killed_the_others_go_on_and_it_comes_back_with_what_it_had() -> None:
    with kafka_cluster() as cluster:
        topic_factory = TopicFactory(cluster.brokers, "three")
        topic = topic_factory.create(copies=3)
        cluster.servers[0].kill()
        asyncio.run(send(cluster.brokers, topic, b"still here"))
        cluster.servers[0].start()
        cluster.servers[1].stop()
        assert asyncio.run(first(cluster.brokers, topic)) == b"still here"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_guarded_broker_lets_in_only_whom_it_knows(mechanism: str) -> None:
    security = BrokerSecurity(users={"admin": "open sesame", "guest": "guest"}, mechanism=mechanism)

    async def topics(user: str, password: str, server: KafkaServer) -> list[str]:
        admin = AIOKafkaAdminClient(
            bootstrap_servers=server.brokers,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism,
            sasl_plain_username=user,
            sasl_plain_password=password,
        )
        try:
            await admin.start()
            return list(await admin.list_topics())
        finally:
            await admin.close()

    with kafka_server(security=security) as server:
        assert asyncio.run(topics("guest", "guest", server)) == []
        with pytest.raises(KafkaConnectionError):
            asyncio.run(topics("guest", "guessed", server))


def test_without_jars_the_message_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(brokers, "JARS", tmp_path)
    with pytest.raises(RuntimeError, match="make kafka"), kafka_server():
        pass


def test_without_java_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="openjdk-17-jre-headless"), kafka_server():
        pass
