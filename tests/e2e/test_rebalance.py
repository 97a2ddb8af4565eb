"""Workers join and leave: each partition is answered in order, and no offset is committed before its answer."""

from __future__ import annotations

import json
from collections import defaultdict

from tests.support.gate_on_kafka import GateFactory, InputRecord
from tests.support.servers import RedisServer

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
