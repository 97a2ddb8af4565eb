"""What is lost, and what is not, when Redis fails under load: `python -m load.redis_faults [--only WORD] [--json]`.

A feed of documents, 30 % of them copies, goes on while a server is restarted, killed, cut off or replaced. Then it is
measured, in this order

    lost               documents that had passed and now lack something: the answer, the entry or a posting
    oldest seconds     how long before the end of the old server the oldest of them was acknowledged
    let through        copies of documents that had passed which would pass now
    wrong              verdicts of the feed that a gate in memory would not have given
    changed            verdicts that are others when everything is checked in again
    left               copies that would pass after that
    verify found       faults that `gate index verify --fix` found
    left at last       copies that would pass when everything was checked in once more after that

Tickets must rise in every case; where one does not, the run ends with an error. The exit code is 1 if a fault that must
lose nothing lost something, or if copies would still pass in the end.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain, repeat
from pathlib import Path

from redis.exceptions import MovedError

from gate.index.redis.layout import SHARDS, hash_tags
from gate.index.redis.url import RedisSettings
from load.feed import SETTINGS, FaultyGate, RetryingFeed, stream
from load.measure import BenchmarkReport
from tests.support.servers import (
    MASTER_NAME,
    RedisCluster,
    RedisServer,
    SentinelGroup,
    cutting_proxy,
    redis_cluster,
    redis_server,
    redis_with_sentinels,
    wait_until,
)

PROFILE = "standard"
AOF = ("--appendonly", "yes", "--appendfsync")
GUARDED = ("--min-replicas-to-write", "1", "--min-replicas-max-lag", "2")
WAITING = replace(SETTINGS, wait_replicas=1, wait_timeout_seconds=0.2)
POWER_SECONDS = 1.0  # of the file that a power cut may take with `everysec`


@dataclass(slots=True, kw_only=True)
class Damage:
    fault: str
    may_lose: bool
    passed: int = 0  # documents that had passed when it happened
    retries: int = 0
    longest_wait: float = 0.0
    lost: int = 0
    oldest_seconds: float = 0.0
    let_through: int = 0
    wrong: int = 0
    changed: int = 0
    left: int = 0
    verify_found: int = 0
    left_at_last: int = 0

    @property
    def as_expected(self) -> bool:
        harm = self.lost + self.let_through + self.wrong + self.changed + self.left + self.verify_found
        return not self.left_at_last and (self.may_lose or not harm)


class Moment:
    """When a server ended."""

    at: float | None = None

    def now(self) -> None:
        self.at = time.monotonic()


Fault = Callable[[Moment], None]


@dataclass(frozen=True, slots=True)
class Case:
    """An index, what happens to it, and where to check it afterwards if that is another URL."""

    url: str
    fault: Fault
    checked_at: str = ""
    settings: RedisSettings = SETTINGS


def measure(name: str, case: Case, *, may_lose: bool) -> Damage:
    """Inject a fault into an index under load, and count what is lost."""
    moment = Moment()
    damage = Damage(fault=name, may_lose=may_lose)
    with FaultyGate(PROFILE, index=case.url, redis=case.settings) as gate:
        feed = RetryingFeed(gate, stream(1))
        feed.during(lambda: case.fault(moment))
    ended = moment.at or time.monotonic()
    times = {document.document_id: when for (document, _), when in zip(feed.answered, feed.answered_at, strict=True)}
    passed = [pair for pair in feed.passed if times[pair[0].document_id] <= ended]
    with FaultyGate(PROFILE, index=case.checked_at or case.url, redis=case.settings) as fresh:
        assert fresh.ticket() > feed.highest_ticket, "tickets fell back"  # it has read none of them
        feed.gate = fresh
        lost = fresh.incomplete(passed)
        damage.passed, damage.lost = len(passed), len(lost)
        damage.oldest_seconds = round(max((ended - times[name] for name in lost), default=0.0), 2)
        damage.retries, damage.longest_wait = feed.retries, round(feed.longest_seconds, 2)
        damage.let_through = fresh.count_missed(passed)
        damage.wrong = feed.count_unexpected()
        damage.changed = feed.count_changed()
        damage.left = fresh.count_missed(passed)
        damage.verify_found = fresh.count_findings(fix=True)
        feed.count_changed()
        damage.left_at_last = fresh.count_missed(passed)
    return damage


# One server.


def restart(server: RedisServer) -> Fault:
    def fault(moment: Moment) -> None:
        server.stop()
        moment.now()
        server.start()

    return fault


def crash(server: RedisServer, *, times: int = 5) -> Fault:
    """Killed (-9) at random moments."""

    def fault(moment: Moment) -> None:
        for _ in range(times):
            time.sleep(random.random() * 0.3)
            server.kill()
            moment.now()
            server.start()

    return fault


def power_cut(server: RedisServer) -> Fault:
    """The last second of the file never reached the disk."""

    def fault(moment: Moment) -> None:
        time.sleep(2 * POWER_SECONDS)
        [log] = (server.folder / "appendonlydir").glob("*.incr.aof")
        written = log.stat().st_size
        time.sleep(POWER_SECONDS)
        server.kill()
        moment.now()
        with Path(log).open("r+b") as file:
            file.truncate(written)
        server.start()

    return fault


def flush_scripts(server: RedisServer) -> Fault:
    def fault(moment: Moment) -> None:
        with server.client() as client:
            for _ in range(50):
                client.script_flush()
                time.sleep(0.02)

    return fault


def kill_connections(server: RedisServer) -> Fault:
    def fault(moment: Moment) -> None:
        with server.client() as client:
            for _ in range(50):
                client.client_kill_filter(_type="normal", skipme=True)
                time.sleep(0.02)

    return fault


# Replicas.


def end_master(
    master: RedisServer, promoted: Callable[[], bool], behind_seconds: float, *, successor: RedisServer | None = None
) -> Fault:
    """Kill a master, some time after its replica was cut off, and wait for the replica in its place. It comes back as a
    replica of its successor: left to itself it would come back as a master, and empty, and might be followed again."""

    def fault(moment: Moment) -> None:
        if behind_seconds:
            cut_replication(master)
            time.sleep(behind_seconds)
        master.kill()
        moment.now()
        wait_until(promoted, "no replica was promoted")
        if successor is not None:
            master.options = (*master.options, "--replicaof", "127.0.0.1", str(successor.port))
            master.start()

    return fault


def cut_replication(master: RedisServer) -> None:
    """New connections need a password from now on, and a replica has none; others stay as they are."""
    with master.client() as client:
        client.config_set("requirepass", "unknown")
        client.client_kill_filter(_type="replica")


def promoted_by(watched: SentinelGroup) -> Callable[[], bool]:
    def promoted() -> bool:
        with watched.sentinels[0].client() as client:
            return bool(client.sentinel_get_master_addr_by_name(MASTER_NAME)[1] == watched.replica.port)

    return promoted


def is_master(server: RedisServer) -> Callable[[], bool]:
    def promoted() -> bool:
        with server.client() as client:
            return bool(client.info("replication")["role"] == "master")

    return promoted


def holder_of_first_shard(cluster: RedisCluster) -> RedisServer:
    """The master whose loss costs most: the tickets are there."""
    for server in cluster.servers:
        with server.client() as client:
            try:
                client.get(f"{{{hash_tags(SHARDS)[0]}}}")
            except MovedError:
                continue
            return server
    raise RuntimeError("no master has the first shard")


def fail_over(replica: RedisServer) -> Fault:
    def fault(moment: Moment) -> None:
        with replica.client() as client:
            client.execute_command("CLUSTER FAILOVER")
        wait_until(is_master(replica), "it was not promoted")

    return fault


def move_slots(cluster: RedisCluster, *, slots: int = 1500) -> Fault:
    """There and back: the shards among them are refused while they move."""

    def fault(moment: Moment) -> None:
        one, other = cluster.servers[:2]
        cluster.reshard(one, other, slots)
        cluster.reshard(other, one, slots)

    return fault


# All of them.


@contextmanager
def single(*options: str, fault: Callable[[RedisServer], Fault]) -> Iterator[Case]:
    with redis_server(*options) as server:
        yield Case(server.url, fault(server))


@contextmanager
def cut_after_bytes() -> Iterator[Case]:
    rng = random.Random(1)
    budgets = chain((rng.randrange(50_000, 200_000) for _ in range(40)), repeat(None))
    with redis_server() as server, cutting_proxy(server, budgets) as url:
        yield Case(url, lambda moment: time.sleep(1.0), server.url)


@contextmanager
def watched(*options: str, behind_seconds: float = 0.0, settings: RedisSettings = SETTINGS) -> Iterator[Case]:
    with redis_with_sentinels(*options) as made:
        successor = made.replica if options or settings.wait_replicas else None  # which asks for a replica too
        fault = end_master(made.master, promoted_by(made), behind_seconds, successor=successor)
        yield Case(made.url, fault, settings=settings)


@contextmanager
def replicated(*, behind_seconds: float = 0.0) -> Iterator[Case]:
    with redis_cluster(3, replicas=1) as made:
        master = holder_of_first_shard(made)
        yield Case(made.url, end_master(master, is_master(made.replica_of(master)), behind_seconds))


@contextmanager
def by_hand() -> Iterator[Case]:
    with redis_cluster(3, replicas=1) as made:
        yield Case(made.url, fail_over(made.replica_of(holder_of_first_shard(made))))


@contextmanager
def moved() -> Iterator[Case]:
    with redis_cluster(3) as made:
        yield Case(made.url, move_slots(made))


LOSSLESS: dict[str, Callable[[], AbstractContextManager[Case]]] = {
    "restarted, AOF everysec": partial(single, *AOF, "everysec", fault=restart),
    "killed 5 times, AOF always": partial(single, *AOF, "always", fault=crash),
    "killed 5 times, AOF everysec": partial(single, *AOF, "everysec", fault=crash),
    "scripts flushed 50 times": partial(single, fault=flush_scripts),
    "connections killed 50 times": partial(single, fault=kill_connections),
    "connections cut after some bytes": cut_after_bytes,
    "cluster: slots moved": moved,
    "cluster: failover by hand": by_hand,
    "sentinel: cut off 0.5 s before, redis_wait_replicas": partial(watched, behind_seconds=0.5, settings=WAITING),
}
LOSSY: dict[str, Callable[[], AbstractContextManager[Case]]] = {
    "power cut, AOF everysec": partial(single, *AOF, "everysec", fault=power_cut),
    "sentinel: master killed": watched,
    "sentinel: replica cut off 0.5 s before": partial(watched, behind_seconds=0.5),
    "sentinel: cut off 4 s before, min-replicas": partial(watched, *GUARDED, behind_seconds=4.0),
    "cluster: master killed": replicated,
    "cluster: replica cut off 0.5 s before": partial(replicated, behind_seconds=0.5),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m load.redis_faults", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", default="", help="faults whose name has this word in it")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = []
    for name, make in (LOSSLESS | LOSSY).items():
        if options.only in name:
            print(name, "...", file=sys.stderr)
            with make() as case:
                found.append(measure(name, case, may_lose=name in LOSSY))
    report = BenchmarkReport("Faults of Redis under load", {"profile": PROFILE})
    report.add("what is left", [{k.replace("_", " "): v for k, v in asdict(one).items()} for one in found])
    report.show(as_json=options.json)
    return 0 if all(one.as_expected for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
