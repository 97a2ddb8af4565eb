"""Calls reach the shards of an index under its view, and replies come in the order of the items."""

from __future__ import annotations

import pytest

from gate.errors import Stale
from gate.index.redis.generations import rotate
from gate.index.redis.layout import SHARDS
from tests.index.bucket_contract import content_of, new_entry
from tests.index.redis.conftest import OpenRedis


async def test_replies_come_in_the_order_of_the_items_whatever_their_shards(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    entries = [(n * 7 % SHARDS << 60) + n + 1 for n in range(3 * SHARDS)]
    contents = [content_of(entry, b"%d" % n) for n, entry in enumerate(entries)]
    new = [new_entry(f"d{n}", contents[n], entry=entry) for n, entry in enumerate(entries)]
    await store.register_content(new)
    assert await store.contents(contents) == entries
    assert [record.entry for record in await store.records(entries) if record] == entries


async def test_a_refused_view_is_replaced_by_the_one_of_the_shards(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    before = store.shards.view
    view = await rotate(store.shards.library_client, store.shards.prefixes, now=1.0)
    with pytest.raises(Stale):
        await store.draw(1)
    assert store.shards.view == view != before
    assert await store.draw(1) > 0
