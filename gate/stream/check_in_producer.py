"""Send documents to the check-in topic, and count their answers: acknowledgements, verdicts, dead letters.

An answer names the offset of the record that it is about, which is how it is matched with what was sent here: records
of other producers of the topic are not counted, and an answer that is delivered twice is counted once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition, errors

from gate.errors import ConfigError
from gate.model import Relation
from gate.stream.admin import Admin, open_admin
from gate.stream.client_calls import retry_call, start_client, stop_client, with_timeout
from gate.stream.client_options import producer_options
from gate.stream.kafka_errors import Action, action_for, translate_error
from gate.stream.settings import KafkaSettings
from gate.stream.topic_reader import open_consumer
from gate.wire import Origin

MAX_IN_FLIGHT = 4  # batches that are sent and not yet acknowledged
POLL_MS = 50
BATCH_BYTES = 1024 * 1024  # of one request to a broker: a replay is fast by few large ones
DEFAULT_MAX_BYTES = 1024 * 1024  # max.message.bytes of a topic that does not set it
BATCH_OVERHEAD_BYTES = 200  # of a batch of one record, beside its key and value
LINGER_MS = 20

T = TypeVar("T")


class MatchSummary(msgspec.Struct, frozen=True):
    """The fields of a match that are reported."""

    document_id: str
    resemblance: float | None = None
    containment: float | None = None
    distance: int | None = None


class VerdictSummary(msgspec.Struct, frozen=True):
    """The fields of a verdict that are counted and reported."""

    origin: Origin | None
    relation: Relation
    group: str
    similar: bool
    document_id: str = ""
    matches: tuple[MatchSummary, ...] = ()
    checked_in_at: datetime | None = None
    unreadable_reason: str | None = None


class DeadLetterSummary(msgspec.Struct, frozen=True):
    """The fields of a dead letter that are counted."""

    origin: Origin | None
    reason: str


CheckInAnswer = VerdictSummary | DeadLetterSummary
_Decoder = msgspec.json.Decoder[VerdictSummary] | msgspec.json.Decoder[DeadLetterSummary]

_verdict_decoder = msgspec.json.Decoder(VerdictSummary)
_dead_letter_decoder = msgspec.json.Decoder(DeadLetterSummary)


@dataclass(frozen=True, slots=True)
class TrackedRecord(Generic[T]):
    """A record to send. `receipt` is handed back once the record and all before it are acknowledged. Without a value
    nothing is sent, and the receipt alone waits for its turn."""

    key: bytes
    value: bytes | None
    is_check_in: bool
    receipt: T


class PendingCheckIns:
    """Offsets of check-ins that have no answer yet."""

    def __init__(self) -> None:
        self._offsets: dict[int, set[int]] = {}
        self._acknowledged_up_to: dict[int, int] = {}  # by partition: the highest acknowledged offset of ours
        self._early: dict[int, dict[int, CheckInAnswer]] = {}  # answers that came before the acknowledgement

    def __len__(self) -> int:
        return sum(map(len, self._offsets.values()))

    def acknowledge(self, partition: int, offset: int, *, is_check_in: bool) -> CheckInAnswer | None:
        """Add an acknowledged record; its answer, if that came before the acknowledgement."""
        early = self._early.get(partition, {})
        answer = early.pop(offset, None)
        self._acknowledged_up_to[partition] = max(offset, self._acknowledged_up_to.get(partition, -1))
        while early and (first := next(iter(early))) < offset:
            del early[first]  # another producer's: ours are acknowledged in order, and answered nearly in order
        if answer is None and is_check_in:
            self._offsets.setdefault(partition, set()).add(offset)
        return answer if is_check_in else None

    def resolve(self, partition: int, offset: int, answer: CheckInAnswer) -> bool:
        """Whether this is the first answer to a pending check-in. Answers ahead of the acknowledgements are kept."""
        pending = self._offsets.get(partition, set())
        if offset in pending:
            pending.remove(offset)
            return True
        if offset > self._acknowledged_up_to.get(partition, -1):
            self._early.setdefault(partition, {})[offset] = answer
        return False


class CheckInProducer(Generic[T]):
    """Sends batches, and returns the receipts of acknowledged records. An error is raised, never swallowed.

    A record that may be too large for the topic is sent alone: the broker refuses the whole request that contains it,
    and a producer that was refused a record has to be replaced.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        topic: str,
        answers: AIOKafkaConsumer | None,
        *,
        safe_bytes: int,
        on_answer: Callable[[CheckInAnswer], None],
    ) -> None:
        self.pending = PendingCheckIns()
        self.acknowledged = 0
        self.refused = 0  # too large for the topic
        self._kafka = kafka
        self._topic = topic
        self._answers = answers
        self._safe_bytes = safe_bytes  # a record of this size is never too large
        self._on_answer = on_answer
        self._producer: AIOKafkaProducer | None = None
        self._in_flight: deque[list[tuple[TrackedRecord[T], asyncio.Future[Any] | None]]] = deque()

    async def send(self, batch: Sequence[TrackedRecord[T]]) -> list[T]:
        """Send a batch; the receipts of records that are acknowledged by now, in order."""
        receipts: list[T] = []
        sent: list[tuple[TrackedRecord[T], asyncio.Future[Any] | None]] = []
        self._in_flight.append(sent)
        for record in batch:
            if len(record.key) + len(record.value or b"") > self._safe_bytes:
                receipts += await self.drain()
                await self._send_alone(record)
                receipts.append(record.receipt)
                sent = []
                self._in_flight.append(sent)
            else:
                sent.append((record, None if record.value is None else await self._send(record)))
        while len(self._in_flight) > MAX_IN_FLIGHT:
            receipts += await self._wait_oldest()
        await self.poll_answers(0)
        return receipts

    async def drain(self) -> list[T]:
        """Wait until everything in flight is acknowledged."""
        receipts: list[T] = []
        while self._in_flight:
            receipts += await self._wait_oldest()
        return receipts

    async def _wait_oldest(self) -> list[T]:
        """The receipts of the oldest batch, once all of it is acknowledged."""
        batch = self._in_flight[0]
        await self._wait_acknowledged([future for _, future in batch if future is not None])
        for record, future in batch:
            if future is not None:
                self._acknowledge(record, future)
        self._in_flight.popleft()
        return [record.receipt for record, _ in batch]

    async def _wait_acknowledged(self, futures: list[asyncio.Future[Any]]) -> None:
        """Wait for as long as one request may take; by itself an idempotent producer never gives up."""
        if waiting := [future for future in futures if not future.done()]:
            _, late = await asyncio.wait(waiting, timeout=self._kafka.request_timeout_seconds)
            if late:
                raise translate_error(TimeoutError(), self._kafka)

    async def _send_alone(self, record: TrackedRecord[T]) -> None:
        try:
            future = await self._send(record)
        except errors.MessageSizeTooLargeError:  # above the limit of the client itself
            self.refused += 1
            return
        await self._wait_acknowledged([future])
        if (error := future.exception()) is not None and action_for(error) is Action.TOO_LARGE:
            self.refused += 1
            await self.close()
        else:
            self._acknowledge(record, future)

    async def _send(self, record: TrackedRecord[T]) -> asyncio.Future[Any]:
        if self._producer is None:
            limits = {"max_batch_size": min(BATCH_BYTES, self._safe_bytes), "linger_ms": LINGER_MS}
            self._producer = AIOKafkaProducer(**producer_options(self._kafka) | limits)
            await start_client(self._kafka, self._producer)
        try:
            future: asyncio.Future[Any] = await with_timeout(
                self._producer.send(self._topic, record.value, key=record.key), self._kafka.request_timeout_seconds
            )
        except errors.MessageSizeTooLargeError:
            raise
        except (errors.KafkaError, OSError) as exc:
            raise translate_error(exc, self._kafka) from exc
        return future

    def _acknowledge(self, record: TrackedRecord[T], future: asyncio.Future[Any]) -> None:
        try:
            metadata = future.result()
        except (errors.KafkaError, OSError) as exc:
            raise translate_error(exc, self._kafka) from exc
        self.acknowledged += 1
        if metadata.offset < 0:
            return  # a duplicate of an earlier attempt, whose offset the broker no longer knows
        answer = self.pending.acknowledge(metadata.partition, metadata.offset, is_check_in=record.is_check_in)
        if answer is not None:
            self._on_answer(answer)

    async def close(self) -> None:
        if self._producer is not None:
            producer, self._producer = self._producer, None
            await stop_client(self._kafka, producer.stop)

    async def poll_answers(self, milliseconds: int = POLL_MS) -> int:
        """Poll for answers once; the number of pending check-ins that got theirs."""
        if self._answers is None:
            return 0
        answers = self._answers
        polled = await retry_call(self._kafka, lambda: answers.getmany(timeout_ms=milliseconds))
        resolved = 0
        for partition, records in polled.items():
            is_verdict = partition.topic == self._kafka.topics.verdicts
            decoder: _Decoder = _verdict_decoder if is_verdict else _dead_letter_decoder
            for record in records:
                resolved += self._resolve(decoder, record.value or b"")
        return resolved

    def _resolve(self, decoder: _Decoder, raw: bytes) -> bool:
        try:
            answer = decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False  # not written by the gate
        origin = answer.origin
        if origin is None or origin.topic != self._topic or origin.partition is None or origin.offset is None:
            return False
        if not self.pending.resolve(origin.partition, origin.offset, answer):
            return False
        self._on_answer(answer)
        return True


@asynccontextmanager
async def open_check_in_producer(
    kafka: KafkaSettings, *, watch: bool, on_answer: Callable[[CheckInAnswer], None]
) -> AsyncIterator[CheckInProducer[Any]]:
    """A producer for the first check-in topic; with `watch`, answers from now on are counted. ConfigError: a topic does
    not exist, or access is denied."""
    topic = kafka.topics.check_ins[0]
    answer_topics = (kafka.topics.verdicts, kafka.topics.dead_letters) if watch else ()
    async with AsyncExitStack() as resources:
        admin = await resources.enter_async_context(open_admin(kafka))
        infos = await admin.require_topics((topic, *answer_topics))
        consumer = await resources.enter_async_context(open_consumer(kafka)) if watch else None
        if consumer is not None:
            partitions = [
                TopicPartition(name, number) for name in answer_topics for number in range(infos[name].partitions)
            ]
            ends = await retry_call(kafka, lambda: consumer.end_offsets(partitions))
            consumer.assign(partitions)
            for partition, end in ends.items():
                consumer.seek(partition, end)
        safe_bytes = await _fetch_safe_bytes(kafka, admin)
        producer: CheckInProducer[Any] = CheckInProducer(
            kafka, topic, consumer, safe_bytes=safe_bytes, on_answer=on_answer
        )
        resources.push_async_callback(producer.close)
        yield producer


async def _fetch_safe_bytes(kafka: KafkaSettings, admin: Admin) -> int:
    """The size of a record that client and topic accept for certain, with the batch around it."""
    topic = kafka.topics.check_ins[0]
    try:
        max_bytes = int((await admin.describe_configs([topic]))[topic]["max.message.bytes"])
    except ConfigError:  # to describe a configuration needs a permission of its own
        max_bytes = DEFAULT_MAX_BYTES
    return max(1, int(min(max_bytes, kafka.max_record_bytes) * 0.9) - BATCH_OVERHEAD_BYTES)
