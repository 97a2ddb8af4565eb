"""An index is created in all of its shards, or found to have lost some; it is never created a second time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

import msgspec
import pytest
from redis.asyncio import Redis

from gate.api import Gate
from gate.core.profile import Profile
from gate.errors import ConfigError, IndexLost, NoIndex
from gate.index.redis.connect import recover_index
from gate.index.redis.creation import open_view, recover
from gate.index.redis.layout import SHARDS, View, prefixes_of
from gate.index.redis.url import RedisSettings
from gate.index.tools.audit import audit
from gate.model import CheckIn, Relation
from tests.support.servers import RedisCluster, RedisServer, redis_cluster

pytestmark = pytest.mark.redis

NUMBERS = count()
TEXTS = [f"{n} " + " ".join(f"word{(n * 31 + i * i) % 997}" for i in range(60)) for n in range(40)]
DOCUMENTS = [CheckIn(document_id=f"d{n}", text=text) for n, text in enumerate(TEXTS)]
COPIES = [CheckIn(document_id=f"copy{n}", text=text) for n, text in enumerate(TEXTS)]


class Interrupted(Exception):
    """Ends a process at a step, in place of a crash."""


class OneIndex:
    """The views of one index on a server, and processes that open it."""

    def __init__(self, client: Redis) -> None:
        self.client = client
        self.prefix = f"gate:creation-{next(NUMBERS)}@1"
        self.keys = [prefix + b"v" for prefix in prefixes_of(self.prefix)]

    async def open(self, *, create: bool = True) -> View:
        return await open_view(self.client, self.prefix, "d", "there", create=create)

    async def views(self) -> list[Any]:
        return [await self.client.get(key) for key in self.keys]


@pytest.fixture
async def index(shared_redis: RedisServer) -> AsyncIterator[OneIndex]:
    client = Redis.from_url(shared_redis.url)
    yield OneIndex(client)
    await client.aclose()


async def test_every_shard_has_the_identity_that_was_drawn_when_the_index_was_created(index: OneIndex) -> None:
    view = await index.open()
    assert len(view.identity) == 16
    assert await index.views() == [view.encode()] * SHARDS
    assert await index.open() == view


async def test_processes_that_create_an_index_at_once_agree_on_its_identity(index: OneIndex) -> None:
    views = await asyncio.gather(*(index.open() for _ in range(12)))
    assert len({view.identity for view in views}) == 1
    assert await index.views() == [views[0].encode()] * SHARDS


async def test_an_index_that_is_not_there_is_not_created_where_that_is_not_wanted(index: OneIndex) -> None:
    with pytest.raises(NoIndex, match=r"no index of profile creation-\d+@1 at there"):
        await index.open(create=False)
    assert await index.views() == [None] * SHARDS


@pytest.mark.parametrize("step", [1, 2, 9, 16, 17])
async def test_a_creation_that_stopped_at_any_step_is_completed_by_the_next_process(
    index: OneIndex, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen times set-if-absent, and then the compare-and-set that ends it."""
    steps = 0

    def stopping(call: Callable[..., Any]) -> Callable[..., Any]:
        def stop_at_step(*arguments: Any, **options: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == step:
                raise Interrupted
            return call(*arguments, **options)

        return stop_at_step

    with monkeypatch.context() as patched:
        for name in ("set", "eval"):
            patched.setattr(index.client, name, stopping(getattr(index.client, name)))
        with pytest.raises(Interrupted):
            await index.open()
    started = [view for view in await index.views() if view]
    view = await index.open()
    assert await index.views() == [view.encode()] * SHARDS
    assert {msgspec.json.decode(one, type=View).identity for one in started} <= {view.identity}


async def test_a_creation_that_goes_on_is_not_completed_where_none_is_wanted(index: OneIndex) -> None:
    """The mark of a creation may also be what a failover went back to."""
    view = await index.open()
    marked = msgspec.structs.replace(view, creating=True).encode()
    await index.client.set(index.keys[0], marked)
    with pytest.raises(IndexLost, match="is being created"):
        await index.open(create=False)
    assert await index.client.get(index.keys[0]) == marked
    assert await index.open() == view


@pytest.mark.parametrize("lost", [[0], [7], [0, 3, 15], list(range(1, 16)), list(range(15))], ids=str)
async def test_shards_that_are_gone_are_named_and_not_created_again(index: OneIndex, lost: list[int]) -> None:
    await index.open()
    await index.client.delete(*(index.keys[number] for number in lost))
    before = await index.views()
    for _ in range(2):
        with pytest.raises(IndexLost, match=rf"{len(lost)} of 16 shards \({', '.join(map(str, lost))}\)") as caught:
            await index.open()
        assert caught.value.missing == tuple(map(str, lost))
    assert await index.views() == before


async def test_shards_of_two_indexes_are_refused(index: OneIndex) -> None:
    view = await index.open()
    await index.client.set(index.keys[4], msgspec.structs.replace(view, identity="other").encode())
    with pytest.raises(IndexLost, match=r"shards of different indexes are in Redis \(.*other.*\)"):
        await index.open()


async def test_what_is_left_of_an_index_gets_another_identity_and_empty_shards(index: OneIndex) -> None:
    view = await index.open()
    await index.client.delete(index.keys[0], index.keys[5])
    recovered = await recover(index.client, index.prefix, "d", "there")
    assert recovered.identity != view.identity
    assert recovered.read == view.read
    assert recovered.epoch > view.epoch  # a process that read the old view of a shard cannot bring it back
    assert await index.views() == [recovered.encode()] * SHARDS
    assert await recover(index.client, index.prefix, "d", "there") == recovered
    assert await index.open() == recovered


async def test_a_recovery_that_stopped_half_way_is_refused_until_it_is_repeated(
    index: OneIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    await index.open()
    await index.client.delete(index.keys[5])
    evaluate, steps = index.client.eval, 0

    def stop_at_fourth(*arguments: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == 4:
            raise Interrupted
        return evaluate(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(index.client, "eval", stop_at_fourth)
        with pytest.raises(Interrupted):
            await recover(index.client, index.prefix, "d", "there")
    with pytest.raises(IndexLost, match=r"different indexes"):
        await index.open()
    view = await recover(index.client, index.prefix, "d", "there")
    assert await index.views() == [view.encode()] * SHARDS


async def test_an_index_of_another_meaning_is_not_recovered(index: OneIndex) -> None:
    await index.open()
    await index.client.delete(index.keys[5])
    with pytest.raises(ConfigError, match="another meaning"):
        await recover(index.client, index.prefix, "other", "there")


@pytest.fixture
def cluster() -> Iterator[RedisCluster]:
    """One whose masters a test may empty."""
    with redis_cluster(3) as made:
        yield made


@pytest.mark.parametrize("emptied", [0, 1, 2])
def test_an_emptied_master_of_a_cluster_is_refused_by_all_and_filled_again_by_a_recovery(
    cluster: RedisCluster, emptied: int
) -> None:
    profile = Profile(name=f"creation-{next(NUMBERS)}")
    server = cluster.servers[emptied]
    with Gate(profile, index=cluster.url) as running:
        assert not any(verdict.similar for verdict in running.check_in(DOCUMENTS))
        server.kill()
        server.start()  # without its data, as it keeps none
        cluster.wait_complete()
        for _ in range(2):
            with pytest.raises(IndexLost, match=f"of 16 shards .*:{server.port}"):
                Gate(profile, index=cluster.url).close()
            with pytest.raises(IndexLost, match="of 16 shards"):
                running.check_in(COPIES)
        digest, decisions = profile.digest(), profile.decisions()
        recovery = recover_index(
            cluster.url, profile_ref=profile.ref, digest=digest, decisions=decisions, settings=RedisSettings()
        )
        asyncio.run(recovery)
        with pytest.raises(IndexLost, match="another index is in Redis"):
            running.check_in(COPIES)
        with Gate(profile, index=cluster.url) as fresh:
            assert fresh.identity != running.identity
            fresh.with_store(lambda store: audit(store, fresh.method, fresh.profile, fix=True))
            fresh.check_in(DOCUMENTS)
            assert {verdict.relation for verdict in fresh.check_in(COPIES)} == {Relation.EXACT}


def test_a_new_index_on_an_emptied_server_is_refused_by_processes_that_knew_the_old_one(
    shared_redis: RedisServer,
) -> None:
    profile = Profile(name=f"creation-{next(NUMBERS)}")
    with Gate(profile, index=shared_redis.url) as running, shared_redis.client() as client:
        running.check_in(DOCUMENTS)
        client.delete(*client.keys(f"gate:{profile.ref}:*"))
        with pytest.raises(IndexLost, match="the index is gone from Redis"):
            running.check_in(COPIES)
        with Gate(profile, index=shared_redis.url) as fresh:
            assert fresh.identity != running.identity
            for _ in range(2):
                with pytest.raises(IndexLost, match=f"{fresh.identity}.*{running.identity}"):
                    running.check_in(COPIES)
