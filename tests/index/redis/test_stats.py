"""The size of an index in Redis: counts are exact, on one server and on a Cluster."""

from __future__ import annotations

from tests.index.redis.conftest import OpenRedis
from tests.index.scan_contract import new_entry, u64


async def test_an_empty_index_has_one_generation_and_nothing_in_it(open_store: OpenRedis) -> None:
    info = await (await open_store(4096)).info()
    assert info["generations"] == 1
    counts = ("documents", "entries", "postings", "buckets", "largest_bucket", "p99_bucket")
    assert {name: info[name] for name in counts} == dict.fromkeys(counts, 0)
    assert info["bytes_buckets"] == info["bytes_entries"] == info["bytes_documents"] == 0


async def test_documents_entries_and_postings_are_counted_with_the_largest_bucket(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    await store.register_content([new_entry(f"d{n}", n.to_bytes(16, "big"), entry=n + 1) for n in range(5)])
    await store.append(u64(1, 1, 1, 2), u64(1, 2, 3, 4), u64(7, 7, 7, 7))
    info = await store.info()
    assert (info["documents"], info["entries"], info["postings"]) == (5, 5, 4)
    assert (info["buckets"], info["largest_bucket"]) == (2, 3)
    assert info["bytes_details"] == 0
    assert all(info[part] > 0 for part in ("bytes_buckets", "bytes_entries", "bytes_documents"))


async def test_the_bytes_of_details_are_those_of_all_documents(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    new = [new_entry(f"d{n}", n.to_bytes(16, "big"), entry=n + 1)._replace(details=b"7 bytes") for n in range(40)]
    await store.register_content(new)
    assert (await store.info())["bytes_details"] == 7 * 40


async def test_both_generations_are_counted_after_a_rotation(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    for n in range(2):
        await store.register_content([new_entry(f"d{n}", n.to_bytes(16, "big"), entry=n + 1)])
        await store.append(u64(1), u64(n + 1), u64(7))
        if n == 0:
            await store.rotate(now=1.0)
    info = await store.info()
    assert (info["generations"], info["documents"], info["entries"], info["postings"]) == (2, 2, 2, 2)
