"""Waiting until replicas have what a batch has written, before its verdicts are given (`redis_wait_replicas`).

A master answers before its replicas have the write, so a failover may lose what verdicts rest on. On each master of the
index, on one connection:

    SET   a write of our own: in the stream to the replicas it comes after everything that this batch wrote or read
    WAIT  until so many replicas have acknowledged that write, and so all before it
    INFO  the id of the master's stream, which a failover changes

If too few have in time, nothing is lost, but nothing is safe either: `NotReplicated`, an outage like any other. The
batch is claimed again, gets the same answers from the index, and waits again.

If the id is another one than before the batch, a part of the batch may have gone to a master that has been replaced
since: the batch is claimed again too, on new connections. So what is confirmed was written to the very stream that was
waited for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from redis import exceptions as redis_errors
from redis.asyncio.cluster import ClusterNode, RedisCluster

from gate.errors import NotReplicated, Unavailable
from gate.index.redis.client import Argument, LibraryClient, RedisClient, translate_error, translate_errors

OPERATION = "wait_replicas"  # in the metrics


class ReplicaBarrier:
    """Waits for the replicas of all masters that have shards of an index."""

    def __init__(
        self, client: RedisClient, prefixes: Sequence[bytes], *, replicas: int, timeout_seconds: float
    ) -> None:
        self._client = client
        self._prefixes = prefixes
        self._replicas = replicas
        self._milliseconds = max(int(timeout_seconds * 1000), 1)  # 0 would wait for ever
        self._streams: frozenset[bytes] = frozenset()  # their ids, before the next batch

    async def start(self) -> None:
        """Learn the ids of the streams, before anything is written."""
        with translate_errors():
            replies = await self._on_masters([("INFO", "replication")])
        self._streams = frozenset(_stream_id(info) for [info] in replies)

    async def wait(self) -> None:
        """Unavailable: what was written so far may be lost by a failover, or was."""
        begun = time.monotonic()
        try:
            with translate_errors():
                await self._wait()
        except Unavailable as exc:
            self._client.observer.failed(OPERATION, exc.code)
            raise
        self._client.observer.round_trip(OPERATION, time.monotonic() - begun)

    async def _wait(self) -> None:
        marker = ("WAIT", self._replicas, self._milliseconds), ("INFO", "replication")
        try:
            replies = await self._on_masters(marker, write=True)
        except Exception:
            await self._client.reconnect()
            raise
        streams = frozenset(_stream_id(info) for _, _, info in replies)
        if streams != self._streams:
            self._streams = streams
            await self._client.reconnect()
            raise Unavailable("a failover happened, or a server restarted, while a batch was judged: it is retried")
        fewest = min(int(acknowledged) for _, acknowledged, _ in replies)
        if fewest < self._replicas:
            raise NotReplicated(
                f"{fewest} of {self._replicas} replicas acknowledged what was written within "
                f"{self._milliseconds / 1000:g} s: check that they run and keep up, or lower redis_wait_replicas; "
                "verdicts wait until then"
            )

    async def _on_masters(self, commands: Sequence[Sequence[Argument]], *, write: bool = False) -> list[list[Any]]:
        """The replies of every master, each on one connection."""
        client = self._client.client
        keys = {_address(client, prefix): prefix + b"w" for prefix in self._prefixes}
        calls = ([("SET", key, b""), *commands] if write else commands for key in keys.values())
        return await asyncio.gather(*(_run(client, key, call) for key, call in zip(keys.values(), calls, strict=True)))


def _address(client: LibraryClient, prefix: bytes) -> str:
    return _node(client, prefix).name if isinstance(client, RedisCluster) else ""


def _node(client: RedisCluster, key: bytes) -> ClusterNode:
    node = client.get_node_from_key(key.decode())
    if node is None:
        raise Unavailable("the Redis Cluster is incomplete: some of its slots are on no master")
    return node


@asynccontextmanager
async def _connection(client: LibraryClient, key: bytes) -> AsyncIterator[Any]:
    """A connection to the master that holds a key, closed if its replies were not all read."""
    pool: Any = None if isinstance(client, RedisCluster) else client.connection_pool
    node = _node(client, key) if isinstance(client, RedisCluster) else None
    connection = node.acquire_connection() if node else await pool.get_connection()
    try:
        yield connection
    except BaseException:
        await connection.disconnect(nowait=True)
        raise
    finally:
        if node:
            node.release(connection)
        else:
            await pool.release(connection)


async def _run(client: LibraryClient, key: bytes, commands: Sequence[Sequence[Argument]]) -> list[Any]:
    """The replies to commands on one connection to the master that holds a key."""
    replies: list[Any] = []
    async with _connection(client, key) as connection:
        await connection.send_packed_command(connection.pack_commands(commands))
        for _ in commands:
            try:
                replies.append(await connection.read_response())
            except redis_errors.ResponseError as exc:
                replies.append(exc)
    for reply in replies:
        if isinstance(reply, Exception):
            raise translate_error(reply) from reply
    return replies


def _stream_id(info: bytes) -> bytes:
    lines = dict(line.partition(b":")[::2] for line in info.splitlines())
    return lines[b"master_replid"]
