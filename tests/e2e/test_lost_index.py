"""Redis loses an index that a group has worked on: nobody creates it again, and no copy passes, until it is filled."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.deploy_files import DEPLOY
from tests.support.gate_on_kafka import GateFactory, GateOnKafka, InputRecord
from tests.support.servers import RedisCluster, RedisServer, redis_cluster, redis_server, wait_until

DOCUMENTS = 40
TEXTS = [f"{n} " + " ".join(f"word{(n * 31 + i * i) % 997}" for i in range(60)) for n in range(DOCUMENTS)]

pytestmark = [pytest.mark.kafka, pytest.mark.redis]
guarantees = pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A Redis that keeps nothing, as a test may restart it."""
    with redis_server() as server:
        yield server


@pytest.fixture
def own_cluster() -> Iterator[RedisCluster]:
    with redis_cluster(3) as cluster:
        yield cluster


def documents(prefix: str) -> list[InputRecord]:
    return [InputRecord.of(f"{prefix}{n}", text) for n, text in enumerate(TEXTS)]


def judge_documents(gate: GateOnKafka) -> None:
    """Wait until all documents have passed and their offsets are committed."""
    gate.send(documents("d"))
    assert not any(verdict["similar"] for verdict in gate.verdicts(DOCUMENTS))
    gate.wait_committed(DOCUMENTS)


def restart_empty(server: RedisServer) -> None:
    server.kill()
    server.start()


def refused(gate: GateOnKafka, *, delivery: str = "at_least_once") -> str:
    """Start another process; why it does not judge."""
    process = gate.start(wait=False, delivery=delivery)
    wait_until(lambda: "index" in process.readiness()[1], "the index is not refused")
    return str(process.readiness()[1]["index"])


def recover(gate: GateOnKafka) -> None:
    """Run the command of the runbook, on the topics of a test."""
    [line] = re.findall(r"^ *gate (index rebuild .* --recover .*)$", (DEPLOY / "RUNBOOK.md").read_text(), re.MULTILINE)
    words = line.replace("HOST:PORT", gate.brokers).replace("URL", gate.index).split()
    settings = [f"kafka_group={gate.group}", f"kafka_topics={','.join(gate.topics.check_ins)}"]
    done = run(*words, *(word for one in settings for word in ("--set", one)))
    assert done.returncode == 0, done.stderr


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GATE_")}
    command = [sys.executable, "-m", "gate", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def passed_copies(gate: GateOnKafka) -> list[str]:
    verdicts = {verdict["document_id"]: verdict for verdict in gate.verdicts(2 * DOCUMENTS)}
    return [name for name, verdict in verdicts.items() if name.startswith("copy") and not verdict["similar"]]


@guarantees
def test_no_copy_passes_when_redis_comes_back_empty_and_the_next_worker_starts(
    gate_on_kafka: GateFactory, own_redis: RedisServer, delivery: str
) -> None:
    gate = gate_on_kafka(own_redis.url)
    running = gate.start(delivery=delivery)
    judge_documents(gate)
    restart_empty(own_redis)
    gate.send(documents("copy"))
    assert "the index is gone" in running.wait_ready(ready=False)["index"]
    assert "gate_index_lost 1.0" in running.metrics()
    assert running.log.read_text().count('"event": "index.lost"') == 1
    assert "group" in refused(gate, delivery=delivery)
    assert "gate index rebuild --from-topic --recover" in run("index", "verify", "--index", gate.index).stderr
    with own_redis.client() as client:
        assert not client.keys("gate:*")  # the next worker created nothing
    assert len(gate.all_records(gate.topics.verdicts)) == DOCUMENTS

    recover(gate)
    assert not passed_copies(gate)  # the workers that waited went on by themselves
    running.wait_ready()
    assert "gate_index_lost 0.0" in running.metrics()


@guarantees
@pytest.mark.parametrize("emptied", [0, 1])
def test_no_copy_passes_when_a_master_of_a_cluster_comes_back_empty(
    gate_on_kafka: GateFactory, own_cluster: RedisCluster, emptied: int, delivery: str
) -> None:
    gate = gate_on_kafka(own_cluster.url)
    running = gate.start(delivery=delivery)
    judge_documents(gate)
    restart_empty(own_cluster.servers[emptied])
    own_cluster.wait_complete()
    gate.send(documents("copy"))
    assert "a part of the index is gone" in running.wait_ready(ready=False)["index"]
    assert "a part of the index is gone" in refused(gate, delivery=delivery)
    verified = run("index", "verify", "--index", gate.index)
    assert verified.returncode == 1
    assert re.search(rf"missing_shard: shard \d+ at 127.0.0.1:{own_cluster.servers[emptied].port}", verified.stdout)
    assert len(gate.all_records(gate.topics.verdicts)) == DOCUMENTS

    recover(gate)
    assert not passed_copies(gate)


def test_an_index_that_was_made_in_the_place_of_the_lost_one_is_refused(
    gate_on_kafka: GateFactory, own_redis: RedisServer
) -> None:
    gate = gate_on_kafka(own_redis.url)
    running = gate.start()
    judge_documents(gate)
    assert running.stop() == 0
    restart_empty(own_redis)
    other = gate_on_kafka(own_redis.url)  # another group creates one
    other.start().stop()
    reason = refused(gate)
    assert "another index" in reason
    assert f"group {gate.group} has worked on" in reason
    gate.send(documents("copy"))
    recover(gate)
    assert not passed_copies(gate)


@guarantees
def test_with_new_index_the_group_goes_on_and_the_next_start_needs_no_option(
    gate_on_kafka: GateFactory, own_redis: RedisServer, delivery: str
) -> None:
    gate = gate_on_kafka(own_redis.url)
    gate.start(delivery=delivery)
    judge_documents(gate)
    gate.close()
    restart_empty(own_redis)
    accepted = gate.start(delivery=delivery, options=["--new-index"])
    assert "replaces" in accepted.log.read_text()
    assert accepted.stop() == 0
    gate.start(delivery=delivery)
    gate.send(documents("copy"))
    assert len(passed_copies(gate)) == DOCUMENTS  # given up, as was asked for


def test_an_empty_sqlite_file_in_the_place_of_the_index_is_refused(gate_on_kafka: GateFactory) -> None:
    gate = gate_on_kafka(partitions=1)
    worker = gate.start()
    judge_documents(gate)
    assert worker.stop() == 0
    kept = Path(gate.index).rename(f"{gate.index}.kept")
    assert "there is no" in refused(gate)
    gate.close()
    kept.rename(gate.index)
    gate.start()
    gate.send(documents("copy"))
    assert not passed_copies(gate)


def test_documents_that_pass_unchecked_meanwhile_do_not_hide_that_the_index_is_lost(
    gate_on_kafka: GateFactory, own_redis: RedisServer
) -> None:
    gate = gate_on_kafka(own_redis.url, partitions=1)
    gate.start()
    judge_documents(gate)
    gate.close()
    restart_empty(own_redis)
    process = gate.start(wait=False, on_index_unavailable="pass_unchecked")
    gate.send(documents("copy"))
    verdicts = {verdict["document_id"]: verdict for verdict in gate.verdicts(2 * DOCUMENTS)}
    assert verdicts["copy7"]["degraded"] == ["unchecked"]
    gate.wait_committed(2 * DOCUMENTS)
    assert "has worked on" in process.readiness()[1]["index"]
    assert process.stop() == 0
    assert "has worked on" in refused(gate)  # its offsets still name the lost one
