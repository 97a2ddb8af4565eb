"""A real gate under load, scraped by a real Prometheus: every expression of the dashboards and the rules finds data."""

from __future__ import annotations

import itertools
import json
import math
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.deploy.deploy_files import PROMETHEUS, operands, panel_expressions, rules
from tests.support.brokers import TopicFactory
from tests.support.gate_on_kafka import GateOnKafka, InputRecord
from tests.support.servers import RedisServer, free_ports, redis_server, require_program, wait_until

pytestmark = [pytest.mark.prometheus, pytest.mark.redis]

WAIT_SECONDS = 90.0
WINDOW = "10s"  # of rates: ten scrapes


def shortened(expression: str) -> str:
    """With windows that a test can wait for."""
    expression = re.sub(r"\[(5m|15m|1h|1d|\$__rate_interval)\]", f"[{WINDOW}]", expression)
    return re.sub(r"offset 1h", "offset 1s", expression)


def expressions() -> dict[str, str]:
    """All that is ever asked of Prometheus, by where it stands."""
    asked = dict(panel_expressions())
    asked |= {f"record {name}": rule["expr"] for name, rule in rules("record").items()}
    asked |= {f"alert {name}, {part}": part for name, rule in rules("alert").items() for part in operands(rule["expr"])}
    return {place: shortened(expression) for place, expression in asked.items()}


class Prometheus:
    def __init__(self, port: int) -> None:
        self._port = port

    def get(self, path: str) -> tuple[int, bytes]:
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=10)) as http:
            http.request("GET", path)
            answer = http.getresponse()
            return answer.status, answer.read()

    def is_ready(self) -> bool:
        try:
            return self.get("/-/ready")[0] == 200
        except OSError:
            return False

    def has_data(self, expression: str) -> bool:
        status, body = self.get(f"/api/v1/query?query={quote(expression)}")
        assert status == 200, f"{expression}: {body!r}"
        found = json.loads(body)["data"]["result"]
        return any(math.isfinite(float(one["value"][1])) for one in found)


@contextmanager
def prometheus(folder: Path, target: int) -> Iterator[Prometheus]:
    """Scrapes the port each second, and follows the rules of deploy/ with short windows."""
    (folder / "rules").mkdir()
    for path in (PROMETHEUS / "rules").glob("*.yml"):
        (folder / "rules" / path.name).write_text(shortened(path.read_text()))
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules/*.yml"],
        "scrape_configs": [{"job_name": "gate", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    process, seen = start(folder)
    try:
        yield seen
    finally:
        process.terminate()
        process.wait(30)


def start(folder: Path) -> tuple[subprocess.Popen[bytes], Prometheus]:
    """Somebody may take the port before it does; then it ends, and is begun on another."""
    command = [require_program("prometheus", "prometheus"), f"--config.file={folder / 'prometheus.yml'}"]
    command += [f"--storage.tsdb.path={folder / 'data'}"]
    for port in free_ports(3):
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        seen = Prometheus(port)
        try:
            wait_until(lambda: process.poll() is not None or seen.is_ready(), "prometheus does not start")  # noqa: B023
        except RuntimeError:
            process.kill()
            process.wait()
            raise
        if process.poll() is None:
            return process, seen
    raise RuntimeError(f"prometheus ends at once\n{(folder / 'log').read_text()[-2000:]}")


def check_ins(turn: int) -> list[InputRecord]:
    """Something of each kind: new, near, exact, too short, from two sources and from nobody, broken, deleted."""
    words = " ".join(f"word{turn * 31 + i * i % 997}" for i in range(120))
    return [
        InputRecord.of(f"new-{turn}", words, source="wiki", checked_in_at="2026-01-01T00:00:00Z"),
        InputRecord.of(f"near-{turn}", f"{words} and one more", source="wiki"),
        InputRecord.of(f"exact-{turn}", words, source="mail"),
        InputRecord.of(f"short-{turn}", f"short {turn}"),
        InputRecord(b'{"document_id": "broken', f"broken-{turn}".encode()),
        InputRecord(None, f"new-{turn - 5}".encode()),
    ]


@contextmanager
def load(on: GateOnKafka) -> Iterator[None]:
    """Check-ins without end."""
    enough = threading.Event()

    def send() -> None:
        turns = itertools.count()
        while not enough.wait(0.1):
            on.send([one for turn in itertools.islice(turns, 3) for one in check_ins(turn)])

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        enough.set()
        sender.join()


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with redis_server("--appendonly", "yes", "--appendfsync", "always") as server:
        yield server


def test_every_expression_of_dashboards_and_rules_returns_data(
    topic_factory: TopicFactory, redis: RedisServer, tmp_path: Path
) -> None:
    on = GateOnKafka.create(topic_factory, tmp_path / "gate", redis.url, routed=True)
    try:
        gate = on.start(workers=2)
        with prometheus(tmp_path, gate.http_port) as seen, load(on):
            missing = expressions()
            deadline = time.monotonic() + WAIT_SECONDS
            on.read(on.topics.verdicts, 20)
            redis.kill()  # so that there are errors to be seen
            gate.wait_ready(ready=False)
            redis.start()
            while missing := {place: asked for place, asked in missing.items() if not seen.has_data(asked)}:
                assert time.monotonic() < deadline, f"{sorted(missing)}\n{on.logs()[-3000:]}"
                time.sleep(0.5)
        assert gate.stop() == 0
    finally:
        on.close()
