"""Stores in memory for the tests of the store and of its scan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from gate.index.memory.store import MemoryStore


@pytest.fixture
def open_store() -> Callable[[int], Awaitable[MemoryStore]]:
    async def open_one(max_bucket: int) -> MemoryStore:
        return MemoryStore(max_bucket)

    return open_one
