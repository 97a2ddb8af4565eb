"""The work on a batch that keeps a core busy. It runs on two threads of its own, never on the event loop.

Polled ──prepare──▶ Prepared ──judge──▶ Judged
        (one thread)          (another)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, TypeVar

from gate.errors import BadDocument, IndexLost, Unavailable
from gate.limits import Limits
from gate.metrics import WorkerMetrics
from gate.model import Verdict
from gate.pipeline import Deletes, SignedBatch, Signer, steps, validate_document
from gate.stream.batch import Judged, PartitionAnswers, PartitionSlice, Polled, Prepared, SignedCheckIns
from gate.stream.records import (
    OutgoingRecord,
    Record,
    check_in_time,
    dead_letter_record,
    decode_record,
    omissions,
    origin_of,
    reject_routing,
    reject_verdict,
    trace_headers,
    verdict_records,
)
from gate.stream.settings import TRACE_HEADER_BYTES, OnIndexUnavailable, Topics
from gate.wire import CheckInEvent, DecodedMessage, RejectedMessage

INDEX_UNAVAILABLE: Final = "index_unavailable"  # why a delete is dead-lettered where documents pass unchecked
T = TypeVar("T")


class Judge(Protocol):
    """Judges check-ins against the index and deletes from it; a `gate.api.Gate` is one."""

    def check_in_signed(self, signed: SignedBatch) -> list[Verdict]: ...

    def delete(self, document_ids: Sequence[str]) -> list[bool]: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class _Progress:
    """The steps of a batch that are carried out, kept from one attempt to the next. The judging thread alone has it."""

    prepared: Prepared
    steps: int = 0
    verdicts: dict[int, Verdict] = field(default_factory=dict)  # by position in the batch
    rejected: dict[int, RejectedMessage] = field(default_factory=dict)  # deletes that were not carried out
    error: Unavailable | None = None  # why documents passed unchecked, if any did


class BatchProcessor:
    """Prepares batches on one thread, and judges them on another: the one that opens and closes the judge."""

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
        trace_header_bytes: int = TRACE_HEADER_BYTES,
    ) -> None:
        self._signer = signer
        self._open_judge = open_judge
        self._judge: Judge | None = None
        self._limits = limits
        self._topics = topics
        self._pass_unchecked = on_index_unavailable == "pass_unchecked"
        self._content_root = content_root
        self._metrics = metrics
        self._trace_header_bytes = trace_header_bytes
        self._progress: _Progress | None = None

    def open(self) -> None:
        """Open the judge. Unavailable: the index does not answer; not raised where documents may pass unchecked."""
        try:
            self._opened_judge()
        except Unavailable:
            if not self._pass_unchecked:
                raise

    def _opened_judge(self) -> Judge:
        if self._judge is None:
            self._judge = self._open_judge()
        return self._judge

    def _call(self, work: Callable[[Judge], T]) -> T:
        try:
            return work(self._opened_judge())
        except IndexLost:
            self.close()  # the next attempt opens the index that replaces it, once there is one
            raise

    def close(self) -> None:
        if self._judge is not None:
            self._judge.close()
            self._judge = None

    # Preparing

    def prepare(self, polled: Polled) -> Prepared:
        """Decode the records, divide the batch at its deletes, and sign the check-ins between them."""
        started = time.perf_counter()
        messages = tuple([self._decode(record) for record in polled.records])
        decoded = time.perf_counter()
        divided = steps(message.event if isinstance(message, DecodedMessage) else None for message in messages)
        characters = 0
        prepared: list[SignedCheckIns | Deletes] = []
        for step in divided:
            if isinstance(step, Deletes):
                prepared.append(step)
            else:
                characters += sum(len(document.text) for document in step.documents)
                prepared.append(SignedCheckIns(step.positions, self._signer.sign(step.documents, at=polled.arrived_at)))
        self._metrics.record_stage("decode", decoded - started)
        self._metrics.record_stage("sign", time.perf_counter() - decoded)
        self._metrics.record_batch(len(polled.records), characters)
        return Prepared(polled=polled, messages=messages, steps=tuple(prepared))

    def _decode(self, record: Record) -> DecodedMessage | RejectedMessage:
        message = decode_record(record, limits=self._limits, content_root=self._content_root)
        if isinstance(message, DecodedMessage) and isinstance(message.event, CheckInEvent):
            try:
                validate_document(message.event.check_in(), self._limits)
            except BadDocument as exc:
                error = BadDocument(exc.code, f"{message.origin}: {exc}")
                return RejectedMessage.of(error, record.value or b"", origin=message.origin)
        return message

    # Judging

    def judge(self, prepared: Prepared) -> Judged:
        """Carry out the steps in order, and make the answers.

        Unavailable: the index does not answer; call it again with the same batch. Steps that are carried out are not
        repeated then: a check-in before a delete of its document would enter the index a second time. They are where
        the index was lost, since what they did is lost with it.
        """
        started = time.perf_counter()
        progress = self._progress
        if progress is None or progress.prepared is not prepared:
            progress = self._progress = _Progress(prepared)
        try:
            for step in prepared.steps[progress.steps :]:
                if isinstance(step, SignedCheckIns):
                    self._check_in(step, progress)
                else:
                    self._delete(step, progress)
                progress.steps += 1
        except IndexLost:
            self._progress = None
            raise
        self._progress = None
        answers = [self._answer(prepared, partition_slice, progress) for partition_slice in prepared.polled.slices]
        self._metrics.record_stage("claim", time.perf_counter() - started)
        return Judged(answers=tuple(answers), error=progress.error)

    def _check_in(self, step: SignedCheckIns, progress: _Progress) -> None:
        try:
            verdicts = self._call(lambda judge: judge.check_in_signed(step.signed))
        except Unavailable as exc:
            if not self._pass_unchecked:
                raise
            verdicts = self._signer.unchecked(step.signed)
            progress.error = exc
        progress.verdicts.update(zip(step.positions, verdicts, strict=True))

    def _delete(self, step: Deletes, progress: _Progress) -> None:
        try:
            known = sum(self._call(lambda judge: judge.delete(step.document_ids)))
        except Unavailable as exc:
            if not self._pass_unchecked:
                raise
            for position in step.positions:
                progress.rejected[position] = _reject_delete(progress.prepared.polled.records[position])
            progress.error = exc
            return
        self._metrics.record_deletes(known, len(step.document_ids) - known)

    def _answer(self, prepared: Prepared, partition_slice: PartitionSlice, progress: _Progress) -> PartitionAnswers:
        """The records to send for one partition, in the order of the records that they answer."""
        outgoing: list[OutgoingRecord] = []
        verdicts: list[Verdict] = []
        sources: list[str | None] = []
        checked_in_at: list[float | None] = []
        reasons: list[str] = []
        unanswered: set[int] = set()
        for position in partition_slice.positions:
            record, message = prepared.polled.records[position], prepared.messages[position]
            refused = partition_slice.refused.get(record.offset, {})  # by topic: what is sent there has to be smaller
            rejections: list[RejectedMessage] = []
            if isinstance(message, DecodedMessage) and isinstance(message.event, CheckInEvent):
                verdict = progress.verdicts[position]
                answer, *routed = self._judged_records(record, message.event, verdict, refused)
                if answer is None:
                    rejections.append(reject_verdict(record, message.event))
                else:
                    outgoing.append(answer)
                    verdicts.append(verdict)
                    sources.append(message.event.source)
                    checked_in_at.append(check_in_time(record, message.event))
                outgoing += [onward for onward in routed if onward is not None]
                if None in routed:
                    rejections.append(reject_routing(record, message.event))
            elif isinstance(message, RejectedMessage):
                rejections.append(message)
            elif position in progress.rejected:
                rejections.append(progress.rejected[position])
            else:
                unanswered.add(record.offset)
            for rejected in rejections:
                omitted = omissions(record, rejected, refused.get(self._topics.dead_letters, 0))
                outgoing.append(dead_letter_record(record, rejected, self._topics, omitted=omitted))
                reasons.append(rejected.error.code)
        return PartitionAnswers(
            slice=partition_slice,
            outgoing=tuple(outgoing),
            verdicts=tuple(verdicts),
            sources=tuple(sources),
            checked_in_at=tuple(checked_in_at),
            arrived_at=prepared.polled.arrived_at,
            reasons=tuple(reasons),
            unanswered=frozenset(unanswered),
        )

    def _judged_records(
        self, record: Record, event: CheckInEvent, verdict: Verdict, refused: Mapping[str, int]
    ) -> Iterator[OutgoingRecord | None]:
        """The verdict, and the routed document if there is one; None instead of what its topic does not take."""
        refusals = refused.get(self._topics.verdicts, 0)
        trace, dropped = trace_headers(record, self._trace_header_bytes)
        if refusals and trace:
            trace, dropped, refusals = [], dropped + len(trace), refusals - 1
        if dropped:
            self._metrics.record_trace_headers_dropped(dropped)
        answer, *routed = verdict_records(record, event, verdict, self._topics, trace=trace)
        yield None if refusals else answer
        for onward in routed:
            yield None if onward.topic in refused else onward


def _reject_delete(record: Record) -> RejectedMessage:
    """A delete that was not carried out, because the index was unavailable and nothing waits for it."""
    origin = origin_of(record)
    error = BadDocument(INDEX_UNAVAILABLE, f"{origin}: the index was unavailable, nothing was deleted: send it again")
    return RejectedMessage.of(error, record.value or b"", origin=origin)
