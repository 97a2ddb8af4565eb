"""Opening an index by its URL: connect, check the server, and agree with it on what the index means."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff

from gate.core.method_registry import BodyLayout
from gate.core.profile import BY_FINGERPRINT, Decisions
from gate.errors import ConfigError
from gate.index.redis.client import (
    ClientObserver,
    LibraryClient,
    PackingConnection,
    PackingSocketConnection,
    PackingSSLConnection,
    RedisClient,
    close,
    translate_errors,
)
from gate.index.redis.creation import open_view, recover
from gate.index.redis.layout import prefixes_of
from gate.index.redis.replication import ReplicaBarrier
from gate.index.redis.shards import Shards
from gate.index.redis.staging import StagedState, set_state, staged_prefix
from gate.index.redis.store import RedisStore
from gate.index.redis.url import (
    DEFAULT_PORT,
    SENTINEL_PORT,
    RedisSettings,
    hide_credentials,
    parse_database,
    parse_hosts,
    parse_url,
)

OLDEST = (6, 2)


def make_client(url: str, settings: RedisSettings) -> LibraryClient:
    """A client that has not connected yet. ConfigError: there is something wrong with the URL."""
    parts = parse_url(url)
    tls = parts.scheme.startswith("rediss")
    options: dict[str, Any] = {
        "socket_timeout": settings.timeout_seconds,
        "socket_connect_timeout": settings.timeout_seconds,
        "retry": Retry(NoBackoff(), 0),  # RedisClient retries, and counts it
        "protocol": 2,  # a server that is too old for another one should be able to say how old it is
    }
    if tls and settings.ca_file:
        if not Path(settings.ca_file).is_file():
            raise ConfigError(f"redis_ca_file: there is no file {settings.ca_file}")
        options["ssl_ca_certs"] = settings.ca_file
    to_data = options | {
        "username": settings.username or (unquote(parts.username) if parts.username else None),
        "password": settings.password or (unquote(parts.password) if parts.password else None),
        "client_name": "gate",
        "max_connections": settings.connections + 2,  # two that RedisClient does not use: for the view, and for WAIT
    }
    if parts.scheme.endswith("+cluster"):
        if parts.path.strip("/") not in ("", "0") or parts.query:
            raise ConfigError("index: a Redis Cluster has one database only: leave out what follows its hosts")
        nodes = [ClusterNode(host, port) for host, port in parse_hosts(parts, DEFAULT_PORT)]
        cluster = RedisCluster(startup_nodes=nodes, ssl=tls, **to_data)
        cluster.get_connection_kwargs()["connection_class"] = PackingSSLConnection if tls else PackingConnection
        return cluster
    if parts.scheme.endswith("+sentinel"):
        to_sentinel = {"username": settings.sentinel_username, "password": settings.sentinel_password, "ssl": tls}
        return _master(parts, options | to_sentinel, to_data | {"ssl": tls})
    return Redis.from_pool(BlockingConnectionPool(timeout=settings.timeout_seconds, **_server(parts, tls), **to_data))


def _master(parts: SplitResult, to_sentinel: dict[str, Any], to_data: dict[str, Any]) -> Redis:
    """The node that is the master now, according to the Sentinels."""
    name, _, number = parts.path.strip("/").partition("/")
    if not name:
        raise ConfigError("index: a Sentinel URL names its master: redis+sentinel://host:26379/mymaster/0")
    hosts = parse_hosts(parts, SENTINEL_PORT)
    sentinels: Any = _Sentinels(hosts, sentinel_kwargs=to_sentinel)  # type: ignore[no-untyped-call]
    master: Redis = sentinels.master_for(unquote(name), db=parse_database(number, parts), **to_data)
    return master


class _Sentinels(Sentinel):
    """Asked by one connection at a time: where two find that the first does not answer, redis-py drops one."""

    _lock: asyncio.Lock | None = None

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            address: tuple[str, int] = await super().discover_master(service_name)
        return address


def _server(parts: SplitResult, tls: bool) -> dict[str, Any]:
    """Where a single server is."""
    if parts.scheme == "unix":
        if not parts.path.strip("/"):
            raise ConfigError("index: a socket's URL names its path: unix:///run/redis/redis.sock")
        address = {"connection_class": PackingSocketConnection, "path": unquote(parts.path)}
        return address | {"db": parse_database("", parts)}
    hosts = parse_hosts(parts, DEFAULT_PORT)
    if len(hosts) > 1:
        raise ConfigError(f"index: {parts.scheme}:// names one host; more are for a Cluster or for Sentinels")
    address = {
        "connection_class": PackingSSLConnection if tls else PackingConnection,
        "host": hosts[0][0],
        "port": hosts[0][1],
    }
    return address | {"db": parse_database(parts.path.strip("/"), parts)}


async def open_store(
    url: str,
    *,
    profile_ref: str,
    digest: str,
    layout: BodyLayout,
    max_bucket: int,
    decisions: Decisions = BY_FINGERPRINT,
    settings: RedisSettings | None = None,
    observer: ClientObserver | None = None,
    create: bool = True,
) -> RedisStore:
    """The index of a profile on that server, created if there is none. NoIndex: there is none, and `create` is False.
    IndexLost: a part of it is gone."""
    settings = settings or RedisSettings()
    if problem := settings.problem():
        raise ConfigError(problem)
    client = make_client(url, settings)
    try:
        await _check_server(client, hide_credentials(url), settings)
        prefix = f"gate:{profile_ref}"
        view = await open_view(client, prefix, digest, hide_credentials(url), decisions=decisions, create=create)
        live = None
        if settings.generation is not None:
            live, prefix = (prefix, view), staged_prefix(prefix, settings.generation)
            await set_state(client, live[0], settings.generation, StagedState.FILLING)
            view = await open_view(client, prefix, digest, hide_credentials(url), decisions=decisions)
        redis_client = RedisClient(client, calls=settings.connections, retry=settings.retry, observer=observer)
        barrier = await _start_barrier(redis_client, prefix, settings)
    except BaseException:
        await close(client)
        raise
    return RedisStore(
        redis_client,
        prefix=prefix,
        view=view,
        layout=layout,
        max_bucket=max_bucket,
        window_seconds=settings.window_seconds if live is None else None,
        barrier=barrier,
        tickets=None if live is None else Shards(redis_client, prefix=live[0], view=live[1]),
    )


async def _start_barrier(client: RedisClient, prefix: str, settings: RedisSettings) -> ReplicaBarrier | None:
    if not settings.wait_replicas:
        return None
    barrier = ReplicaBarrier(
        client, prefixes_of(prefix), replicas=settings.wait_replicas, timeout_seconds=settings.wait_timeout_seconds
    )
    await barrier.start()
    return barrier


async def recover_index(
    url: str, *, profile_ref: str, digest: str, settings: RedisSettings, decisions: Decisions = BY_FINGERPRINT
) -> None:
    """Make an index of what is left of one that lost shards (see `gate.index.redis.creation`)."""
    client = make_client(url, settings)
    try:
        await _check_server(client, hide_credentials(url), settings)
        await recover(client, f"gate:{profile_ref}", digest, hide_credentials(url), decisions=decisions)
    finally:
        await close(client)


async def _check_server(client: LibraryClient, url: str, settings: RedisSettings) -> None:
    """Refuse a server that is too old, is of another kind, or would drop parts of an index by itself."""
    with translate_errors(url):
        if isinstance(client, RedisCluster):
            await client.initialize()
            replies = await client.execute_command("INFO", target_nodes=RedisCluster.PRIMARIES)
            servers = list(replies.values()) if isinstance(next(iter(replies.values())), dict) else [replies]
        else:
            servers = [await client.info()]
    for server in servers:
        if server.get("redis_mode") == "sentinel":
            raise ConfigError(f"{url}: this is a Sentinel: use redis+sentinel://host:port/name-of-the-master")
        if server.get("redis_mode") == "cluster" and not isinstance(client, RedisCluster):
            raise ConfigError(f"{url}: this is a node of a Redis Cluster: use redis+cluster://")
        version = str(server.get("redis_version", "0"))
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
            raise ConfigError(f"{url}: Redis {version} is too old; {'.'.join(map(str, OLDEST))} or later is needed")
        policy = server.get("maxmemory_policy", "noeviction")
        if server.get("maxmemory") and policy != "noeviction" and not settings.allow_eviction:
            raise ConfigError(
                f"{url}: its maxmemory-policy {policy} drops parts of the index when memory ends, and duplicates pass: "
                "set it to noeviction, or set redis_allow_eviction"
            )
