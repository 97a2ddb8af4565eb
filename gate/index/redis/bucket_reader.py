"""What is in buckets: whole ones are read by plain commands, for through a script each would be copied and hashed twice
more; what was appended since is told by the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gate.index.redis.buckets import Split, answering, by_key, unpack, unpack_log
from gate.index.redis.client import Argument, load_script
from gate.index.redis.layout import packed
from gate.index.store import Answers, Keys, Postings

if TYPE_CHECKING:
    from gate.index.redis.store import RedisStore

LOG, CROWDED, OVERFLOW = load_script("log"), load_script("crowded"), load_script("overflow")
NOWHERE = packed((b"",))
KEPT_MARKS = 64

Part = tuple[int, list[bytes]]  # a shard, and names of buckets
Buckets = dict[int, list[bytes]]  # by shard, in the order of the names; where there is none, it is empty


async def read(store: RedisStore, keys: Keys, since: int | None) -> Postings:
    split = Split(keys)
    pieces, logged, mark = await _fetched(store, split, since)
    triples, capped = unpack(split.restored(pieces), store._widths.of(keys), store._limit)
    parts = [triples, unpack_log(keys, logged)] if logged else [triples]
    return Postings(*by_key(keys, *parts), mark, capped)


async def answer(store: RedisStore, keys: Keys, tags: Keys, radii: NDArray[np.uint8], since: int | None) -> Answers:
    split = Split(keys)
    pieces, logged, mark = await _fetched(store, split, since)
    order = split.order
    found, entries, cut = answering(pieces, store._widths.of(keys[order]), store._limit, tags[order], radii[order])
    probes, capped = order[found], np.zeros(len(keys), np.bool_)
    capped[order] = cut
    if logged:
        which, owners, theirs = unpack_log(keys, logged)
        close = np.bitwise_count(theirs ^ tags[which]) <= radii[which]
        probes, entries = np.append(probes, which[close]), np.append(entries, owners[close])
    in_order = np.argsort(probes, kind="stable")
    return Answers(probes[in_order], entries[in_order], mark, capped)


async def _fetched(store: RedisStore, split: Split, since: int | None) -> tuple[list[bytes], list[bytes], int]:
    """The buckets, or nothing where the log tells what came to them since; what it tells; and a new mark."""
    places = {} if since is None else store._marks.get(since, {})
    known = {shard: places[shard] for shard, _ in split.parts if places.get(shard)}
    mark, logged = await tail(store, known)
    begun, found = await whole(store, [part for part in split.parts if part[0] not in mark])
    pieces = [piece for shard, names in split.parts for piece in found.get(shard) or [b""] * len(names)]
    return pieces, logged, _kept(store, mark | begun)


def _kept(store: RedisStore, places: dict[int, bytes]) -> int:
    """The number of a mark."""
    store._next_mark += 1
    store._marks[store._next_mark] = places
    if len(store._marks) > KEPT_MARKS:
        store._marks.popitem(last=False)
    return store._next_mark


async def tail(store: RedisStore, places: dict[int, bytes]) -> tuple[dict[int, bytes], list[bytes]]:
    """What was appended since the log of each shard stood there, and where it stands now; shards whose log does not
    reach back that far are left out."""
    standing: dict[int, bytes] = {}
    logged: list[bytes] = []
    replies = await store._call(LOG, [(shard, packed((place,))) for shard, place in places.items()])
    for shard, (place, *appended) in zip(places, replies, strict=True):
        if appended:
            standing[shard] = place
            logged += appended[1:]
    return standing, logged


async def whole(store: RedisStore, parts: Sequence[Part]) -> tuple[dict[int, bytes], Buckets]:
    """Where the log of each shard stood, and the buckets read after that: what is appended meanwhile is met twice
    rather than not at all."""
    if not parts:
        return {}, {}
    generations = [bytes([g]) for g in store._generations[::-1]]  # the oldest postings come first
    shares = [(store._prefixes[shard], NOWHERE) for shard, _ in parts]
    commands: list[tuple[Argument, ...]] = [
        ("HMGET", prefix + g + b"b", *names)
        for (prefix, _), (_, names) in zip(shares, parts, strict=True)
        for g in generations
    ]
    async with store._viewing():
        begun, found, crowded = await store._link.read((LOG, CROWDED), store._head, shares, commands)
    places = {shard: place for (shard, _), (place,) in zip(parts, begun, strict=True)}
    rests = await _overflow(store, parts, crowded)
    buckets: Buckets = {}
    for n, (shard, names) in enumerate(parts):
        heads = found[n * len(generations) : (n + 1) * len(generations)]
        if rests or len(heads) > 1:
            pieces = [
                [(head or b"") + rests.get((shard, g + name), b"") for name, head in zip(names, some, strict=True)]
                for g, some in zip(generations, heads, strict=True)
            ]
            buckets[shard] = list(map(b"".join, zip(*pieces, strict=True)))
        else:
            buckets[shard] = [head or b"" for head in heads[0]]
    return places, buckets


async def _overflow(
    store: RedisStore, parts: Sequence[Part], crowded: Sequence[Sequence[bytes]]
) -> dict[tuple[int, bytes], bytes]:
    """What overflowed from the buckets, by shard, generation and name."""
    asked = [
        (shard, sorted(name for name in full if name[1:] in set(names)))
        for (shard, names), full in zip(parts, crowded, strict=True)
        if full
    ]
    asked = [(shard, names) for shard, names in asked if names]
    shares = [(shard, b"".join(names)) for shard, names in asked]
    replies = await store._call(OVERFLOW, shares, store._limit + 1, store._widths.sizes)
    return {
        (shard, name): rest
        for (shard, names), some in zip(asked, replies, strict=True)
        for name, rest in zip(names, some, strict=True)
    }
