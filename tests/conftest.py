"""Fixtures that all tests share: a clean environment, real servers, a browser, and the markers of what they start."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

from gate.core.native import loader
from gate.core.native.kernel import Kernel
from tests.support.brokers import KafkaServer, TopicFactory, kafka_server
from tests.support.compiled_kernel import current_kernel
from tests.support.gate_on_kafka import GateFactory, GateOnKafka
from tests.support.servers import MARKERS_VARIABLE, RedisCluster, RedisServer, redis_cluster, redis_server

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

# Contract suites that several test modules share get pytest's detailed assertion messages, as test modules do.
pytest.register_assert_rewrite(
    "tests.index.bucket_contract",
    "tests.index.corrupted_index",
    "tests.index.scan_contract",
    "tests.index.store_contract",
)

# A process that a shell started in the background ignores SIGINT, and so would every command that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Shared cores stall now and then: a property is about the result, not about the time of one example.
settings.register_profile("gate", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
settings.load_profile("gate")

# A test that uses one of these fixtures, directly or through another fixture, gets the marker of the server.
SERVER_FIXTURES = {
    "kafka": "kafka",
    "shared_redis": "redis",
    "shared_redis_cluster": "redis",
    "browser": "browser",
}


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """A file that a test makes is no name: it may hold the time, and differ in each process of a run."""
    return argname if isinstance(val, bytes) and len(val) > 60 else None


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in SERVER_FIXTURES:
                item.add_marker(SERVER_FIXTURES[fixture])


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Measure no coverage where a test says `no_cover`: pytest-cov alone goes on in the processes of a parallel run."""
    tracer = sys.gettrace()
    if item.get_closest_marker("no_cover"):
        sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Publish the markers of the running test: `require_program` starts only the servers that they name."""
    os.environ[MARKERS_VARIABLE] = " ".join(marker.name for marker in item.iter_markers())
    try:
        return (yield)
    finally:
        del os.environ[MARKERS_VARIABLE]


@pytest.fixture(autouse=True)
def no_settings_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the GATE_ variables of a developer's shell: a test sees only the settings that it gives.

    GATE_KERNEL stays. It changes no result, and says which implementation the whole run is for."""
    for name in [name for name in os.environ if name.startswith("GATE_") and name != loader.VARIABLE]:
        monkeypatch.delenv(name)


@pytest.fixture
def empty_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, so that no gate.toml of a developer is read."""
    folder = tmp_path_factory.mktemp("empty")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    """The compiled kernel: the installed one if it is of this kernel.c, otherwise one that is compiled now."""
    return current_kernel(tmp_path_factory.mktemp("kernel"))


@pytest.fixture(scope="module", params=["c", "numpy"])
def implementation(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the tests of a module twice: on the compiled kernel, and on numpy."""
    chosen = request.getfixturevalue("kernel") if request.param == "c" else None
    with loader.using(chosen):
        yield request.param


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    """A real broker, one per test process. Tests share it, with topics and groups of their own (`topic_factory`)."""
    with kafka_server() as server:
        yield server


@pytest.fixture
def topic_factory(kafka: KafkaServer, request: pytest.FixtureRequest) -> TopicFactory:
    """Creates topics, and names groups, that no other test uses."""
    return TopicFactory(kafka.brokers, request.node.name)


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[RedisServer]:
    """A real Redis, one per test process, for tests that do not stop it and use key names of their own."""
    with redis_server() as server:
        yield server


@pytest.fixture(scope="session")
def shared_redis_cluster() -> Iterator[RedisCluster]:
    """A real Redis Cluster of three masters, one per test process, for tests that use key names of their own."""
    with redis_cluster(3) as cluster:
        yield cluster


@pytest.fixture
def gate_on_kafka(topic_factory: TopicFactory, tmp_path: Path) -> Iterator[GateFactory]:
    """Creates topics for the gate to work on; the index is an SQLite file unless one is given."""
    created: list[GateOnKafka] = []

    def create(index: str | None = None, **options: Any) -> GateOnKafka:
        folder, default = tmp_path / str(len(created)), str(tmp_path / "index.sqlite")
        created.append(GateOnKafka.create(topic_factory, folder, index or default, **options))
        return created[-1]

    yield create
    for gate in created:
        gate.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """A real Chromium, one for each module. Its tests run in the event loop of their module:

    pytestmark = pytest.mark.asyncio(loop_scope="module")
    """
    from tests.support.browser import chromium  # here, as it takes a third of a second to import, and few need it

    async with chromium() as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A page of its own, as wide as a desk; `tests.support.browser.open_page` opens others."""
    from tests.support.browser import open_page

    async with open_page(browser) as opened:
        yield opened
