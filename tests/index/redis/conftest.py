"""The deployments of Redis that every store test runs on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count

import pytest

from gate.core.method_registry import BodyLayout
from gate.index.redis.connect import open_store as open_redis
from gate.index.redis.store import RedisStore

NUMBERS = count()
OpenRedis = Callable[[int], Awaitable[RedisStore]]


@pytest.fixture(
    params=[
        pytest.param("shared_redis", id="single", marks=pytest.mark.redis),
        pytest.param("shared_redis_cluster", id="cluster", marks=pytest.mark.redis),
    ]
)
def redis_url(request: pytest.FixtureRequest) -> str:
    """The URL of a single server, then of a Cluster. Tests share them: each uses a profile name of its own."""
    url: str = request.getfixturevalue(request.param).url
    return url


@pytest.fixture
async def open_store(redis_url: str) -> AsyncIterator[OpenRedis]:
    """Opens empty stores, by the length that a bucket is read to, and closes them at the end."""
    opened: list[RedisStore] = []

    async def open_one(max_bucket: int) -> RedisStore:
        ref = f"test-{next(NUMBERS)}@1"
        opened.append(
            await open_redis(redis_url, profile_ref=ref, digest="d", layout=BodyLayout(140, {}), max_bucket=max_bucket)
        )
        return opened[-1]

    yield open_one
    for store in opened:
        await store.close()
