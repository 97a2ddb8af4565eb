"""Send the originals of dead letters back to where they came from, once each.

How far that has come is kept at the broker, for each reason by itself, as the offset of a group of its own: so letters
of one reason can be sent today and those of another tomorrow, and a run that was cut off goes on where it was. What was
sent and not yet noted is sent again then, which the gate answers as it did before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition, errors

from gate.stream.admin import Admin, asked, connected, started, stopped
from gate.stream.dead_letters import Letter, chosen, original_at, original_of, read_letter
from gate.stream.events import Outgoing
from gate.stream.kafka_errors import Action, action_for, bounded, client_options, producer_options, translated
from gate.stream.settings import KafkaSettings
from gate.stream.topic_reader import opened, reading

NOTED_LETTERS = 500  # so many are sent at most before it is noted how far it has come

SENT = "sent"
BEFORE = "sent before"
GONE = "original gone"  # the letter has no copy, and the topic no longer has the record
ELSEWHERE = "of another topic"  # not one that is read for check-ins: nothing is sent to whatever a letter names
TOO_LARGE = "too large to send"


async def resend(
    kafka: KafkaSettings,
    *,
    reasons: Collection[str] = (),
    names: Collection[str] = (),
    again: bool = False,
    dry_run: bool = False,
    tell: Callable[[Letter, str], None] = lambda letter, outcome: None,
) -> Counter[str]:
    """Send what is asked for, and count what became of it. Named letters are sent whether they were before or not."""
    async with AsyncExitStack() as held:
        admin = await held.enter_async_context(connected(kafka))
        letters = await held.enter_async_context(reading(kafka, [kafka.topics.dead_letters]))
        notes = Notes(kafka, admin, held, list(letters.spans), kept=not (again or names))
        post = Post(kafka, held, dry_run=dry_run)
        counts: Counter[str] = Counter()
        async for records in letters.batches():
            for first in range(0, len(records), NOTED_LETTERS):
                done: list[Letter] = []
                for letter in map(read_letter, records[first : first + NOTED_LETTERS]):
                    if not chosen(letter, reasons=reasons, names=names):
                        continue
                    outcome = BEFORE
                    if letter.record.offset >= await notes.position(letter):
                        outcome = await post.send(letter)
                        done.append(letter)
                    counts[outcome] += 1
                    tell(letter, outcome)
                if not dry_run:
                    await notes.note(done)
        return counts


class Post:
    """Finds originals, and sends them one by one: whatever shared a request with one that is too large would be refused
    with it, and a producer that was refused something is of no more use."""

    def __init__(self, kafka: KafkaSettings, held: AsyncExitStack, *, dry_run: bool) -> None:
        self._kafka = kafka
        self._held = held
        self._dry_run = dry_run
        self._producer: AIOKafkaProducer | None = None
        self._finder: AIOKafkaConsumer | None = None
        held.push_async_callback(self.close)

    async def send(self, letter: Letter) -> str:
        """What became of it: it was acknowledged, or why not."""
        origin = letter.told.origin if letter.told else None
        if origin is None or origin.topic not in self._kafka.topics.check_ins:
            return ELSEWHERE
        original = original_of(letter) or await self._find(letter)
        if original is None:
            return GONE
        return SENT if self._dry_run else await self._send(original)

    async def _find(self, letter: Letter) -> Outgoing | None:
        if self._finder is None:
            self._finder = await self._held.enter_async_context(opened(self._kafka))
        return await original_at(self._kafka, self._finder, letter)

    async def _send(self, original: Outgoing) -> str:
        if self._producer is None:
            self._producer = AIOKafkaProducer(**producer_options(self._kafka))
            await started(self._kafka, self._producer)
        sending = self._producer.send_and_wait(
            original.topic, original.value, key=original.key, headers=list(original.headers)
        )
        try:
            await bounded(sending, self._kafka.request_timeout_seconds)
        except (errors.KafkaError, OSError) as exc:
            if action_for(exc) is not Action.TOO_LARGE:
                raise translated(exc, self._kafka) from exc
            await self.close()
            return TOO_LARGE
        return SENT

    async def close(self) -> None:
        if self._producer is not None:
            producer, self._producer = self._producer, None
            await stopped(self._kafka, producer.stop)


class Notes:
    """How far letters of each reason have been sent."""

    def __init__(
        self, kafka: KafkaSettings, admin: Admin, held: AsyncExitStack, partitions: list[TopicPartition], *, kept: bool
    ) -> None:
        self._kafka = kafka
        self._admin = admin
        self._held = held
        self._partitions = partitions
        self._kept = kept
        self._positions: dict[str, dict[TopicPartition, int]] = {}
        self._writers: dict[str, AIOKafkaConsumer] = {}

    def group(self, reason: str) -> str:
        return f"{self._kafka.group}.deadletters.{reason}"

    async def position(self, letter: Letter) -> int:
        if not self._kept:
            return 0
        if letter.reason not in self._positions:
            self._positions[letter.reason] = await self._admin.committed(self.group(letter.reason), self._partitions)
        return self._positions[letter.reason].get(_partition(letter), 0)

    async def note(self, done: list[Letter]) -> None:
        if not self._kept:
            return
        reached: dict[str, dict[TopicPartition, int]] = {}
        for letter in done:
            reached.setdefault(letter.reason, {})[_partition(letter)] = letter.record.offset + 1
        for reason, offsets in reached.items():
            writer = await self._writer(reason)
            await asked(self._kafka, lambda one=writer, all=offsets: one.commit(all))  # type: ignore[misc]

    async def _writer(self, reason: str) -> AIOKafkaConsumer:
        if reason not in self._writers:
            writer = AIOKafkaConsumer(
                **client_options(self._kafka), group_id=self.group(reason), enable_auto_commit=False
            )
            self._held.push_async_callback(stopped, self._kafka, writer.stop)
            await started(self._kafka, writer)
            writer.assign(self._partitions)
            writer.pause(*self._partitions)  # it writes offsets, and reads nothing
            self._writers[reason] = writer
        return self._writers[reason]


def _partition(letter: Letter) -> TopicPartition:
    return TopicPartition(letter.record.topic, letter.record.partition)
