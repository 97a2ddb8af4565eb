"""What does not answer for a while: the index, the broker. Nothing is lost, and the gate goes on by itself."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.brokers import KafkaServer, TopicFactory, kafka_server
from tests.support.servers import RedisServer, redis_server
from tests.support.stage import SESSION_SECONDS, Sent, Stage

Staging = Callable[..., Stage]

TEXT = "Of all the maps in the archive, this one shows the river before it was led around the town in a new bed."


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """One that a test may stop."""
    with redis_server("--appendonly", "yes", "--appendfsync", "always") as server:
        yield server


def numbered(count: int, begin: int = 0) -> list[Sent]:
    return [Sent.of(f"d{n}", f"{n} " * 20 + TEXT + f" {n}" * 20) for n in range(begin, begin + count)]


@pytest.mark.redis
def test_while_the_index_is_away_the_gate_waits_stays_in_the_group_and_says_so(
    stage: Staging, own_redis: RedisServer
) -> None:
    on = stage(own_redis.url)
    worker = on.start()
    own_redis.stop()
    on.send(numbered(20))
    reasons = worker.until_ready(ready=False)
    assert reasons["index"].startswith("unavailable")
    time.sleep(SESSION_SECONDS * 1.5)  # longer than a worker may be silent
    own_redis.start()
    assert len(on.verdicts(20)) == 20
    worker.until_ready()
    assert worker.log.read_text().count("partitions.assigned") == 1
    metrics = worker.metrics()
    assert 'gate_dependency_up{dependency="index"} 1.0' in metrics
    assert not on.everything(on.topics.dead_letters)


@pytest.mark.redis
def test_documents_may_pass_unchecked_while_the_index_is_away_and_their_verdicts_say_so(
    stage: Staging, own_redis: RedisServer
) -> None:
    on = stage(own_redis.url, partitions=1)
    on.start(on_index_unavailable="pass_unchecked")
    own_redis.stop()
    on.send([*numbered(3), Sent(None, b"d0")])
    told = on.verdicts(3)
    assert [(one["relation"], one["similar"], one["degraded"]) for one in told] == [("new", False, ["unchecked"])] * 3
    [letter] = on.read(on.topics.dead_letters, 1)
    assert json.loads(letter.value)["reason"] == "index_unavailable"
    own_redis.start()
    for n in range(1000):  # the index is left alone for a moment after it did not answer
        on.send(numbered(1, begin=100 + n))
        if not on.verdicts(4 + n)[-1]["degraded"]:
            return
    pytest.fail("the index was never asked again")


@pytest.mark.redis
def test_an_index_that_is_away_at_the_start_is_waited_for(stage: Staging, own_redis: RedisServer) -> None:
    on = stage(own_redis.url)
    on.send(numbered(2))
    own_redis.stop()
    worker = on.start(wait=False)
    worker.until_ready(ready=False)
    own_redis.start()
    assert [one["degraded"] for one in on.verdicts(2)] == [[], []]


@pytest.mark.redis
def test_where_documents_may_pass_they_pass_before_the_index_was_ever_there(
    stage: Staging, own_redis: RedisServer
) -> None:
    on = stage(own_redis.url)
    on.send(numbered(2))
    own_redis.stop()
    on.start(wait=False, on_index_unavailable="pass_unchecked")
    assert [one["degraded"] for one in on.verdicts(2)] == [["unchecked"]] * 2


@pytest.mark.kafka
@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_a_broker_that_goes_and_comes_back_costs_nothing_but_time(tmp_path: Path, delivery: str) -> None:
    with kafka_server() as broker:
        on = Stage.fresh(TopicFactory(broker.brokers, "away"), tmp_path, str(tmp_path / "index.sqlite"))
        try:
            worker = on.start(delivery=delivery)
            on.send(numbered(20))
            assert len(on.verdicts(20)) == 20
            broker.kill()
            time.sleep(SESSION_SECONDS)
            broker.start()
            on.send(numbered(20, begin=20))
            told = on.verdicts(40)
            assert {one["document_id"] for one in told} == {f"d{n}" for n in range(40)}
            assert worker.process.poll() is None
            assert worker.stop() == 0
            assert delivery == "at_least_once" or len(on.everything(on.topics.verdicts)) == 40
        finally:
            on.close()


@pytest.mark.redis
def test_who_is_told_to_stop_while_the_index_is_away_stops_soon_and_commits_nothing(
    stage: Staging, own_redis: RedisServer
) -> None:
    on = stage(own_redis.url)
    worker = on.start()
    own_redis.stop()
    on.send(numbered(5))
    worker.until_ready(ready=False)
    assert worker.stop(seconds=20) == 0
    assert sum(on.committed().values()) == 0


@pytest.mark.redis
def test_a_worker_that_was_frozen_and_lost_its_partitions_changes_nothing(
    stage: Staging, kafka: KafkaServer, own_redis: RedisServer
) -> None:
    on = stage(own_redis.url, partitions=1)
    first = on.start(delivery="exactly_once")
    on.send(numbered(5))
    on.verdicts(5)
    first.process.send_signal(signal.SIGSTOP)
    second = on.start(wait=False, delivery="exactly_once")
    on.send(numbered(5, begin=5))
    assert len(on.verdicts(10)) == 10
    first.process.send_signal(signal.SIGCONT)
    second.until_ready()
    on.send(numbered(5, begin=10))
    told = on.verdicts(15)
    assert sorted({one["document_id"] for one in told}) == sorted(f"d{n}" for n in range(15))
    assert first.stop() == 0
    assert second.stop() == 0
    assert len(on.everything(on.topics.verdicts)) == 15
