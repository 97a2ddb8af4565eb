"""A batch is in flight for a partition until the partition is revoked or rewound, and no longer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka import TopicPartition

from gate.stream.batch import PartitionAnswers, PartitionSlice, Polled
from gate.stream.partitions import PartitionTracker
from tests.stream.delivery_harness import FakeConsumer
from tests.stream.fake_records import fake_records

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def consumer() -> Any:
    return FakeConsumer()


def tracker_of(*partitions: TopicPartition, max_batches: int = 3, paused: bool = False) -> PartitionTracker:
    tracker = PartitionTracker(max_batches=max_batches)
    tracker.assign(partitions, paused=paused)
    return tracker


def start(tracker: PartitionTracker, offsets: dict[TopicPartition, int]) -> Polled:
    """A batch of two records of each of these partitions."""
    return tracker.start_batch(
        {partition: fake_records(first) for partition, first in offsets.items()}, tracker.epochs()
    )


def delivered(partition_slice: PartitionSlice) -> list[PartitionAnswers]:
    return [
        PartitionAnswers(
            slice=partition_slice, outgoing=(), verdicts=(), sources=(), checked_in_at=(), arrived_at=0.0, reasons=()
        )
    ]


def test_a_slice_is_stale_once_its_partition_is_revoked_even_if_it_is_assigned_again() -> None:
    tracker = tracker_of(A, B)
    polled = start(tracker, {A: 0, B: 5})
    tracker.revoke([A])
    assert [one.partition for one in tracker.drop_stale(polled.slices)] == [B]
    tracker.assign([A], paused=False)
    assert [one.partition for one in tracker.drop_stale(polled.slices)] == [B]


def test_a_rewind_drops_what_is_in_flight_and_resumes_behind_what_was_delivered(consumer: Any) -> None:
    tracker = tracker_of(A)
    assert tracker.accept({A: fake_records(10)}, tracker.epochs(), consumer)
    first, second = start(tracker, {A: 10}), start(tracker, {A: 12})
    tracker.mark_delivered(delivered(first.slices[0]))
    state = tracker.state(A)
    assert state is not None
    tracker.rewind(state, consumer)
    assert consumer.seeks == [(A, 12)]
    assert tracker.drop_stale(second.slices) == []
    assert tracker.has_room()


def test_records_that_were_polled_before_an_assignment_are_polled_again_not_skipped(consumer: Any) -> None:
    tracker = PartitionTracker(max_batches=3)
    epochs = tracker.epochs()  # the poll starts
    tracker.assign([A], paused=False)
    assert tracker.accept({A: fake_records(7)}, epochs, consumer) == {}
    assert consumer.seeks == [(A, 7)]


def test_records_of_a_partition_that_is_not_assigned_are_dropped(consumer: Any) -> None:
    tracker = tracker_of(A)
    assert tracker.accept({B: fake_records(0)}, {B: 1}, consumer) == {}
    assert consumer.seeks == []


def test_records_of_a_paused_partition_are_not_accepted_until_it_is_resumed(consumer: Any) -> None:
    tracker = tracker_of(A, paused=True)
    assert tracker.accept({A: fake_records(7)}, tracker.epochs(), consumer) == {}
    state = tracker.state(A)
    assert state is not None
    state.paused = False
    assert tracker.accept({A: fake_records(7)}, tracker.epochs(), consumer)


def test_a_batch_knows_the_positions_of_each_partition_and_where_to_resume_behind_them() -> None:
    polled = start(tracker_of(A, B), {A: 3, B: 8})
    assert [(one.partition, one.positions, one.next_offset) for one in polled.slices] == [
        (A, range(2), 5),
        (B, range(2, 4), 10),
    ]
    assert [record.offset for record in polled.records] == [3, 4, 8, 9]


def test_refused_offsets_go_with_the_next_batch_until_they_are_delivered() -> None:
    tracker = tracker_of(A, B)
    tracker.mark_refused([(A, 0, "v"), (A, 5, "v"), (TopicPartition("t", 9), 1, "v")])
    tracker.mark_refused([(A, 1, "v"), (A, 5, "v"), (A, 5, "d")])
    first = start(tracker, {A: 0, B: 0})
    assert [one.refused for one in first.slices] == [{0: {"v": 1}, 1: {"v": 1}, 5: {"v": 2, "d": 1}}, {}]
    tracker.mark_delivered(delivered(first.slices[0]))
    assert start(tracker, {A: 2}).slices[0].refused == {5: {"v": 2, "d": 1}}


def test_a_partition_that_was_revoked_comes_back_without_refused_offsets() -> None:
    tracker = tracker_of(A)
    tracker.mark_refused([(A, 0, "v")])
    tracker.revoke([A])
    tracker.assign([A], paused=False)
    assert start(tracker, {A: 0}).slices[0].refused == {}


async def test_there_is_room_again_when_every_slice_of_a_batch_is_finished() -> None:
    tracker = tracker_of(A, B, max_batches=1)
    of_a, of_b = start(tracker, {A: 0, B: 0}).slices
    waiting = asyncio.create_task(tracker.wait_for_room(5))
    tracker.mark_delivered(delivered(of_a))
    await asyncio.sleep(0)
    assert not tracker.has_room()
    tracker.finish(of_b)
    assert await waiting


async def test_only_the_partitions_that_are_asked_for_have_to_be_drained() -> None:
    tracker = tracker_of(A, B)
    polled = start(tracker, {A: 0})
    assert await tracker.wait_drained([B], 1)
    assert not await tracker.wait_drained([A], 0.01)
    tracker.revoke([A])
    assert await tracker.wait_drained(None, 1)
    assert tracker.drop_stale(polled.slices) == []


def test_a_slice_that_does_not_follow_the_delivered_ones_is_not_committed(consumer: Any) -> None:
    tracker = tracker_of(A)
    tracker.accept({A: fake_records(0)}, tracker.epochs(), consumer)
    first, second = start(tracker, {A: 0}).slices[0], start(tracker, {A: 7}).slices[0]
    with pytest.raises(RuntimeError, match="offsets 0 to 2 were skipped"):
        tracker.require_next(delivered(second))
    tracker.require_next(delivered(first) + delivered(second))  # 2 to 6 are transaction markers or were compacted
