"""Dead letters are replayed on a real broker: each original once, where each reason got to, and nowhere else."""

from __future__ import annotations

import pytest
from aiokafka import AIOKafkaProducer

from gate.limits import Limits
from gate.stream.dead_letter_replay import OTHER_TOPIC, SENT, SENT_BEFORE, TOO_LARGE, replay_dead_letters
from gate.stream.dead_letters import DeadLetterRecord
from gate.stream.records import Record, dead_letter_record, decode_record
from gate.stream.settings import KafkaSettings, Topics
from gate.stream.topic_reader import open_topic_reader
from gate.wire import RejectedMessage
from tests.support.brokers import KafkaServer, TopicFactory


@pytest.fixture
def settings(kafka: KafkaServer, topic_factory: TopicFactory) -> KafkaSettings:
    topics = Topics(check_ins=(topic_factory.create("in"),), dead_letters=topic_factory.create("dead"))
    return KafkaSettings(brokers=kafka.brokers, group=topic_factory.group(), topics=topics)


async def records_of(settings: KafkaSettings, topic: str) -> list[Record]:
    async with open_topic_reader(settings, [topic]) as reader:
        return [record async for batch in reader.batches() for record in batch]


async def dead_letter(settings: KafkaSettings, *values: bytes) -> None:
    """Check in values that cannot be judged, and write their dead letters as a worker does."""
    [topic] = settings.topics.check_ins
    async with AIOKafkaProducer(bootstrap_servers=settings.brokers) as producer:
        for value in values:
            await producer.send_and_wait(topic, value, key=b"key", headers=[("h", b"1")])
        for record in (await records_of(settings, topic))[-len(values) :]:
            rejected = decode_record(record, limits=Limits())
            assert isinstance(rejected, RejectedMessage)
            letter = dead_letter_record(record, rejected, settings.topics)
            await producer.send_and_wait(letter.topic, letter.value, key=letter.key, headers=letter.headers)


async def test_an_original_is_sent_once_with_its_key_and_headers(settings: KafkaSettings) -> None:
    await dead_letter(settings, b"no json", b"{}")
    assert await replay_dead_letters(settings) == {SENT: 2}
    assert await replay_dead_letters(settings) == {SENT_BEFORE: 2}
    replayed = (await records_of(settings, settings.topics.check_ins[0]))[2:]
    assert [(one.key, one.value, list(one.headers)) for one in replayed] == [
        (b"key", b"no json", [("h", b"1")]),
        (b"key", b"{}", [("h", b"1")]),
    ]


async def test_progress_is_kept_for_each_reason_by_itself(settings: KafkaSettings) -> None:
    await dead_letter(settings, b"no json", b"{}")
    assert await replay_dead_letters(settings, reasons=["missing_field"]) == {SENT: 1}
    assert await replay_dead_letters(settings) == {SENT: 1, SENT_BEFORE: 1}
    await dead_letter(settings, b"{}")
    assert await replay_dead_letters(settings) == {SENT: 1, SENT_BEFORE: 2}


async def test_a_dead_letter_that_is_selected_by_position_or_by_again_is_sent_again(settings: KafkaSettings) -> None:
    await dead_letter(settings, b"no json", b"{}")
    await replay_dead_letters(settings)
    assert await replay_dead_letters(settings, positions=["0:1"]) == {SENT: 1}
    assert await replay_dead_letters(settings, again=True) == {SENT: 2}


async def test_a_dry_run_reports_what_would_be_sent_and_sends_and_commits_nothing(settings: KafkaSettings) -> None:
    await dead_letter(settings, b"no json")
    outcomes: list[tuple[str, str]] = []

    def report(dead: DeadLetterRecord, outcome: str) -> None:
        outcomes.append((dead.position, outcome))

    await replay_dead_letters(settings, dry_run=True, report=report)
    assert outcomes == [("0:0", SENT)]
    assert len(await records_of(settings, settings.topics.check_ins[0])) == 1
    assert await replay_dead_letters(settings) == {SENT: 1}


async def test_a_dead_letter_cannot_choose_the_topic_that_its_original_is_sent_to(
    settings: KafkaSettings, kafka: KafkaServer, topic_factory: TopicFactory
) -> None:
    await dead_letter(settings, b"no json")
    topics = Topics(check_ins=(topic_factory.create("other"),), dead_letters=settings.topics.dead_letters)
    other = KafkaSettings(brokers=kafka.brokers, group=settings.group, topics=topics)
    assert await replay_dead_letters(other) == {OTHER_TOPIC: 1}
    assert await records_of(settings, topics.check_ins[0]) == []


async def test_an_original_that_is_too_large_is_counted_and_those_after_it_are_sent(
    settings: KafkaSettings, kafka: KafkaServer
) -> None:
    await dead_letter(settings, b"no json", bytes(5000), b"{}")
    small = KafkaSettings(brokers=kafka.brokers, group=settings.group, topics=settings.topics, max_record_bytes=1000)
    assert await replay_dead_letters(small) == {SENT: 2, TOO_LARGE: 1}
