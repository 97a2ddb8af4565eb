"""The brokers that tests start: data survives a restart, passwords are checked, missing parts are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaConnectionError

from tests.support import brokers
from tests.support.brokers import BrokerSecurity, KafkaServer, TopicFactory, kafka_cluster, kafka_server

pytestmark = pytest.mark.kafka


async def send(bootstrap: str, topic: str, value: bytes) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap, enable_idempotence=True, acks="all", max_request_size=40 * 2**20
    ) as producer:
        await producer.send_and_wait(topic, value)


async def read_first(bootstrap: str, topic: str) -> bytes:
    async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        record = await consumer.getone()
        return bytes(record.value)


async def test_a_record_of_32_mb_is_read_back_unchanged(kafka: KafkaServer, topic_factory: TopicFactory) -> None:
    topic = topic_factory.create()
    await send(kafka.brokers, topic, b"x" * (32 * 2**20))
    assert len(await read_first(kafka.brokers, topic)) == 32 * 2**20


def test_topics_and_groups_of_the_factory_have_unique_names(topic_factory: TopicFactory) -> None:
    names = {topic_factory.create(partitions=2), topic_factory.create(), topic_factory.group(), topic_factory.group()}
    assert len(names) == 4


async def test_a_cluster_works_while_a_node_is_down_and_the_node_returns_with_its_data() -> None:
    with kafka_cluster() as cluster:
        topic = TopicFactory(cluster.brokers, "three").create(copies=3)
        cluster.servers[0].kill()
        await send(cluster.brokers, topic, b"sent while a node is down")
        cluster.servers[0].start()
        cluster.servers[1].stop()
        assert await read_first(cluster.brokers, topic) == b"sent while a node is down"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
async def test_a_broker_with_users_refuses_a_wrong_password(mechanism: str) -> None:
    security = BrokerSecurity(users={"admin": "open sesame", "guest": "guest"}, mechanism=mechanism)

    async def list_topics(user: str, password: str, server: KafkaServer) -> list[str]:
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
        assert await list_topics("guest", "guest", server) == []
        with pytest.raises(KafkaConnectionError):
            await list_topics("guest", "guessed", server)


def test_an_error_about_missing_jars_says_how_to_fetch_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(brokers, "JARS", tmp_path)
    with pytest.raises(RuntimeError, match="make kafka"), kafka_server():
        pass


def test_an_error_about_missing_java_names_the_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="openjdk-17-jre-headless"), kafka_server():
        pass
