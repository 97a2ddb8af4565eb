"""With `redis_wait_replicas` a verdict is given when replicas have what it rests on: a failover loses nothing of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from itertools import count, islice

import pytest

from gate.api import Gate
from gate.core.profile import Profile
from gate.errors import ConfigError, NotReplicated
from gate.index.redis.client import NullObserver
from gate.index.redis.url import RedisSettings
from load.feed import SETTINGS, FaultyGate, RetryingFeed, stream
from load.redis_faults import AOF, Moment, end_master, holder_of_first_shard, is_master, promoted_by
from tests.support.servers import (
    RedisServer,
    is_in_sync,
    redis_cluster,
    redis_server,
    redis_with_sentinels,
    wait_until,
)

pytestmark = pytest.mark.redis

NUMBERS = count()
WAITING = replace(SETTINGS, wait_replicas=1, wait_timeout_seconds=0.2)


class Recorder(NullObserver):
    """The waits for replicas that succeeded, and the codes of those that failed."""

    def __init__(self) -> None:
        self.succeeded = 0
        self.codes: list[str] = []

    def round_trip(self, operation: str, seconds: float) -> None:
        self.succeeded += operation == "wait_replicas"

    def failed(self, operation: str, reason: str) -> None:
        if operation == "wait_replicas":
            self.codes.append(reason)


def profile() -> Profile:
    return Profile(name=f"replication-{next(NUMBERS)}")


@contextmanager
def replicated_server(*options: str) -> Iterator[tuple[RedisServer, RedisServer]]:
    """A master and its replica, in sync."""
    with ExitStack() as stack:
        master = stack.enter_context(redis_server(*options))
        replica = stack.enter_context(redis_server("--replicaof", "127.0.0.1", str(master.port)))
        wait_until(partial(is_in_sync, replica), "the replica did not synchronise")
        yield master, replica


def test_a_batch_that_too_few_replicas_have_is_no_verdict_and_gets_one_when_they_have_it() -> None:
    recorder, documents = Recorder(), list(islice(stream(1), 16))
    with (
        replicated_server() as (master, replica),
        Gate(profile(), index=master.url, redis=WAITING, observer=recorder) as gate,
    ):
        first = gate.check_in(documents[:8])
        assert (recorder.succeeded, recorder.codes) == (1, [])
        replica.stop()
        for _ in range(2):
            with pytest.raises(NotReplicated, match=r"0 of 1 replicas acknowledged .* within 0.2 s"):
                gate.check_in(documents)
        with pytest.raises(NotReplicated):
            gate.delete(["unknown"])
        replica.start()
        wait_until(partial(is_in_sync, replica), "the replica did not come back")
        assert gate.check_in(documents)[:8] == first
        assert recorder.codes == ["not_replicated"] * 3


def test_without_the_setting_nothing_is_waited_for() -> None:
    recorder = Recorder()
    with redis_server() as alone, Gate(profile(), index=alone.url, observer=recorder) as gate:
        gate.check_in(list(islice(stream(1), 4)))
    assert not recorder.succeeded
    assert not recorder.codes


def test_a_batch_during_which_the_master_restarted_is_judged_again_with_the_same_verdicts() -> None:
    documents = list(islice(stream(1), 16))
    recorder = Recorder()
    with (
        replicated_server(*AOF, "always") as (master, replica),
        FaultyGate(profile(), index=master.url, redis=WAITING, observer=recorder) as gate,
    ):
        feed = RetryingFeed(gate, iter(documents))
        feed.run()
        master.stop()
        master.start()
        wait_until(partial(is_in_sync, replica), "the replica did not come back")
        feed.retry(lambda: gate.check_in(documents))
        assert "unavailable" in recorder.codes
        assert feed.count_changed() == 0
        recorder.codes.clear()
        gate.check_in(documents)
        assert not recorder.codes


def lost_by(gate: FaultyGate, fault: Callable[[Moment], None], url: str, settings: RedisSettings) -> int:
    """Documents that were answered before a master ended, and lack something afterwards."""
    moment = Moment()
    feed = RetryingFeed(gate, stream(1))
    feed.during(lambda: fault(moment), after=4)
    assert moment.at is not None
    answered = zip(feed.answered, feed.answered_at, strict=True)
    before = [pair for pair, at in answered if at <= (moment.at or 0) and not pair[1].similar]
    assert len(before) > 50
    with FaultyGate(gate.profile, index=url, redis=settings) as fresh:
        return len(fresh.incomplete(before))


@pytest.mark.parametrize("waits", [True, False])
def test_a_failover_to_a_replica_that_was_behind_loses_nothing_that_was_waited_for(waits: bool) -> None:
    settings = WAITING if waits else SETTINGS
    with redis_with_sentinels() as watched:
        fault = end_master(watched.master, promoted_by(watched), 0.5, successor=watched.replica)
        with FaultyGate(profile(), index=watched.url, redis=settings) as gate:
            lost = lost_by(gate, fault, watched.url, settings)
    assert lost == 0 if waits else lost > 0


@pytest.mark.parametrize("waits", [True, False])
def test_a_failover_in_a_cluster_loses_nothing_that_was_waited_for(waits: bool) -> None:
    settings = WAITING if waits else SETTINGS
    with redis_cluster(3, replicas=1) as cluster:
        master = holder_of_first_shard(cluster)
        end = end_master(master, is_master(cluster.replica_of(master)), 0.5)

        def fault(moment: Moment) -> None:
            end(moment)
            time.sleep(0.1)
            master.start()  # as a replica of its successor

        with FaultyGate(profile(), index=cluster.url, redis=settings) as gate:
            lost = lost_by(gate, fault, cluster.url, settings)
    assert lost == 0 if waits else lost > 0


def test_a_wait_that_outlasts_a_call_is_refused_before_anything_is_opened() -> None:
    with pytest.raises(ConfigError, match="redis_wait_timeout_seconds: 5 is not below"):
        Gate(profile(), index="redis://127.0.0.1:1", redis=RedisSettings(wait_replicas=1, wait_timeout_seconds=5.0))
