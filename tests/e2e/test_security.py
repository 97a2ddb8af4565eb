"""A broker with TLS and users: a worker that is authorised joins, any other ends with the settings to check."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from gate.cli import main
from tests.support.brokers import BrokerSecurity, KafkaServer, kafka_server
from tests.support.servers import certificates

pytestmark = pytest.mark.kafka

PASSWORD = "open-sesame-4711"


@pytest.fixture(scope="module")
def secured_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KafkaServer, str]]:
    files = certificates(tmp_path_factory.mktemp("certificates"))
    security = BrokerSecurity(
        certificates=files, users={"admin": PASSWORD, "guest": "guest"}, mechanism="SCRAM-SHA-512"
    )
    with kafka_server(security=security) as server:
        yield server, str(files.authority)


def command(server: KafkaServer, authority: str, user: str, *before: str) -> list[str]:
    settings = {
        "kafka_security": "SASL_SSL",
        "kafka_sasl_mechanism": "SCRAM-SHA-512",
        "kafka_username": user,
        "kafka_ca_file": authority,
        "kafka_request_timeout_seconds": "5",
        "log_level": "debug",
    }
    given = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    return [*before, "--kafka", server.brokers, *given]


def test_a_worker_joins_over_tls_with_its_user_and_logs_no_password(
    secured_broker: tuple[KafkaServer, str], tmp_path: Path
) -> None:
    server, authority = secured_broker
    (tmp_path / "password").write_text(PASSWORD)
    secret = ["--set", f"kafka_password_file={tmp_path / 'password'}"]
    created = CliRunner().invoke(main, [*command(server, authority, "admin", "topics", "create"), *secret])
    assert created.exit_code == 0, created.output
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "gate", *command(server, authority, "admin", "run"), *secret],
            stdout=out,
            stderr=out,
            env={key: value for key, value in os.environ.items() if not key.startswith("GATE_")},
        )
    try:
        deadline = time.monotonic() + 60
        while b"partitions.assigned" not in log.read_bytes():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
    assert PASSWORD not in log.read_text()
    assert all(json.loads(line) for line in log.read_text().splitlines())


@pytest.mark.parametrize(("user", "password"), [("admin", "wrong"), ("nobody", PASSWORD), ("guest", "guest")])
def test_a_worker_that_the_broker_denies_ends_at_once_with_the_settings_to_check(
    secured_broker: tuple[KafkaServer, str], user: str, password: str
) -> None:
    server, authority = secured_broker
    arguments = command(server, authority, user, "run")
    result = CliRunner().invoke(main, arguments, env={"GATE_KAFKA_PASSWORD": password})
    assert result.exit_code == 2, result.output
    assert "kafka" in result.stderr
    assert PASSWORD not in result.stderr
