"""Workers come and go: each partition is answered in its order, and no offset is committed before its answer."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable

from tests.support.servers import RedisServer
from tests.support.stage import Sent, Stage

Staging = Callable[..., Stage]

TEXT = "A keeper of bees writes down each spring when the first blossom opens and how many frames the colony covers."


def test_partitions_change_hands_in_order_and_nothing_is_left_out(stage: Staging, shared_redis: RedisServer) -> None:
    on = stage(shared_redis.url, partitions=4, verdict_partitions=1)
    sent = 0

    def feed(count: int) -> None:
        nonlocal sent
        on.send(Sent.of(f"d{n}", f"{n} " * 30 + TEXT + f" {n}" * 30) for n in range(sent, sent + count))
        sent += count

    first = on.start()
    feed(150)
    second = on.start(wait=False)  # the group is rebalanced while it works
    feed(150)
    second.until_ready()
    feed(150)
    assert first.stop() == 0
    feed(150)
    on.until_committed(sent)
    assert second.stop() == 0

    offsets: dict[int, list[int]] = defaultdict(list)
    for record in on.everything(on.topics.verdicts):
        origin = json.loads(record.value)["origin"]
        if origin["offset"] not in offsets[origin["partition"]]:
            offsets[origin["partition"]].append(origin["offset"])
    committed = on.committed()
    assert sum(committed.values()) == sent
    assert offsets == {partition: list(range(end)) for partition, end in committed.items()}
