"""Read, change, write back where nothing changed meanwhile, and again until it holds: what has no script of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Item = tuple[bytes, ...]


async def until_swapped(
    changes: Sequence[Callable[[T], T]],
    read: Callable[[Sequence[int]], Awaitable[Sequence[T | None]]],
    swap: Callable[[int, T], tuple[int, Item]],
    write: Callable[[Sequence[tuple[int, Item]]], Awaitable[Sequence[Any]]],
) -> list[T | None]:
    """Apply each change to what is there, and give what is there then; None stays None.

    `read` tells what stands at some places, `swap` makes the item that replaces one of them (with its shard), and
    `write` tells which of those found what had been read.
    """
    results: list[T | None] = [None] * len(changes)
    pending = list(range(len(changes)))
    while pending:
        differing = []
        for i, there in zip(pending, await read(pending), strict=True):
            results[i] = None if there is None else changes[i](there)
            if results[i] != there:
                differing.append(i)
        done = await write([swap(i, wanted) for i in differing if (wanted := results[i]) is not None])
        pending = [i for i, changed in zip(differing, done, strict=True) if not changed]
    return results
