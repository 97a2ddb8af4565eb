"""URLs of an index in Redis, and the settings beside them. Nothing here needs the library that talks to it: a command
that works on a file starts without.

    redis://host:6379/0              one server             rediss://   the same over TLS
    unix:///run/redis.sock           one server, by socket
    redis+sentinel://h1:26379,h2:26379/mymaster/0           rediss+sentinel://
    redis+cluster://h1:6379,h2:6379                         rediss+cluster://

User and password are before the host, as everywhere (`redis://user:password@host`), or come from the settings
`redis_username` and `redis_password`, which are never shown. A database is behind the host (`/0`), or in `?db=0`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from gate.errors import ConfigError

SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")
DEFAULT_PORT = 6379
SENTINEL_PORT = 26379
# A scheme without ://, or a user and a password before an @. A path that begins with ./, ../ or a single / is a path.
_MISTYPED = re.compile(r"(?!\.{0,2}/(?!/))((rediss?|unix)(\+\w+)?(:|//)|[^@]*:[^@]*@|//)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a call is retried, and when the circuit breaker opens.

    After `failures_to_open` calls in a row failed in spite of their retries, calls fail at once for `open_seconds`, so
    that a server that recovers is not hit by everything that piled up meanwhile.
    """

    retries: int = 3
    backoff_seconds: float = 0.05
    longest_backoff_seconds: float = 1.0
    failures_to_open: int = 3
    open_seconds: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisSettings:
    """How to talk to Redis, and what a new index is planned for."""

    connections: int = 8  # of one process, to each server; a batch uses two at a time
    timeout_seconds: float = 5.0  # of one round trip: a batch of 256 takes milliseconds, a failover seconds
    window_seconds: float | None = None  # keep documents for one to two windows; None keeps them for good
    wait_replicas: int = 0  # that must have what a verdict rests on before it is given
    wait_timeout_seconds: float = 1.0  # until they count as unavailable; replicas are behind by milliseconds
    allow_eviction: bool = False  # a server that may drop keys by itself lets duplicates pass silently
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    sentinel_username: str | None = None  # of the Sentinels, where they ask for one
    sentinel_password: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    generation: str | None = None  # work on this one, which is filled aside, and not on what is live

    def problem(self) -> str | None:
        """What is wrong with these settings together."""
        if self.wait_replicas and self.wait_timeout_seconds >= self.timeout_seconds:
            return (
                f"redis_wait_timeout_seconds: {self.wait_timeout_seconds:g} is not below redis_timeout_seconds "
                f"({self.timeout_seconds:g}), after which any call counts as lost: lower it, or raise the other"
            )
        return None


def is_redis_url(text: str) -> bool:
    """Whether an index is meant to be on a server: an unknown scheme is a mistake, not the path of a file."""
    return "://" in text


def is_mistyped_url(text: str) -> bool:
    """Whether an index was meant to be a URL, but is none: it may hold a password, so no message may quote it."""
    return not is_redis_url(text) and _MISTYPED.match(text) is not None


def hide_credentials(url: str) -> str:
    """The URL for people: without its user and password, wherever an @ may have slipped to."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}"


def split_credentials(url: str) -> tuple[str, str | None, str | None]:
    """The URL without user and password, and these. ConfigError: there is something wrong with the URL."""
    parts = parse_url(url)
    scheme, _, rest = url.partition("://")
    place = parts.netloc.rpartition("@")[2] + rest[len(parts.netloc) :]
    return f"{scheme}://{place}", unquote(parts.username or "") or None, unquote(parts.password or "") or None


def parse_url(url: str) -> SplitResult:
    """The parts of a URL. Messages quote nothing of it but its scheme: a password may be anywhere in a wrong one."""
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in SCHEMES:
        problem = f"{scheme}:// is no scheme of an index" if separator else "that is no URL"
        raise ConfigError(f"index: {problem}; choose one of {', '.join(SCHEMES)}")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ConfigError("index: the host of that URL cannot be read; write host:port, or [::1]:port") from None
    if "@" in parts.path + parts.query + parts.fragment and scheme != "unix":
        raise ConfigError(
            "index: there is an @ behind the host of that URL: in a user or a password write %2F for /, %3F for ?, "
            "%23 for # and %40 for @, or use the setting redis_password"
        )
    unknown = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if name != "db"]
    if unknown or parts.fragment:
        raise ConfigError("index: a Redis URL ends in ?db=0 or nothing; the rest are settings (redis_...)")
    return parts


def parse_hosts(parts: SplitResult, default_port: int) -> list[tuple[str, int]]:
    hosts = []
    for address in parts.netloc.rpartition("@")[2].split(","):
        host, colon, port = address.rpartition(":")
        if address.endswith("]") or not colon:
            host, port = address, str(default_port)
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise ConfigError("index: a host of that URL is missing or wrong; write host:port, with a port below 65536")
        hosts.append((host.strip("[]"), int(port)))
    return hosts


def parse_database(number: str, parts: SplitResult) -> int:
    number = number or dict(parse_qsl(parts.query)).get("db", "0")
    if not number.isascii() or not number.isdigit():
        raise ConfigError("index: the number of a Redis database is wrong; write redis://host:port/0")
    return int(number)
