"""Redis is killed, cut off, moved and replaced within batches: what was answered is kept, or the loss is known.

The long form, with what each fault costs: `python -m load.redis_faults`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import chain, count, repeat

import numpy as np
import pytest
from redis.exceptions import MovedError

from gate.core.method_registry import BodyLayout
from gate.core.profile import Profile
from gate.errors import IndexLost, Unavailable
from gate.index.redis.connect import open_store
from gate.index.redis.layout import SHARDS, hash_tags, prefixes_of
from gate.index.store import Keys
from load.feed import SETTINGS, FaultyGate, RetryingFeed, stream
from load.redis_faults import AOF, cut_replication, holder_of_first_shard, is_master, promoted_by
from tests.support.servers import (
    RedisCluster,
    RedisServer,
    cutting_proxy,
    redis_cluster,
    redis_server,
    redis_with_sentinels,
    wait_until,
)

pytestmark = pytest.mark.redis

NUMBERS = count()
STEPS = 12  # more than the claim of a batch has


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as started:
        yield started


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with redis_cluster(3) as made:
        yield made


def open_gate(url: str, name: str = "") -> FaultyGate:
    """A gate of its own index, unless it is named."""
    return FaultyGate(Profile(name=name or f"faults-{next(NUMBERS)}"), index=url, redis=SETTINGS)


def assert_as_if_nothing_happened(feed: RetryingFeed) -> None:
    """The verdicts are those of a calm day, they are given again, and the index is whole, with nothing twice."""
    assert feed.count_unexpected() == 0
    assert feed.gate.incomplete(feed.passed) == set()
    assert feed.gate.count_missed(feed.passed) == 0
    assert feed.count_changed() == 0
    assert feed.gate.count_findings(fix=False) == 0
    assert feed.gate.info()["postings"] == feed.postings


def at_every_step(feed: RetryingFeed, fault: Callable[[], object]) -> None:
    feed.run(2)
    for step in range(1, STEPS):
        feed.gate.faulty_store.arm(step, fault)
        feed.run()
    feed.gate.faulty_store.disarm()


class TestOneServer:
    @pytest.mark.parametrize("fsync", ["always", "everysec"])
    def test_a_server_killed_at_any_step_of_a_batch_has_what_it_acknowledged(self, fsync: str) -> None:
        with redis_server(*AOF, fsync) as server, open_gate(server.url) as gate:

            def start_again() -> None:
                if server.process is None:
                    server.start()

            feed = RetryingFeed(gate, stream(2), recover=start_again)
            at_every_step(feed, server.kill)
            assert feed.retries >= STEPS // 2
            assert_as_if_nothing_happened(feed)

    def test_a_restarted_server_goes_on(self) -> None:
        with redis_server(*AOF, "everysec") as server, open_gate(server.url) as gate:

            def restart() -> None:
                server.stop()
                server.start()

            feed = RetryingFeed(gate, stream(3))
            at_every_step(feed, restart)
            assert_as_if_nothing_happened(feed)

    def test_scripts_that_are_flushed_at_any_step_are_brought_back(self, server: RedisServer) -> None:
        with open_gate(server.url) as gate, server.client() as client:
            feed = RetryingFeed(gate, stream(4))
            at_every_step(feed, client.script_flush)
            assert feed.retries == 0
            assert_as_if_nothing_happened(feed)

    def test_connections_that_are_killed_at_any_step_are_made_again(self, server: RedisServer) -> None:
        with open_gate(server.url) as gate, server.client() as client:
            feed = RetryingFeed(gate, stream(5))
            at_every_step(feed, lambda: client.client_kill_filter(_type="normal", skipme=True))
            assert_as_if_nothing_happened(feed)

    @pytest.mark.parametrize("seed", range(3))
    def test_connections_may_be_cut_after_any_byte(self, server: RedisServer, seed: int) -> None:
        rng = random.Random(seed)
        bytes_left = [int(10 ** rng.uniform(2.5, 4.7)) for _ in range(40)]
        budgets = chain([50_000], (bytes_left.pop() for _ in range(40)), repeat(None))
        name = f"cut-{seed}"
        with open_gate(server.url, name) as straight, cutting_proxy(server, budgets) as url:
            with open_gate(url, name) as cut:
                feed = RetryingFeed(cut, stream(6 + seed))
                while bytes_left:
                    feed.run()
            assert feed.retries
            feed.gate = straight
            assert_as_if_nothing_happened(feed)

    def test_out_of_memory_in_the_middle_of_a_batch_leaves_nothing_half_done(self) -> None:
        with redis_server("--maxmemory-policy", "noeviction") as server, server.client() as client:

            def make_room() -> None:
                client.config_set("maxmemory", 0)

            def fill() -> None:
                client.config_set("maxmemory", client.info("memory")["used_memory"])

            with open_gate(server.url) as gate:
                feed = RetryingFeed(gate, stream(10), recover=make_room)
                feed.run(2)
                for step in range(1, STEPS):
                    gate.faulty_store.arm(step, fill)
                    feed.run()
                    gate.faulty_store.disarm()
                    make_room()
                assert feed.retries >= STEPS // 2
                assert_as_if_nothing_happened(feed)
                fill()
                with pytest.raises(Unavailable, match="out of memory: raise its maxmemory"):
                    gate.check_in([next(feed.documents)])

    def test_a_process_does_not_cache_copies(self, server: RedisServer) -> None:
        with open_gate(server.url) as gate:
            feed = RetryingFeed(gate, stream(9))
            feed.run(4)
            assert len(feed.passed) < len(feed.answered)
            assert not getattr(gate.faulty_store.store, "_unappended")  # noqa: B009 - nothing else shows it

    def test_a_server_that_came_back_empty_is_not_taken_for_a_new_one(self) -> None:
        with redis_server() as server, open_gate(server.url) as gate:
            feed = RetryingFeed(gate, stream(11))
            feed.run(2)
            server.kill()
            server.start()
            for _ in range(2):
                with pytest.raises(IndexLost, match=r"the index is gone from Redis: .* `gate index rebuild"):
                    gate.check_in([next(feed.documents)])

    def test_a_missing_shard_is_not_recreated_silently(self, server: RedisServer) -> None:
        with open_gate(server.url) as gate, server.client() as client:
            feed = RetryingFeed(gate, stream(12))
            feed.run(1)
            client.delete(f"gate:{gate.profile.ref}:{{{hash_tags(SHARDS)[7]}}}:v")
            with pytest.raises(IndexLost, match=r"1 of 16 shards \(7\)"):
                feed.gate.check_in([document for document, _ in feed.answered])


class TestTickets:
    def test_tickets_rise_where_the_counter_was_lost(self, server: RedisServer) -> None:
        """Where none is known, by the server's clock; where some are, above these even where the clock is late."""
        with open_gate(server.url) as gate, server.client() as client:
            key = f"gate:{gate.profile.ref}:{{{hash_tags(SHARDS)[0]}}}:t"
            first = gate.ticket()
            client.delete(key)
            with open_gate(server.url, gate.profile.name) as fresh:
                assert fresh.ticket() > first

            ahead = first + 3_600_000_000  # as if the last server's clock had been an hour ahead
            client.set(key, ahead)
            assert gate.ticket() == ahead + 1
            client.delete(key)
            assert gate.ticket() == ahead + 2

    def test_a_ticket_that_was_only_read_counts_too(self, server: RedisServer) -> None:
        with open_gate(server.url) as gate, server.client() as client:
            key = f"gate:{gate.profile.ref}:{{{hash_tags(SHARDS)[0]}}}:t"
            ahead = gate.ticket() + 3_600_000_000
            client.set(key, ahead)
            documents = stream(13)
            [verdict] = gate.check_in([next(documents)])
            with open_gate(server.url, gate.profile.name) as fresh:
                assert fresh.check_in([next(stream(13))]) == [verdict]  # its record was read
                assert fresh.find_similar(document_id=verdict.document_id) == []
                client.delete(key)
                assert fresh.ticket() > ahead


class TestLog:
    @pytest.mark.parametrize("later", [1, 2, 3])
    async def test_appends_in_the_place_of_lost_ones_are_read(self, server: RedisServer, later: int) -> None:
        """A process that read before a failover reads on after it: others may have appended in the place of what it
        lost."""
        ref = f"log-{next(NUMBERS)}@1"
        key, prefix = np.array([(1 << 32) + 1], np.uint64), prefixes_of(f"gate:{ref}")[1]

        def number(n: int) -> Keys:
            return np.array([n], np.uint64)

        store = await open_store(server.url, profile_ref=ref, digest="d", layout=BodyLayout(140, {}), max_bucket=100)
        try:
            for entry in (1, 2, 3):
                await store.append(key, number(entry), number(0))
            mark = (await store.read(key)).mark
            with server.client() as client:
                for _ in range(2):
                    client.rpop(prefix.decode() + "l")
                buckets, name = prefix.decode() + "0b", "\1\0\0\1"
                client.hset(buckets, name, (client.hget(buckets, name) or b"")[:16])
            for entry in range(10, 10 + later):
                await store.append(key, number(entry), number(0))
            postings = await store.read(key, since=mark)
        finally:
            await store.close()
        assert set(range(10, 10 + later)) <= set(postings.entries.tolist())


class TestReplicas:
    def test_a_replica_that_is_promoted_by_sentinels_goes_on_where_the_master_was(self) -> None:
        with redis_with_sentinels() as watched, open_gate(watched.url) as gate:
            feed = RetryingFeed(gate, stream(20))

            def end() -> None:
                in_step(watched.master, "any")
                watched.master.kill()

            feed.run(2)
            gate.faulty_store.arm(5, end)
            feed.run(3)
            assert promoted_by(watched)()
            assert feed.retries
            assert_as_if_nothing_happened(feed)

    def test_documents_that_a_late_replica_never_got_are_judged_anew_and_tickets_rise(self) -> None:
        with redis_with_sentinels() as watched, open_gate(watched.url) as gate:
            feed = RetryingFeed(gate, stream(21))
            feed.run(3)
            kept = list(feed.passed)
            in_step(watched.master, "any")
            cut_replication(watched.master)
            feed.run(3)
            lost = feed.passed[len(kept) :]
            watched.master.kill()
            wait_until(promoted_by(watched), "no replica was promoted")
            [verdict] = feed.retry(lambda: gate.check_in([lost[0][0]]))
            assert verdict == lost[0][1]
            with open_gate(watched.url, gate.profile.name) as fresh:
                assert fresh.ticket() > feed.highest_ticket
            assert gate.incomplete(kept) == set()
            assert gate.incomplete(lost) == {document.document_id for document, _ in lost[1:]}
            assert feed.count_changed() == 0  # nothing came in between: the same stream gives the same verdicts
            assert gate.count_missed(feed.passed) == 0

    def test_a_cluster_that_promotes_a_replica_goes_on(self) -> None:
        with redis_cluster(3, replicas=1) as made, open_gate(made.url) as gate:
            master = holder_of_first_shard(made)
            replica = made.replica_of(master)
            feed = RetryingFeed(gate, stream(22))

            def end() -> None:
                in_step(master, f"{{{hash_tags(SHARDS)[0]}}}")
                master.kill()

            feed.run(2)
            gate.faulty_store.arm(5, end)
            feed.run(3)
            assert is_master(replica)()
            assert feed.retries
            assert_as_if_nothing_happened(feed)
            with open_gate(made.url, gate.profile.name) as fresh:
                assert fresh.ticket() > feed.highest_ticket


class TestMovingSlots:
    def test_slots_may_move_under_load(self, cluster: RedisCluster) -> None:
        with open_gate(cluster.url) as gate:
            feed = RetryingFeed(gate, stream(30))
            feed.during(lambda: cluster.reshard(cluster.servers[0], cluster.servers[1], 600), before=3, after=3)
            assert_as_if_nothing_happened(feed)

    @pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
    def test_a_shard_is_refused_while_some_of_it_is_here_and_some_there(
        self, cluster: RedisCluster, share: float
    ) -> None:
        with open_gate(cluster.url) as gate:
            feed = RetryingFeed(gate, stream(31))
            feed.run(3)
            tag = hash_tags(SHARDS)[5]
            giver = holder(cluster, tag)
            taker = next(server for server in cluster.servers if server is not giver)
            with giver.client() as source, taker.client() as target:
                source.set_response_callback("CLUSTER GETKEYSINSLOT", bytes_as_they_are)
                names = [client.execute_command("CLUSTER MYID").decode() for client in (source, target)]
                slot = int(source.execute_command("CLUSTER KEYSLOT", tag))
                target.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", names[0])
                source.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", names[1])
                keys = source.execute_command("CLUSTER GETKEYSINSLOT", slot, 1_000_000)
                moved = round(len(keys) * share)
                for key in keys[:moved]:
                    source.execute_command("MIGRATE", "127.0.0.1", taker.port, key, 0, 5000)
                batch = [next(feed.documents) for _ in range(64)]
                with pytest.raises(Unavailable, match="moving a slot"):
                    gate.check_in(batch)
                for key in keys[moved:]:  # no client wrote the same key on the other side: it would be BUSYKEY
                    assert source.execute_command("MIGRATE", "127.0.0.1", taker.port, key, 0, 5000) == b"OK"
                for client in (target, source):
                    client.execute_command("CLUSTER SETSLOT", slot, "NODE", names[1])
            feed.documents = chain(batch, feed.documents)
            feed.run(4)
            assert_as_if_nothing_happened(feed)


def bytes_as_they_are(reply: list[bytes]) -> list[bytes]:
    """redis-py takes names of keys for text."""
    return reply


def holder(cluster: RedisCluster, tag: str) -> RedisServer:
    for server in cluster.servers:
        with server.client() as client:
            try:
                client.get(f"{{{tag}}}")
            except MovedError:
                continue
            return server
    raise AssertionError("no server holds that slot")


def in_step(master: RedisServer, key: str) -> None:
    """Wait until the replica has all that the master has."""
    with master.client() as client:
        client.set(key, "")
        assert client.wait(1, 5000) == 1
