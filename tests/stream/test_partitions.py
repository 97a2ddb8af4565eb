"""What is under way for a partition counts until the partition is given away or read anew, and not a moment longer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from aiokafka import TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from gate.stream.partitions import Lanes
from gate.stream.processor import cut

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


@dataclass
class Record:
    offset: int
    value: bytes = b"12345"


def records(first: int, count: int = 2) -> list[Any]:
    return [Record(first + n) for n in range(count)]


class Consumer:
    def __init__(self) -> None:
        self.sought: list[tuple[TopicPartition, int]] = []

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.sought.append((partition, offset))


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


def test_a_part_counts_until_its_partition_is_given_away() -> None:
    async def story() -> None:
        lanes = Lanes(under_way=2)
        lanes.assign([A, B], shut=False)
        batch = lanes.begin({A: records(0), B: records(5)}, lanes.epochs())
        lanes.revoke([A])
        assert [part.partition for part in lanes.drop_stale(batch)] == [B]
        lanes.assign([A], shut=False)  # it comes back, and begins anew
        assert [part.partition for part in lanes.drop_stale(batch)] == [B]

    run(story())


def test_after_going_back_what_was_under_way_is_dropped_and_reading_begins_behind_what_was_delivered() -> None:
    async def story() -> None:
        lanes, consumer = Lanes(under_way=3), Consumer()
        as_any: Any = consumer
        lanes.assign([A], shut=False)
        epochs = lanes.epochs()
        assert lanes.admit({A: records(10)}, epochs, as_any)
        first = lanes.begin({A: records(10)}, epochs)
        second = lanes.begin({A: records(12)}, epochs)
        lanes.delivered(first.parts.values())
        lane = lanes.lane(A)
        assert lane is not None
        lanes.go_back(lane, as_any)
        assert consumer.sought == [(A, 12)]
        assert lanes.drop_stale(second) == []
        assert lanes.has_room()

    run(story())


def test_records_polled_across_a_change_are_read_again_not_skipped() -> None:
    async def story() -> None:
        lanes, consumer = Lanes(under_way=3), Consumer()
        as_any: Any = consumer
        before = lanes.epochs()  # the poll began before the partition was assigned
        lanes.assign([A], shut=False)
        assert lanes.admit({A: records(7)}, before, as_any) == {}
        assert consumer.sought == [(A, 7)]
        assert lanes.admit({B: records(0)}, before, as_any) == {}  # of a partition that is not held

    run(story())


def test_a_shut_lane_takes_nothing_until_it_is_opened() -> None:
    async def story() -> None:
        lanes, consumer = Lanes(under_way=3), Consumer()
        as_any: Any = consumer
        lanes.assign([A], shut=True)
        epochs = lanes.epochs()
        assert lanes.admit({A: records(7)}, epochs, as_any) == {}
        lane = lanes.lane(A)
        assert lane is not None
        lane.open = True
        assert lanes.admit({A: records(7)}, epochs, as_any)

    run(story())


def test_there_is_room_again_when_a_batch_is_settled_in_all_its_parts() -> None:
    async def story() -> None:
        lanes = Lanes(under_way=1)
        lanes.assign([A, B], shut=False)
        batch = lanes.begin({A: records(0), B: records(0)}, lanes.epochs())
        waiting = asyncio.create_task(lanes.room(5))
        lanes.delivered([batch.parts[A]])
        await asyncio.sleep(0)
        assert not lanes.has_room()
        lanes.settle(batch.parts[B])
        assert await waiting

    run(story())


def test_quiet_is_told_of_the_partitions_that_were_asked_for() -> None:
    async def story() -> None:
        lanes = Lanes(under_way=5)
        lanes.assign([A, B], shut=False)
        batch = lanes.begin({A: records(0)}, lanes.epochs())
        assert await lanes.quiet([B], 1)
        assert not await lanes.quiet([A], 0.01)
        lanes.revoke([A])
        assert await lanes.quiet(None, 1)
        assert lanes.drop_stale(batch) == []

    run(story())


@given(
    st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=12), max_size=4), st.integers(1, 5), st.integers(1, 60)
)
def test_cut_keeps_every_record_in_order_within_the_bounds(sizes: list[list[int]], documents: int, nbytes: int) -> None:
    polled: Any = {
        TopicPartition("t", number): [Record(offset, bytes(size)) for offset, size in enumerate(found)]
        for number, found in enumerate(sizes)
    }
    pieces = list(cut(polled, documents=documents, nbytes=nbytes))
    again: dict[TopicPartition, list[Any]] = {}
    for piece in pieces:
        held: list[Any] = [record for found in piece.values() for record in found]
        assert 0 < len(held) <= documents
        assert len(held) == 1 or sum(len(record.value) for record in held) <= nbytes
        for partition, found in piece.items():
            again.setdefault(partition, []).extend(found)
    assert again == polled
