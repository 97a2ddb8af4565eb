"""What all tests share: no setting of the machine reaches them, slow machines fail no property, a broker is at hand."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.brokers import KafkaServer, TopicFactory, kafka_server
from tests.support.servers import RedisServer, redis_server
from tests.support.stage import Stage

# Suites that several test modules share tell what went wrong as plainly as the modules do.
pytest.register_assert_rewrite(
    "tests.index.bucket_contract",
    "tests.index.corrupted_index",
    "tests.index.scan_contract",
    "tests.index.store_contract",
)

# Whoever is begun in the background of a shell ignores Ctrl-C, and so would every command that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Shared cores stall now and then; a property is about its answer, not about the time of one example.
settings.register_profile("gate", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
settings.load_profile("gate")

# A test that uses one of these fixtures, directly or through another fixture, gets the marker of the server.
SERVER_FIXTURES = {"kafka": "kafka", "shared_redis": "redis"}


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in SERVER_FIXTURES:
                item.add_marker(SERVER_FIXTURES[fixture])


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GATE_ variable in a developer's shell must not decide what a test sees."""
    for name in [name for name in os.environ if name.startswith("GATE_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def empty_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory: no gate.toml of a developer reaches a command that is run there."""
    folder = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    """A real broker, one per test process. Tests share it, with topics and groups of their own (`topic_factory`)."""
    with kafka_server() as server:
        yield server


@pytest.fixture
def topic_factory(kafka: KafkaServer, request: pytest.FixtureRequest) -> TopicFactory:
    """Names of topics and groups that nobody else uses."""
    return TopicFactory(kafka.brokers, request.node.name)


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[RedisServer]:
    """A real Redis, one in each process, for tests that do not stop it and use names of their own."""
    with redis_server("--appendonly", "yes", "--appendfsync", "always") as server:
        yield server


@pytest.fixture
def stage(topic_factory: TopicFactory, tmp_path: Path) -> Iterator[Callable[..., Stage]]:
    """Topics of a test, and the workers on them; the index is a file unless one is named."""
    made: list[Stage] = []

    def make(index: str | None = None, **options: Any) -> Stage:
        made.append(
            Stage.fresh(topic_factory, tmp_path / str(len(made)), index or str(tmp_path / "index.sqlite"), **options)
        )
        return made[-1]

    yield make
    for one in made:
        one.close()
