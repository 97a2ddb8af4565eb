"""After each error of the broker, both guarantees deliver every answer, and commit no offset before its answer."""

from __future__ import annotations

import pytest
from aiokafka import errors

from gate.stream.delivery import AtLeastOnce, ExactlyOnce
from tests.stream.delivery_harness import DeliveryHarness, Guarantee
from tests.stream.fake_records import PARTITION

RETRIED = [errors.KafkaTimeoutError, errors.NotLeaderForPartitionError, errors.OutOfOrderSequenceNumber, TimeoutError]
CALLS = ["start", "send", "begin_transaction", "send_offsets_to_transaction", "commit_transaction"]

both_guarantees = pytest.mark.parametrize("guarantee", [AtLeastOnce, ExactlyOnce])


@pytest.mark.parametrize("call", ["start", "send"])
@pytest.mark.parametrize("error", RETRIED)
async def test_at_least_once_discards_the_producer_and_sends_again(error: type[Exception], call: str) -> None:
    harness = DeliveryHarness(AtLeastOnce)
    harness.broker.failures[call] = [error("x")]
    await harness.run()
    assert harness.broker.records == [b"out 0", b"out 1"]
    assert harness.broker.consumer.offsets == {PARTITION: 2}
    assert len(harness.broker.producers) == 2
    assert all(producer.stopped for producer in harness.broker.producers)
    assert harness.broker.consumer.seeks == [(PARTITION, 0)]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("error", [*RETRIED, errors.ProducerFenced, errors.InvalidProducerEpoch])
async def test_exactly_once_discards_the_producer_and_resumes_at_the_committed_offset(
    error: type[Exception], call: str
) -> None:
    harness = DeliveryHarness(ExactlyOnce)
    harness.broker.failures[call] = [error("x")]
    await harness.run()
    assert harness.broker.records == [b"out 0", b"out 1"]
    assert harness.broker.consumer.offsets == {PARTITION: 2}
    assert len(harness.broker.producers) == 2
    assert {producer.options["transactional_id"] for producer in harness.broker.producers} == {"gate:in:0"}


async def test_a_transaction_that_was_committed_without_an_acknowledgement_is_not_repeated() -> None:
    harness = DeliveryHarness(ExactlyOnce)
    harness.broker.failures["answer_of_commit"] = [TimeoutError("x")]
    await harness.run()
    assert harness.broker.records == [b"out 0", b"out 1"]
    assert harness.broker.consumer.seeks[-1] == (PARTITION, 1)


@both_guarantees
@pytest.mark.parametrize("error", [errors.TopicAuthorizationFailedError, errors.InvalidTopicError, ValueError])
async def test_an_error_that_a_retry_cannot_help_ends_the_worker_with_nothing_committed(
    guarantee: Guarantee, error: type[Exception]
) -> None:
    harness = DeliveryHarness(guarantee)
    harness.broker.failures["send"] = [error("x")]
    with pytest.raises((error, ExceptionGroup)):
        await harness.run()
    assert not harness.broker.consumer.offsets


@pytest.mark.slow
@both_guarantees
async def test_only_the_record_whose_answer_is_too_large_by_itself_gets_a_smaller_one(guarantee: Guarantee) -> None:
    harness = DeliveryHarness(guarantee, records=8, long=3)
    harness.broker.max_batch_bytes = 20
    await harness.run()
    expected = {b"out %d" % offset for offset in (0, 1, 2, 4, 5, 6, 7, 8)} | {b"instead of 3"}
    assert set(harness.broker.records) == expected
    assert harness.broker.consumer.offsets[PARTITION] == 9
    state = harness.tracker.state(PARTITION)
    assert state is not None
    assert not state.refused  # delivered by now


@both_guarantees
async def test_every_committed_offset_names_the_index(guarantee: Guarantee) -> None:
    harness = DeliveryHarness(guarantee)
    await harness.run()
    assert harness.broker.consumer.metadata == {PARTITION: "gate-index=1a"}


@both_guarantees
async def test_a_refused_answer_is_no_outage_of_the_broker(guarantee: Guarantee) -> None:
    harness = DeliveryHarness(guarantee, records=1, long=0)
    harness.broker.max_batch_bytes = 20
    await harness.run()
    assert b"instead of 0" in harness.broker.records
    registry = harness.metrics.registry
    refused = registry.get_sample_value("gate_producers_discarded_total", {"reason": "MessageSizeTooLargeError"})
    assert refused == 1
    assert registry.get_sample_value("gate_dependency_retries_total", {"dependency": "broker"}) == 0


async def test_a_commit_that_times_out_is_retried() -> None:
    harness = DeliveryHarness(AtLeastOnce)
    harness.broker.consumer.commit_failures = [errors.KafkaTimeoutError("x"), errors.RequestTimedOutError("x")]
    await harness.run()
    assert harness.broker.consumer.offsets == {PARTITION: 2}


@pytest.mark.parametrize(
    "error", [errors.CommitFailedError, errors.IllegalGenerationError, errors.UnknownMemberIdError]
)
async def test_a_commit_after_the_group_has_changed_is_left_to_the_new_owner(error: type[Exception]) -> None:
    harness = DeliveryHarness(AtLeastOnce)
    harness.broker.consumer.commit_failures = [error("x")]
    await harness.run()
    assert harness.broker.consumer.offsets == {PARTITION: 2}  # of the second record
