"""The client of Redis: what is retried, for how long, by how many at once, and what is observed of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib.resources import files
from itertools import chain, repeat, takewhile
from pathlib import Path
from typing import Any

import pytest
from redis import exceptions as redis_errors

from gate.errors import ConfigError, Stale, Unavailable
from gate.index.redis.client import CircuitState, RedisClient, close, load_script, translate_error
from gate.index.redis.connect import make_client
from gate.index.redis.layout import prefixes_of
from gate.index.redis.store import DRAW_TICKETS
from gate.index.redis.url import RedisSettings, RetryPolicy
from tests.support.servers import (
    RedisServer,
    cutting_proxy,
    free_ports,
    redis_cluster,
    redis_server,
    redis_with_sentinels,
)

VIEW = b"view"
PREFIX = prefixes_of("gate:link@1")[0]
QUICK = RetryPolicy(
    retries=2, backoff_seconds=0.001, longest_backoff_seconds=0.002, failures_to_open=2, open_seconds=0.01
)


class Recording:
    """An observer that keeps what it was given."""

    def __init__(self) -> None:
        self.round_trips: list[str] = []
        self.failures: list[tuple[str, str]] = []
        self.circuits: list[CircuitState] = []

    def round_trip(self, operation: str, seconds: float) -> None:
        assert seconds > 0
        self.round_trips.append(operation)

    def failed(self, operation: str, reason: str) -> None:
        self.failures.append((operation, reason))

    def circuit(self, state: CircuitState) -> None:
        self.circuits.append(state)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as started, started.client() as client:
        client.set(PREFIX + b"v", VIEW)
        yield started


@pytest.fixture
def observer() -> Recording:
    return Recording()


@asynccontextmanager
async def connected(url: str, observer: Recording | None = None, **settings: Any) -> AsyncIterator[RedisClient]:
    """A client of that server."""
    redis = RedisSettings(retry=QUICK, **settings)
    client = RedisClient(make_client(url, redis), calls=redis.connections, retry=QUICK, observer=observer)
    try:
        yield client
    finally:
        await client.close()


async def draw(client: RedisClient, view: bytes = VIEW) -> int:
    [first] = await client.call(DRAW_TICKETS, (view, b"0", 1, 0), [(PREFIX, b"")])
    return int(first)


@pytest.mark.redis
async def test_every_round_trip_is_observed(server: RedisServer, observer: Recording) -> None:
    async with connected(server.url, observer) as client:
        first, second = await draw(client), await draw(client)
    assert first < second
    assert (observer.round_trips, observer.failures, observer.circuits) == (["draw_tickets"] * 2, [], [])


@pytest.mark.redis
async def test_a_call_whose_connection_was_cut_is_sent_again(server: RedisServer, observer: Recording) -> None:
    with cutting_proxy(server, chain([40, 60], repeat(None))) as url:
        async with connected(url, observer) as client:
            assert await draw(client) > 0
    assert observer.failures == [("draw_tickets", "unavailable")] * 2
    assert observer.round_trips == ["draw_tickets"]
    assert not observer.circuits


@pytest.mark.redis
async def test_a_call_is_retried_as_often_as_the_policy_says_and_no_more(
    server: RedisServer, observer: Recording
) -> None:
    with cutting_proxy(server, repeat(40)) as url:
        async with connected(url, observer) as client:
            with pytest.raises(Unavailable, match="does not answer"):
                await draw(client)
    assert observer.failures == [("draw_tickets", "unavailable")] * (1 + QUICK.retries)
    assert not observer.round_trips


@pytest.mark.redis
async def test_a_call_to_a_paused_server_times_out_and_a_later_one_succeeds(
    server: RedisServer, observer: Recording
) -> None:
    async with connected(server.url, observer, timeout_seconds=0.02) as client:
        await draw(client)
        server.pause()
        try:
            with pytest.raises(Unavailable, match="TimeoutError"):
                await draw(client)
        finally:
            server.resume()
        assert await draw(client) > 0
    assert len(observer.failures) >= 1 + QUICK.retries


@pytest.mark.redis
async def test_after_failures_in_a_row_calls_fail_at_once_until_the_circuit_closes(observer: Recording) -> None:
    with redis_server() as once:
        async with connected(once.url, observer) as client:
            once.stop()
            for _ in range(QUICK.failures_to_open):
                with pytest.raises(Unavailable, match="does not answer"):
                    await draw(client)
            assert observer.circuits == [CircuitState.OPEN]
            tried = len(observer.failures)
            with pytest.raises(Unavailable, match="failed several times in a row"):
                await draw(client)
            assert len(observer.failures) == tried  # nothing was sent

            once.start()
            with once.client() as library_client:
                library_client.set(PREFIX + b"v", VIEW)
            await asyncio.sleep(QUICK.open_seconds)
            assert await draw(client) > 0
            assert observer.circuits == [CircuitState.OPEN, CircuitState.CLOSED]


@pytest.mark.redis
async def test_one_failure_between_successes_opens_no_circuit(server: RedisServer, observer: Recording) -> None:
    async with connected(server.url, observer) as client:
        for _ in range(3 * QUICK.failures_to_open):
            with pytest.raises(Stale):
                await draw(client, b"another view")
        assert await draw(client) > 0
    assert observer.failures == [("draw_tickets", "stale")] * 3 * QUICK.failures_to_open
    assert not observer.circuits


@pytest.mark.redis
async def test_noscript_is_answered_by_eval(server: RedisServer, observer: Recording) -> None:
    async with connected(server.url, observer) as client:
        await draw(client)
        with server.client() as library_client:
            library_client.script_flush()
        await draw(client)
    assert observer.round_trips == ["draw_tickets"] * 2
    assert not observer.failures


@pytest.mark.redis
@pytest.mark.parametrize("kind", ["single", "sentinel", "cluster"])
async def test_more_calls_than_connections_wait_for_their_turn(kind: str, observer: Recording) -> None:
    async def draw_many(url: str, data: RedisServer) -> None:
        with data.client() as library_client:
            library_client.set(PREFIX + b"v", VIEW)
            before = library_client.info("stats")["total_connections_received"]
            async with connected(url, observer, connections=2) as client:
                drawn = await asyncio.gather(*(draw(client) for _ in range(30)))
            assert len(set(drawn)) == 30
            received = library_client.info("stats")["total_connections_received"]
            assert received - before < 15  # Sentinels connect now and then
        assert not observer.failures

    if kind == "single":
        with redis_server() as single:
            await draw_many(single.url, single)
    elif kind == "sentinel":
        with redis_with_sentinels() as watched:
            await draw_many(watched.url, watched.master)
    else:
        with redis_cluster(3) as cluster:
            await draw_many(cluster.url, cluster.servers[0])


async def test_a_cluster_that_is_gone_is_unavailable_and_not_a_crash() -> None:
    [port] = free_ports()
    async with connected(f"redis+cluster://127.0.0.1:{port}") as client:
        with pytest.raises(Unavailable):
            await draw(client)


@pytest.mark.redis
async def test_no_sentinel_is_dropped_where_several_connections_look_for_the_master() -> None:
    with redis_with_sentinels() as watched, watched.master.client() as library_client:
        library_client.set(PREFIX + b"v", VIEW)
        watched.sentinels[0].kill()
        async with connected(watched.url) as client:
            await asyncio.gather(*(draw(client) for _ in range(4)))
            pool: Any = client.client.connection_pool  # type: ignore[union-attr]
            ports = {s.connection_pool.connection_kwargs["port"] for s in pool.sentinel_manager.sentinels}
        assert ports == {sentinel.port for sentinel in watched.sentinels}


@pytest.mark.redis
async def test_a_client_that_never_connected_closes(server: RedisServer) -> None:
    await close(make_client(f"redis+sentinel://127.0.0.1:{server.port}/any", RedisSettings()))


SCRIPTS = sorted(path.stem for path in Path(str(files("gate.index.redis").joinpath("lua"))).glob("*.lua"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_header_of_every_script_lists_what_it_takes_and_returns(name: str) -> None:
    source = files("gate.index.redis").joinpath("lua", f"{name}.lua").read_text()
    header = list(takewhile(lambda line: line.startswith("--"), source.splitlines()))
    for part in ("KEYS", "ARGV", "Returns"):
        assert any(line.startswith(f"-- {part}") for line in header), part


def test_an_operation_runs_in_the_frame_of_all_scripts() -> None:
    assert load_script("draw_tickets").source.count("-- Returns") == 2  # of the frame, and of the operation


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (redis_errors.ResponseError("STALE the index has another view"), Stale),
        (redis_errors.ResponseError("ENTRY in use"), ValueError),
        (redis_errors.ResponseError("MISCONF Errors writing to the AOF file"), Unavailable),
        (redis_errors.ResponseError("NOREPLICAS Not enough good replicas to write."), Unavailable),
        (redis_errors.ResponseError("BUSY Redis is busy running a script."), Unavailable),
        (redis_errors.BusyLoadingError("Redis is loading the dataset in memory"), Unavailable),
        (redis_errors.ResponseError("Script attempted to access a non local key in a cluster node"), Unavailable),
        (redis_errors.AskError("1 127.0.0.1:7000"), Unavailable),
        (redis_errors.MovedError("1 127.0.0.1:7000"), Unavailable),
        (redis_errors.TryAgainError("Multiple keys request during rehashing of slot"), Unavailable),
        (redis_errors.ClusterDownError("The cluster is down"), Unavailable),
        (redis_errors.MasterDownError("Link with MASTER is down"), Unavailable),
        (redis_errors.ReadOnlyError("You can't write against a read only replica."), Unavailable),
        (redis_errors.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), Unavailable),
        (redis_errors.SlotNotCoveredError("Slot 1 not covered by the cluster."), Unavailable),
        (redis_errors.RedisClusterException("All slots are not covered after query"), Unavailable),
        (redis_errors.NoPermissionError("this user has no permissions"), ConfigError),
        (redis_errors.AuthenticationError("invalid username-password pair"), ConfigError),
        (redis_errors.TimeoutError("Timeout reading from 127.0.0.1:6379"), Unavailable),
        (ConnectionResetError("reset"), Unavailable),
        (redis_errors.ResponseError("wrong number of arguments"), redis_errors.ResponseError),  # a bug
    ],
)
def test_each_error_of_the_library_becomes_one_of_the_gates(error: Exception, kind: type[Exception]) -> None:
    assert type(translate_error(error)) is kind


def test_no_text_of_a_servers_error_is_repeated() -> None:
    error = translate_error(redis_errors.ResponseError("MISCONF while writing document-17"))
    assert "document-17" not in str(error)
    assert "MISCONF" in str(error)
