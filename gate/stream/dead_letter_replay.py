"""Send the originals of dead letters back to their topics, once each.

Progress is kept at the broker, for each reason by itself, as the committed offset of a group of its own: dead letters
of one reason can be replayed today and those of another tomorrow, and an interrupted run resumes where it was. Records
that were sent but not yet committed are then sent again, which the gate answers with the same verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition, errors

from gate.stream.admin import Admin, open_admin
from gate.stream.client_calls import retry_call, start_client, stop_client, with_timeout
from gate.stream.client_options import client_options, producer_options
from gate.stream.dead_letters import (
    DeadLetterRecord,
    decode_dead_letter,
    fetch_original,
    is_selected,
    restore_original,
)
from gate.stream.kafka_errors import Action, action_for, translate_error
from gate.stream.records import OutgoingRecord
from gate.stream.settings import KafkaSettings
from gate.stream.topic_reader import open_consumer, open_topic_reader

COMMIT_RECORDS = 500  # dead letters that are replayed, at most, before progress is committed

# Outcomes
SENT = "sent"
SENT_BEFORE = "sent before"
ORIGINAL_GONE = "original gone"  # the dead letter has no copy, and its topic no longer has the record
OTHER_TOPIC = "of another topic"  # not a check-in topic of these settings: a dead letter cannot name a target freely
TOO_LARGE = "too large to send"


async def replay_dead_letters(
    kafka: KafkaSettings,
    *,
    reasons: Collection[str] = (),
    positions: Collection[str] = (),
    again: bool = False,
    dry_run: bool = False,
    report: Callable[[DeadLetterRecord, str], None] = lambda dead, outcome: None,
) -> Counter[str]:
    """Replay the selected dead letters and count their outcomes. Those selected by position are sent in any case."""
    async with AsyncExitStack() as resources:
        admin = await resources.enter_async_context(open_admin(kafka))
        reader = await resources.enter_async_context(open_topic_reader(kafka, [kafka.topics.dead_letters]))
        is_tracked = not (again or positions)
        progress = ReplayProgress(kafka, admin, resources, list(reader.ranges), is_tracked=is_tracked)
        sender = OriginalSender(kafka, resources, dry_run=dry_run)
        counts: Counter[str] = Counter()
        async for records in reader.batches():
            for first in range(0, len(records), COMMIT_RECORDS):
                replayed: list[DeadLetterRecord] = []
                for dead in map(decode_dead_letter, records[first : first + COMMIT_RECORDS]):
                    if not is_selected(dead, reasons=reasons, positions=positions):
                        continue
                    outcome = SENT_BEFORE
                    if not await progress.is_replayed(dead):
                        outcome = await sender.send(dead)
                        replayed.append(dead)
                    counts[outcome] += 1
                    report(dead, outcome)
                if not dry_run:
                    await progress.commit(replayed)
        return counts


class OriginalSender:
    """Finds original records and sends them one by one: a record that is too large has the whole request refused, and
    a producer that was refused a record has to be replaced."""

    def __init__(self, kafka: KafkaSettings, resources: AsyncExitStack, *, dry_run: bool) -> None:
        self._kafka = kafka
        self._resources = resources
        self._dry_run = dry_run
        self._producer: AIOKafkaProducer | None = None
        self._consumer: AIOKafkaConsumer | None = None
        resources.push_async_callback(self.close)

    async def send(self, dead: DeadLetterRecord) -> str:
        """Send the original of a dead letter and wait for the acknowledgement; the outcome."""
        origin = dead.letter.origin if dead.letter else None
        if origin is None or origin.topic not in self._kafka.topics.check_ins:
            return OTHER_TOPIC
        original = restore_original(dead) or await self._fetch(dead)
        if original is None:
            return ORIGINAL_GONE
        return SENT if self._dry_run else await self._send(original)

    async def _fetch(self, dead: DeadLetterRecord) -> OutgoingRecord | None:
        if self._consumer is None:
            self._consumer = await self._resources.enter_async_context(open_consumer(self._kafka))
        return await fetch_original(self._kafka, self._consumer, dead)

    async def _send(self, original: OutgoingRecord) -> str:
        if self._producer is None:
            self._producer = AIOKafkaProducer(**producer_options(self._kafka))
            await start_client(self._kafka, self._producer)
        sending = self._producer.send_and_wait(
            original.topic, original.value, key=original.key, headers=list(original.headers)
        )
        try:
            await with_timeout(sending, self._kafka.request_timeout_seconds)
        except (errors.KafkaError, OSError) as exc:
            if action_for(exc) is not Action.TOO_LARGE:
                raise translate_error(exc, self._kafka) from exc
            await self.close()
            return TOO_LARGE
        return SENT

    async def close(self) -> None:
        if self._producer is not None:
            producer, self._producer = self._producer, None
            await stop_client(self._kafka, producer.stop)


class ReplayProgress:
    """How far dead letters of each reason have been replayed: committed offsets, one group per reason."""

    def __init__(
        self,
        kafka: KafkaSettings,
        admin: Admin,
        resources: AsyncExitStack,
        partitions: list[TopicPartition],
        *,
        is_tracked: bool,
    ) -> None:
        self._kafka = kafka
        self._admin = admin
        self._resources = resources
        self._partitions = partitions
        self._is_tracked = is_tracked  # False: everything is replayed, and nothing is committed
        self._offsets: dict[str, dict[TopicPartition, int]] = {}
        self._committers: dict[str, AIOKafkaConsumer] = {}

    def _group(self, reason: str) -> str:
        return f"{self._kafka.group}.deadletters.{reason}"

    async def next_offset(self, dead: DeadLetterRecord) -> int:
        """The first offset of this dead letter's partition that was not replayed for its reason."""
        if not self._is_tracked:
            return 0
        if dead.reason not in self._offsets:
            group = self._group(dead.reason)
            self._offsets[dead.reason] = await self._admin.committed_offsets(group, self._partitions)
        return self._offsets[dead.reason].get(_partition(dead), 0)

    async def is_replayed(self, dead: DeadLetterRecord) -> bool:
        """Whether a replay has dealt with this dead letter: one that was selected by its position leaves no mark."""
        return dead.record.offset < await self.next_offset(dead)

    async def commit(self, replayed: list[DeadLetterRecord]) -> None:
        if not self._is_tracked:
            return
        by_reason: dict[str, dict[TopicPartition, int]] = {}
        for dead in replayed:
            by_reason.setdefault(dead.reason, {})[_partition(dead)] = dead.record.offset + 1
        for reason, offsets in by_reason.items():
            await self._commit(await self._committer(reason), offsets)

    async def _commit(self, committer: AIOKafkaConsumer, offsets: dict[TopicPartition, int]) -> None:
        await retry_call(self._kafka, lambda: committer.commit(offsets))

    async def _committer(self, reason: str) -> AIOKafkaConsumer:
        """A consumer that only commits: its partitions are paused."""
        if reason not in self._committers:
            committer = AIOKafkaConsumer(
                **client_options(self._kafka), group_id=self._group(reason), enable_auto_commit=False
            )
            self._resources.push_async_callback(stop_client, self._kafka, committer.stop)
            await start_client(self._kafka, committer)
            committer.assign(self._partitions)
            committer.pause(*self._partitions)
            self._committers[reason] = committer
        return self._committers[reason]


def _partition(dead: DeadLetterRecord) -> TopicPartition:
    return TopicPartition(dead.record.topic, dead.record.partition)
