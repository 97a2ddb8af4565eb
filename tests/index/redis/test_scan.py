"""An index in Redis can be scanned and restored as any other, on one server and on a Cluster."""

from __future__ import annotations

import time

from gate.index.redis.store import RedisStore
from tests.index.scan_contract import FIRST, OpenScannable, ScanContract, documents, new_entry, postings, records, u64


class TestRedisScan(ScanContract):
    """One server, and a Cluster of three masters."""


async def test_both_generations_are_scanned_even_where_their_fields_have_one_name(open_store: OpenScannable) -> None:
    store = await open_store(4096)
    assert isinstance(store, RedisStore)
    contents = [FIRST[:4] + b"%012d" % n for n in range(4)]  # all of one name
    await store.register_content([new_entry(f"d{n}", content, entry=n + 1) for n, content in enumerate(contents[:2])])
    await store.append(u64(5), u64(1), u64(7))
    await store.rotate(now=time.time())
    await store.register_content(
        [new_entry(f"d{n}", content, entry=n + 1) for n, content in enumerate(contents[2:], 2)]
    )
    await store.append(u64(5), u64(3), u64(7))
    assert [record.content for record in await records(store)] == contents
    assert [document.document_id for document in await documents(store)] == ["d0", "d1", "d2", "d3"]
    assert await postings(store) == [(5, 1, 7), (5, 3, 7)]
