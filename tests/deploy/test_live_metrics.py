"""A real gate and its service, scraped by a real Prometheus: all expressions of dashboards and rules find data."""

from __future__ import annotations

import asyncio
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
from urllib.parse import quote, urlsplit

import pytest

from tests.deploy.deploy_files import PROMETHEUS, operands, panel_expressions, rules
from tests.support.brokers import TopicFactory
from tests.support.gate_on_kafka import GateOnKafka, InputRecord
from tests.support.gate_service import ServiceProcess, service_process
from tests.support.raw_batches import RawBatch, send_raw_batches
from tests.support.servers import RedisServer, free_ports, redis_server, require_program, wait_until

pytestmark = [pytest.mark.prometheus, pytest.mark.redis]

WAIT_SECONDS = 90.0
WINDOW = "10s"  # of rates: ten scrapes


def shortened(expression: str) -> str:
    """The expression with windows that a test can wait for."""
    expression = re.sub(r"\[(5m|15m|1h|1d|\$__rate_interval)\]", f"[{WINDOW}]", expression)
    return re.sub(r"offset 1h", "offset 1s", expression)


def expressions() -> dict[str, str]:
    """Every expression of dashboards, recording rules and alerts, by its place."""
    queries = dict(panel_expressions())
    queries |= {f"record {name}": rule["expr"] for name, rule in rules("record").items()}
    alerts = {name: operands(rule["expr"]) for name, rule in rules("alert").items()}
    queries |= {f"alert {name}, {operand}": operand for name, parts in alerts.items() for operand in parts}
    return {place: shortened(expression) for place, expression in queries.items()}


class Prometheus:
    """The HTTP API of a running Prometheus."""

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
        samples = json.loads(body)["data"]["result"]
        return any(math.isfinite(float(sample["value"][1])) for sample in samples)


@contextmanager
def prometheus(folder: Path, *targets: str) -> Iterator[Prometheus]:
    """Run a Prometheus that scrapes the addresses each second and evaluates the rules of deploy/ with short windows."""
    (folder / "rules").mkdir()
    for path in (PROMETHEUS / "rules").glob("*.yml"):
        (folder / "rules" / path.name).write_text(shortened(path.read_text()))
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules/*.yml"],
        "scrape_configs": [{"job_name": "gate", "static_configs": [{"targets": targets}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    process, api = start(folder)
    try:
        yield api
    finally:
        process.terminate()
        process.wait(30)


def start(folder: Path) -> tuple[subprocess.Popen[bytes], Prometheus]:
    """Start it on a free port. Another process may take the port first: then it exits, and the next port is tried."""
    command = [require_program("prometheus", "prometheus"), f"--config.file={folder / 'prometheus.yml'}"]
    command += [f"--storage.tsdb.path={folder / 'data'}"]
    for port in free_ports(3):
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        api = Prometheus(port)
        try:
            wait_until(lambda: process.poll() is not None or api.is_ready(), "prometheus does not start")  # noqa: B023
        except RuntimeError:
            process.kill()
            process.wait()
            raise
        if process.poll() is None:
            return process, api
    raise RuntimeError(f"prometheus exits at once\n{(folder / 'log').read_text()[-2000:]}")


def check_ins(turn: int) -> list[InputRecord]:
    """One record of each kind: new, near, exact, too short, broken, a delete; with two sources and without one."""
    words = " ".join(f"word{turn * 31 + i * i % 997}" for i in range(120))
    return [
        InputRecord.of(f"new-{turn}", words, source="wiki", checked_in_at="2026-01-01T00:00:00Z"),
        InputRecord.of(f"near-{turn}", f"{words} and one more", source="wiki"),
        InputRecord.of(f"exact-{turn}", words, source="mail"),
        InputRecord.of(f"short-{turn}", f"short {turn}"),
        InputRecord(b'{"document_id": "broken', f"broken-{turn}".encode()),
        InputRecord(None, f"new-{turn - 5}".encode()),
    ]


UNREADABLE = RawBatch(
    [InputRecord(b"{}", b"unreadable", [("@@", b"")])], lambda records: records.replace(b"@@", b"\xff\xfe")
)


@contextmanager
def load(on: GateOnKafka, service: ServiceProcess) -> Iterator[None]:
    """Send check-ins to the topic, and look documents up over HTTP, until the block ends."""
    stop = threading.Event()

    def send() -> None:
        turns = itertools.count()
        while not stop.wait(0.1):
            on.send([record for turn in itertools.islice(turns, 3) for record in check_ins(turn)])
            asyncio.run(send_raw_batches(on.brokers, on.topics.check_ins[0], [UNREADABLE]))
            assert service.get("/v1/stats")[0] == 200
            assert service.get("/v1/documents/nothing/verdict")[0] == 404

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        stop.set()
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
        with (
            service_process(tmp_path / "service.log", "--demo") as service,
            prometheus(tmp_path, f"127.0.0.1:{gate.http_port}", urlsplit(service.url).netloc) as api,
            load(on, service),
        ):
            missing = expressions()
            deadline = time.monotonic() + WAIT_SECONDS
            on.read(on.topics.verdicts, 20)
            redis.kill()  # so that there are errors to show
            gate.wait_ready(ready=False)
            redis.start()
            while missing := {place: query for place, query in missing.items() if not api.has_data(query)}:
                assert time.monotonic() < deadline, f"{sorted(missing)}\n{on.logs()[-3000:]}"
                time.sleep(0.5)
        assert gate.stop() == 0
    finally:
        on.close()
