"""An index that is kept for a window of time: generations begin, are read, and are dropped whole, under load."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from itertools import count
from threading import Thread
from typing import Any

import msgspec
import numpy as np
import pytest
from redis.asyncio import Redis

from gate.api import Gate
from gate.errors import Stale
from gate.index.redis import generations as generations_module
from gate.index.redis.generations import current_view, rotate
from gate.index.redis.layout import View, prefixes_of
from gate.index.redis.store import RedisStore
from gate.index.redis.url import RedisSettings
from gate.index.scan import ScannableStore
from gate.model import CheckIn, Relation
from tests.support.servers import RedisServer, redis_server

pytestmark = pytest.mark.redis

NUMBERS = count()
WORDS = [
    "amber",
    "anchor",
    "apple",
    "arrow",
    "autumn",
    "barley",
    "basket",
    "beacon",
    "bell",
    "birch",
    "blanket",
    "bottle",
    "branch",
    "brass",
    "bridge",
]


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as started:
        yield started


@pytest.fixture
def name() -> str:
    """Of a profile of the test's own, and so of an index of its own."""
    return f"window-{next(NUMBERS)}"


@pytest.fixture
def gate(server: RedisServer, name: str) -> Iterator[Gate]:
    with open_gate(server, name) as opened:
        yield opened


def open_gate(server: RedisServer, name: str) -> Gate:
    standard = Gate().profile
    return Gate(msgspec.structs.replace(standard, name=name), index=server.url)


def text(seed: int) -> str:
    return " ".join(f"{WORDS[(seed * 7 + i * (seed % 5 + 1)) % len(WORDS)]}{(seed * i) % 97}" for i in range(60))


def document(seed: int, name: str | None = None) -> CheckIn:
    return CheckIn(document_id=name or f"d{seed}", text=text(seed))


def rotated(server: RedisServer, name: str, *, now: float = 1.0) -> View:
    async def run() -> View:
        client = Redis.from_url(server.url)
        try:
            return await rotate(client, prefixes_of(f"gate:{name}@1"), now=now)
        finally:
            await client.aclose()

    return asyncio.run(run())


def fields_of(server: RedisServer, name: str, generation: str) -> int:
    with server.client() as client:
        keys = client.scan_iter(match=f"gate:{name}@1:{{*}}:{generation}*", count=1000)
        return sum(int(client.execute_command("HLEN", key)) for key in keys)


def test_documents_from_before_a_rotation_are_found_after_it(server: RedisServer, name: str, gate: Gate) -> None:
    gate.check_in([document(1)])
    rotated(server, name)
    [verdict] = gate.check_in([document(1, "copy")])
    assert verdict.relation is Relation.EXACT
    assert verdict.matches[0].document_id == "d1"


@pytest.mark.parametrize(
    "ask",
    [
        lambda gate: gate.preview([document(1, "copy")])[0].similar,
        lambda gate: gate.find_similar(text=text(1))[0].document_id == "d1",
        lambda gate: gate.find_similar(document_id="d1") == [],
        lambda gate: gate.explain(["d1"])[0][0].relation is Relation.NEW,
        lambda gate: gate.delete(["d1", "unknown"]) == [True, False],
    ],
    ids=["preview", "similar to a text", "similar to a document", "explain", "delete"],
)
def test_every_call_across_a_rotation_succeeds(
    server: RedisServer, name: str, gate: Gate, ask: Callable[[Gate], bool]
) -> None:
    gate.check_in([document(1)])
    rotated(server, name)
    assert ask(gate)


def test_a_repeated_delete_still_reports_the_documents_it_deleted(
    server: RedisServer, name: str, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.check_in([document(1)])
    store = gate.with_store(_itself)
    remove_contents = store.remove_contents

    async def forgotten_and_stale(holdings: Any) -> list[bool]:
        monkeypatch.setattr(store, "remove_contents", remove_contents)
        await remove_contents(holdings)
        raise Stale("the generations of the index changed; the batch is claimed again")

    monkeypatch.setattr(store, "remove_contents", forgotten_and_stale)
    assert gate.delete(["d1"]) == [True]
    assert gate.explain(["d1"]) == [[]]


async def _itself(store: ScannableStore) -> ScannableStore:
    return store


def test_buckets_that_were_read_while_the_view_changed_are_read_again(
    server: RedisServer, name: str, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The view is looked at before and after plain commands: it changes between the two."""
    gate.check_in([document(1)])
    store: Any = gate.with_store(_itself)
    sent = store.shards.client._pipeline

    async def changing(commands: Any) -> Any:
        reading = [n for n, command in enumerate(commands) if command[0] == "HMGET"]
        if not reading:
            return await sent(commands)
        monkeypatch.setattr(store.shards.client, "_pipeline", sent)
        before = await sent(commands[: reading[-1] + 1])
        client = Redis.from_url(server.url)
        await rotate(client, prefixes_of(f"gate:{name}@1"), now=1.0)
        await client.aclose()
        return before + await sent(commands[reading[-1] + 1 :])

    monkeypatch.setattr(store.shards.client, "_pipeline", changing)
    with pytest.raises(Stale):
        gate.with_store(lambda store: store.read(np.array([5], np.uint64)))


def test_a_replay_within_the_window_gets_its_verdict_again(server: RedisServer, name: str, gate: Gate) -> None:
    documents = [document(n % 40, f"r{n}") for n in range(80)]
    before = gate.check_in(documents)
    rotated(server, name)
    assert gate.check_in(documents) == before


def test_after_two_rotations_nothing_is_left_of_a_generation(server: RedisServer, name: str, gate: Gate) -> None:
    gate.check_in([document(n) for n in range(20)])
    assert fields_of(server, name, "0") > 20
    rotated(server, name)
    gate.check_in([document(100)])
    view = rotated(server, name)
    assert view.read == "01"
    assert fields_of(server, name, "0") == 0
    assert gate.check_in([document(1, "later")])[0].relation is Relation.NEW
    assert gate.check_in([document(100, "other")])[0].relation is Relation.EXACT


def test_new_documents_are_written_to_the_new_generation_alone(server: RedisServer, name: str, gate: Gate) -> None:
    gate.check_in([document(1)])
    rotated(server, name)
    before = fields_of(server, name, "0")
    gate.check_in([document(n) for n in range(2, 10)])
    assert fields_of(server, name, "0") == before
    assert fields_of(server, name, "1") > 8


def test_a_version_lives_as_long_as_the_generation_it_came_in(server: RedisServer, name: str, gate: Gate) -> None:
    gate.check_in([document(1, "d")])
    rotated(server, name)
    second = CheckIn(document_id="d", text=text(2), version="2")
    [verdict] = gate.check_in([second])
    assert verdict.relation is Relation.REVISION
    rotated(server, name)
    assert gate.check_in([second]) == [verdict]


def test_a_delete_reaches_both_generations(server: RedisServer, name: str, gate: Gate) -> None:
    gate.check_in([document(1)])
    rotated(server, name)
    gate.check_in([document(2)])
    assert gate.delete(["d1", "d2"]) == [True, True]
    assert gate.info()["postings"] == 0
    assert gate.info()["documents"] == 0
    assert [v.relation for v in gate.check_in([document(1, "x"), document(2, "y")])] == [Relation.NEW, Relation.NEW]


def test_a_process_that_missed_a_rotation_goes_on(server: RedisServer, name: str, gate: Gate) -> None:
    with open_gate(server, name) as sleeper:
        sleeper.check_in([document(1)])
        rotated(server, name)
        rotated(server, name)
        gate.check_in([document(5)])
        assert sleeper.check_in([document(5, "copy")])[0].relation is Relation.EXACT


def test_a_caller_with_another_view_can_neither_read_nor_write(server: RedisServer, name: str, gate: Gate) -> None:
    gate.check_in([document(1)])
    rotated(server, name)
    before = fields_of(server, name, "[01]")

    async def claim() -> None:
        store = gate._store
        with pytest.raises(Stale):
            await store.draw(1)
        await store.draw(1)  # it has looked at the view again

    gate._run(claim())
    assert fields_of(server, name, "[01]") == before


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_rotation_that_stopped_half_way_is_finished_by_the_next(
    server: RedisServer, name: str, gate: Gate, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.check_in([document(1)])
    rotated(server, name)
    gate.check_in([document(2)])
    advance, done = generations_module.change_view, 0

    async def dying(*arguments: object) -> bool:
        nonlocal done
        done += 1
        if done > 5 * steps:
            raise KeyboardInterrupt
        return await advance(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(generations_module, "change_view", dying)
        with pytest.raises(KeyboardInterrupt):
            rotated(server, name)
    assert gate.check_in([document(2, "copy")])[0].relation is Relation.EXACT
    view = rotated(server, name)
    assert not view.announced
    assert len(view.read) == 2
    gate.check_in([document(3)])
    assert gate.check_in([document(3, "another")])[0].relation is Relation.EXACT


def test_of_copies_that_race_with_rotations_one_passes(server: RedisServer, name: str, gate: Gate) -> None:
    """Two processes' worth of gates check the same texts in under two names while generations come and go."""
    passed: dict[str, list[bool]] = {"a": [], "b": []}

    def check_in(worker: str) -> None:
        with open_gate(server, name) as own:
            for start in range(0, 200, 5):
                batch = [document(1000 + n, f"{worker}{n}") for n in range(start, start + 5)]
                passed[worker] += [not verdict.similar for verdict in own.check_in(batch)]

    threads = [Thread(target=check_in, args=(worker,)) for worker in passed]
    for thread in threads:
        thread.start()
    rotated(server, name, now=1.0)
    for thread in threads:
        thread.join()
    assert [a + b for a, b in zip(passed["a"], passed["b"], strict=True)] == [1] * 200


def test_info_has_every_part(server: RedisServer, name: str, gate: Gate) -> None:
    gate.check_in([document(n) for n in range(30)])
    info = gate.info()
    assert info["documents"] == info["entries"] == 30
    assert info["postings"] == 30 * 20
    assert info["generations"] == 1
    assert 1 <= info["p99_bucket"] <= info["largest_bucket"]
    assert min(info[part] for part in info if part.startswith("bytes_")) > 0


async def test_every_shard_has_the_view_of_the_first(server: RedisServer, name: str, gate: Gate) -> None:
    client = Redis.from_url(server.url)
    prefixes = prefixes_of(f"gate:{name}@1")
    try:
        view = await current_view(client, prefixes)
        await client.set(prefixes[3] + b"v", msgspec.structs.replace(view, epoch=-1).encode())
        await current_view(client, prefixes)
        views = {await client.get(prefix + b"v") or b"" for prefix in prefixes}
    finally:
        await client.aclose()
    assert len(views) == 1


def test_a_generation_that_is_older_than_the_window_is_followed_by_the_next(server: RedisServer, name: str) -> None:
    standard = msgspec.structs.replace(Gate().profile, name=name)
    with Gate(standard, index=server.url, redis=RedisSettings(window_seconds=3600)) as gate:
        store = gate._store
        assert isinstance(store, RedisStore)
        now = time.time()
        gate.check_in([document(1)])
        assert generations(gate) == 1
        store._clock = lambda: now + 3000
        assert gate.check_in([document(1, "within the window")])[0].similar
        assert generations(gate) == 1
        store._clock = lambda: now + 4000
        assert gate.check_in([document(1, "after one window")])[0].similar
        assert generations(gate) == 2
        store._clock = lambda: now + 8000
        assert not gate.check_in([document(1, "after two windows")])[0].similar
        assert generations(gate) == 2


def generations(gate: Gate) -> int:
    return gate.info()["generations"]
