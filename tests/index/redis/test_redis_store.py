"""The index in Redis keeps the contract of every backend, on one server and on a Cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from gate.core.method_registry import Room
from gate.index.redis.connect import open_store as open_redis
from gate.index.store import Store
from tests.index.store_contract import Run, StoreContract

NUMBERS = count()


@pytest.fixture
def open_store(redis_url: str, run: Run) -> Iterator[Callable[[int], Store]]:
    opened: list[Store] = []

    def open_one(max_bucket: int = 4096) -> Store:
        ref = f"test-{next(NUMBERS)}@1"
        opening = open_redis(redis_url, profile_ref=ref, digest="d", room=Room(140, {}), max_bucket=max_bucket)
        opened.append(run(opening))
        return opened[-1]

    yield open_one
    for store in opened:
        run(store.close())


class TestRedisStore(StoreContract):
    """One server and a Cluster of three masters keep the contract of every backend."""
