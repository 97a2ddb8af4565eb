"""Compare-and-set on records and documents: read, change, write back where nothing changed meanwhile, else repeat. For
changes that have no script of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import numpy as np

from gate.index.redis.client import load_script
from gate.index.redis.shards import Shards

T = TypeVar("T")
Item = tuple[bytes, ...]  # key behind the prefix, field, what was read, what is wanted

COMPARE_AND_SET = load_script("compare_and_set")


async def update_with_cas(
    shards: Shards,
    changes: Sequence[Callable[[T], T]],
    read: Callable[[Sequence[int]], Awaitable[Sequence[T | None]]],
    item_of: Callable[[int, T], tuple[int, Item]],
) -> list[T | None]:
    """Apply each change to what is stored, and return what is stored then; None stays None.

    `read` returns what is stored at some places; `item_of` makes the item that replaces one of them, with its shard.
    """
    results: list[T | None] = [None] * len(changes)
    pending = list(range(len(changes)))
    while pending:
        differing = []
        for i, current in zip(pending, await read(pending), strict=True):
            results[i] = None if current is None else changes[i](current)
            if results[i] != current:
                differing.append(i)
        items = [item_of(i, result) for i in differing if (result := results[i]) is not None]
        columns = list(zip(*(item for _, item in items), strict=True))
        numbers = np.array([shard for shard, _ in items], np.int64)
        done = await shards.call_items(COMPARE_AND_SET, numbers, (), columns)
        pending = [i for i, changed in zip(differing, done, strict=True) if not changed]
    return results
