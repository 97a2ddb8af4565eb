"""An index in Redis can be scanned and restored as any other, on one server and on a Cluster."""

from __future__ import annotations

import time

import pytest

from gate.index.redis.store import RedisStore
from tests.index.scan_contract import (
    FIRST,
    OpenScannable,
    ScanContract,
    documents,
    new_entry,
    paged,
    postings,
    records,
    u64,
)


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


async def test_a_page_goes_on_in_the_generation_that_is_left(open_store: OpenScannable) -> None:
    store = await open_store(4096)
    assert isinstance(store, RedisStore)
    await store.register_content([new_entry(f"old{n}", FIRST, entry=n) for n in range(1, 40)])
    await store.rotate(now=time.time())
    await store.register_content([new_entry(f"new{n}", FIRST, entry=100 + n) for n in range(1, 40)])
    assert len({document.document_id for document in await paged(store, 4)}) == 78
    first = await store.scan().documents_after("", 4)
    await store.rotate(now=time.time())
    met = set()
    cursor = first.cursor
    while cursor:
        part = await store.scan().documents_after(cursor, 4)
        met |= {document.document_id for document in part.documents}
        cursor = part.cursor
    assert met == {f"new{n}" for n in range(1, 40)}


@pytest.mark.parametrize("cursor", ["d1", "0.0.", "0.20.0.", "0.00.-1.", "0.00.x.", "0.00.0", "-1.00.0."])
async def test_a_cursor_of_another_kind_of_index_is_refused(open_store: OpenScannable, cursor: str) -> None:
    store = await open_store(4096)
    with pytest.raises(ValueError, match="is none of"):
        await store.scan().documents_after(cursor, 4)
