"""The index or the broker is unavailable for a while: nothing is lost, and the gate recovers by itself."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.brokers import KafkaServer, TopicFactory, kafka_server
from tests.support.gate_on_kafka import SESSION_SECONDS, GateFactory, GateOnKafka, InputRecord
from tests.support.servers import RedisServer, redis_server

TEXT = "Of all the maps in the archive, this one shows the river before it was led around the town in a new bed."


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A Redis that only this test uses, so that it may stop it."""
    with redis_server("--appendonly", "yes", "--appendfsync", "always") as server:
        yield server


def numbered(count: int, *, first: int = 0) -> list[InputRecord]:
    return [InputRecord.of(f"d{n}", f"{n} " * 20 + TEXT + f" {n}" * 20) for n in range(first, first + count)]


@pytest.mark.redis
def test_while_the_index_is_unavailable_the_gate_waits_stays_in_the_group_and_is_not_ready(
    gate_on_kafka: GateFactory, own_redis: RedisServer
) -> None:
    gate = gate_on_kafka(own_redis.url)
    worker = gate.start()
    own_redis.stop()
    gate.send(numbered(20))
    reasons = worker.wait_ready(ready=False)
    assert reasons["index"].startswith("unavailable")
    time.sleep(SESSION_SECONDS * 1.5)  # longer than a member of the group may go without polling
    own_redis.start()
    assert len(gate.verdicts(20)) == 20
    worker.wait_ready()
    assert worker.log.read_text().count("partitions.assigned") == 1
    metrics = worker.metrics()
    assert 'gate_dependency_up{dependency="index"} 1.0' in metrics
    assert not gate.all_records(gate.topics.dead_letters)


@pytest.mark.redis
def test_with_pass_unchecked_documents_pass_as_degraded_while_the_index_is_unavailable(
    gate_on_kafka: GateFactory, own_redis: RedisServer
) -> None:
    gate = gate_on_kafka(own_redis.url, partitions=1)
    gate.start(on_index_unavailable="pass_unchecked")
    own_redis.stop()
    gate.send([*numbered(3), InputRecord(None, b"d0")])
    verdicts = gate.verdicts(3)
    assert [(verdict["relation"], verdict["similar"], verdict["degraded"]) for verdict in verdicts] == [
        ("new", False, ["unchecked"])
    ] * 3
    [letter] = gate.read(gate.topics.dead_letters, 1)
    assert json.loads(letter.value)["reason"] == "index_unavailable"
    own_redis.start()
    for n in range(1000):  # the circuit stays open for a moment after failures
        gate.send(numbered(1, first=100 + n))
        if not gate.verdicts(4 + n)[-1]["degraded"]:
            return
    pytest.fail("no document was checked after the index had recovered")


@pytest.mark.redis
def test_an_index_that_is_unavailable_at_the_start_is_waited_for(
    gate_on_kafka: GateFactory, own_redis: RedisServer
) -> None:
    gate = gate_on_kafka(own_redis.url)
    gate.send(numbered(2))
    own_redis.stop()
    worker = gate.start(wait=False)
    worker.wait_ready(ready=False)
    own_redis.start()
    assert [verdict["degraded"] for verdict in gate.verdicts(2)] == [[], []]


@pytest.mark.redis
def test_with_pass_unchecked_documents_pass_although_the_index_was_never_available(
    gate_on_kafka: GateFactory, own_redis: RedisServer
) -> None:
    gate = gate_on_kafka(own_redis.url)
    gate.send(numbered(2))
    own_redis.stop()
    gate.start(wait=False, on_index_unavailable="pass_unchecked")
    assert [verdict["degraded"] for verdict in gate.verdicts(2)] == [["unchecked"]] * 2


@pytest.mark.kafka
@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_a_restart_of_the_broker_loses_nothing(tmp_path: Path, delivery: str) -> None:
    with kafka_server() as broker:
        gate = GateOnKafka.create(TopicFactory(broker.brokers, "restart"), tmp_path, str(tmp_path / "index.sqlite"))
        try:
            worker = gate.start(delivery=delivery)
            gate.send(numbered(20))
            assert len(gate.verdicts(20)) == 20
            broker.kill()
            time.sleep(SESSION_SECONDS)
            broker.start()
            gate.send(numbered(20, first=20))
            verdicts = gate.verdicts(40)
            assert {verdict["document_id"] for verdict in verdicts} == {f"d{n}" for n in range(40)}
            assert worker.process.poll() is None
            assert worker.stop() == 0
            assert delivery == "at_least_once" or len(gate.all_records(gate.topics.verdicts)) == 40
        finally:
            gate.close()


@pytest.mark.redis
def test_a_worker_stopped_while_the_index_is_unavailable_ends_soon_and_commits_nothing(
    gate_on_kafka: GateFactory, own_redis: RedisServer
) -> None:
    gate = gate_on_kafka(own_redis.url)
    worker = gate.start()
    own_redis.stop()
    gate.send(numbered(5))
    worker.wait_ready(ready=False)
    assert worker.stop(seconds=20) == 0
    assert sum(gate.committed_offsets().values()) == 0


@pytest.mark.redis
def test_a_worker_that_was_frozen_until_it_lost_its_partitions_writes_nothing(
    gate_on_kafka: GateFactory, kafka: KafkaServer, own_redis: RedisServer
) -> None:
    gate = gate_on_kafka(own_redis.url, partitions=1)
    first = gate.start(delivery="exactly_once")
    gate.send(numbered(5))
    gate.verdicts(5)
    first.process.send_signal(signal.SIGSTOP)
    second = gate.start(wait=False, delivery="exactly_once")
    gate.send(numbered(5, first=5))
    assert len(gate.verdicts(10)) == 10
    first.process.send_signal(signal.SIGCONT)
    second.wait_ready()
    gate.send(numbered(5, first=10))
    verdicts = gate.verdicts(15)
    assert sorted({verdict["document_id"] for verdict in verdicts}) == sorted(f"d{n}" for n in range(15))
    assert first.stop() == 0
    assert second.stop() == 0
    assert len(gate.all_records(gate.topics.verdicts)) == 15
