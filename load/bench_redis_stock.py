"""An index in Redis with as many documents as a measurement asks for, in minutes: what check-ins would have left there
is written directly, a hash at a time, instead of claimed.

`tests/load/test_bench_redis_stock.py` holds it against the tools that verify an index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gate.core.method_registry import Method
from gate.core.stored_verdict import encode_answer
from gate.index.protocol.outcome import NO_CANDIDATES
from gate.index.redis.client import make_pipeline, translate_errors
from gate.index.redis.layout import (
    SHARDS,
    TICKET,
    Numbers,
    eight_bytes,
    encode_holder,
    four_bytes,
    shards_of_documents,
    shards_of_entries,
    sized,
)
from gate.index.redis.packing import packed, shards_of
from gate.index.redis.store import RedisStore

FIELDS = 1000  # written by one command
COMMANDS = 32  # that go out together
CHUNK = 1 << 16  # documents whose postings are computed at a time

Field = tuple[bytes, bytes]


async def stock(
    store: RedisStore, method: Method, names: Sequence[bytes], contents: NDArray[np.uint8], bodies: NDArray[np.uint8]
) -> None:
    """Let documents be in an empty index: all of them new, none alike to another. A content is a row of 16 bytes."""
    rng = np.random.default_rng(7)
    upper = np.ascontiguousarray(contents[:, :4]).view(">u4").ravel().astype(np.uint64)
    entries = upper << np.uint64(32) | rng.integers(1, 1 << 32, len(names), np.uint64)
    first = await store.draw(len(names))
    await _write(store, b"d", shards_of_documents(names), _documents(names, contents, entries))
    await _write(store, b"r", shards_of_entries(entries), _entries(names, contents, bodies, entries, first))
    kept: dict[int, list[NDArray[np.uint64]]] = {}
    for at in range(0, len(names), CHUNK):
        found = method.postings([row.tobytes() for row in bodies[at : at + CHUNK]])
        tables = (found.keys >> np.uint64(32)).astype(np.int64)
        rows = np.stack([found.keys, entries[at : at + CHUNK][found.rows], found.tags])
        for table in np.flatnonzero(np.bincount(tables)).tolist():
            kept.setdefault(table, []).append(rows[:, tables == table])
    for table in sorted(kept):
        keys, owners, tags = np.concatenate(kept.pop(table), axis=1)
        order = np.argsort(keys, kind="stable")
        width = int(store.widths.of(keys[:1])[0])
        buckets, starts = np.unique(keys[order], return_index=True)
        postings = np.hstack([_bytes(owners[order]), _bytes(tags[order])[:, :width]])
        await _write(store, b"b", shards_of(buckets), _buckets(buckets, starts, postings))


def _documents(names: Sequence[bytes], contents: NDArray[np.uint8], entries: NDArray[np.uint64]) -> Iterator[Field]:
    answer = encode_answer(NO_CANDIDATES)
    rest = b"\xff\xff" + len(answer).to_bytes(2, "little") + answer
    for name, content, stamp in zip(names, contents, eight_bytes(entries), strict=True):
        yield name, content.tobytes() + stamp + rest


def _entries(
    names: Sequence[bytes],
    contents: NDArray[np.uint8],
    bodies: NDArray[np.uint8],
    entries: NDArray[np.uint64],
    first: int,
) -> Iterator[Field]:
    lives = four_bytes(entries & np.uint64(0xFFFFFFFF))
    taken: dict[bytes, int] = {}  # contents that share a name are numbered
    for n, (name, life) in enumerate(zip(names, lives, strict=True)):
        content = contents[n].tobytes()
        slot = taken.get(content[:4], 0)
        taken[content[:4]] = slot + 1
        registered = bytes([TICKET]) + (first + n).to_bytes(8, "little")
        value = content[4:] + life + registered + sized(bodies[n].tobytes()) + encode_holder(name, None)
        yield content[:4] + (bytes([slot]) if slot else b""), value


def _buckets(keys: NDArray[np.uint64], starts: Numbers, postings: NDArray[np.uint8]) -> Iterator[Field]:
    flat, width = postings.tobytes(), postings.shape[1]
    bounds = pairwise((width * np.append(starts, len(postings))).tolist())
    for name, (a, b) in zip(packed(keys).view("V4").tolist(), bounds, strict=True):
        yield name, flat[a:b]


def _bytes(numbers: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return numbers.astype("<u8").view(np.uint8).reshape(-1, 8)


async def _write(store: RedisStore, kind: bytes, shards: Numbers, fields: Iterator[Field]) -> None:
    """Each field to the hash of its shard."""
    at = iter(shards.tolist())
    waiting: list[list[bytes]] = [[] for _ in range(SHARDS)]
    pipe, commands = make_pipeline(store.shards.library_client), 0
    with translate_errors():
        for (name, value), shard in zip(fields, at, strict=True):
            waiting[shard] += (name, value)
            if len(waiting[shard]) >= 2 * FIELDS:
                pipe.execute_command("HSET", store.shards.prefixes[shard] + b"0" + kind, *waiting[shard])
                waiting[shard], commands = [], commands + 1
                if commands == COMMANDS:
                    await pipe.execute()
                    pipe, commands = make_pipeline(store.shards.library_client), 0
        for shard, left in enumerate(waiting):
            if left:
                pipe.execute_command("HSET", store.shards.prefixes[shard] + b"0" + kind, *left)
        await pipe.execute()
