"""A worker process is made from the settings; settings that cannot work are refused before one starts."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate import CheckIn, Gate, Relation
from gate.client import Client
from gate.config.settings import Settings, load_settings
from gate.demo import LIGHTHOUSE
from gate.errors import ConfigError
from gate.stream.settings import Topics
from gate.worker_main import check
from tests.support.gate_on_kafka import GateFactory, GateOnKafka, GateProcess, InputRecord
from tests.support.servers import free_ports, wait_until

pytestmark = pytest.mark.usefixtures("empty_folder")


def settings_of(**flags: object) -> Settings:
    settings, _ = load_settings(flags, {})
    return settings


def test_without_brokers_the_option_that_names_them_is_given() -> None:
    with pytest.raises(ConfigError, match="give --kafka HOST:PORT, or set kafka_brokers"):
        check(settings_of())


@pytest.mark.parametrize("index", ["memory", "index.sqlite"])
def test_several_workers_need_a_shared_index(index: str) -> None:
    with pytest.raises(ConfigError, match="3 workers need a shared index"):
        check(settings_of(kafka_brokers="localhost:9092", index=index, workers=3))


@pytest.mark.parametrize(("index", "workers"), [("memory", 1), ("index.sqlite", 1), ("redis://localhost:6379/0", 3)])
def test_one_worker_with_any_index_and_several_with_redis_are_accepted(index: str, workers: int) -> None:
    check(settings_of(kafka_brokers="localhost:9092", index=index, workers=workers))


def test_the_service_beside_a_worker_needs_an_index_that_both_open() -> None:
    with pytest.raises(ConfigError, match=r"api_port: .*an index that both open"):
        check(settings_of(kafka_brokers="localhost:9092", api_port=0))
    with pytest.raises(ConfigError, match="api_tokens_file: "):
        check(settings_of(kafka_brokers="localhost:9092", api_port=0, index="i.sqlite", api_host="0.0.0.0"))  # noqa: S104
    check(settings_of(kafka_brokers="localhost:9092", api_port=0, index="index.sqlite"))


def test_a_worker_serves_what_it_judges_where_a_port_is_set(gate_on_kafka: GateFactory) -> None:
    gate = gate_on_kafka(partitions=1)
    process = gate.start(api_port=0)
    gate.send([InputRecord.of("topic", LIGHTHOUSE)])
    gate.verdicts(1)
    url = re.search(r'"url": "(?P<url>[^"]+)"', process.log.read_text())
    assert url is not None
    with Client(url["url"]) as client:
        verdict = client.check_in(CheckIn(document_id="request", text=LIGHTHOUSE))
        assert (verdict.relation, verdict.group) == (Relation.EXACT, "topic")
        assert client.overview().totals.verdicts == 2
        assert {row.document_id for row in client.list_documents().documents} == {"topic", "request"}
    assert process.stop() == 0


def test_a_worker_signs_with_the_secret_and_the_profile_of_the_settings(
    gate_on_kafka: GateFactory, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("a secret")
    gate = gate_on_kafka(partitions=1)
    gate.send([InputRecord.of("a", LIGHTHOUSE)])
    gate.start(secret_file=str(tmp_path / "secret"), profile="simhash", sign_threads=2)
    [verdict] = gate.verdicts(1)
    [expected] = Gate("simhash", secret=b"a secret").check_in([CheckIn(document_id="a", text=LIGHTHOUSE)])
    assert verdict["content_id"] == expected.content_id
    assert (verdict["fingerprint"], verdict["verdict_id"]) == (expected.fingerprint, expected.verdict_id)


@pytest.fixture
def without_broker(tmp_path: Path) -> Iterator[GateProcess]:
    """A worker on an embedded index that retries to reach a broker on a port where nothing listens."""
    [port] = free_ports()
    gate = GateOnKafka(f"127.0.0.1:{port}", Topics(), "gate", tmp_path, str(tmp_path / "index.sqlite"))
    process = gate.start(wait=False)
    wait_until(lambda: "broker" in process.readiness()[1], "the worker does not report that the broker is down")
    yield process
    gate.close()


@pytest.mark.slow
def test_a_worker_without_a_broker_stays_up_and_reports_it_until_sigterm(without_broker: GateProcess) -> None:
    ready, reasons = without_broker.readiness()
    assert not ready
    assert reasons.keys() == {"broker", "consumer"}
    metrics = without_broker.metrics()
    assert 'gate_dependency_up{dependency="broker"} 0.0' in metrics
    assert 'gate_dependency_up{dependency="index"} 1.0' in metrics
    assert "gate_workers_running 1.0" in metrics
    assert without_broker.stop() == 0
    assert '"event": "dependency.went_down"' in without_broker.log.read_text()


@pytest.mark.slow
def test_a_second_signal_ends_a_worker_at_once(without_broker: GateProcess) -> None:
    without_broker.process.send_signal(signal.SIGSTOP)  # so that it receives both signals at the same time
    without_broker.process.send_signal(signal.SIGTERM)
    without_broker.process.send_signal(signal.SIGINT)
    without_broker.process.send_signal(signal.SIGCONT)
    assert without_broker.process.wait(30) in (128 + signal.SIGTERM, 128 + signal.SIGINT)
