"""Index files for the tests of the store and of its scan."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from gate.index.sqlite.store import SqliteStore


@pytest.fixture
async def open_store(tmp_path: Path) -> AsyncIterator[Callable[[int], Awaitable[SqliteStore]]]:
    opened: list[SqliteStore] = []

    async def open_one(max_bucket: int) -> SqliteStore:
        path = tmp_path / f"{len(opened)}.gate"
        opened.append(SqliteStore(path, digest="d", profile_ref="p@1", max_bucket=max_bucket))
        return opened[-1]

    yield open_one
    for store in opened:
        await store.close()
