"""Creating an index in all of its shards, such that a shard that lost its data is never taken for a new one.

An index has a random identity, which is part of the view in every shard. Three steps, each idempotent:

    1   the first shard gets the view, marked `creating`     set if absent: one process decides what it is
    2   every other shard gets the view                      set if absent
    3   the first shard gets the view without the mark       by compare-and-set, once all others were read and have it

Why it is right: no process works on the index before it has seen step 3 done, and the first shard is the first to have
a view and the last to lose its mark. So the shards say what happened, whoever stopped where:

    first shard   other shards
    nothing       nothing                  there is no index: create one
    creating      nothing, or the view     the creation goes on, or stopped half-way: any process completes it, since
                                           nothing can have been stored yet
    the view      the view                 the index
    nothing       a view in some           the first shard is lost
    the view      nothing in some          these shards are lost
    any           another identity         shards were lost, and something else was created in their place

What lost a shard is refused (`IndexLost`) and never completed by opening it: documents that were accepted are gone with
the shard, and copies of them would pass. `recover` makes an index of what is left, under another identity: processes
that worked on the lost one refuse that one too, until they are told that everything was checked in again.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

import msgspec

from gate.core.profile import BY_FINGERPRINT, Decisions
from gate.errors import ConfigError, IndexLost, NoIndex, Unavailable
from gate.index.redis.client import LibraryClient, translate_errors
from gate.index.redis.generations import REMEDY, change_view, current_view, index_lost, read_views, require_whole
from gate.index.redis.layout import FORMAT, GENERATIONS, View, prefixes_of
from gate.index.store import require_same_decisions

IDENTITY_BYTES = 8
ATTEMPTS = 8  # to create an index beside processes that do the same; each attempt makes progress for one of them


async def open_view(
    client: LibraryClient,
    prefix: str,
    digest: str,
    url: str,
    *,
    decisions: Decisions = BY_FINGERPRINT,
    create: bool = True,
) -> View:
    """The view of an index, which is created if there is none. ConfigError: it means something else, or there is none
    and `create` is False. IndexLost: a part of it is gone."""
    prefixes = prefixes_of(prefix)
    with translate_errors(url):
        for _ in range(ATTEMPTS):
            stored = await read_views(client, prefixes)
            if stored[0]:
                first = _decode(stored[0], prefix, url)
                _check_meaning(first, prefix, digest, decisions, url)
                if not first.creating:
                    require_whole(client, prefixes, stored)
                    return await current_view(client, prefixes, identity=first.identity)
                if not create:  # or a failover lost everything since then
                    raise IndexLost(f"{url}: {prefix} is being created: wait for that to end, or {REMEDY}")
                await _complete(client, prefixes, first)
            elif any(stored):
                if not await client.get(prefixes[0] + b"v"):  # or it was created while the others were read
                    raise index_lost(client, prefixes, stored)
            elif not create:
                raise NoIndex(f"index: there is no index of profile {prefix.removeprefix('gate:')} at {url}")
            else:
                view = View(
                    FORMAT, digest, GENERATIONS[0], started=time.time(), identity=_new_identity(), decisions=decisions
                )
                await client.set(prefixes[0] + b"v", _marked(view).encode(), nx=True)
    raise Unavailable(f"{url}: other processes create {prefix} at the same time; try again")


async def recover(
    client: LibraryClient, prefix: str, digest: str, url: str, *, decisions: Decisions = BY_FINGERPRINT
) -> View:
    """Make an index of the shards that are left of one, with empty shards in the place of those that are lost.

    It may be called again after a crash, and does nothing to an index that is whole.
    """
    prefixes = prefixes_of(prefix)
    with translate_errors(url):
        stored = await read_views(client, prefixes)
        left = [_decode(one, prefix, url) for one in stored if one]
        for view in left:
            _check_meaning(view, prefix, digest, decisions, url)
        if all(stored) and len({view.identity for view in left}) == 1 and not left[0].creating:
            return await open_view(client, prefix, digest, url, decisions=decisions)
        if not left:
            return await open_view(client, prefix, digest, url, decisions=decisions)
        latest = max(left, key=lambda view: view.epoch)
        view = msgspec.structs.replace(latest, epoch=latest.epoch + 1, identity=_new_identity(), creating=False)
        changes = zip(prefixes, stored, [_marked(view)] + [view] * (len(prefixes) - 1), strict=True)
        for shard, before, after in changes:
            if not await change_view(client, shard, before, after.encode()):
                raise Unavailable(f"{url}: another process is creating {prefix}; try again")
    return await open_view(client, prefix, digest, url, decisions=decisions)


async def _complete(client: LibraryClient, prefixes: Sequence[bytes], marked: View) -> None:
    """Steps 2 and 3, for a view that the first shard has."""
    view = msgspec.structs.replace(marked, creating=False)
    for shard in prefixes[1:]:
        await client.set(shard + b"v", view.encode(), nx=True)
    stored = await read_views(client, prefixes)
    if stored[0] != marked.encode():
        return  # another process was faster, or the index is gone: to be looked at again
    require_whole(client, prefixes, stored, identity=view.identity)
    await change_view(client, prefixes[0], marked.encode(), view.encode())


def _new_identity() -> str:
    return secrets.token_hex(IDENTITY_BYTES)


def _marked(view: View) -> View:
    return msgspec.structs.replace(view, creating=True)


def _decode(encoded: bytes, prefix: str, url: str) -> View:
    try:
        written = msgspec.json.decode(encoded, type=list)[0]
        view = msgspec.json.decode(encoded, type=View) if written == FORMAT else None
    except (msgspec.DecodeError, IndexError) as exc:
        raise ConfigError(f"{url}: {prefix} exists, but is not an index of this program") from exc
    if view is None:
        raise ConfigError(
            f"{url}: {prefix} has index format {written}, and this version reads format {FORMAT}: use the version that "
            "wrote it, or give the profile a new version and fill that with `gate index rebuild`, or by `gate index "
            "export` with the version that wrote it and `gate index import` with this one"
        )
    return view


def _check_meaning(view: View, prefix: str, digest: str, decisions: Decisions, url: str) -> None:
    if view.digest != digest:
        raise ConfigError(
            f"{url}: {prefix} was made under another meaning of that profile (digest {view.digest}, this one is "
            f"{digest}): the profile or its secret changed. Give it a new version and fill that with "
            "`gate index rebuild`, or undo the change; the old index stays as it is"
        )
    require_same_decisions(view.decisions, decisions, f"{url}: {prefix}")
