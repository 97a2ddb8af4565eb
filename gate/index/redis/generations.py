"""The view of an index, the same in every shard, and how it changes while many processes work: generations.

An index may be kept for a window of time only. It then has two generations: the one that is written to, and the one
before it, which is still read; a rotation drops the older one whole. So documents are kept for between one and two
windows.

    one generation        read 0      write 0
    announced             read 0, 1   write 0       all processes read the new one before any writes there
    switched              read 0, 1   write 1
    dropped               read 1      write 1       and the keys of the old one are unlinked

    promoting             read 0      write 0       announced: keys are moved to 1, and no rotation begins
    promoted              read 0, 1   write 0       1 was filled aside (`gate.index.redis.staging`)

Each change goes to the first shard and then to the others, and is in all of them before the next one begins. A call
under another view than the shard's is refused, so a process that missed a change can neither read nor write by what it
knew. A process that finds a shard behind another applies the missing change to it: the process that began the change
may have died, or a failover lost it. A shard without a view has lost more than that, and one with another identity is
part of another index: every process stops there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from importlib.resources import files
from typing import Any

import msgspec
from redis.asyncio.cluster import ClusterNode, RedisCluster

from gate.errors import ConfigError, IndexLost, Stale
from gate.index.redis.client import LibraryClient, translate_errors
from gate.index.redis.layout import GENERATIONS, View

CHANGE_VIEW = files(__package__).joinpath("lua", "change_view.lua").read_text()
PAGE = 1000  # keys that one SCAN visits
REMEDY = "restore its data, or fill it again with `gate index rebuild --from-topic --recover`"


async def current_view(client: LibraryClient, prefixes: Sequence[bytes], *, identity: str | None = None) -> View:
    """The latest view of all shards, brought to those that are behind. IndexLost: a shard has none, or that of another
    index than the one that the caller knows."""
    with translate_errors():
        stored = await read_views(client, prefixes)
        views = require_whole(client, prefixes, stored, identity=identity)
        view = max(views, key=lambda one: one.epoch)
        if views[0].creating:  # rolled back to where it was created, or created at this moment
            raise IndexLost(f"the index in Redis is being created: wait for that to end, or {REMEDY}")
        for prefix, encoded, older in zip(prefixes, stored, views, strict=True):
            if older.epoch < view.epoch:
                await change_view(client, prefix, encoded, view.encode())
    return view


async def rotate(client: LibraryClient, prefixes: Sequence[bytes], *, now: float, identity: str | None = None) -> View:
    """Begin a new generation, and drop the one before the last. It may be called again after a crash."""
    view = await current_view(client, prefixes, identity=identity)
    if view.promoting:
        raise ConfigError("index: a generation is being promoted: complete that first, with `gate index promote NAME`")
    if len(view.read) > 1 and not view.announced:
        view = await step_view(client, prefixes, view, read=view.read[0])
    if not view.announced:
        other = GENERATIONS.replace(view.read[0], "")
        await purge(client, prefixes, other)  # what a crash may have left of it
        view = await step_view(client, prefixes, view, read=view.read[0] + other, announced=True)
    return await step_view(client, prefixes, view, read=view.read[::-1], announced=False, started=now)


async def keep_window(
    client: LibraryClient, prefixes: Sequence[bytes], seconds: float, *, now: float, identity: str | None = None
) -> View:
    """Rotate if the generation that is written to is older than the window. Many processes may ask at once."""
    view = await current_view(client, prefixes, identity=identity)
    if view.promoting or (now - view.started < seconds and not view.announced):
        return view
    try:
        return await rotate(client, prefixes, now=now, identity=identity)
    except (Stale, ConfigError):
        return await current_view(client, prefixes, identity=identity)  # another process rotates, or promotes


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


async def read_views(client: LibraryClient, prefixes: Sequence[bytes]) -> list[bytes]:
    """What each shard has in the place of its view; empty where there is nothing."""
    stored = [await client.get(prefix + b"v") or b"" for prefix in prefixes]
    return [view if isinstance(view, bytes) else view.encode() for view in stored]


def require_whole(
    client: LibraryClient, prefixes: Sequence[bytes], stored: Sequence[bytes], *, identity: str | None = None
) -> list[View]:
    """The views of an index that has all of its shards and is the one of that identity (None: any). Else IndexLost."""
    if not all(stored):
        raise index_lost(client, prefixes, stored)
    try:
        views = [msgspec.json.decode(view, type=View) for view in stored]
    except msgspec.DecodeError:
        raise IndexLost(f"something else is in the place of the index in Redis: {REMEDY}") from None
    identities = sorted({view.identity for view in views})
    if len(identities) > 1:
        raise IndexLost(f"shards of different indexes are in Redis ({', '.join(identities)}): some were lost: {REMEDY}")
    if identity not in (None, identities[0]):
        raise IndexLost(
            f"another index is in Redis ({identities[0]}) in the place of the one that this process opened "
            f"({identity}), which is gone: {REMEDY}"
        )
    return views


def index_lost(client: LibraryClient, prefixes: Sequence[bytes], stored: Sequence[bytes]) -> IndexLost:
    """The error that names the shards without a view."""
    missing = []
    for number, (prefix, view) in enumerate(zip(prefixes, stored, strict=True)):
        if not view:
            node = client.get_node_from_key(prefix.decode()) if isinstance(client, RedisCluster) else None
            missing.append(str(number) if node is None else f"{number} at {node.name}")
    if len(missing) == len(prefixes):
        what = "the index is gone from Redis"
    else:
        what = (
            f"a part of the index is gone from Redis, {len(missing)} of {len(prefixes)} shards ({', '.join(missing)})"
        )
    return IndexLost(f"{what}: {REMEDY}", missing=missing, shards=len(prefixes))


async def change_view(client: LibraryClient, prefix: bytes, read: bytes, changed: bytes) -> bool:
    """Compare-and-set the view of a shard. False: it is no longer what was read."""
    return bool(await client.eval(CHANGE_VIEW, 1, prefix + b"v", read, changed))


async def step_view(client: LibraryClient, prefixes: Sequence[bytes], view: View, **changes: object) -> View:
    """One step, in all shards when it returns. `Stale`: another process was faster; read the view again."""
    with translate_errors():
        changed = msgspec.structs.replace(view, epoch=view.epoch + 1, **changes)
        if not await change_view(client, prefixes[0], view.encode(), changed.encode()):
            raise Stale("another process is changing the generations of this index")
    return await current_view(client, prefixes, identity=view.identity)
