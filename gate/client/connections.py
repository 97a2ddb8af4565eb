"""HTTP/1.1 connections to one service, kept open between requests, for any number of threads."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from queue import Empty, LifoQueue
from typing import NamedTuple
from urllib.parse import urlsplit

from gate.errors import ConfigError, Unavailable, UsageError

MAX_IDLE = 64  # connections that are kept open
_CLOSED = "this client is closed; make another one"


class RawAnswer(NamedTuple):
    """An answer as it came. The names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Connections:
    """Sends requests, each over a connection that no other request uses meanwhile."""

    def __init__(self, url: str, *, timeout: float, ca_file: str | None = None) -> None:
        """ConfigError: the URL is none of a service, or the file holds no certificates."""
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise ConfigError(f"url: {url!r} is not the address of a service; give one like http://localhost:8400")
        if parts.query or parts.fragment or parts.username is not None:
            raise ConfigError("url: has more than a host, a port and a path; give a token by `token`")
        self._host, self._port = parts.hostname, port
        self._prefix = parts.path.rstrip("/")
        self._timeout = timeout
        self._tls = _tls(ca_file) if parts.scheme == "https" else None
        self._idle: LifoQueue[HTTPConnection] = LifoQueue(MAX_IDLE)
        self._closed = False

    def request(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> RawAnswer:
        """Unavailable: there was no answer. The service may have done what was asked for."""
        if self._closed:
            raise UsageError(_CLOSED)
        connection = self._kept()
        if connection is not None:
            try:
                return self._send(connection, method, path, body, headers)
            except Unavailable as exc:
                # The service closes connections that are idle for long; it may have closed this one meanwhile.
                if not isinstance(exc.__cause__, ConnectionError):
                    raise
        return self._send(self._new(), method, path, body, headers)

    def _send(
        self, connection: HTTPConnection, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> RawAnswer:
        try:
            connection.request(method, self._prefix + path, body=body, headers=dict(headers))
            response = connection.getresponse()
            content = response.read()
        except (OSError, HTTPException) as exc:
            connection.close()
            reason = "it takes too long" if isinstance(exc, TimeoutError) else _reason(exc)
            raise Unavailable(f"the service at {self._host} does not answer: {reason}") from exc
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._keep(connection)
        return RawAnswer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)

    def _new(self) -> HTTPConnection:
        if self._tls is not None:
            return _NoDelayTls(self._host, self._port, timeout=self._timeout, context=self._tls)
        return _NoDelay(self._host, self._port, timeout=self._timeout)

    def _kept(self) -> HTTPConnection | None:
        try:
            return self._idle.get_nowait()
        except Empty:
            return None

    def _keep(self, connection: HTTPConnection) -> None:
        if self._closed or self._idle.full():
            connection.close()
        else:
            self._idle.put(connection)

    def close(self) -> None:
        self._closed = True
        while (connection := self._kept()) is not None:
            connection.close()


class _NoDelay(HTTPConnection):
    """Sends a body at once: it is written after the head, and must not wait until that is acknowledged."""

    def connect(self) -> None:
        super().connect()
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class _NoDelayTls(HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _tls(ca_file: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as exc:
        raise ConfigError(
            f"ca_file: {ca_file} cannot be used: {exc.strerror or exc}; name certificates in PEM"
        ) from exc


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}; name its authority by ca_file"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return type(error).__name__
