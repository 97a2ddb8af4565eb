"""The stages of a batch in a worker, each an immutable value that is made from the one before it.

    Polled ──prepare──▶ Prepared ──judge──▶ Judged
    records             decoded, signed     the records to send, by partition

Threads hand stages on without a lock, and judging can be retried. Which batches are in flight is known to the
`PartitionTracker` alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aiokafka import TopicPartition

from gate.errors import Unavailable
from gate.model import Verdict
from gate.pipeline import Deletes, SignedBatch, chunked
from gate.stream.records import OutgoingRecord, Record, size_bytes
from gate.wire import DecodedMessage, RejectedMessage

PolledRecords = Mapping[TopicPartition, Sequence[Record]]  # as a consumer returns them

Refusals = Mapping[int, Mapping[str, int]]  # by offset and topic, how many answers to a record were too large


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSlice:
    """The records of one partition in a batch."""

    batch: int  # the number of the batch
    partition: TopicPartition
    epoch: int  # of the partition, when the records were polled
    positions: range  # of the records in the batch
    offsets: tuple[int, ...]  # of the records; some between may be missing
    start_offset: int  # where the slice before it ends: no record lies between
    next_offset: int  # where to resume once they are answered
    refused: Refusals = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """Records as they were polled, partition by partition."""

    records: tuple[Record, ...]
    slices: tuple[PartitionSlice, ...]
    arrived_at: float  # Unix seconds


@dataclass(frozen=True, slots=True)
class SignedCheckIns:
    """Check-ins that are judged together, with their positions in the batch."""

    positions: list[int]
    signed: SignedBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A batch that is ready to be judged: the message in each record, and the steps to carry out in order."""

    polled: Polled
    messages: tuple[DecodedMessage | RejectedMessage, ...]
    steps: tuple[SignedCheckIns | Deletes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionAnswers:
    """The records that answer one partition's slice of a batch, and what is counted once they are acknowledged."""

    slice: PartitionSlice
    outgoing: tuple[OutgoingRecord, ...]
    verdicts: tuple[Verdict, ...]
    sources: tuple[str | None, ...]  # who sent each document that has a verdict
    checked_in_at: tuple[float | None, ...]  # Unix seconds, for each verdict
    arrived_at: float
    reasons: tuple[str, ...]  # one for each dead letter
    unanswered: frozenset[int] = frozenset()  # offsets of deletes that were carried out: they have no answer

    @classmethod
    def none(cls, empty: PartitionSlice) -> PartitionAnswers:
        """Those to a slice without records: only its offset is committed."""
        return cls(slice=empty, outgoing=(), verdicts=(), sources=(), checked_in_at=(), arrived_at=0.0, reasons=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A batch with its answers, in the order of its slices."""

    answers: tuple[PartitionAnswers, ...]
    error: Unavailable | None = None  # why documents passed unchecked, or deletes were rejected; None: all were checked

    @property
    def slices(self) -> tuple[PartitionSlice, ...]:
        return tuple(answers.slice for answers in self.answers)


def cut_polled(
    polled: PolledRecords, *, max_records: int, max_bytes: int
) -> Iterator[dict[TopicPartition, list[Record]]]:
    """Cut polled records into pieces of at most so many records and bytes; a larger record is a piece of its own."""
    placed = ((partition, record) for partition, records in polled.items() for record in records)
    for chunk in chunked(placed, size=lambda pair: size_bytes(pair[1]), max_items=max_records, max_size=max_bytes):
        piece: dict[TopicPartition, list[Record]] = {}
        for partition, record in chunk:
            piece.setdefault(partition, []).append(record)
        yield piece
