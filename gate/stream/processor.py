"""The work on a batch that keeps a core busy. It runs on threads of its own, never on the event loop.

records ──prepare──▶ Batch: decoded, signed, cut at deletes ──judge──▶ Batch: with the records of its answers
        (one thread)                                        (another)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from aiokafka import TopicPartition

from gate.errors import BadDocument, Unavailable
from gate.limits import Limits
from gate.metrics import WorkerMetrics
from gate.model import CheckIn, Degraded, Verdict
from gate.pipeline import SignedBatch, validate_document
from gate.stream.records import (
    TOO_LARGE_TO_ROUTE,
    OutgoingRecord,
    Record,
    check_in_time,
    dead_letter_record,
    decode_record,
    origin_of,
    reject_routing,
    verdict_records,
)
from gate.stream.settings import OnIndexUnavailable, Topics
from gate.wire import CheckInEvent, DecodedMessage, DeleteEvent, RejectedMessage

INDEX_AWAY = "index_unavailable"  # why a delete is dead-lettered where documents pass unchecked


class Signer(Protocol):
    """Whoever knows the profile: a `gate.api.Gate` on any index, as this one is never asked."""

    def sign(self, documents: Sequence[CheckIn]) -> SignedBatch: ...

    def unchecked(self, signed: SignedBatch) -> list[Verdict]: ...


class Judge(Protocol):
    """Whoever knows the index: a `gate.api.Gate`."""

    def check_in_signed(self, signed: SignedBatch) -> list[Verdict]: ...

    def delete(self, document_ids: Sequence[str]) -> list[bool]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class CheckIns:
    """Check-ins that are judged together, by their places in the batch."""

    places: list[int]
    signed: SignedBatch


@dataclass(frozen=True, slots=True)
class Deletes:
    """Deletes between them. What came before is judged before, what comes after is judged after."""

    places: list[int]
    document_ids: list[str]


@dataclass(eq=False, slots=True)
class Part:
    """What a batch holds of one partition: the answers to send, and where to go on behind them."""

    partition: TopicPartition
    epoch: int
    batch: Batch
    places: range  # of its records, in the batch
    next_offset: int
    outgoing: list[OutgoingRecord] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Batch:
    """Records on their way through the gate, and what became of each."""

    records: list[Record]
    parts: dict[TopicPartition, Part]
    arrived_at: float
    messages: list[DecodedMessage | RejectedMessage] = field(default_factory=list)
    steps: list[CheckIns | Deletes] = field(default_factory=list)
    done: int = 0  # steps that are carried out
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    left: set[TopicPartition] = field(default_factory=set)  # parts that are neither delivered nor dropped


def _key(record: Record) -> tuple[str, int, int]:
    return record.topic, record.partition, record.offset


def batch_of(polled: dict[TopicPartition, list[Record]], epochs: dict[TopicPartition, int]) -> Batch:
    batch = Batch([], {}, time.time())
    for partition, records in polled.items():
        first = len(batch.records)
        batch.records += records
        places = range(first, len(batch.records))
        batch.parts[partition] = Part(partition, epochs[partition], batch, places, records[-1].offset + 1)
    batch.left = set(batch.parts)
    return batch


def cut(
    polled: dict[TopicPartition, list[Record]], *, documents: int, nbytes: int
) -> Iterator[dict[TopicPartition, list[Record]]]:
    """What was polled, in pieces of so many records and bytes; a larger record is a piece of its own."""
    piece: dict[TopicPartition, list[Record]] = {}
    count = size = 0
    for partition, records in polled.items():
        for record in records:
            length = len(record.value or b"")
            if piece and (count >= documents or size + length > nbytes):
                yield piece
                piece, count, size = {}, 0, 0
            piece.setdefault(partition, []).append(record)
            count += 1
            size += length
    if piece:
        yield piece


class Desk:
    """Where batches are worked on: `prepare` by one thread, `judge` by another, the one that opened the judge."""

    def __init__(
        self,
        signer: Signer,
        open_judge: Callable[[], Judge],
        *,
        limits: Limits,
        topics: Topics,
        on_index_unavailable: OnIndexUnavailable,
        content_root: Path | None,
        metrics: WorkerMetrics,
    ) -> None:
        self._signer = signer
        self._open = open_judge
        self._opened: Judge | None = None
        self._limits = limits
        self._topics = topics
        self._pass_unchecked = on_index_unavailable == "pass_unchecked"
        self._content_root = content_root
        self._metrics = metrics
        self.too_large: set[tuple[str, int, int]] = set()  # places whose document or letter its topic did not take

    def open(self) -> None:
        """`Unavailable`: the index is away; where documents may pass without a look, they pass."""
        try:
            self._judge()
        except Unavailable:
            if not self._pass_unchecked:
                raise

    def _judge(self) -> Judge:
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    # Signing

    def prepare(self, batch: Batch) -> Batch:
        begun = time.perf_counter()
        batch.messages = [self._read(record) for record in batch.records]
        decoded = time.perf_counter()
        documents: list[CheckIn] = []
        places: list[int] = []
        characters = 0
        for place, message in enumerate(batch.messages):
            if isinstance(message, RejectedMessage):
                continue
            if isinstance(message.event, DeleteEvent):
                self._sign(batch, places, documents)
                places, documents = [], []
                self._add_delete(batch, place, message.event.document_id)
            else:
                document = message.event.check_in()
                characters += len(document.text)
                documents.append(document)
                places.append(place)
        self._sign(batch, places, documents)
        self._metrics.record_stage("decode", decoded - begun)
        self._metrics.record_stage("sign", time.perf_counter() - decoded)
        self._metrics.record_batch(len(batch.records), characters)
        return batch

    def _read(self, record: Record) -> DecodedMessage | RejectedMessage:
        message = decode_record(record, limits=self._limits, content_root=self._content_root)
        if isinstance(message, DecodedMessage) and isinstance(message.event, CheckInEvent):
            try:
                validate_document(message.event.check_in(), self._limits)
            except BadDocument as exc:
                error = BadDocument(exc.code, f"{message.origin}: {exc}")
                return RejectedMessage.of(error, record.value or b"", origin=message.origin)
        return message

    def _sign(self, batch: Batch, places: list[int], documents: list[CheckIn]) -> None:
        if documents:
            batch.steps.append(CheckIns(places, self._signer.sign(documents)))

    def _add_delete(self, batch: Batch, place: int, document_id: str) -> None:
        if batch.steps and isinstance(last := batch.steps[-1], Deletes):
            last.places.append(place)
            last.document_ids.append(document_id)
        else:
            batch.steps.append(Deletes([place], [document_id]))

    # Judging

    def judge(self, batch: Batch) -> Batch:
        """Carry out what is left to do. `Unavailable`: the index is away; what is done stays done, so call it again."""
        begun = time.perf_counter()
        while batch.done < len(batch.steps):
            step = batch.steps[batch.done]
            if isinstance(step, CheckIns):
                batch.verdicts |= zip(step.places, self._enter(step.signed), strict=True)
            else:
                self._delete(batch, step)
            batch.done += 1
        self._answer(batch)
        self._metrics.record_stage("claim", time.perf_counter() - begun)
        return batch

    def _enter(self, signed: SignedBatch) -> list[Verdict]:
        try:
            return self._judge().check_in_signed(signed)
        except Unavailable:
            if not self._pass_unchecked:
                raise
            return self._signer.unchecked(signed)

    def _delete(self, batch: Batch, step: Deletes) -> None:
        try:
            known = sum(self._judge().delete(step.document_ids))
        except Unavailable:
            if not self._pass_unchecked:
                raise
            for place in step.places:
                record = batch.records[place]
                told = origin_of(record)
                error = BadDocument(INDEX_AWAY, f"{told}: the index was away, nothing was deleted: send it again")
                batch.messages[place] = RejectedMessage.of(error, record.value or b"", origin=told)
            return
        self._metrics.record_deletes(known, len(step.document_ids) - known)

    def _answer(self, batch: Batch) -> None:
        """The records to send, each with the part of its partition, in the order of what they answer."""
        for place, (record, message) in enumerate(zip(batch.records, batch.messages, strict=True)):
            outgoing = batch.parts[TopicPartition(record.topic, record.partition)].outgoing
            fits = not self.too_large or _key(record) not in self.too_large
            if isinstance(message, RejectedMessage):
                outgoing.append(dead_letter_record(record, message, self._topics, keep_original=fits))
            elif isinstance(message.event, CheckInEvent):
                verdict = batch.verdicts[place]
                outgoing += verdict_records(record, message.event, verdict, self._topics, route=fits)
                if not fits:
                    letter = reject_routing(record, message.event)
                    outgoing.append(dead_letter_record(record, letter, self._topics))

    # Telling

    def tell(self, parts: Sequence[Part]) -> None:
        """Count what became of parts whose answers are acknowledged."""
        verdicts, sources, checked_in, arrived, reasons = [], [], [], [], []
        for part in parts:
            batch = part.batch
            for place in part.places:
                message = batch.messages[place]
                if isinstance(message, RejectedMessage):
                    reasons.append(message.error.code)
                elif isinstance(message.event, CheckInEvent):
                    verdicts.append(batch.verdicts[place])
                    sources.append(message.event.source)
                    checked_in.append(check_in_time(batch.records[place], message.event))
                    arrived.append(batch.arrived_at)
                    if self.too_large and _key(batch.records[place]) in self.too_large:
                        reasons.append(TOO_LARGE_TO_ROUTE)
                self.too_large.discard(_key(batch.records[place]))
        self._metrics.record_verdicts(verdicts, sources, checked_in, arrived, time.time())
        self._metrics.record_dead_letters(reasons)
        similar = sum(verdict.similar for verdict in verdicts)
        if self._topics.quarantine and similar:
            self._metrics.record_routed("quarantine", similar)
        if self._topics.accepted and similar < len(verdicts):
            self._metrics.record_routed("accepted", len(verdicts) - similar)

    @staticmethod
    def was_checked(batch: Batch) -> bool:
        """Whether the index answered for all of it."""
        unchecked = any(Degraded.UNCHECKED in verdict.degraded for verdict in batch.verdicts.values())
        refused = any(isinstance(one, RejectedMessage) and one.error.code == INDEX_AWAY for one in batch.messages)
        return not unchecked and not refused
