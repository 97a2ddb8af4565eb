"""Workers join and leave: each partition is answered in order, and no offset is committed before its answer."""

from __future__ import annotations

import json
import os
import signal
from collections import defaultdict

from tests.support.gate_on_kafka import GateFactory, InputRecord
from tests.support.servers import RedisServer, wait_until

TEXT = "A keeper of bees writes down each spring when the first blossom opens and how many frames the colony covers."


def test_reassigned_partitions_are_answered_in_order_and_without_a_gap(
    gate_on_kafka: GateFactory, shared_redis: RedisServer
) -> None:
    gate = gate_on_kafka(shared_redis.url, partitions=4, verdict_partitions=1)
    sent = 0

    def check_in(count: int) -> None:
        nonlocal sent
        gate.send(InputRecord.of(f"d{n}", f"{n} " * 30 + TEXT + f" {n}" * 30) for n in range(sent, sent + count))
        sent += count

    first = gate.start()
    check_in(150)
    second = gate.start(wait=False)  # the group is rebalanced while the first one works
    check_in(150)
    second.wait_ready()
    check_in(150)
    assert first.stop() == 0
    check_in(150)
    gate.wait_committed(sent)
    assert second.stop() == 0

    offsets: dict[int, list[int]] = defaultdict(list)
    for record in gate.all_records(gate.topics.verdicts):
        origin = json.loads(record.value)["origin"]
        if origin["offset"] not in offsets[origin["partition"]]:
            offsets[origin["partition"]].append(origin["offset"])
    committed = gate.committed_offsets()
    assert sum(committed.values()) == sent
    assert offsets == {partition: list(range(end)) for partition, end in committed.items()}


def test_a_worker_that_was_killed_is_restarted_and_the_others_keep_their_partitions(
    gate_on_kafka: GateFactory, shared_redis: RedisServer
) -> None:
    gate = gate_on_kafka(shared_redis.url, partitions=4)
    process = gate.start(workers=2, kafka_session_timeout_seconds=30)
    wait_until(lambda: process.assigned_partitions() == {"0": 2, "1": 2}, "the partitions are not divided")
    before = len(process.events("partitions.revoked"))
    [started] = [event for event in process.events("process.started") if event["worker"] == "1"]
    os.kill(started["pid"], signal.SIGKILL)
    wait_until(lambda: process.events("process.restarted") != [], "the worker is not restarted")
    process.wait_ready()
    gate.send(InputRecord.of(f"d{n}", TEXT, partition=n % 4) for n in range(40))
    gate.wait_committed(40, seconds=25)
    assert len(process.events("partitions.revoked")) == before
    assert process.stop() == 0
