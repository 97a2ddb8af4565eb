"""Changes by compare-and-set are repeated where another change came in between: none is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gate.index.store import HeldContent
from tests.index.bucket_contract import content_of, new_entry
from tests.index.redis.conftest import OpenRedis

CHANGES = 12


def adding(number: int) -> Callable[[tuple[HeldContent, ...]], tuple[HeldContent, ...]]:
    content = content_of(1, b"%d" % number)
    return lambda contents: (*contents, HeldContent(content, None, None, number))


async def test_concurrent_changes_of_one_document_are_all_made(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    await store.register_content([new_entry("d1", entry=1)])
    await asyncio.gather(*(store.change_documents([("d1", adding(number))]) for number in range(CHANGES)))
    [contents] = await store.documents(["d1"])
    assert sorted(held.stamp for held in contents[1:]) == list(range(CHANGES))


async def test_changes_of_one_call_are_each_applied_to_its_own_document(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    names = [f"d{number}" for number in range(CHANGES)]
    await store.register_content([new_entry(name, content_of(n, b"x"), entry=n) for n, name in enumerate(names, 1)])
    changed = await store.change_documents([(name, adding(number)) for number, name in enumerate(names)])
    assert [contents[-1].stamp for contents in changed] == list(range(CHANGES))
    assert await store.documents(names) == changed


async def test_a_document_that_is_unknown_is_not_made(open_store: OpenRedis) -> None:
    store = await open_store(4096)
    assert await store.change_documents([("unknown", adding(1))]) == [()]
    assert await store.documents(["unknown"]) == [()]
