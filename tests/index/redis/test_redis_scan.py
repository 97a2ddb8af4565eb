"""An index in Redis can be walked and put back as any other, on one server and on a Cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from gate.core.method_registry import Room
from gate.index.redis.connect import open_store as open_redis
from gate.index.redis.store import RedisStore
from tests.index.scan_contract import FIRST, Run, WalkContract, documents, postings, records, u64, wish

NUMBERS = count()


@pytest.fixture
def open_store(redis_url: str, run: Run) -> Iterator[Callable[[int], RedisStore]]:
    opened: list[RedisStore] = []

    def open_one(max_bucket: int = 4096) -> RedisStore:
        ref = f"walk-{next(NUMBERS)}@1"
        opening = open_redis(redis_url, profile_ref=ref, digest="d", room=Room(140, {}), max_bucket=max_bucket)
        opened.append(run(opening))
        return opened[-1]

    yield open_one
    for store in opened:
        run(store.close())


class TestRedisStore(WalkContract):
    """One server, and a Cluster of three masters."""


def test_both_generations_are_walked_even_where_their_fields_have_one_name(
    open_store: Callable[[int], RedisStore], run: Run
) -> None:
    store = open_store(4096)
    contents = [FIRST[:4] + b"%012d" % n for n in range(4)]  # all of one name
    run(store.register_content([wish(f"d{n}", content, entry=n + 1) for n, content in enumerate(contents[:2])]))
    run(store.append(u64(5), u64(1), u64(7)))
    run(store.rotate(now=time.time()))
    run(store.register_content([wish(f"d{n}", content, entry=n + 1) for n, content in enumerate(contents[2:], 2)]))
    run(store.append(u64(5), u64(3), u64(7)))
    assert [record.content for record in records(store, run)] == contents
    assert [document.document_id for document in documents(store, run)] == ["d0", "d1", "d2", "d3"]
    assert postings(store, run) == [(5, 1, 7), (5, 3, 7)]
