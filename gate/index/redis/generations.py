"""The view of an index, the same in every shard, and how it changes while many processes work: generations.

An index may be kept for a window of time only. It then has two generations: the one that is written to, and the one
before it, which is still read; a rotation drops the older one whole. So documents are kept for between one and two
windows.

    one generation        read 0      write 0
    announced             read 0, 1   write 0       all processes read the new one before any writes there
    switched              read 0, 1   write 1
    dropped               read 1      write 1       and the keys of the old one are unlinked

Each change goes to the first shard and then to the others, and is in all of them before the next one begins. A call
under another view than the shard's is refused, so a process that missed a change can neither read nor write by what it
knew. A process that finds a shard behind another applies the missing change to it: the process that began the change
may have died, or a failover lost it. A shard without a view has lost more than that, and every process stops there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from importlib.resources import files
from typing import Any

import msgspec
from redis.asyncio.cluster import ClusterNode, RedisCluster

from gate.errors import Stale, Unavailable
from gate.index.redis.client import LibraryClient, translate_errors
from gate.index.redis.layout import GENERATIONS, View

CHANGE_VIEW = files(__package__).joinpath("lua", "change_view.lua").read_text()
PAGE = 1000  # keys that one SCAN visits


async def current_view(client: LibraryClient, prefixes: Sequence[bytes]) -> View:
    """The latest view of all shards, brought to those that are behind."""
    with translate_errors():
        views = [await _read_view(client, prefix) for prefix in prefixes]
        latest, view = max(views, key=lambda pair: pair[1].epoch)
        for prefix, (encoded, older) in zip(prefixes, views, strict=True):
            if older.epoch < view.epoch:
                await _change_view(client, prefix, encoded, latest)
    return view


async def rotate(client: LibraryClient, prefixes: Sequence[bytes], *, now: float) -> View:
    """Begin a new generation, and drop the one before the last. It may be called again after a crash."""
    view = await current_view(client, prefixes)
    if len(view.read) > 1 and not view.announced:
        view = await _step(client, prefixes, view, read=view.read[0])
    if not view.announced:
        other = GENERATIONS.replace(view.read[0], "")
        await purge(client, prefixes, other)  # what a crash may have left of it
        view = await _step(client, prefixes, view, read=view.read[0] + other, announced=True)
    return await _step(client, prefixes, view, read=view.read[::-1], announced=False, started=now)


async def keep_window(client: LibraryClient, prefixes: Sequence[bytes], seconds: float, *, now: float) -> View:
    """Rotate if the generation that is written to is older than the window. Many processes may ask at once."""
    view = await current_view(client, prefixes)
    if now - view.started < seconds and not view.announced:
        return view
    try:
        return await rotate(client, prefixes, now=now)
    except Stale:
        return await current_view(client, prefixes)  # another process has begun to


async def purge(client: LibraryClient, prefixes: Sequence[bytes], generation: str) -> int:
    """Remove every key of a generation that is no longer read; how many there were."""
    removed = 0
    with translate_errors():
        for prefix in prefixes:
            async for keys in scan_keys(client, prefix + generation.encode() + b"*"):
                removed += await client.unlink(*keys)
            crowded: set[bytes] = await client.smembers(prefix + b"h")  # type: ignore[assignment]
            hot = [name for name in crowded if name.startswith(generation.encode())]
            if hot:
                await client.srem(prefix + b"h", *hot)
    return removed


async def scan_keys(
    client: LibraryClient, pattern: bytes, *, node: ClusterNode | None = None
) -> AsyncIterator[list[bytes]]:
    """Pages of the keys that match, of one shard, or of all that a node has; a key may come twice while the server
    resizes its table."""
    target: dict[str, Any] = {}
    if isinstance(client, RedisCluster):
        target["target_nodes"] = node or client.get_node_from_key(pattern[: pattern.index(b"}") + 1].decode())
    cursor = 0
    while True:
        reply: Any = await client.execute_command("SCAN", cursor, "MATCH", pattern, "COUNT", PAGE, **target)
        cursor, keys = reply
        if isinstance(cursor, dict):  # a Cluster's client returns one for each node
            [cursor] = cursor.values()
        if keys:
            yield keys
        if not int(cursor):
            return


async def _read_view(client: LibraryClient, prefix: bytes) -> tuple[bytes, View]:
    encoded = await client.get(prefix + b"v") or b""
    encoded = encoded if isinstance(encoded, bytes) else encoded.encode()
    try:
        return encoded, msgspec.json.decode(encoded, type=View)
    except msgspec.DecodeError as exc:
        raise Unavailable(
            "the index, or a part of it, is gone from Redis: restore it, or open it again and fill it with "
            "`gate index rebuild`"
        ) from exc


async def _change_view(client: LibraryClient, prefix: bytes, read: bytes, changed: bytes) -> bool:
    return bool(await client.eval(CHANGE_VIEW, 1, prefix + b"v", read, changed))


async def _step(client: LibraryClient, prefixes: Sequence[bytes], view: View, **changes: object) -> View:
    """One step, in all shards when it returns. `Stale`: another process was faster; read the view again."""
    with translate_errors():
        encoded, current = await _read_view(client, prefixes[0])
        changed = msgspec.structs.replace(view, epoch=view.epoch + 1, **changes)
        if current != view or not await _change_view(client, prefixes[0], encoded, changed.encode()):
            raise Stale("another process is changing the generations of this index")
    return await current_view(client, prefixes)
