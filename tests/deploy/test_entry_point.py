"""The services of the compose file that run the gate, as the image starts them, but outside of a container."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.deploy_files import SERVICES, arguments, gate_environment, healthcheck
from tests.support.brokers import TopicFactory
from tests.support.gate_on_kafka import GateOnKafka, GateProcess, InputRecord
from tests.support.servers import RedisServer, redis_server

pytestmark = pytest.mark.redis


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with redis_server(password=gate_environment("gate")["GATE_REDIS_PASSWORD"]) as server:
        yield server


def test_the_services_create_topics_and_deliver_verdicts_with_the_settings_of_the_compose_file(
    topic_factory: TopicFactory, redis: RedisServer, tmp_path: Path
) -> None:
    on = GateOnKafka.create(topic_factory, tmp_path, redis.url, routed=True)
    moved = {  # what differs outside of a container: addresses, and names, since the tests share a broker
        "GATE_KAFKA_BROKERS": topic_factory.brokers,
        "GATE_HTTP_HOST": "127.0.0.1",
        "GATE_HTTP_PORT": "0",
        "GATE_KAFKA_GROUP": on.group,
        "GATE_KAFKA_TOPICS": on.topics.check_ins[0],
        "GATE_KAFKA_VERDICT_TOPIC": on.topics.verdicts,
        "GATE_KAFKA_DEAD_LETTER_TOPIC": on.topics.dead_letters,
        "GATE_KAFKA_ACCEPTED_TOPIC": f"{on.topics.accepted}.made",
        "GATE_KAFKA_QUARANTINE_TOPIC": f"{on.topics.quarantine}.made",
    }
    assert entry_point("topics", moved, tmp_path).wait(60) == 0
    process = entry_point("gate", {**moved, "GATE_INDEX": redis.url}, tmp_path)
    worker = GateProcess(process, tmp_path / "log")
    on.processes.append(worker)
    try:
        worker.wait_ready()
        on.send(
            [
                InputRecord.of("a", "one text that is long enough to be compared"),
                InputRecord.of("b", "another text " * 9),
            ]
        )
        assert len(on.verdicts(2)) == 2
        assert len(on.read(f"{on.topics.accepted}.made", 2)) == 2
        environment = {"GATE_HTTP_PORT": str(worker.http_port)}
        assert subprocess.run(healthcheck(), env=environment, timeout=30, check=False).returncode == 0
        assert worker.stop() == 0
    finally:
        on.close()


def entry_point(service: str, moved: dict[str, str], folder: Path) -> subprocess.Popen[bytes]:
    """Run ENTRYPOINT and command with the variables of the image and the compose file, and no others but `moved`."""
    [program] = json.loads(arguments("ENTRYPOINT")[0])
    command = [str(Path(sys.executable).with_name(program)), *shlex.split(SERVICES[service]["command"])]
    environment = {"PATH": os.environ["PATH"], **gate_environment(service)}
    environment |= {name: value for name, value in moved.items() if name != "GATE_INDEX" or name in environment}
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
