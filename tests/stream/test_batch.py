"""Polled records are cut into batches within the limits; no stage of a batch can be changed."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from aiokafka import TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from gate.stream.batch import cut_polled
from tests.stream.fake_records import FakeRecord, polled_batch


@given(
    st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=12), max_size=4), st.integers(1, 5), st.integers(1, 60)
)
def test_cutting_keeps_every_record_in_order_within_the_limits(
    sizes: list[list[int]], max_records: int, max_bytes: int
) -> None:
    polled = {
        TopicPartition("t", number): [FakeRecord(offset, bytes(size)) for offset, size in enumerate(found)]
        for number, found in enumerate(sizes)
    }
    again: dict[TopicPartition, list[object]] = {}
    for piece in cut_polled(polled, max_records=max_records, max_bytes=max_bytes):
        records = [record for found in piece.values() for record in found]
        assert 0 < len(records) <= max_records
        assert len(records) == 1 or sum(len(record.value or b"") for record in records) <= max_bytes
        for partition, found in piece.items():
            again.setdefault(partition, []).extend(found)
    assert again == polled


def test_a_stage_of_a_batch_cannot_be_changed() -> None:
    polled = polled_batch("a")
    with pytest.raises(FrozenInstanceError):
        polled.records = ()  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        polled.slices[0].epoch = 2  # type: ignore[misc]
