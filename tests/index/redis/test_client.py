"""The link to Redis: what is tried again, for how long, by how many at once, and who is told of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import chain, repeat
from typing import Any, TypeVar

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

T = TypeVar("T")
VIEW = b"view"
PREFIX = prefixes_of("gate:link@1")[0]
QUICK = RetryPolicy(
    retries=2, backoff_seconds=0.001, longest_backoff_seconds=0.002, failures_to_open=2, open_seconds=0.01
)


class Recording:
    """A watcher that remembers what it was told."""

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


def over(url: str, use: Callable[[RedisClient], Awaitable[T]], observer: Recording | None = None, **settings: Any) -> T:
    """What `use` makes of a link to that server."""

    async def used() -> T:
        redis = RedisSettings(retry=QUICK, **settings)
        link = RedisClient(make_client(url, redis), calls=redis.connections, retry=QUICK, observer=observer)
        try:
            return await use(link)
        finally:
            await link.close()

    return asyncio.run(used())


async def draw(link: RedisClient, view: bytes = VIEW) -> int:
    [first] = await link.call(DRAW_TICKETS, (view, b"0", 1, 0), [(PREFIX, b"")])
    return int(first)


@pytest.mark.redis
def test_whoever_watches_is_told_of_every_round_trip(server: RedisServer, observer: Recording) -> None:
    async def twice(link: RedisClient) -> list[int]:
        return [await draw(link), await draw(link)]

    first, second = over(server.url, twice, observer)
    assert first < second
    assert (observer.round_trips, observer.failures, observer.circuits) == (["draw_tickets"] * 2, [], [])


@pytest.mark.redis
def test_a_call_whose_connection_was_cut_is_sent_again(server: RedisServer, observer: Recording) -> None:
    with cutting_proxy(server, chain([40, 60], repeat(None))) as url:
        assert over(url, draw, observer) > 0
    assert observer.failures == [("draw_tickets", "unavailable")] * 2
    assert observer.round_trips == ["draw_tickets"]
    assert not observer.circuits


@pytest.mark.redis
def test_it_is_tried_as_often_as_patience_says_and_no_more(server: RedisServer, observer: Recording) -> None:
    with cutting_proxy(server, repeat(40)) as url, pytest.raises(Unavailable, match="does not answer"):
        over(url, draw, observer)
    assert observer.failures == [("draw_tickets", "unavailable")] * (1 + QUICK.retries)
    assert not observer.round_trips


@pytest.mark.redis
def test_a_server_that_stands_still_is_given_up_on_in_time_and_found_again(
    server: RedisServer, observer: Recording
) -> None:
    async def stands_still(link: RedisClient) -> int:
        await draw(link)
        server.pause()
        try:
            with pytest.raises(Unavailable, match="TimeoutError"):
                await draw(link)
        finally:
            server.resume()
        return await draw(link)

    assert over(server.url, stands_still, observer, timeout_seconds=0.02) > 0
    assert len(observer.failures) >= 1 + QUICK.retries


@pytest.mark.redis
def test_after_failures_in_a_row_calls_fail_at_once_until_a_rest_is_over(observer: Recording) -> None:
    with redis_server() as once:
        url = once.url

        async def come_and_go(link: RedisClient) -> None:
            once.stop()
            for _ in range(QUICK.failures_to_open):
                with pytest.raises(Unavailable, match="does not answer"):
                    await draw(link)
            assert observer.circuits == [CircuitState.OPEN]
            tried = len(observer.failures)
            with pytest.raises(Unavailable, match="tried again in a moment"):
                await draw(link)
            assert len(observer.failures) == tried  # nothing was sent

            once.start()
            with once.client() as client:
                client.set(PREFIX + b"v", VIEW)
            await asyncio.sleep(QUICK.open_seconds)
            assert await draw(link) > 0
            assert observer.circuits == [CircuitState.OPEN, CircuitState.CLOSED]

        over(url, come_and_go, observer)


@pytest.mark.redis
def test_one_failure_between_successes_opens_no_circuit(server: RedisServer, observer: Recording) -> None:
    async def now_and_then(link: RedisClient) -> None:
        for _ in range(3 * QUICK.failures_to_open):
            with pytest.raises(Stale):
                await draw(link, b"another view")
        assert await draw(link) > 0

    over(server.url, now_and_then, observer)
    assert observer.failures == [("draw_tickets", "stale")] * 3 * QUICK.failures_to_open
    assert not observer.circuits


@pytest.mark.redis
def test_what_a_server_forgot_it_is_told_again(server: RedisServer, observer: Recording) -> None:
    async def flush_between(link: RedisClient) -> None:
        await draw(link)
        with server.client() as client:
            client.script_flush()
        await draw(link)

    over(server.url, flush_between, observer)
    assert observer.round_trips == ["draw_tickets"] * 2
    assert not observer.failures


@pytest.mark.redis
@pytest.mark.parametrize("kind", ["single", "sentinel", "cluster"])
def test_more_calls_than_connections_wait_for_their_turn(kind: str, observer: Recording) -> None:
    async def crowd(link: RedisClient) -> list[int]:
        return await asyncio.gather(*(draw(link) for _ in range(30)))

    def tickets(url: str, data: RedisServer) -> None:
        with data.client() as client:
            before = client.info("stats")["total_connections_received"]
            drawn = over(url, crowd, observer, connections=2)
            assert len(set(drawn)) == 30
            assert client.info("stats")["total_connections_received"] - before < 15  # Sentinels connect now and then
        assert not observer.failures

    if kind == "single":
        with redis_server() as single, single.client() as client:
            client.set(PREFIX + b"v", VIEW)
            tickets(single.url, single)
    elif kind == "sentinel":
        with redis_with_sentinels() as watched, watched.master.client() as client:
            client.set(PREFIX + b"v", VIEW)
            tickets(watched.url, watched.master)
    else:
        with redis_cluster(3) as cluster, cluster.servers[0].client() as client:
            client.set(PREFIX + b"v", VIEW)
            tickets(cluster.url, cluster.servers[0])


def test_a_cluster_that_is_gone_is_unavailable_and_not_a_crash() -> None:
    [port] = free_ports()
    with pytest.raises(Unavailable):
        over(f"redis+cluster://127.0.0.1:{port}", draw)


@pytest.mark.redis
def test_no_sentinel_is_forgotten_where_several_connections_look_for_the_master() -> None:
    with redis_with_sentinels() as watched, watched.master.client() as client:
        client.set(PREFIX + b"v", VIEW)
        watched.sentinels[0].kill()

        async def crowd(link: RedisClient) -> set[int]:
            await asyncio.gather(*(draw(link) for _ in range(4)))
            pool: Any = link.client.connection_pool  # type: ignore[union-attr]
            return {s.connection_pool.connection_kwargs["port"] for s in pool.sentinel_manager.sentinels}

        assert over(watched.url, crowd) == {sentinel.port for sentinel in watched.sentinels}


@pytest.mark.redis
def test_a_client_that_never_connected_closes(server: RedisServer) -> None:
    asyncio.run(close(make_client(f"redis+sentinel://127.0.0.1:{server.port}/any", RedisSettings())))


def test_every_script_says_what_it_takes_and_returns() -> None:
    assert load_script("draw_tickets").source.count("-- Returns") == 2  # of the frame, and of the script


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
def test_each_error_of_the_library_has_its_place_in_the_tree(error: Exception, kind: type[Exception]) -> None:
    assert type(translate_error(error)) is kind


def test_no_word_of_a_servers_answer_is_repeated() -> None:
    told = translate_error(redis_errors.ResponseError("MISCONF while writing document-17"))
    assert "document-17" not in str(told)
    assert "MISCONF" in str(told)
