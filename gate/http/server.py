"""Listens for connections and hands their requests to the application: uvicorn, with bounds of our own.

uvicorn bounds neither how long a request may take to arrive nor how long its head may be, and counts no idle
connections. A client that sends nothing, or trickles, would hold a connection for good; so the head of a request has
HEAD_SECONDS and MAX_HEAD_BYTES, and one connection more than `max_connections` closes the one that is idle longest.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gate.errors import ConfigError
from gate.http.settings import ServiceSettings

HEAD_SECONDS = 10.0
IDLE_SECONDS = 65.0  # above the 60 of common proxies, so that it is the proxy that closes
MAX_HEAD_BYTES = 64 * 1024
BACKLOG = 2048


class _Connection(HttpToolsProtocol):
    """A connection whose next request has to arrive in time."""

    max_connections = 0

    @property
    def is_idle(self) -> bool:
        """Whether it is before its first request, or between two."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_bytes = 0
        self._deadline: asyncio.TimerHandle | None = self.loop.call_later(HEAD_SECONDS, self._too_slow)
        if len(self.connections) > self.max_connections:
            self._close_idle()

    def _close_idle(self) -> None:
        """Close a connection without a request in progress; this one where all are busy."""
        for other in self.connections:
            if isinstance(other, _Connection) and other is not self and other.is_idle:
                other.transport.close()
                self.connections.discard(other)
                return
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        if self.is_idle:
            self._head_bytes += len(data)
            if self._deadline is None:
                self._deadline = self.loop.call_later(HEAD_SECONDS, self._too_slow)
        super().data_received(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._head_bytes = 0
        self._disarm()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        self.transport.close()


class _ServiceServer(uvicorn.Server):
    """Leaves signals to the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bind(settings: ServiceSettings, *, shared: bool = False) -> socket.socket:
    """A listening socket. `shared`: several processes listen on the port, and the kernel spreads the connections.

    ConfigError: the address cannot be used."""
    host, port = settings.host.strip("[]"), settings.port or 0
    try:
        [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as exc:
        raise ConfigError(f"api_host: {host!r} is not an address; set it to 127.0.0.1, or to 0.0.0.0 for all") from exc
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind(address)
    except OSError as exc:
        listening.close()
        remedy = {
            errno.EADDRINUSE: "the port is in use; choose another port, or 0 for any that is free",
            errno.EACCES: "not allowed; choose a port above 1023",
            errno.EADDRNOTAVAIL: "this machine does not have that address; set api_host to 127.0.0.1",
        }.get(exc.errno or 0, exc.strerror or type(exc).__name__)
        raise ConfigError(f"api_port: cannot listen on {host}:{port}: {remedy}") from exc
    return listening


@asynccontextmanager
async def serving(
    app: object, listening: socket.socket, settings: ServiceSettings, *, drain_seconds: float
) -> AsyncIterator[None]:
    """Serve the application until the block ends; then no connection is accepted, and requests in progress end."""
    protocol = type("_BoundedConnection", (_Connection,), {"max_connections": settings.max_connections})
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # what a client says about its address is not believed
        backlog=BACKLOG,
        timeout_keep_alive=int(IDLE_SECONDS),
        timeout_graceful_shutdown=max(1, round(drain_seconds)),
        ssl_certfile=settings.cert_file,
        ssl_keyfile=settings.key_file,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as exc:
        raise ConfigError(
            f"api_cert_file, api_key_file: cannot be used: {exc.strerror or exc}; name a certificate and its key in PEM"
        ) from exc
    listening.listen(BACKLOG)  # from here on clients can connect, and wait for the server to start
    server = _ServiceServer(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield
    finally:
        server.should_exit = True
        await task
