"""Records as a consumer returns them, and batches of them, without a broker."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass

from aiokafka import TopicPartition

from gate.stream.batch import Polled
from gate.stream.partitions import PartitionTracker

PARTITION = TopicPartition("in", 0)
TEXT = "The ferry leaves at six in the morning and returns in the evening, weather and the tide permitting, every day."


@dataclass
class FakeRecord:
    """A consumed record."""

    offset: int
    value: bytes | None = b"12345"
    key: bytes | None = b"k"
    topic: str = "in"
    partition: int = 0
    timestamp: int = 1
    headers: tuple[tuple[str, bytes], ...] = ()
    serialized_value_size: int = 0


def fake_records(first: int, count: int = 2) -> list[FakeRecord]:
    return [FakeRecord(first + number) for number in range(count)]


def check_in_records(*values: bytes | str | None) -> list[FakeRecord]:
    """One record for each value: a string is the document id of a check-in of one text, None a tombstone of "a"."""
    return [
        FakeRecord(
            offset,
            json.dumps({"document_id": value, "text": TEXT}).encode() if isinstance(value, str) else value,
            key=b"a",
        )
        for offset, value in enumerate(values)
    ]


def polled_batch(*values: bytes | str | None, refused: Collection[tuple[int, str]] = ()) -> Polled:
    """A batch of `check_in_records` of one partition; `refused`: offset and topic of answers that were too large."""
    tracker = PartitionTracker(max_batches=1)
    tracker.assign([PARTITION], paused=False)
    tracker.mark_refused((PARTITION, offset, topic) for offset, topic in refused)
    return tracker.start_batch({PARTITION: check_in_records(*values)}, tracker.epochs())
