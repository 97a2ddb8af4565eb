"""Where the generations of an index changed underneath, whatever was asked is asked again: nothing was decided."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from gate.errors import Stale, Unavailable

T = TypeVar("T")

TRIES = 8  # a rotation of generations changes the view three times


async def retry_stale(steps: Callable[[], Awaitable[T]]) -> T:
    """Take steps, from the first one again whenever they turn out to be stale."""
    for _ in range(TRIES):
        try:
            return await steps()
        except Stale:
            continue
    raise Unavailable(f"the index changed underneath {TRIES} times in a row; try again")
