"""A crowded bucket overflows: what came later is kept beside it, and met like the rest."""

from __future__ import annotations

import numpy as np
import pytest

from gate.index.redis import store as module
from gate.index.redis.store import RedisStore
from tests.index.redis.conftest import OpenRedis
from tests.index.scan_contract import postings, u64

SPLIT = 3
KEY = (1 << 32) + 5


@pytest.fixture(autouse=True)
def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPLIT", SPLIT)


async def filled(store: RedisStore, last: int) -> None:
    """Entries up to the last one stand in one bucket, each with its own number as its tag."""
    for entry in range(1, last + 1):
        await store.append(u64(KEY), u64(entry), u64(entry))


async def met(store: RedisStore) -> list[int]:
    found: list[int] = (await store.read(u64(KEY))).entries.tolist()
    return found


async def test_all_of_a_crowded_bucket_is_read_the_oldest_first(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    await filled(store, 8)
    assert await met(store) == list(range(1, 9))
    assert (await store.read(u64(KEY + 16, KEY))).counts.tolist() == [0, 8]


async def test_a_limit_beyond_the_bucket_still_holds(open_store: OpenRedis) -> None:
    store = await open_store(SPLIT + 2)
    await filled(store, 8)
    found = await store.read(u64(KEY))
    assert (found.entries.tolist(), found.capped.tolist()) == ([1, 2, 3, 4, 5], [True])


async def test_overflowed_postings_are_not_appended_again(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    await filled(store, 6)
    await filled(store, 6)
    assert await met(store) == [1, 2, 3, 4, 5, 6]


async def test_a_batch_may_overflow_a_bucket(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    store._unappended.update(range(1, 7))  # as if it had just made them: then nothing is searched
    await store.append(u64(*[KEY] * 6), u64(*range(1, 7)), u64(*range(6)))
    assert await met(store) == [1, 2, 3, 4, 5, 6]


async def test_entries_are_removed_from_a_bucket_and_from_its_overflow(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    await filled(store, 6)
    await store.remove_postings(u64(KEY, KEY), u64(2, 5))
    assert await met(store) == [1, 3, 4, 6]
    await store.remove_postings(u64(KEY, KEY), u64(4, 6))
    await store.append(u64(KEY), u64(7), u64(7))
    assert await met(store) == [1, 3, 7]
    await store.remove_postings(u64(KEY, KEY, KEY), u64(1, 3, 7))
    assert await met(store) == []
    assert (await store.info())["buckets"] == 0


async def test_overflowed_postings_are_scanned_counted_and_found_missing_when_they_are(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    await filled(store, 6)
    assert await postings(store) == [(KEY, entry, entry) for entry in range(1, 7)]
    info = await store.info()
    assert (info["postings"], info["buckets"], info["largest_bucket"]) == (6, 1, 6)
    wanted = u64(KEY, KEY), u64(6, 7), u64(6, 7)
    assert [column.tolist() for column in await store.scan().missing(*wanted)] == [[KEY], [7], [7]]


async def test_both_generations_of_a_crowded_bucket_are_read_and_the_older_one_is_dropped_whole(
    open_store: OpenRedis,
) -> None:
    store = await open_store(4096)
    await filled(store, 5)
    await store.rotate(now=1.0)
    for entry in range(11, 16):
        await store.append(u64(KEY), u64(entry), u64(entry))
    assert await met(store) == [1, 2, 3, 4, 5, 11, 12, 13, 14, 15]
    await store.rotate(now=2.0)
    assert await met(store) == [11, 12, 13, 14, 15]
    assert (await store.info())["postings"] == 5


async def test_postings_that_overflow_between_two_reads_are_in_the_tail(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    await filled(store, 5)
    mark = (await store.read(u64(KEY))).mark
    await store.append(u64(KEY), u64(9), u64(9))
    assert 9 in (await store.read(u64(KEY), since=mark)).entries.tolist()


async def test_matches_of_buckets_their_overflow_and_the_log_come_in_the_order_of_the_probes(
    open_store: OpenRedis,
) -> None:
    store = await open_store(4096)
    await filled(store, 5)
    keys, tags, radii = u64(KEY, KEY + 1, KEY), u64(1, 1, 4), np.array([1, 0, 0], np.uint8)
    found = await store.probe(keys, tags, radii)
    assert (found.probes.tolist(), found.entries.tolist()) == ([0, 0, 0, 2], [1, 3, 5, 4])
    await store.append(u64(KEY, KEY), u64(8, 9), u64(4, 2))
    later = await store.probe(keys, tags, radii, since=found.mark)
    assert (later.probes.tolist(), later.entries.tolist(), later.tags.tolist()) == ([2], [8], [4])
    later = await store.probe(
        keys, tags, radii, any_bits=2, since=found.mark
    )  # 4 and 1 differ in the third bit, by one
    assert (later.probes.tolist(), later.entries.tolist(), later.tags.tolist()) == ([0, 0, 2], [8, 9, 8], [4, 2, 4])
