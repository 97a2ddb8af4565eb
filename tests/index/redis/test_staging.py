"""A generation that is filled aside: met by nobody, promoted whole, in the middle of live traffic and of crashes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, pairwise
from threading import Event
from typing import TypeVar

import msgspec
import pytest
from redis.asyncio import Redis

from gate.api import Gate
from gate.core.builtin_profiles import BUILT_IN
from gate.errors import ConfigError, IndexLost
from gate.index.redis import staging
from gate.index.redis.client import LibraryClient
from gate.index.redis.generations import current_view, keep_window, rotate
from gate.index.redis.layout import View, prefixes_of
from gate.index.redis.staging import StagedState, drop, promote, set_state, staged_generations
from gate.index.redis.store import RedisStore
from gate.index.redis.url import RedisSettings
from gate.index.scan import ScannableStore
from gate.index.tools.audit import audit
from gate.model import CheckIn, Relation
from tests.support.servers import RedisCluster, RedisServer, redis_server

pytestmark = pytest.mark.redis

Done = TypeVar("Done")
NUMBERS = count()


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as started:
        yield started


@pytest.fixture
def name() -> str:
    """Of a profile of the test's own, and so of an index of its own."""
    return f"staged-{next(NUMBERS)}"


def open_gate(server: RedisServer, name: str, generation: str | None = None) -> Gate:
    profile = msgspec.structs.replace(BUILT_IN["standard"], name=name)
    return Gate(profile, index=server.url, redis=RedisSettings(generation=generation))


def text(seed: int, *, edited: int = 0) -> str:
    """A text of its own; `edited` changes two words."""
    words = [f"w{seed}x{i}" for i in range(80)]
    if edited:
        words[10], words[60] = f"e{edited}a", f"e{edited}b"
    return " ".join(words)


def document(document_id: str, seed: int, *, edited: int = 0) -> CheckIn:
    return CheckIn(document_id=document_id, text=text(seed, edited=edited))


def on_server(server: RedisServer, work: Callable[[LibraryClient], Awaitable[Done]]) -> Done:
    async def run() -> Done:
        client = Redis.from_url(server.url)
        try:
            return await work(client)
        finally:
            await client.aclose()

    return asyncio.run(run())


def promoted(server: RedisServer, name: str, generation: str = "old", *, drop_older: bool = False) -> View:
    async def run(store: ScannableStore) -> View:
        assert isinstance(store, RedisStore)
        return await promote(store, gate.method, generation, drop_older=drop_older)

    with open_gate(server, name) as gate:
        return gate.with_store(run)


def fill(server: RedisServer, name: str, documents: list[CheckIn], *, complete: bool = True) -> list[Relation]:
    with open_gate(server, name, "old") as aside:
        relations = [verdict.relation for verdict in aside.check_in(documents)]
    if complete:
        on_server(server, lambda client: set_state(client, f"gate:{name}@1", "old", StagedState.COMPLETE))
    return relations


def keys_of(server: RedisServer, pattern: str) -> set[bytes]:
    with server.client() as client:
        return set(client.scan_iter(match=pattern, count=1000))


def test_what_is_filled_aside_is_judged_among_itself_and_met_by_no_live_document(
    server: RedisServer, name: str
) -> None:
    with open_gate(server, name) as live:
        live.check_in([document("live", 1)])
        assert fill(server, name, [document("a", 1), document("b", 2), document("c", 2)]) == [
            Relation.NEW,
            Relation.NEW,
            Relation.EXACT,
        ]
        assert live.check_in([document("d", 2)])[0].relation is Relation.NEW


def test_after_the_promotion_copies_of_both_sides_are_found_and_all_documents_stay(
    server: RedisServer, name: str
) -> None:
    with open_gate(server, name) as live:
        live.check_in([document("live", 1)])
        fill(server, name, [document("old", 2)])
        view = promoted(server, name)
        assert (view.read, view.announced) == ("01", False)
        copies = live.check_in([document("x", 1, edited=1), document("y", 2, edited=1), document("z", 3)])
        assert [verdict.relation for verdict in copies] == [Relation.NEAR, Relation.NEAR, Relation.NEW]
        assert [verdict.matches[0].document_id for verdict in copies[:2]] == ["live", "old"]
        assert live.check_in([document("old", 2)])[0].relation is Relation.NEW  # its first verdict again
        report = live.with_store(lambda store: audit(store, live.method, live.profile))
        assert report.left == 0
    assert keys_of(server, f"gate:{name}@1+old*") == set()
    assert on_server(server, lambda client: staged_generations(client, f"gate:{name}@1")) == []


def test_a_content_that_both_sides_had_is_one_entry_that_all_its_documents_hold(server: RedisServer, name: str) -> None:
    with open_gate(server, name) as live:
        live.check_in([document("live", 1)])
        fill(server, name, [document("old", 1), document("copy", 1)])
        promoted(server, name)
        assert live.with_store(lambda store: audit(store, live.method, live.profile)).left == 0
        again = live.check_in([document("old", 1), document("copy", 1), document("live", 1)])
        assert [verdict.relation for verdict in again] == [Relation.NEW, Relation.EXACT, Relation.NEW]
        assert live.delete(["live"]) == [True]
        [verdict] = live.check_in([document("new", 1)])
        assert verdict.relation is Relation.EXACT
        assert verdict.matches[0].document_id in ("old", "copy")


def test_the_first_of_a_family_is_whichever_side_judged_it_first(server: RedisServer, name: str) -> None:
    with open_gate(server, name) as live:
        live.check_in([document("live", 1)])
        fill(server, name, [document("old", 1, edited=1), document("older", 2)])
        live.check_in([document("live2", 2, edited=1)])
        promoted(server, name)
        verdicts = live.check_in([document("later", 1, edited=2), document("later2", 2, edited=2)])
        assert [verdict.group for verdict in verdicts] == ["live", "older"]


def test_tickets_of_both_sides_come_from_one_counter(server: RedisServer, name: str) -> None:
    """A batch takes a range of tickets: two ranges drawn in the same moment would overlap."""

    async def draw(store: ScannableStore) -> int:
        assert isinstance(store, RedisStore)
        return await store.draw(10_000_000)

    with open_gate(server, name) as live, open_gate(server, name, "old") as aside:
        firsts = [gate.with_store(draw) for gate in (aside, live, aside)]
    assert [later - first >= 10_000_000 for first, later in pairwise(firsts)] == [True, True]


def test_what_still_fills_a_generation_stops_before_its_keys_are_moved(
    server: RedisServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_gate(server, name), open_gate(server, name, "old") as aside:
        aside.check_in([document("old", 1)])
        on_server(server, lambda client: set_state(client, f"gate:{name}@1", "old", StagedState.COMPLETE))
        move = staging._move
        refused: list[IndexLost] = []

        def fill_on() -> None:
            try:
                aside.check_in([document("late", 2)])
            except IndexLost as exc:
                refused.append(exc)

        async def moving(client: LibraryClient, live: Sequence[bytes], staged: Sequence[bytes], free: str) -> None:
            await asyncio.to_thread(fill_on)
            await move(client, live, staged, free)

        with monkeypatch.context() as patched:
            patched.setattr(staging, "_move", moving)
            promoted(server, name)
        assert len(refused) == 1


def test_crowded_buckets_are_promoted_with_what_overflowed(server: RedisServer, name: str) -> None:
    """A template fills its buckets beyond what one field holds."""
    profile = msgspec.structs.replace(BUILT_IN["simhash"], name=name, index="all")
    same = [CheckIn(document_id=f"d{n}", text=text(1)) for n in range(4)]

    def opened(generation: str | None) -> Gate:
        return Gate(profile, index=server.url, redis=RedisSettings(generation=generation))

    with opened(None) as live, opened("old") as aside:
        aside.check_in(same)
        staged = prefixes_of(f"gate:{name}@1+old")
        with server.client() as client:  # as if there were more than a thousand
            shard = next(shard for shard in staged if client.hlen(shard + b"0b"))
            bucket, postings = next(iter(client.hgetall(shard + b"0b").items()))
            client.hdel(shard + b"0b", bucket)
            client.set(shard + b"0o" + bucket, postings)
            client.sadd(shard + b"h", b"0" + bucket)
        on_server(server, lambda client: set_state(client, f"gate:{name}@1", "old", StagedState.COMPLETE))

        async def run(store: ScannableStore) -> View:
            assert isinstance(store, RedisStore)
            return await promote(store, live.method, "old")

        live.with_store(run)
        live_shard = shard.replace(b"+old", b"")
        with server.client() as client:
            assert client.get(live_shard + b"1o" + bucket) == postings
            assert b"1" + bucket in client.smembers(live_shard + b"h")
        assert live.preview([CheckIn(document_id="new", text=text(1))])[0].similar


def test_a_generation_of_a_cluster_is_promoted_and_another_one_dropped(
    shared_redis_cluster: RedisCluster, name: str
) -> None:
    """Keys keep their hash tags, and so their slots, when they are renamed."""
    profile = msgspec.structs.replace(BUILT_IN["standard"], name=name)

    async def run(store: ScannableStore) -> int:
        assert isinstance(store, RedisStore)
        client, prefix = store.shards.library_client, store.shards.prefix
        await set_state(client, prefix, "old", StagedState.COMPLETE)
        await promote(store, live.method, "old")
        return await drop(client, prefix, "other")

    url = shared_redis_cluster.url
    with Gate(profile, index=url) as live:
        for generation, seed in (("old", 1), ("other", 2)):
            with Gate(profile, index=url, redis=RedisSettings(generation=generation)) as aside:
                aside.check_in([document(f"{generation}{n}", 10 * seed + n) for n in range(8)])
        assert live.with_store(run) > 0
        found = live.check_in([document(f"copy{n}", n, edited=1) for n in (*range(10, 18), *range(20, 28))])
        assert [verdict.similar for verdict in found] == [True] * 8 + [False] * 8
        assert live.with_store(lambda store: audit(store, live.method, live.profile)).left == 0


class Crash(Exception):
    """Stands for the end of a process."""


@pytest.mark.parametrize("step", range(1, 60, 13))
def test_a_promotion_that_stops_anywhere_is_completed_by_another(
    server: RedisServer, name: str, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    with open_gate(server, name) as live:
        live.check_in([document("live", 1)])
        fill(server, name, [document(f"old{n}", 100 + n) for n in range(20)])
        calls = count(1)

        def crashing(kind: str) -> None:
            original = getattr(Redis, kind)

            def call(self: Redis, *arguments: object, **options: object) -> object:
                if next(calls) == step:
                    raise Crash
                return original(self, *arguments, **options)

            patched.setattr(Redis, kind, call)

        with monkeypatch.context() as patched:
            for kind in ("rename", "eval", "set", "unlink", "hdel", "delete", "sadd"):
                crashing(kind)
            try:
                promoted(server, name)
            except Crash:
                pass
            else:
                pytest.fail("the promotion has fewer steps than that")
        assert live.check_in([document("live2", 2)])[0].relation is Relation.NEW  # live traffic goes on
        promoted(server, name)
        copies = live.check_in([document(f"copy{n}", 100 + n, edited=1) for n in range(20)])
        assert {verdict.relation for verdict in copies} == {Relation.NEAR}
        assert live.check_in([document("copy", 1)])[0].relation is Relation.EXACT
        assert live.with_store(lambda store: audit(store, live.method, live.profile)).left == 0
    assert keys_of(server, f"gate:{name}@1+old*") == set()


def test_live_traffic_during_a_promotion_passes_one_of_each_family_and_none_after_it(
    server: RedisServer, name: str
) -> None:
    """Four workers check in copies of live and of promoted documents, before, during and after the promotion."""
    families = range(40)
    fill(server, name, [document(f"old{seed}", seed) for seed in families if seed % 2])
    done = Event()

    def work(worker: int) -> list[tuple[int, bool, bool]]:
        """Family, whether the promotion had ended before, and whether the document passed."""
        results = []
        with open_gate(server, name) as gate:
            rounds = 0
            while rounds < 3 or not done.is_set():
                after = done.is_set()
                batch = [document(f"{worker}-{rounds}-{seed}", seed, edited=worker * 100 + rounds) for seed in families]
                verdicts = gate.check_in(batch)
                results += [(seed, after, not one.similar) for seed, one in zip(families, verdicts, strict=True)]
                rounds += 1
            last = [document(f"{worker}-last-{seed}", seed, edited=worker * 100 + 99) for seed in families]
            verdicts = gate.check_in(last)
            results += [(seed, True, not one.similar) for seed, one in zip(families, verdicts, strict=True)]
        return results

    with ThreadPoolExecutor(4) as pool:
        working = [pool.submit(work, worker) for worker in range(4)]
        promoted(server, name)
        done.set()
        results = [result for future in working for result in future.result()]
    passed = [seed for seed, _, passes in results if passes]
    assert all(passed.count(seed) == 1 for seed in families if not seed % 2)
    assert all(passed.count(seed) <= 1 for seed in families)
    assert not [seed for seed, after, passes in results if after and passes]
    with open_gate(server, name) as gate:
        assert gate.with_store(lambda store: audit(store, gate.method, gate.profile)).left == 0


def test_no_rotation_begins_during_a_promotion(server: RedisServer, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_gate(server, name) as live:
        live.check_in([document("live", 1)])
        fill(server, name, [document("old", 2)])
        prefixes = prefixes_of(f"gate:{name}@1")

        async def stopped(*arguments: object) -> None:
            raise Crash

        with monkeypatch.context() as patched:
            patched.setattr(staging, "_move", stopped)
            with pytest.raises(Crash):
                promoted(server, name)
        assert on_server(server, lambda client: current_view(client, prefixes)).promoting
        with pytest.raises(ConfigError, match="being promoted"):
            on_server(server, lambda client: rotate(client, prefixes, now=1.0))
        assert on_server(server, lambda client: keep_window(client, prefixes, 1.0, now=1e12)).promoting
        with pytest.raises(ConfigError, match="the promotion of old was begun"):
            open_gate(server, name, "old")
        promoted(server, name)
        on_server(server, lambda client: rotate(client, prefixes, now=1.0))
        assert live.check_in([document("copy", 2)])[0].relation is Relation.NEW  # the older one was dropped
        assert live.check_in([document("copy2", 1)])[0].relation is Relation.EXACT


def test_an_index_of_two_generations_has_room_only_if_the_older_is_dropped(server: RedisServer, name: str) -> None:
    with open_gate(server, name) as live:
        live.check_in([document("oldest", 1)])
        on_server(server, lambda client: rotate(client, prefixes_of(f"gate:{name}@1"), now=1.0))
        live.check_in([document("live", 2)])
        fill(server, name, [document("old", 3)])
        with pytest.raises(ConfigError, match="--drop-older"):
            promoted(server, name)
        promoted(server, name, drop_older=True)
        found = live.check_in([document(f"copy{seed}", seed, edited=1) for seed in (1, 2, 3)])
        assert [verdict.similar for verdict in found] == [False, True, True]


def test_what_is_not_complete_or_unknown_is_not_promoted(server: RedisServer, name: str) -> None:
    with open_gate(server, name):
        fill(server, name, [document("old", 1)], complete=False)
        with pytest.raises(ConfigError, match="old is not complete: end its replay"):
            promoted(server, name)
        with pytest.raises(ConfigError, match=r"other was never filled, or was promoted already; there are old"):
            promoted(server, name, "other")
        [found] = on_server(server, lambda client: staged_generations(client, f"gate:{name}@1"))
        assert (found.name, found.state, found.documents, found.promoting) == ("old", StagedState.FILLING, 1, False)


def test_one_promotion_at_a_time(server: RedisServer, name: str) -> None:
    with open_gate(server, name):
        fill(server, name, [document("old", 1)])
        with server.client() as client:
            client.set(prefixes_of(f"gate:{name}@1")[0] + b"p", b"another")
        with pytest.raises(ConfigError, match="another is being promoted"):
            promoted(server, name)


def test_a_dropped_generation_leaves_nothing_and_stops_what_fills_it(server: RedisServer, name: str) -> None:
    with open_gate(server, name) as live, open_gate(server, name, "old") as aside:
        live.check_in([document("live", 1)])
        aside.check_in([document("old", 2)])
        assert on_server(server, lambda client: drop(client, f"gate:{name}@1", "old")) > 0
        with pytest.raises(IndexLost):
            aside.check_in([document("old2", 3)])
        assert live.check_in([document("copy", 1)])[0].relation is Relation.EXACT
        with pytest.raises(ConfigError, match="there is none"):
            on_server(server, lambda client: drop(client, f"gate:{name}@1", "old"))
    assert keys_of(server, f"gate:{name}@1+old*") == set()


@pytest.mark.parametrize("generation", ["", "Old", "a b", "a{b}", "x" * 65])
def test_a_name_that_would_break_keys_is_refused(server: RedisServer, name: str, generation: str) -> None:
    with pytest.raises(ConfigError, match="is no name"):
        open_gate(server, name, generation)
