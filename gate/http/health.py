"""Serves /healthz, /readyz and /metrics on a port of their own and in a thread of their own.

The standard library's server is enough for three pages that one scraper and one orchestrator request. In a thread it
answers even while the event loop is stuck, and reports it; a page served by the loop itself would only time out.

A client that connects and sends or reads slowly holds a thread. So connections are few and short: one more than
`max_connections` closes the oldest, and what is not answered within REQUEST_SECONDS is closed. A client that sends its
request at once is answered long before it is the oldest.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from gate.errors import ConfigError
from gate.metrics import DropReason
from gate.readiness import Readiness

STUCK_SECONDS = 15.0  # without a tick, until an event loop counts as stuck; a garbage collection takes less
TICK_SECONDS = 1.0
REQUEST_SECONDS = 10.0  # until a connection whose request is not answered is closed, however it trickles
MAX_CONNECTIONS = 64
_WAITING_CONNECTIONS = 128  # that the kernel keeps until they are accepted

Reasons = Mapping[str, object]
OnDropped = Callable[[DropReason], None]

_log = logging.getLogger("gate.http")


def _ignore(reason: DropReason) -> None:
    """Count nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What the pages show. `alive` and `ready` return the reasons why not, by part; an empty mapping: yes."""

    registry: CollectorRegistry
    alive: Callable[[], Reasons]
    ready: Callable[[], Reasons]


@asynccontextmanager
async def serve_health(
    *,
    registry: CollectorRegistry,
    readiness: Readiness,
    host: str,
    port: int,
    stuck_seconds: float = STUCK_SECONDS,
    max_connections: int = MAX_CONNECTIONS,
    on_dropped: OnDropped = _ignore,
) -> AsyncIterator[int]:
    """Serve the pages of a process with one event loop, this one. Yields the port: with `port=0` any that is free."""
    ticked = time.monotonic()

    def tick(at: float) -> None:
        nonlocal ticked
        ticked = at

    def alive() -> Reasons:
        late = time.monotonic() - ticked
        return {"event_loop": f"stuck for {late:.0f} seconds"} if late > stuck_seconds else {}

    checks = Checks(registry=registry, alive=alive, ready=readiness.reasons)
    async with ticking(tick, every_seconds=min(TICK_SECONDS, stuck_seconds / 4)):
        with health_server(
            checks, host=host, port=port, max_connections=max_connections, on_dropped=on_dropped
        ) as bound:
            yield bound


@asynccontextmanager
async def ticking(tick: Callable[[float], None], *, every_seconds: float = TICK_SECONDS) -> AsyncIterator[None]:
    """Call `tick` with the time of the monotonic clock every `every_seconds`, as long as the event loop runs."""

    async def repeat() -> None:
        while True:
            await asyncio.sleep(every_seconds)
            tick(time.monotonic())

    tick(time.monotonic())
    task = asyncio.create_task(repeat())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@contextmanager
def health_server(
    checks: Checks,
    *,
    host: str,
    port: int,
    max_connections: int = MAX_CONNECTIONS,
    on_dropped: OnDropped = _ignore,
) -> Iterator[int]:
    """Serve the pages until the block ends. `on_dropped` is called with the reason why a connection was closed."""
    with _listen(checks, host, port, _Connections(max_connections, on_dropped)) as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="health", daemon=True
        )
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


class _Connections:
    """The open connections, oldest first."""

    def __init__(self, most: int, on_dropped: OnDropped) -> None:
        self._most = most
        self._on_dropped = on_dropped
        self._opened_at: dict[socket.socket, float] = {}
        self._lock = threading.Lock()

    def open(self, connection: socket.socket) -> None:
        with self._lock:
            self._opened_at[connection] = time.monotonic()
            too_many = list(self._opened_at)[: -self._most]
        self._drop(too_many, "too_many")

    def close(self, connection: socket.socket) -> None:
        with self._lock:
            self._opened_at.pop(connection, None)

    def drop_slow(self) -> None:
        latest = time.monotonic() - REQUEST_SECONDS
        with self._lock:
            too_slow = [connection for connection, opened_at in self._opened_at.items() if opened_at < latest]
        self._drop(too_slow, "too_slow")

    def _drop(self, connections: list[socket.socket], reason: DropReason) -> None:
        """Wake the threads that wait for these clients; each then closes its connection and ends."""
        for connection in connections:
            self.close(connection)
            with suppress(OSError):  # it has ended in this moment
                connection.shutdown(socket.SHUT_RDWR)
                self._on_dropped(reason)


class _Server(ThreadingTCPServer):
    daemon_threads = True  # a client that hangs does not keep the process from ending
    block_on_close = False
    allow_reuse_address = True  # a port that an earlier process has just closed
    request_queue_size = _WAITING_CONNECTIONS

    def __init__(self, checks: Checks, family: socket.AddressFamily, address: Any, connections: _Connections) -> None:
        self.checks = checks
        self._connections = connections
        self.address_family = family
        super().__init__(address, _Pages)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.open(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.close(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Called by the loop that accepts, several times a second."""
        self._connections.drop_slow()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that disconnects; log anything else, which is a bug. The client gets no answer then."""
        if not isinstance(sys.exc_info()[1], OSError):
            _log.exception("error while serving a page")


def _listen(checks: Checks, host: str, port: int, connections: _Connections) -> _Server:
    try:
        addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as exc:
        raise ConfigError(f"http_host: {host!r} is not an address; set it to 127.0.0.1, or to 0.0.0.0 for all") from exc
    family, *_, address = addresses[0]
    try:
        return _Server(checks, family, address, connections)
    except OSError as exc:
        raise ConfigError(f"http_port: cannot listen on {host}:{port}: {_remedy(exc)}") from exc


def _remedy(exc: OSError) -> str:
    if exc.errno == errno.EADDRINUSE:
        return "the port is in use; choose another port, or 0 for any that is free"
    if exc.errno == errno.EACCES:
        return "not allowed; choose a port above 1023"
    if exc.errno == errno.EADDRNOTAVAIL:
        return "this machine does not have that address; set http_host to 127.0.0.1, or to 0.0.0.0 for all"
    return exc.strerror or type(exc).__name__


class _Pages(BaseHTTPRequestHandler):
    server: _Server
    timeout = REQUEST_SECONDS
    server_version, sys_version = "gate", ""

    def do_GET(self) -> None:
        checks = self.server.checks
        match self.path.partition("?")[0]:
            case "/healthz":
                self._answer_check("alive", checks.alive())
            case "/readyz":
                self._answer_check("ready", checks.ready())
            case "/metrics":
                encode, kind = choose_encoder(self.headers.get("Accept", ""))
                self._answer(HTTPStatus.OK, kind, encode(checks.registry))
            case _:
                error = {"error": "unknown path; there are /healthz, /readyz and /metrics"}
                self._answer(HTTPStatus.NOT_FOUND, "application/json", json.dumps(error).encode())

    def do_HEAD(self) -> None:
        self.do_GET()

    def _answer_check(self, state: str, reasons: Reasons) -> None:
        status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
        content = {state: not reasons, "reasons": dict(reasons)}
        self._answer(status, "application/json", json.dumps(content).encode())

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged: a scraper and an orchestrator send them all the time."""
