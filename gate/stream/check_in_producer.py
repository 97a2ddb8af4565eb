"""Documents into the topic of check-ins, and what becomes of them: acknowledged, judged, dead-lettered.

An answer names the origin of the record that it is about, so answers are told apart by that; whoever else sends to the
same topic does not get into the counts, and an answer that comes twice is counted once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition, errors

from gate.errors import ConfigError
from gate.model import Relation
from gate.stream.admin import Admin, asked, connected, started, stopped
from gate.stream.kafka_errors import Action, action_for, bounded, producer_options, translated
from gate.stream.settings import KafkaSettings
from gate.stream.topic_reader import opened
from gate.wire import Origin

UNDER_WAY = 4  # batches that are sent and not yet acknowledged
POLL_MS = 50
BATCH_BYTES = 1024 * 1024  # in one request to a broker: few large ones are what a replay is fast by
DEFAULT_BYTES = 1024 * 1024  # what a topic takes that was not told otherwise
AROUND_BYTES = 200  # a batch of one record, beside its key and value
LINGER_MS = 20

T = TypeVar("T")


class Told(msgspec.Struct, frozen=True):
    """As much of a verdict as is counted."""

    origin: Origin | None
    relation: Relation
    group: str
    similar: bool


class Dead(msgspec.Struct, frozen=True):
    """As much of a dead letter."""

    origin: Origin | None
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
    """Sends batches, and tells which are acknowledged. Nothing is lost in silence: an error is raised.

    A record that may be too large for the topic travels alone: whatever shares a request with it would be refused too,
    and a producer that was refused something is of no more use.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        topic: str,
        watcher: AIOKafkaConsumer | None,
        *,
        surely_bytes: int,
        tell: Callable[[Told | Dead], None],
    ) -> None:
        self.waiting = Waiting()
        self.acknowledged = 0
        self.refused = 0  # too large for the topic
        self._kafka = kafka
        self._topic = topic
        self._watcher = watcher
        self._surely_bytes = surely_bytes  # the topic takes so much at once
        self._tell = tell
        self._producer: AIOKafkaProducer | None = None
        self._under_way: deque[list[tuple[Message[T], asyncio.Future[Any] | None]]] = deque()

    async def send(self, batch: Sequence[Message[T]]) -> list[T]:
        """Send a batch; the facts of those that are acknowledged by now, in their order."""
        done: list[T] = []
        sent: list[tuple[Message[T], asyncio.Future[Any] | None]] = []
        self._under_way.append(sent)
        for message in batch:
            if len(message.key) + len(message.value or b"") > self._surely_bytes:
                done += await self.drain()
                await self._send_alone(message)
                done.append(message.fact)
                sent = []
                self._under_way.append(sent)
            else:
                sent.append((message, None if message.value is None else await self._sent(message)))
        while len(self._under_way) > UNDER_WAY:
            done += await self._acknowledged()
        await self.watch(0)
        return done

    async def drain(self) -> list[T]:
        """Wait for all that is under way."""
        done: list[T] = []
        while self._under_way:
            done += await self._acknowledged()
        return done

    async def _acknowledged(self) -> list[T]:
        """The facts of the oldest batch, once all of it is acknowledged."""
        batch = self._under_way[0]
        await self._settled([future for _, future in batch if future is not None])
        for message, future in batch:
            if future is not None:
                self._arrived(message, future)
        self._under_way.popleft()
        return [message.fact for message, _ in batch]

    async def _settled(self, sent: list[asyncio.Future[Any]]) -> None:
        """Wait for acknowledgements, or for as long as one request may take: an idempotent producer never gives up."""
        if missing := [future for future in sent if not future.done()]:
            _, late = await asyncio.wait(missing, timeout=self._kafka.request_timeout_seconds)
            if late:
                raise translated(TimeoutError(), self._kafka)

    async def _send_alone(self, message: Message[T]) -> None:
        try:
            sent = await self._sent(message)
        except errors.MessageSizeTooLargeError:  # for what the library was told of
            self.refused += 1
            return
        await self._settled([sent])
        if (error := sent.exception()) is not None and action_for(error) is Action.TOO_LARGE:
            self.refused += 1
            await self.close()
        else:
            self._arrived(message, sent)

    async def _sent(self, message: Message[T]) -> asyncio.Future[Any]:
        if self._producer is None:
            limits = {"max_batch_size": min(BATCH_BYTES, self._surely_bytes), "linger_ms": LINGER_MS}
            self._producer = AIOKafkaProducer(**producer_options(self._kafka) | limits)
            await started(self._kafka, self._producer)
        try:
            sent: asyncio.Future[Any] = await bounded(
                self._producer.send(self._topic, message.value, key=message.key), self._kafka.request_timeout_seconds
            )
        except errors.MessageSizeTooLargeError:
            raise
        except (errors.KafkaError, OSError) as exc:
            raise translated(exc, self._kafka) from exc
        return sent

    def _arrived(self, message: Message[T], sent: asyncio.Future[Any]) -> None:
        try:
            record = sent.result()
        except (errors.KafkaError, OSError) as exc:
            raise translated(exc, self._kafka) from exc
        self.acknowledged += 1
        if record.offset < 0:
            return  # it arrived before, and the broker no longer knows where
        answer = self.waiting.sent(record.partition, record.offset, is_check_in=message.is_check_in)
        if answer is not None:
            self._tell(answer)

    async def close(self) -> None:
        if self._producer is not None:
            producer, self._producer = self._producer, None
            await stopped(self._kafka, producer.stop)

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
        origin = answer.origin
        if origin is None or origin.topic != self._topic or origin.partition is None or origin.offset is None:
            return False
        if not self.waiting.answered(origin.partition, origin.offset, answer):
            return False
        self._tell(answer)
        return True


@asynccontextmanager
async def feeding(
    kafka: KafkaSettings, *, watch: bool, tell: Callable[[Told | Dead], None]
) -> AsyncIterator[Feed[Any]]:
    """Feed the first topic of check-ins, from now on. ConfigError: it is not there, or not allowed."""
    topic = kafka.topics.check_ins[0]
    answers = (kafka.topics.verdicts, kafka.topics.dead_letters) if watch else ()
    async with AsyncExitStack() as held:
        admin = await held.enter_async_context(connected(kafka))
        known = await admin.needed((topic, *answers))
        watcher = await held.enter_async_context(opened(kafka)) if watch else None
        if watcher is not None:
            partitions = [TopicPartition(name, number) for name in answers for number in range(known[name].partitions)]
            ends = await asked(kafka, lambda: watcher.end_offsets(partitions))
            watcher.assign(partitions)
            for partition, end in ends.items():
                watcher.seek(partition, end)
        feed: Feed[Any] = Feed(kafka, topic, watcher, surely_bytes=await _surely_bytes(kafka, admin), tell=tell)
        held.push_async_callback(feed.close)
        yield feed


async def _surely_bytes(kafka: KafkaSettings, admin: Admin) -> int:
    """As much as the client and the topic take for certain, with what is written around it."""
    topic = kafka.topics.check_ins[0]
    try:
        told = (await admin.settings([topic]))[topic]["max.message.bytes"]
    except ConfigError:  # to read settings needs a permission of its own
        told = str(DEFAULT_BYTES)
    return max(1, int(min(int(told), kafka.max_record_bytes) * 0.9) - AROUND_BYTES)
