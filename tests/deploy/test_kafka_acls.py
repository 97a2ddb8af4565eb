"""The rights in deploy/security/kafka-acls.txt, given as they are written: each user can do its work, and no more."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, errors
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.admin import CreateAclsRequest

from gate.demo import LIGHTHOUSE
from gate.stream.settings import Topics
from tests.cli.command import event
from tests.deploy.deploy_files import DEPLOY
from tests.support.brokers import BrokerSecurity, KafkaServer, kafka_server
from tests.support.gate_on_kafka import GateOnKafka, GateProcess

LINES = [
    line for line in (DEPLOY / "security" / "kafka-acls.txt").read_text().splitlines() if line[:1] not in ("", "#")
]
OF_THE_WORKER = [line for line in LINES if "User:gate-worker " in line]
PASSWORD = "open-sesame"
DEPRIVED = [f"deprived-{number}" for number in range(len(OF_THE_WORKER))]  # each lacks one line of the worker's
USERS = ("admin", "gate-worker", "gate-producer", "gate-reader", "gate-replayer", *DEPRIVED)

# What the protocol of Kafka calls them.
OPERATIONS = {"Read": 3, "Write": 4}
RESOURCES = {"topic": 2, "group": 3, "transactional_id": 5}
PATTERNS = {"literal": 3, "prefixed": 4}
ALLOW = 3

pytestmark = pytest.mark.kafka


def requests(line: str) -> Iterator[CreateAclsRequest]:
    """What `kafka-acls.sh --add` makes of its arguments."""
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--allow-principal", required=True)
    parser.add_argument("--operation", action="append", required=True, choices=OPERATIONS)
    parser.add_argument("--resource-pattern-type", default="literal", choices=PATTERNS)
    for resource in RESOURCES:
        parser.add_argument(f"--{resource.replace('_', '-')}", action="append", default=[])
    given = parser.parse_args(shlex.split(line))
    for operation in given.operation:
        for resource, number in RESOURCES.items():
            for name in getattr(given, resource):
                pattern = PATTERNS[given.resource_pattern_type]
                yield CreateAclsRequest(number, name, pattern, given.allow_principal, "*", OPERATIONS[operation], ALLOW)


async def grant(brokers: str, lines: Sequence[str]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=brokers, **access("admin"))
    await admin.start()
    try:
        for request in [request for line in lines for request in requests(line)]:
            response = await admin._send_request(request)
            assert [code for code, _ in response.creation_responses] == [0], response
    finally:
        await admin.close()


def access(user: str) -> dict[str, str]:
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": user,
        "sasl_plain_password": PASSWORD,
    }


@dataclass
class GuardedGate:
    """The gate on a broker with the users of the example, under the default names."""

    gate: GateOnKafka

    def options(self, user: str) -> dict[str, Any]:
        return {
            "delivery": "exactly_once",
            "kafka_security": "SASL_PLAINTEXT",
            "kafka_sasl_mechanism": "PLAIN",
            "kafka_username": user,
        }

    def work(self, user: str, *, wait: bool = True) -> GateProcess:
        secret = {"GATE_KAFKA_PASSWORD": PASSWORD}
        return self.gate.start(wait=wait, environment=secret, **self.options(user))

    def run(self, user: str, *command: str) -> tuple[int, str]:
        given = [word for key, value in self.options(user).items() for word in ("--set", f"{key}={value}")]
        ended = subprocess.run(
            [sys.executable, "-m", "gate", *command, "--kafka", self.gate.brokers, *given],
            env=os.environ | {"GATE_KAFKA_PASSWORD": PASSWORD},
            capture_output=True,
            text=True,
            timeout=60,
        )
        return ended.returncode, ended.stdout + ended.stderr

    async def send(self, user: str, *values: bytes) -> None:
        async with AIOKafkaProducer(bootstrap_servers=self.gate.brokers, acks="all", **access(user)) as producer:
            for value in values:
                await producer.send_and_wait("gate.check-ins", value)

    async def read(self, user: str, topic: str, group: str, count: int) -> list[dict[str, Any]]:
        consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=self.gate.brokers,
            group_id=group,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            **access(user),
        )
        try:
            async with asyncio.timeout(30):
                await consumer.start()
                found = [json.loads((await consumer.getone()).value or b"") for _ in range(count)]
                await consumer.commit()
                return found
        finally:
            await consumer.stop()


@pytest.fixture(scope="module")
def server() -> Iterator[KafkaServer]:
    with kafka_server(security=BrokerSecurity(users=dict.fromkeys(USERS, PASSWORD))) as started:
        lines = list(LINES)
        for user, missing in zip(DEPRIVED, OF_THE_WORKER, strict=True):
            lines += [line.replace("gate-worker", user) for line in OF_THE_WORKER if line != missing]
        asyncio.run(grant(started.brokers, lines))
        yield started


@pytest.fixture(scope="module")
def guarded(server: KafkaServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedGate]:
    folder = tmp_path_factory.mktemp("gate")
    gate = GateOnKafka(server.brokers, Topics(), "gate", folder, str(folder / "index.sqlite"))
    guarded = GuardedGate(gate)
    code, shown = guarded.run("admin", "topics", "create")
    assert code == 0, shown
    try:
        yield guarded
    finally:
        gate.close()


def test_each_user_does_its_work(guarded: GuardedGate) -> None:
    asyncio.run(guarded.send("gate-producer", event("a", LIGHTHOUSE).encode(), b"no check-in", b"nor this"))
    worker = guarded.work("gate-worker")
    [verdict] = asyncio.run(guarded.read("gate-reader", "gate.verdicts", "verdicts.archive", 1))
    assert (verdict["document_id"], verdict["relation"]) == ("a", "new")
    code, shown = guarded.run("gate-worker", "lag")
    assert code == 0, shown
    code, shown = guarded.run("gate-replayer", "deadletters", "replay")
    assert code == 0, shown
    assert worker.stop() == 0


@pytest.mark.parametrize("user", DEPRIVED)
def test_a_worker_without_one_of_its_rights_ends_and_says_what_to_look_at(guarded: GuardedGate, user: str) -> None:
    asyncio.run(guarded.send("gate-producer", event("a", LIGHTHOUSE).encode(), b"no check-in"))
    worker = guarded.work(user, wait=False)
    assert worker.process.wait(60) == 2, worker.log.read_text()
    said = worker.log.read_text().splitlines()[-1]
    assert "denies this user access" in said or "does not show it to this user" in said, said
    assert PASSWORD not in worker.log.read_text()


def test_nobody_does_the_work_of_another(guarded: GuardedGate) -> None:
    for user in ("gate-worker", "gate-reader"):
        with pytest.raises(errors.TopicAuthorizationFailedError):
            asyncio.run(guarded.send(user, b"forged"))
    for user, topic, group in (
        ("gate-producer", "gate.verdicts", "verdicts.mine"),
        ("gate-reader", "gate.dead-letters", "verdicts.mine"),
        ("gate-reader", "gate.verdicts", "gate"),
    ):
        with pytest.raises((errors.TopicAuthorizationFailedError, errors.GroupAuthorizationFailedError)):
            asyncio.run(guarded.read(user, topic, group, 1))
