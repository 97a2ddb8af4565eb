"""Who may make a request: the host that it names, the origin of the page that makes it, and its token.

A service that only its own machine can reach needs no token. But a browser on that machine runs pages of strangers:
the Host header keeps out those that make their own name point to it (DNS rebinding), and Origin those that simply
send requests to it. No CORS header is ever sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gate.http.problems import RequestError
from gate.http.settings import ServiceSettings
from gate.http.tokens import Scope, Token, TokenFile

Headers = Iterable[tuple[bytes, bytes]]
LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


class RequestHeaders(NamedTuple):
    """The headers that the service reads."""

    host: str = ""
    origin: str = ""
    authorization: str = ""
    content_type: str = ""
    content_length: str = ""
    accept: str = ""
    if_none_match: str = ""


_NAMES = {name.replace("_", "-").encode(): name for name in RequestHeaders._fields}


def read_headers(headers: Headers) -> RequestHeaders:
    return RequestHeaders(**{_NAMES[name]: value.decode("latin-1") for name, value in headers if name in _NAMES})


class AccessPolicy:
    """What is asked of a request before it is read."""

    def __init__(self, settings: ServiceSettings, tokens: TokenFile | None) -> None:
        self._tokens = tokens
        names = {name.lower() for name in settings.allowed_hosts}
        self._hosts = names | LOOPBACK_HOSTS if settings.is_loopback else names

    def check_host(self, headers: RequestHeaders) -> None:
        """RequestError: the request is for another host, or a page of another origin sends it."""
        host = headers.host.lower()
        if self._hosts and _without_port(host) not in self._hosts:
            raise RequestError(
                "wrong_host",
                "host: is not a name of this service; use localhost, or add the name to api_allowed_hosts",
                field="host",
            )
        if headers.origin and headers.origin.lower().partition("://")[2] != host:
            raise RequestError(
                "forbidden_origin", "origin: a page of another origin may not use this service", field="origin"
            )

    def authorize(self, headers: RequestHeaders, scope: Scope | None) -> Token | None:
        """The token of a request; None where none is needed. RequestError: it has none, or it may not do this."""
        if self._tokens is None or scope is None:
            return None
        token = self._tokens.find(headers.authorization)
        if token is None:
            given = "is not accepted" if headers.authorization else "is missing"
            raise RequestError(
                "unauthorized",
                f"authorization: {given}; send the header `Authorization: Bearer TOKEN`",
                field="authorization",
                headers=((b"www-authenticate", b'Bearer realm="gate"'),),
            )
        if scope not in token.scopes:
            raise RequestError(
                "forbidden_scope",
                f"authorization: the token {token.name} has no scope {scope}; use one that has",
                field="authorization",
                headers=((b"www-authenticate", f'Bearer error="insufficient_scope", scope="{scope}"'.encode()),),
            )
        return token


def _without_port(host: str) -> str:
    """`[::1]:80` has colons in its brackets too."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
