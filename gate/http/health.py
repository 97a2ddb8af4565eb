"""Serves /healthz, /readyz and /metrics on a port of their own and in a thread of their own.

The standard library's server is enough for three pages that one scraper and one orchestrator request. In a thread it
answers even while the event loop is stuck, and reports it; a page served by the loop itself would only time out.
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
from gate.readiness import Readiness

STUCK_SECONDS = 15.0  # without a tick, until an event loop counts as stuck; a garbage collection takes less
TICK_SECONDS = 1.0
_REQUEST_SECONDS = 10.0  # until the connection of a client that does not finish its request is closed

Reasons = Mapping[str, object]

_log = logging.getLogger("gate.http")


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
        with health_server(checks, host=host, port=port) as bound:
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
def health_server(checks: Checks, *, host: str, port: int) -> Iterator[int]:
    """Serve the pages until the block ends."""
    with _listen(checks, host, port) as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="health", daemon=True
        )
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingTCPServer):
    daemon_threads = True  # a client that hangs does not keep the process from ending
    block_on_close = False
    allow_reuse_address = True  # a port that an earlier process has just closed

    def __init__(self, checks: Checks, family: socket.AddressFamily, address: Any) -> None:
        self.checks = checks
        self.address_family = family
        super().__init__(address, _Pages)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that disconnects; log anything else, which is a bug. The client gets no answer then."""
        if not isinstance(sys.exc_info()[1], OSError):
            _log.exception("error while serving a page")


def _listen(checks: Checks, host: str, port: int) -> _Server:
    try:
        addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as exc:
        raise ConfigError(f"http_host: {host!r} is not an address; set it to 127.0.0.1, or to 0.0.0.0 for all") from exc
    family, *_, address = addresses[0]
    try:
        return _Server(checks, family, address)
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
    timeout = _REQUEST_SECONDS
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
