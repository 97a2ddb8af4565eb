"""Answers are packed into batches and acknowledged; those that are too large for their topic are handed back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from aiokafka import errors

from gate.api import Gate
from gate.core.builtin_profiles import BUILT_IN
from gate.limits import Limits
from gate.pipeline import Signer
from gate.stream.batch import PartitionAnswers
from gate.stream.processor import BatchProcessor
from gate.stream.sender import Refusal
from gate.stream.settings import Topics
from tests.stream.delivery_harness import SenderHarness
from tests.stream.fake_records import PARTITION, polled_batch


@pytest.fixture
async def harness() -> AsyncIterator[SenderHarness]:
    """Discards the producers of a test at its end."""
    made = SenderHarness(topics=Topics(accepted="accepted", quarantine="quarantine"))
    yield made
    for producer in made.broker.producers:
        made.sender.discard(producer)
    await made.sender.wait_stopped(5)


async def send(harness: SenderHarness, *answers: PartitionAnswers) -> Refusal | None:
    return await harness.sender.send(await harness.sender.start_producer(), answers)


async def test_answers_of_several_batches_are_sent_in_order(harness: SenderHarness) -> None:
    assert await send(harness, harness.answer(0, 2), harness.answer(2, 1)) is None
    assert harness.broker.records == [b"out 0", b"out 1", b"out 2"]


async def test_an_answer_that_is_too_large_by_itself_is_handed_back_by_its_offset(harness: SenderHarness) -> None:
    harness.broker.max_batch_bytes = 20
    refusal = await send(harness, harness.answer(3, 1, long=3))
    assert refusal is not None
    assert isinstance(refusal.error, errors.MessageSizeTooLargeError)
    assert refusal.answers == {(PARTITION, 3, "v")}


async def test_a_refused_batch_names_no_offset_and_makes_later_ones_smaller(harness: SenderHarness) -> None:
    harness.broker.max_batch_bytes = 20
    refusals = []
    while (refusal := await send(harness, harness.answer(0, 6))) is not None:
        refusals.append(refusal.answers)
    assert refusals
    assert not any(refusals)


async def test_a_record_without_an_answer_is_not_committed_over_unless_it_is_a_delete(harness: SenderHarness) -> None:
    answers = harness.answer(0, 3)
    partial = replace(answers, outgoing=answers.outgoing[:2])
    with pytest.raises(RuntimeError, match="@2: has no acknowledged answer"):
        await send(harness, partial)
    assert await send(harness, replace(partial, unanswered=frozenset({2}))) is None


async def test_key_and_headers_count_as_the_size_of_an_answer(harness: SenderHarness) -> None:
    answers = harness.answer(0, 2)
    first, second = answers.outgoing
    harness.sender._sizes.lower("v", 200)
    harness.broker.max_batch_bytes = len(second.value or b"")
    headers = [("baggage", b"x" * 100)]
    assert await send(harness, replace(answers, outgoing=(first, replace(second, headers=headers)))) is None


async def test_an_error_after_the_first_refusal_is_its_consequence(harness: SenderHarness) -> None:
    harness.broker.failures["send"] = [errors.MessageSizeTooLargeError("x"), errors.OutOfOrderSequenceNumber("x")]
    harness.sender._sizes.lower("v", 1)  # every answer is a batch of its own
    refusal = await send(harness, harness.answer(0, 2))
    assert refusal is not None
    assert refusal.answers == {(PARTITION, 0, "v")}


async def test_an_error_before_any_refusal_is_raised(harness: SenderHarness) -> None:
    harness.broker.failures["send"] = [errors.NotLeaderForPartitionError("x"), errors.MessageSizeTooLargeError("x")]
    harness.sender._sizes.lower("v", 1)
    with pytest.raises(errors.NotLeaderForPartitionError):
        await send(harness, harness.answer(0, 2))


async def test_a_producer_that_does_not_start_is_stopped(harness: SenderHarness) -> None:
    harness.broker.failures["start"] = [errors.KafkaConnectionError("x")]
    with pytest.raises(errors.KafkaConnectionError):
        await harness.sender.start_producer()
    await harness.sender.wait_stopped(5)
    assert [producer.stopped for producer in harness.broker.producers] == [True]


async def test_a_check_in_is_counted_when_its_verdict_is_acknowledged_and_not_before(harness: SenderHarness) -> None:
    metrics = harness.metrics
    processor = BatchProcessor(
        Signer(BUILT_IN["standard"]),
        Gate,
        limits=Limits(),
        topics=harness.sender.kafka.topics,
        on_index_unavailable="wait",
        content_root=None,
        metrics=metrics,
    )
    judged = processor.judge(processor.prepare(polled_batch("a", b"{", "b", "c")))

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(name, labels)

    labels = {"relation": "new", "similar": "false", "profile": "standard@1", "source": "none"}
    assert value("gate_verdicts_total", **labels) is None
    harness.sender.record_delivered(judged.answers)
    assert value("gate_verdicts_total", **labels) == 1
    assert value("gate_dead_letters_total", reason="bad_json") == 1
    assert value("gate_routed_documents_total", destination="accepted") == 1
    assert value("gate_routed_documents_total", destination="quarantine") == 2
    assert value("gate_processing_latency_seconds_count") == 3
