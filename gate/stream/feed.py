"""Documents into the topic of check-ins, and what becomes of them: acknowledged, judged, dead-lettered.

An answer names the place of the record that it is about, so answers are told apart by that; whoever else sends to the
same topic does not get into the counts, and an answer that comes twice is counted once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition, errors

from gate.model import Relation
from gate.stream.admin import asked, connected, started, stopped
from gate.stream.broker import Action, action_for, bounded, producer_options, translated
from gate.stream.reading import opened
from gate.stream.settings import Kafka
from gate.wire import Place

UNDER_WAY = 4  # batches that are sent and not yet acknowledged
POLL_MS = 50
BATCH_BYTES = 1024 * 1024  # in one request to a broker: few large ones are what a replay is fast by
LINGER_MS = 20

T = TypeVar("T")


class Told(msgspec.Struct, frozen=True):
    """As much of a verdict as is counted."""

    source: Place | None
    relation: Relation
    group: str
    similar: bool


class Dead(msgspec.Struct, frozen=True):
    """As much of a dead letter."""

    place: Place | None
    reason: str


_told = msgspec.json.Decoder(Told)
_dead = msgspec.json.Decoder(Dead)


@dataclass(frozen=True, slots=True)
class Message(Generic[T]):
    """A record to send. `fact` is handed back once it and all before it are acknowledged. Without a value there is
    nothing to send, and the fact alone waits for its turn."""

    key: bytes
    value: bytes | None
    is_check_in: bool
    fact: T


class Waiting:
    """Places of check-ins that have no answer so far."""

    def __init__(self) -> None:
        self._open: dict[int, set[int]] = {}
        self._sent_up_to: dict[int, int] = {}  # by partition: the highest offset that is known to be ours
        self._early: dict[int, dict[int, Told | Dead]] = {}  # answers that came before the acknowledgement

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def sent(self, partition: int, offset: int, *, is_check_in: bool) -> Told | Dead | None:
        """Note what was acknowledged; its answer, if that was faster."""
        early = self._early.get(partition, {})
        answer = early.pop(offset, None)
        self._sent_up_to[partition] = max(offset, self._sent_up_to.get(partition, -1))
        while early and (first := next(iter(early))) < offset:
            del early[first]  # somebody else's: ours are acknowledged in their order, and answered nearly so
        if answer is None and is_check_in:
            self._open.setdefault(partition, set()).add(offset)
        return answer if is_check_in else None

    def answered(self, partition: int, offset: int, answer: Told | Dead) -> bool:
        """Whether this is the first answer to one of ours."""
        mine = self._open.get(partition, set())
        if offset in mine:
            mine.remove(offset)
            return True
        if offset > self._sent_up_to.get(partition, -1):
            self._early.setdefault(partition, {})[offset] = answer
        return False


class Feed(Generic[T]):
    """Sends batches, and tells which are acknowledged. Nothing is lost in silence: an error is raised."""

    def __init__(
        self,
        kafka: Kafka,
        topic: str,
        producer: AIOKafkaProducer,
        watcher: AIOKafkaConsumer | None,
        *,
        tell: Callable[[Told | Dead], None],
    ) -> None:
        self.waiting = Waiting()
        self.acknowledged = 0
        self.refused = 0  # too large for the topic
        self._kafka = kafka
        self._topic = topic
        self._producer = producer
        self._watcher = watcher
        self._tell = tell
        self._under_way: deque[list[tuple[Message[T], asyncio.Future[Any] | None]]] = deque()

    async def send(self, batch: Sequence[Message[T]]) -> list[T]:
        """Send a batch; the facts of those that are acknowledged by now, in their order."""
        sent: list[tuple[Message[T], asyncio.Future[Any] | None]] = []
        self._under_way.append(sent)
        for message in batch:
            if message.value is None:
                sent.append((message, None))
                continue
            try:
                future = await bounded(
                    self._producer.send(self._topic, message.value, key=message.key),
                    self._kafka.request_timeout_seconds,
                )
            except (errors.KafkaError, OSError) as exc:
                self._too_large(exc)
                future = None
            sent.append((message, future))
        done = []
        while len(self._under_way) > UNDER_WAY:
            done += await self._acknowledged()
        await self.watch(0)
        return done

    async def drain(self) -> list[T]:
        """Wait for all that is under way."""
        done = []
        while self._under_way:
            done += await self._acknowledged()
        return done

    async def _acknowledged(self) -> list[T]:
        """The facts of the oldest batch, once all of it is acknowledged."""
        batch = self._under_way[0]
        done: list[T] = []
        for message, future in batch:
            done.append(message.fact)
            if message.value is None:
                continue
            if future is None:
                self.refused += 1
                continue
            try:
                async with asyncio.timeout(self._kafka.request_timeout_seconds):
                    record = await asyncio.shield(future)
            except (errors.KafkaError, OSError) as exc:
                self._too_large(exc)
                self.refused += 1
            else:
                self.acknowledged += 1
                answer = self.waiting.sent(record.partition, record.offset, is_check_in=message.is_check_in)
                if answer is not None:
                    self._tell(answer)
        self._under_way.popleft()
        return done

    def _too_large(self, error: BaseException) -> None:
        if action_for(error) is not Action.TOO_LARGE:
            raise translated(error, self._kafka) from error

    async def watch(self, milliseconds: int = POLL_MS) -> int:
        """Read answers for a moment; how many were ours."""
        if self._watcher is None:
            return 0
        watcher = self._watcher
        found = await asked(self._kafka, lambda: watcher.getmany(timeout_ms=milliseconds))
        mine = 0
        for partition, records in found.items():
            decoder: msgspec.json.Decoder[Told] | msgspec.json.Decoder[Dead] = (
                _told if partition.topic == self._kafka.topics.verdicts else _dead
            )
            for record in records:
                mine += self._answered(decoder, record.value or b"")
        return mine

    def _answered(self, decoder: msgspec.json.Decoder[Told] | msgspec.json.Decoder[Dead], raw: bytes) -> bool:
        try:
            answer = decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False  # nothing of the gate's
        place = answer.source if isinstance(answer, Told) else answer.place
        if place is None or place.topic != self._topic or place.partition is None or place.offset is None:
            return False
        if not self.waiting.answered(place.partition, place.offset, answer):
            return False
        self._tell(answer)
        return True


@asynccontextmanager
async def feeding(kafka: Kafka, *, watch: bool, tell: Callable[[Told | Dead], None]) -> AsyncIterator[Feed[Any]]:
    """Feed the first topic of check-ins, from now on. ConfigError: it is not there, or not allowed."""
    topic = kafka.topics.check_ins[0]
    answers = (kafka.topics.verdicts, kafka.topics.dead_letters) if watch else ()
    async with connected(kafka) as admin:
        known = await admin.needed((topic, *answers))
    producer = AIOKafkaProducer(**producer_options(kafka) | {"max_batch_size": BATCH_BYTES, "linger_ms": LINGER_MS})
    try:
        await started(kafka, producer)
        if not watch:
            yield Feed(kafka, topic, producer, None, tell=tell)
            return
        async with opened(kafka) as watcher:
            partitions = [TopicPartition(name, number) for name in answers for number in range(known[name].partitions)]
            ends = await asked(kafka, lambda: watcher.end_offsets(partitions))
            watcher.assign(partitions)
            for partition, end in ends.items():
                watcher.seek(partition, end)
            yield Feed(kafka, topic, producer, watcher, tell=tell)
    finally:
        await stopped(kafka, producer.stop)
