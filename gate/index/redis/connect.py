"""Open an index by its URL: find the server, see that it will do, and agree with it on what the index means.

    redis://host:6379/0              one server             rediss://   the same over TLS
    unix:///run/redis.sock           one server, by socket
    redis+sentinel://h1:26379,h2:26379/mymaster/0           rediss+sentinel://
    redis+cluster://h1:6379,h2:6379                         rediss+cluster://

User and password stand before the host, as everywhere (`redis://user:password@host`), or come from the settings
`redis_username` and `redis_password`, which are never shown.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import msgspec
from redis import exceptions as redis_errors
from redis.asyncio import BlockingConnectionPool, Connection, Redis, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff

from gate.core.methods import Room
from gate.errors import ConfigError, Unavailable
from gate.index.redis.layout import FORMAT, GENERATIONS, Layout, View, chunks_of, page_bits_for
from gate.index.redis.link import Client, Link, Patience, Watcher, translated
from gate.index.redis.store import RedisStore

SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")
OLDEST = (6, 2)
DEFAULT_PORT = 6379
SENTINEL_PORT = 26379


@dataclass(frozen=True, slots=True, kw_only=True)
class Redising:
    """How to talk to Redis, and what a new index is planned for."""

    connections: int = 8  # of one process; a batch uses one at a time
    timeout_seconds: float = 5.0  # of one round trip: a batch of 256 takes milliseconds, a failover seconds
    expected_documents: int = 1_000_000  # of a new index; ten times as many still work, in more memory each
    allow_eviction: bool = False  # a server that may drop keys by itself lets duplicates pass without a word
    username: str | None = None
    password: str | None = None
    ca_file: str | None = None
    patience: Patience = field(default_factory=Patience)


def is_redis_url(text: str) -> bool:
    return text.partition("://")[0] in SCHEMES


def shown(url: str) -> str:
    """The URL for people: without its password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def client_for(url: str, settings: Redising) -> Client:
    """A client that has not connected yet. ConfigError: there is something wrong with the URL."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ConfigError(f"index: {parts.scheme}:// is no scheme of an index; choose one of {', '.join(SCHEMES)}")
    options: dict[str, Any] = {
        "socket_timeout": settings.timeout_seconds,
        "socket_connect_timeout": settings.timeout_seconds,
        "username": settings.username or (unquote(parts.username) if parts.username else None),
        "password": settings.password or (unquote(parts.password) if parts.password else None),
        "retry": Retry(NoBackoff(), 0),  # the link tries again, and counts it
        "client_name": "gate",
    }
    tls = parts.scheme.startswith("rediss")
    if tls and settings.ca_file:
        options["ssl_ca_certs"] = settings.ca_file
    if parts.scheme.endswith("+cluster"):
        nodes = [ClusterNode(host, port) for host, port in _hosts(parts, DEFAULT_PORT)]
        return RedisCluster(startup_nodes=nodes, ssl=tls, max_connections=settings.connections, **options)
    database = _database(parts)
    if parts.scheme.endswith("+sentinel"):
        name = parts.path.strip("/").partition("/")[0]
        if not name:
            raise ConfigError("index: a Sentinel URL names its master: redis+sentinel://host:26379/mymaster/0")
        watched = {"socket_timeout": settings.timeout_seconds}
        sentinel: Any = Sentinel(_hosts(parts, SENTINEL_PORT), sentinel_kwargs=watched)  # type: ignore[no-untyped-call]
        master: Redis = sentinel.master_for(name, db=database, ssl=tls, **options)
        return master
    pool: dict[str, Any] = {
        "max_connections": settings.connections,
        "timeout": settings.timeout_seconds,
        "db": database,
    }
    if parts.scheme == "unix":
        pool |= {"connection_class": UnixDomainSocketConnection, "path": unquote(parts.path)}
    else:
        [(host, port)] = _hosts(parts, DEFAULT_PORT)
        pool |= {"connection_class": SSLConnection if tls else Connection, "host": host, "port": port}
    return Redis.from_pool(BlockingConnectionPool(**pool, **options))


def _hosts(parts: SplitResult, default_port: int) -> list[tuple[str, int]]:
    hosts = []
    for one in parts.netloc.rpartition("@")[2].split(","):
        host, colon, port = one.rpartition(":")
        if one.endswith("]") or not colon:
            host, port = one, str(default_port)
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise ConfigError(f"index: {one or 'an empty host'} is no host of a Redis URL; write host:port")
        hosts.append((host.strip("[]"), int(port)))
    return hosts


def _database(parts: SplitResult) -> int:
    if parts.scheme == "unix":
        number = dict(parse_qsl(parts.query)).get("db", "0")
    else:
        number = parts.path.strip("/").rpartition("/")[2] if parts.path.count("/") > 1 else parts.path.strip("/")
        if parts.scheme.endswith("+sentinel") and parts.path.strip("/").count("/") == 0:
            number = "0"
    if number and not number.isdigit():
        raise ConfigError(f"index: {number!r} is no number of a Redis database; write redis://host:port/0")
    return int(number or 0)


async def open_store(
    url: str,
    *,
    profile_ref: str,
    digest: str,
    room: Room,
    max_bucket: int,
    settings: Redising | None = None,
    watcher: Watcher | None = None,
) -> RedisStore:
    """The index of a profile on that server, made if it is not there."""
    settings = settings or Redising()
    client = client_for(url, settings)
    try:
        await _look_at_server(client, shown(url), settings)
        prefix = f"gate:{profile_ref}"
        view = await agreed_view(client, prefix, digest, room.body, settings, shown(url))
    except BaseException:
        await client.aclose()
        raise
    link = Link(client, patience=settings.patience, watcher=watcher)
    return RedisStore(link, prefix=prefix, view=view, room=room, max_bucket=max_bucket)


async def _look_at_server(client: Client, url: str, settings: Redising) -> None:
    """Refuse a server that is too old, or that would drop parts of an index by itself."""
    try:
        if isinstance(client, RedisCluster):
            await client.initialize()
            replies = await client.execute_command("INFO", target_nodes=RedisCluster.PRIMARIES)
            servers = list(replies.values()) if isinstance(next(iter(replies.values())), dict) else [replies]
        else:
            servers = [await client.info()]
    except (redis_errors.RedisError, OSError, TimeoutError) as exc:
        told = translated(exc)
        raise type(told)(f"{url}: {told}") if isinstance(told, ConfigError | Unavailable) else told from exc
    for server in servers:
        version = str(server.get("redis_version", "0"))
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
            raise ConfigError(f"{url}: Redis {version} is too old; {'.'.join(map(str, OLDEST))} or later is needed")
        policy = server.get("maxmemory_policy", "noeviction")
        if server.get("maxmemory") and policy != "noeviction" and not settings.allow_eviction:
            raise ConfigError(
                f"{url}: its maxmemory-policy {policy} drops parts of the index when memory ends, and duplicates pass: "
                "set it to noeviction, or set redis_allow_eviction"
            )
        if server.get("role") == "slave" and not isinstance(client, RedisCluster):
            raise Unavailable(f"{url}: this is a read-only replica: name the master, or use redis+sentinel://")


async def agreed_view(client: Client, prefix: str, digest: str, body_bytes: int, settings: Redising, url: str) -> View:
    """The view that stands in every shard; a new index gets one. ConfigError: it means something else."""
    fields_each = 1 + chunks_of(body_bytes)
    pages = page_bits_for(settings.expected_documents, fields_each)
    made = View(FORMAT, digest, pages, GENERATIONS[0], started=time.time())
    keys = [key + b"v" for key in Layout(prefix, 0).prefixes]
    try:
        # The first shard decides: whoever lost there makes the others say the same.
        await client.set(keys[0], made.encode(), nx=True)
        first = await client.get(keys[0]) or b""
        for key in keys[1:]:
            await client.set(key, first, nx=True)
    except (redis_errors.RedisError, OSError, TimeoutError) as exc:
        raise translated(exc) from exc
    try:
        view = msgspec.json.decode(first, type=View)
    except msgspec.DecodeError as exc:
        raise ConfigError(f"{url}: {prefix} is there, but is no index of this program's making") from exc
    if view.format != FORMAT:
        raise ConfigError(
            f"{url}: {prefix} has index format {view.format}, and this version reads format {FORMAT}: "
            "use the version that wrote it, or rebuild it with `gate index rebuild`"
        )
    if view.digest != digest:
        raise ConfigError(
            f"{url}: {prefix} was made under another meaning of that profile (digest {view.digest}, this one is "
            f"{digest}): the profile or its secret changed. Give it a new version and fill that with "
            "`gate index rebuild`, or undo the change; the old index stays as it is"
        )
    return view
