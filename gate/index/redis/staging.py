"""Generations that are filled aside of the live traffic, and promoted whole.

A staged generation is an index of its own, under keys that begin with the prefix of the live one and its name. It draws
its tickets from the counter of the live index, so no two entries ever have the same one; nothing else is shared, and
what it holds is met by nobody. Its state is in the first shard of the live index:

    gate:standard@1:{0}:g              a hash: names of staged generations, and their states
    gate:standard@1:{0}:p              the one that is being promoted
    gate:standard@1+2019:{0}:v ...     a staged generation, an index in all

    filling       what fills it has not come to its end
    complete      it may be promoted

Promoting gives its keys the names of a generation of the live index that nobody reads yet, and then changes the view:

    1   take the name of the promotion        set if absent: one at a time
    2   make the staged index refuse calls    its view is marked `creating`: whatever still fills it stops
    3   live view: promoting                  no rotation begins, so nobody else uses the free generation
    4   rename the keys                       one slot each, invisible; a crash leaves some on either side
    5   live view: read both                  the staged one is the older of the two
    6   merge contents that both sides had    into one entry, which all their documents hold
    7   remove what is left                   of the staged index and of its state

Each step may be repeated, so a promotion that was interrupted is completed by promoting again. Why it is right: the
view changes for all calls of a process at once, since a call under another view is refused and its batch is claimed
again (`gate.index.redis.generations`). So a check-in is judged wholly before the promotion, by the live documents
alone, or wholly after it, by both. Documents that passed on both sides before it stay; of any that come later none
passes beside either of them. From step 5 on no content gets a second entry, so step 6 finds all that have two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from gate.core.method import Method
from gate.errors import ConfigError, Stale
from gate.index.protocol.deletion import clear
from gate.index.redis.client import LibraryClient, translate_errors
from gate.index.redis.generations import change_view, current_view, purge, read_views, scan_keys, step_view
from gate.index.redis.layout import GENERATIONS, View, prefixes_of
from gate.index.store import EntryRecord

if TYPE_CHECKING:
    from gate.index.redis.store import RedisStore

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
ATTEMPTS = 8  # against processes that rotate at the same time; each one that wins makes progress


class StagedState(StrEnum):
    FILLING = "filling"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedGeneration:
    name: str
    state: StagedState
    documents: int
    promoting: bool  # a promotion of it has begun, and may have been interrupted


def staged_prefix(prefix: str, name: str) -> str:
    """What the keys of a staged generation begin with. ConfigError: that is no name."""
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"generation: {name!r} is no name; use up to 64 lower-case letters, digits, dots, hyphens and underscores"
        )
    return f"{prefix}+{name}"


async def staged_generations(client: LibraryClient, prefix: str) -> list[StagedGeneration]:
    """All of an index, by name."""
    first = prefixes_of(prefix)[0]
    with translate_errors():
        states: dict[bytes, bytes] = await client.hgetall(first + b"g")  # type: ignore[assignment]
        promoting = await client.get(first + b"p")
        found = []
        for name, state in sorted(states.items()):
            shards = prefixes_of(staged_prefix(prefix, name.decode()))
            documents = sum([await client.hlen(shard + b"0d") for shard in shards])
            found.append(
                StagedGeneration(
                    name=name.decode(),
                    state=StagedState(state.decode()),
                    documents=documents,
                    promoting=promoting == name,
                )
            )
    return found


async def set_state(client: LibraryClient, prefix: str, name: str, state: StagedState) -> None:
    """ConfigError: it is being promoted."""
    first = prefixes_of(prefix)[0]
    with translate_errors():
        await _refuse_promoting(client, first, name)
        await client.hset(first + b"g", name, state)


async def _refuse_promoting(client: LibraryClient, first: bytes, name: str) -> None:
    if await client.get(first + b"p") == name.encode():
        raise ConfigError(
            f"generation: the promotion of {name} was begun: complete it with `gate index promote {name}`, or take "
            "another name"
        )


async def promote(store: RedisStore, method: Method, name: str, *, drop_older: bool = False) -> View:
    """Make a staged generation the older of the live ones; the view that everybody has then. ConfigError: there is no
    such generation, it is not complete, or another one is live beside the one that is written to."""
    client, prefix = store.shards.library_client, store.shards.prefix
    live, staged = prefixes_of(prefix), prefixes_of(staged_prefix(prefix, name))
    with translate_errors():
        await _begin(client, live, name, drop_older=drop_older)
        await _fence(client, staged)
        view = await _prepare(client, live, staged, drop_older=drop_older)
        if view.promoting:
            free = _free_generation(view)
            await _move(client, live, staged, free)
            view = await step_view(client, live, view, read=view.read + free, announced=False)
        store.shards.use(view)
        await _merge_contents(store, method)
        await _remove_keys(client, staged)
        await client.hdel(live[0] + b"g", name)
        await client.delete(live[0] + b"p")
    return view


async def drop(client: LibraryClient, prefix: str, name: str) -> int:
    """Remove a staged generation; how many keys it had. ConfigError: there is none, or it is being promoted."""
    first = prefixes_of(prefix)[0]
    staged = prefixes_of(staged_prefix(prefix, name))
    with translate_errors():
        await _refuse_promoting(client, first, name)
        if not await client.hexists(first + b"g", name):
            raise await _unknown(client, first, name)
        await _fence(client, staged)
        removed = await _remove_keys(client, staged)
        await client.hdel(first + b"g", name)
    return removed


async def _begin(client: LibraryClient, live: Sequence[bytes], name: str, *, drop_older: bool) -> None:
    """Step 1, after everything that could be refused."""
    first = live[0]
    if await client.get(first + b"p") == name.encode():
        return  # it was begun before
    state = await client.hget(first + b"g", name)
    if state is None:
        raise await _unknown(client, first, name)
    if state != StagedState.COMPLETE.encode():
        raise ConfigError(
            f"generation: {name} is not complete: end its replay with `gate replay ... --into-generation {name} "
            f"--resume`, or remove it with `gate index drop {name}`"
        )
    view = await current_view(client, live)
    if len(view.read) > 1 and not drop_older:
        raise ConfigError(
            "generation: the index has two live generations, and there is room for no third: add --drop-older to drop "
            "the older one, with its documents"
        )
    if not await client.set(first + b"p", name, nx=True):
        taken: bytes = await client.get(first + b"p") or b""  # type: ignore[assignment]
        other = taken.decode()
        raise ConfigError(f"generation: {other} is being promoted: complete that first, `gate index promote {other}`")


async def _unknown(client: LibraryClient, first: bytes, name: str) -> ConfigError:
    keys: list[bytes] = await client.hkeys(first + b"g")  # type: ignore[assignment]
    names = sorted(key.decode() for key in keys)
    others = f"there are {', '.join(names)}" if names else "there is none"
    return ConfigError(f"generation: {name} was never filled, or was promoted already; {others}")


async def _fence(client: LibraryClient, staged: Sequence[bytes]) -> None:
    """Mark the staged index, in all shards, under a view that no process has: every call is refused from now on."""
    for shard, stored in zip(staged, await read_views(client, staged), strict=True):
        if not stored:
            continue  # it was removed already, or never written
        view = msgspec.json.decode(stored, type=View)
        if not view.creating:
            marked = msgspec.structs.replace(view, epoch=view.epoch + 1, creating=True)
            await change_view(client, shard, stored, marked.encode())


async def _prepare(client: LibraryClient, live: Sequence[bytes], staged: Sequence[bytes], *, drop_older: bool) -> View:
    """Step 3: the live view with nobody in the other generation, unless nothing is left to be moved."""
    for _ in range(ATTEMPTS):
        view = await current_view(client, live)
        if view.promoting or not await _holds_anything(client, staged):
            return view
        try:
            if len(view.read) > 1:
                if not drop_older:
                    raise ConfigError(
                        "generation: the index was rotated meanwhile: add --drop-older to drop its older generation"
                    )
                view = await step_view(client, live, view, read=view.read[0], announced=False)
            await purge(client, live, _free_generation(view))  # what a crash may have left of it
            return await step_view(client, live, view, announced=True)
        except Stale:
            continue
    raise Stale("the generations of this index change all the time; try again")


def _free_generation(view: View) -> str:
    return GENERATIONS.replace(view.read[0], "")


async def _holds_anything(client: LibraryClient, staged: Sequence[bytes]) -> bool:
    for shard in staged:
        async for _ in scan_keys(client, shard + b"0*"):
            return True
    return False


async def _move(client: LibraryClient, live: Sequence[bytes], staged: Sequence[bytes], free: str) -> None:
    """Step 4. A crowded bucket is announced before it is there: what is announced in vain is read as empty."""
    for source, target in zip(staged, live, strict=True):
        target += free.encode()
        crowded: set[bytes] = await client.smembers(source + b"h")  # type: ignore[assignment]
        names = [free.encode() + name[1:] for name in crowded if name.startswith(b"0")]
        if names:
            await client.sadd(target[:-1] + b"h", *names)
        begin = len(source) + 1
        moved = True
        while moved:  # SCAN may miss what is there while keys come and go
            moved = False
            async for keys in scan_keys(client, source + b"0*"):
                for key in dict.fromkeys(keys):
                    if await client.exists(key):
                        await client.rename(key, target + key[begin:])
                        moved = True


async def _merge_contents(store: RedisStore, method: Method) -> None:
    """Step 6. The promoted entry stays, since check-ins join the oldest entry of their content; unless only the other
    one holds a ticket. The holders come along before the other goes, and again when nobody can join it any more."""
    async for records in store.scan().entries():
        living = [record for record in records if not record.dead]
        pointers = await store.contents([record.content for record in living])
        second = {
            pointer: record
            for record, pointer in zip(living, pointers, strict=True)
            if pointer is not None and pointer != record.entry
        }
        stays: dict[int, int] = {}
        for live in await store.records(list(second)):
            if live is not None and not live.dead:
                promoted = second[live.entry]
                kept, gone = (live, promoted) if live.ticket and not promoted.ticket else (promoted, live)
                stays[gone.entry] = kept.entry
        if stays:
            await _move_holders(store, stays, await store.records(list(stays)))
            dead = await store.mark_dead(list(stays))
            await _move_holders(store, stays, dead)
            await clear(store, method, dead)


async def _move_holders(store: RedisStore, stays: Mapping[int, int], records: Sequence[EntryRecord | None]) -> None:
    gone = [record for record in records if record is not None]
    await store.add_holders([(stays[record.entry], holder) for record in gone for holder in record.holders])


async def _remove_keys(client: LibraryClient, staged: Sequence[bytes]) -> int:
    """The views last: as long as there is one, nobody takes the place for empty."""
    removed = 0
    for shard in staged:
        async for keys in scan_keys(client, shard + b"*"):
            if others := [key for key in keys if key != shard + b"v"]:
                removed += await client.unlink(*others)
    for shard in reversed(staged):
        removed += await client.unlink(shard + b"v")
    return removed
