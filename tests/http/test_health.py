"""The pages for orchestrators and scrapers, requested over a real socket."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection, RemoteDisconnected
from typing import Any

import pytest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from gate.errors import ConfigError
from gate.http import health
from gate.http.health import serve_health
from gate.metrics import WorkerMetrics
from gate.readiness import Readiness
from tests.support.servers import wait_until

LOOPBACK = "127.0.0.1"


def get(port: int, path: str, *, method: str = "GET", accept: str = "*/*") -> tuple[int, str | None, bytes]:
    with closing(HTTPConnection(LOOPBACK, port, timeout=10)) as connection:
        connection.request(method, path, headers={"Accept": accept})
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read()


async def request_while_served(
    ask: Callable[[int], Any], *, readiness: Readiness | None = None, metrics: WorkerMetrics | None = None
) -> Any:
    """The result of `ask(port)`, called in a thread while the pages are served."""
    registry = (metrics or WorkerMetrics()).registry
    async with serve_health(registry=registry, readiness=readiness or Readiness(), host=LOOPBACK, port=0) as port:
        return await asyncio.to_thread(ask, port)


async def test_a_process_whose_event_loop_ticks_is_alive_before_it_is_ready() -> None:
    status, kind, body = await request_while_served(lambda port: get(port, "/healthz"))
    assert (status, kind, json.loads(body)) == (200, "application/json", {"alive": True, "reasons": {}})


async def test_a_stuck_event_loop_is_reported() -> None:
    async with serve_health(
        registry=WorkerMetrics().registry, readiness=Readiness(), host=LOOPBACK, port=0, stuck_seconds=0.2
    ) as port:
        answers: list[tuple[int, str | None, bytes]] = []

        def ask() -> None:
            while not answers or answers[-1][0] == 200:
                answers.append(get(port, "/healthz"))

        client = threading.Thread(target=ask)
        client.start()
        client.join()  # blocks the event loop
    status, _, body = answers[-1]
    assert status == 503
    assert "stuck" in json.loads(body)["reasons"]["event_loop"]


async def test_a_worker_that_is_not_ready_says_why() -> None:
    readiness = Readiness()
    readiness.set("consumer", None)
    readiness.set("index", "does not answer")
    status, _, body = await request_while_served(lambda port: get(port, "/readyz"), readiness=readiness)
    assert (status, json.loads(body)) == (503, {"ready": False, "reasons": {"index": "does not answer"}})


async def test_a_worker_with_partitions_and_all_dependencies_is_ready() -> None:
    readiness = Readiness()
    readiness.set("consumer", None)
    status, _, body = await request_while_served(lambda port: get(port, "/readyz"), readiness=readiness)
    assert (status, json.loads(body)) == (200, {"ready": True, "reasons": {}})


@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text; version=1.0.0"])
async def test_metrics_are_served_in_the_format_that_the_client_accepts(accept: str) -> None:
    metrics = WorkerMetrics()
    metrics.record_producer_fenced("check-ins", 0)
    status, kind, body = await request_while_served(lambda port: get(port, "/metrics", accept=accept), metrics=metrics)
    assert status == 200
    assert kind.startswith(accept.partition(";")[0])
    assert b"\ngate_producers_fenced_total 1.0\n" in body


async def test_an_unknown_path_is_answered_with_the_known_ones() -> None:
    status, _, body = await request_while_served(lambda port: get(port, "/"))
    assert status == 404
    assert b"/readyz" in body


async def test_a_head_request_is_answered_without_a_body() -> None:
    def head(port: int) -> bytes:
        with socket.create_connection((LOOPBACK, port)) as client:
            client.sendall(b"HEAD /healthz HTTP/1.0\r\n\r\n")
            with client.makefile("rb") as answer:
                return answer.read()

    answer = await request_while_served(head)
    assert answer.startswith(b"HTTP/1.0 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\n")


async def test_a_post_request_is_refused() -> None:
    assert (await request_while_served(lambda port: get(port, "/healthz", method="POST")))[0] == 501


async def test_a_client_that_disconnects_is_not_logged(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def leave(port: int) -> int:
        with socket.create_connection((LOOPBACK, port)) as client:
            client.sendall(b"GET /metrics HT")
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close by a reset
        status = get(port, "/healthz")[0]  # answered after the earlier request was accepted
        finish_answers()
        return status

    assert await request_while_served(leave) == 200
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


async def test_an_error_while_serving_a_page_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Collector):
        def collect(self) -> Iterator[Metric]:
            raise ValueError("no metrics today")

        def describe(self) -> list[Metric]:
            return []

    metrics = WorkerMetrics()
    metrics.registry.register(Broken())

    def ask(port: int) -> None:
        with pytest.raises(RemoteDisconnected):
            get(port, "/metrics")
        finish_answers()

    await request_while_served(ask, metrics=metrics)
    assert [record.getMessage() for record in caplog.records] == ["error while serving a page"]


def held_open(port: int, request: bytes, count: int) -> list[socket.socket]:
    """Connections that have sent this much of a request, and nothing more."""
    clients = []
    for _ in range(count):
        client = socket.create_connection((LOOPBACK, port), timeout=10)
        client.sendall(request)
        clients.append(client)
    return clients


def answer_threads() -> int:
    return sum("process_request" in thread.name for thread in threading.enumerate())


@pytest.mark.parametrize("request_so_far", [b"", b"GET /readyz HTTP/1.1\r\nX: ", b"\x16\x03\x01"])
async def test_clients_that_never_finish_their_requests_do_not_keep_others_from_theirs(request_so_far: bytes) -> None:
    dropped: list[str] = []

    def ask(port: int) -> tuple[int, int]:
        clients = held_open(port, request_so_far, 300)
        try:
            return get(port, "/readyz")[0], answer_threads()
        finally:
            for client in clients:
                client.close()

    readiness = Readiness()
    readiness.set("consumer", None)
    async with serve_health(
        registry=WorkerMetrics().registry,
        readiness=readiness,
        host=LOOPBACK,
        port=0,
        max_connections=20,
        on_dropped=dropped.append,
    ) as port:
        status, threads = await asyncio.to_thread(ask, port)
    assert status == 200
    assert threads < 60  # 20, and those that were woken and have not ended yet
    assert dropped.count("too_many") >= 280


async def test_a_client_that_trickles_its_request_is_closed_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "REQUEST_SECONDS", 0.5)
    dropped: list[str] = []

    def trickle(port: int) -> bytes:
        with socket.create_connection((LOOPBACK, port), timeout=10) as client:
            client.settimeout(0.05)
            for _ in range(200):
                try:
                    client.sendall(b"G")
                    return client.recv(1)
                except TimeoutError:
                    continue
        raise AssertionError("the connection is still open")

    async with serve_health(
        registry=WorkerMetrics().registry, readiness=Readiness(), host=LOOPBACK, port=0, on_dropped=dropped.append
    ) as port:
        with suppress(ConnectionError):
            assert await asyncio.to_thread(trickle, port) == b""
    assert dropped == ["too_slow"]


def finish_answers() -> None:
    wait_until(
        lambda: not answer_threads(),
        "an answer takes too long",
    )


async def test_a_port_in_use_is_a_config_error() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"http_port.*{port}.*choose another port"):
            await serve_on(LOOPBACK, port)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.1"])
async def test_a_host_that_is_not_this_machine_is_a_config_error(host: str) -> None:
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1"):
        await serve_on(host, 0)


async def serve_on(host: str, port: int) -> None:
    async with serve_health(registry=WorkerMetrics().registry, readiness=Readiness(), host=host, port=port):
        pass
