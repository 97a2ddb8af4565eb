"""Connections of the client, to servers that behave and to those that do not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gate.client.connections import Connections
from gate.errors import ConfigError, Unavailable, UsageError

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Kind: Own\r\n\r\n{}"


@contextmanager
def answering(*connections: list[bytes]) -> Iterator[tuple[str, list[int]]]:
    """A server that gives the n-th connection its answers, one for each request, and closes it; and how many came."""
    seen: list[int] = []

    def serve(listening: socket.socket) -> None:
        for answers in connections:
            try:
                accepted, _ = listening.accept()
            except OSError:
                return
            with accepted:
                seen.append(0)
                for answer in answers:
                    if not accepted.recv(65536):
                        break
                    seen[-1] += 1
                    accepted.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=[listening])
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", seen
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_one_connection_serves_many_requests() -> None:
    with answering([OK, OK, OK]) as (url, seen):
        connections = Connections(f"{url}/below", timeout=5)
        *_, answer = [connections.request("GET", "/x", None, {}) for _ in range(3)]
        connections.close()
    assert (answer.status, answer.body, answer.headers["x-kind"]) == (200, b"{}", "Own")
    assert seen == [3]


def test_a_connection_that_was_closed_while_idle_is_replaced_at_once() -> None:
    with answering([OK], [OK]) as (url, seen):
        connections = Connections(url, timeout=5)
        for _ in range(2):
            assert connections.request("GET", "/x", None, {}).status == 200
        connections.close()
    assert seen == [1, 1]


@pytest.mark.parametrize("answer", [b"", b"no HTTP at all\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"])
def test_no_answer_and_half_of_one_are_unavailable(answer: bytes) -> None:
    with answering([answer]) as (url, _), pytest.raises(Unavailable, match=r"127\.0\.0\.1 does not answer"):
        Connections(url, timeout=5).request("GET", "/x", None, {})


def test_a_service_that_does_not_answer_in_time_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        connections = Connections(f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=0.05)
        with pytest.raises(Unavailable, match="it takes too long"):
            connections.request("GET", "/x", None, {})
    with pytest.raises(Unavailable, match="refused"):
        connections.request("GET", "/x", None, {})


@pytest.mark.parametrize(
    "url", ["localhost:8400", "ftp://localhost", "http://", "http://h:port", "http://u:p@h", "http://h?x=1"]
)
def test_a_url_that_is_no_service_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="url: "):
        Connections(url, timeout=5)


def test_a_file_without_certificates_is_refused() -> None:
    with pytest.raises(ConfigError, match="ca_file: "):
        Connections("https://localhost", timeout=5, ca_file="no/such/file.pem")


def test_a_closed_client_sends_nothing() -> None:
    connections = Connections("http://localhost", timeout=5)
    connections.close()
    with pytest.raises(UsageError, match="closed"):
        connections.request("GET", "/x", None, {})
