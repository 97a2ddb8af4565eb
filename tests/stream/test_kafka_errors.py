"""What each error of the broker asks for, error by error; and that both ways of delivery do it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import TopicPartition, errors

from gate.metrics import WorkerMetrics
from gate.readiness import Readiness
from gate.stream.client_options import client_options, consumer_options, producer_options
from gate.stream.delivery import AtLeastOnce, ExactlyOnce, Outbox
from gate.stream.kafka_errors import Action, action_for, translate_error
from gate.stream.outage import Absence
from gate.stream.partitions import Lanes
from gate.stream.processor import Batch
from gate.stream.records import OutgoingRecord
from gate.stream.sender import Sender
from gate.stream.settings import KafkaSettings

PARTITION = TopicPartition("t", 0)


def every_error() -> Iterator[type[BaseException]]:
    """Of the library: those that have a code of the brokers' protocol, and those of its own making."""
    waiting: list[type[BaseException]] = [errors.KafkaError]
    while waiting:
        kind = waiting.pop()
        yield kind
        waiting += kind.__subclasses__()


EXPECTED: dict[Action, str] = {
    Action.FENCED: "ProducerFenced InvalidProducerEpoch TransactionCoordinatorFenced",
    Action.LOST: (
        "CommitFailedError IllegalGenerationError UnknownMemberIdError RebalanceInProgressError IllegalStateError"
    ),
    Action.TOO_LARGE: "MessageSizeTooLargeError RecordListTooLargeError",
    Action.FATAL: (
        "IllegalArgumentError UnrecognizedBrokerVersion IncompatibleBrokerVersion AuthenticationFailedError "
        "AuthenticationMethodNotSupported UnsupportedCodecError KafkaConfigurationError NoOffsetForPartitionError "
        "RecordTooLargeError BrokerResponseError NoError InvalidFetchRequestError OffsetMetadataTooLargeError "
        "InvalidTopicError InvalidRequiredAcksError InconsistentGroupProtocolError InvalidGroupIdError "
        "InvalidSessionTimeoutError InvalidCommitOffsetSizeError TopicAuthorizationFailedError "
        "GroupAuthorizationFailedError ClusterAuthorizationFailedError InvalidTimestampError "
        "UnsupportedSaslMechanismError IllegalSaslStateError UnsupportedVersionError TopicAlreadyExistsError "
        "InvalidPartitionsError InvalidReplicationFactorError InvalidReplicationAssignmentError "
        "InvalidConfigurationError InvalidRequestError UnsupportedForMessageFormatError InvalidTransactionTimeout "
        "TransactionalIdAuthorizationFailed SecurityDisabled SaslAuthenticationFailed DelegationTokenAuthDisabled "
        "DelegationTokenNotFound DelegationTokenOwnerMismatch DelegationTokenRequestNotAllowed "
        "DelegationTokenAuthorizationFailed DelegationTokenExpired InvalidPrincipalType NonEmptyGroup GroupIdNotFound "
        "NewTopicError"
    ),
}


@pytest.mark.parametrize("kind", sorted(set(every_error()), key=str))
def test_every_error_of_the_library_leads_to_what_was_designed(kind: type[BaseException]) -> None:
    told = {name: action for action, names in EXPECTED.items() for name in names.split()}
    assert action_for(kind("x")) is told.get(kind.__name__, Action.RETRY)


def test_what_nobody_has_heard_of_is_a_bug() -> None:
    assert action_for(ValueError("x")) is Action.FATAL


def test_an_error_for_people_names_the_broker_and_not_what_was_sent() -> None:
    told = translate_error(errors.KafkaConnectionError("text"), KafkaSettings(brokers="here:1"))
    assert "here:1" in str(told)
    assert "text" not in str(told)


def test_nothing_unsafe_is_left_to_the_library() -> None:
    consumer = consumer_options(KafkaSettings(), rebalance_seconds=30)
    assert consumer["enable_auto_commit"] is False
    assert consumer["auto_offset_reset"] == "earliest"
    assert consumer["isolation_level"] == "read_committed"
    assert not {"key_deserializer", "value_deserializer"} & consumer.keys()
    producer = producer_options(KafkaSettings())
    assert (producer["acks"], producer["enable_idempotence"]) == ("all", True)


def test_a_password_goes_to_the_broker_and_into_no_repr() -> None:
    kafka = KafkaSettings(security="SASL_PLAINTEXT", username="u", password="hidden")
    assert client_options(kafka)["sasl_plain_password"] == "hidden"
    assert "hidden" not in repr(kafka)


class FakeConsumer:
    """Keeps what was committed, and where it was told to read."""

    def __init__(self) -> None:
        self.offsets: dict[TopicPartition, int] = {}
        self.sought: list[int] = []
        self.failures: list[BaseException] = []

    async def commit(self, offsets: dict[TopicPartition, int]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.offsets |= offsets

    async def committed(self, partition: TopicPartition) -> int | None:
        return self.offsets.get(partition)

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self.sought.append(0)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.sought.append(offset)

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...


class FakeBroker:
    """Takes records from the producers it makes; the next call of a name may fail."""

    def __init__(self) -> None:
        self.consumer = FakeConsumer()
        self.failures: dict[str, list[Exception]] = defaultdict(list)
        self.records: list[bytes] = []
        self.made: list[FakeProducer] = []
        self.most_bytes = 10**9  # of a batch

    def producer(self, **options: Any) -> FakeProducer:
        self.made.append(FakeProducer(self, options))
        return self.made[-1]

    def fail(self, call: str) -> None:
        if self.failures[call]:
            raise self.failures[call].pop(0)


class FakeBuilder:
    def __init__(self) -> None:
        self.values: list[bytes] = []

    def append(self, *, timestamp: float | None, key: bytes | None, value: bytes, headers: Any) -> object:
        self.values.append(value)
        return self


class FakeProducer:
    def __init__(self, broker: FakeBroker, options: dict[str, Any]) -> None:
        self.broker = broker
        self.options = options
        self.stopped = False
        self.pending: list[bytes] = []
        self.pending_offsets: dict[TopicPartition, int] = {}

    async def start(self) -> None:
        self.broker.fail("start")

    async def stop(self) -> None:
        self.stopped = True

    async def partitions_for(self, topic: str) -> set[int]:
        self.broker.fail("partitions_for")
        return {0}

    def create_batch(self) -> FakeBuilder:
        return FakeBuilder()

    async def send_batch(self, batch: FakeBuilder, topic: str, *, partition: int) -> asyncio.Future[None]:
        assert not self.stopped
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            self.broker.fail("send")
            if sum(map(len, batch.values)) > self.broker.most_bytes:
                raise errors.MessageSizeTooLargeError("x")
        except Exception as exc:  # noqa: BLE001 - whatever the test asked for
            future.set_exception(exc)
        else:
            future.set_result(None)
            (self.pending if "transactional_id" in self.options else self.broker.records).extend(batch.values)
        return future

    async def begin_transaction(self) -> None:
        self.broker.fail("begin_transaction")
        self.pending, self.pending_offsets = [], {}

    async def send_offsets_to_transaction(self, offsets: dict[TopicPartition, int], group: str) -> None:
        self.broker.fail("send_offsets_to_transaction")
        self.pending_offsets |= offsets

    async def commit_transaction(self) -> None:
        self.broker.fail("commit_transaction")
        self.broker.records += self.pending
        self.broker.consumer.offsets |= self.pending_offsets
        self.broker.fail("answer_of_commit")


class Record:
    topic, partition, timestamp, key, headers, serialized_value_size = "t", 0, 1, b"k", (), 1

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.value = b"in %d" % offset


class Bench:
    """An outbox over a fake broker, and a worker that judges whatever the outbox asks for again."""

    def __init__(
        self, kind: type[AtLeastOnce] | type[ExactlyOnce], *, records: int = 1, long: int | None = None
    ) -> None:
        self.records = records  # of the first batch
        self.long = long  # the offset of one whose answer is long
        self.broker = FakeBroker()
        self.lanes = Lanes(under_way=4)
        self.metrics = WorkerMetrics()
        kafka = KafkaSettings(session_timeout_seconds=0.01, request_timeout_seconds=0.5)
        consumer: Any = self.broker.consumer
        sender = Sender(
            kafka,
            consumer,
            self.lanes,
            self.metrics,
            Absence("broker", self.metrics, Readiness()),
            tell=lambda parts: None,
            too_large=set(),
            make=self.broker.producer,
        )
        self.too_large = sender.too_large
        self.outbox: Outbox = kind(sender)
        self.lanes.assign([PARTITION], shut=kind is ExactlyOnce)
        self.outbox.assigned([PARTITION])

    async def deliver(self, first: int, count: int) -> None:
        """Hand over the answers to records until they are delivered, as a worker does that reads them again."""
        lane = self.lanes.lane(PARTITION)
        assert lane is not None
        async with asyncio.timeout(20):
            while lane.goes_back_to is None or lane.goes_back_to <= first:
                await self.lanes.quiet(None, 20)
                if lane.open and (lane.goes_back_to is None or lane.goes_back_to <= first):
                    lane.goes_back_to = first
                    await self.outbox.put(self._batch(first, count))
                await asyncio.sleep(0.001)
            await self.outbox.settled(5)

    def _batch(self, first: int, count: int) -> Batch:
        made: Any = [Record(first + n) for n in range(count)]
        batch = self.lanes.begin({PARTITION: made}, self.lanes.epochs())
        for record in made:
            value = b"out %d" % record.offset
            if record.offset == self.long:
                value = b"instead of 3" if ("t", 0, record.offset) in self.too_large else value * 10
            batch.parts[PARTITION].outgoing.append(OutgoingRecord("v", b"k", value, [], record.offset))
        return batch


async def deliver_two(bench: Bench) -> None:
    """The outcome of two records; raises what the outbox gave up for."""
    running = asyncio.ensure_future(bench.outbox.run())
    work = asyncio.ensure_future(_two(bench))
    done, _ = await asyncio.wait((running, work), return_when=asyncio.FIRST_COMPLETED)
    for task in (work, running):
        task.cancel()
    await asyncio.gather(work, running, return_exceptions=True)
    await bench.outbox.close()
    for task in done:
        task.result()


async def _two(bench: Bench) -> None:
    await bench.deliver(0, bench.records)
    await bench.deliver(bench.records, 1)


RETRIED = [errors.KafkaTimeoutError, errors.NotLeaderForPartitionError, errors.OutOfOrderSequenceNumber, TimeoutError]
CALLS = ["start", "send", "begin_transaction", "send_offsets_to_transaction", "commit_transaction"]


@pytest.mark.parametrize("call", ["start", "send"])
@pytest.mark.parametrize("kind", RETRIED)
def test_at_least_once_discards_the_producer_and_sends_again(kind: type[Exception], call: str) -> None:
    async def go() -> Bench:
        bench = Bench(AtLeastOnce)
        bench.broker.failures[call] = [kind("x")]
        await deliver_two(bench)
        return bench

    bench = asyncio.run(go())
    assert bench.broker.records == [b"out 0", b"out 1"]
    assert bench.broker.consumer.offsets == {PARTITION: 2}
    assert len(bench.broker.made) == 2
    assert all(producer.stopped for producer in bench.broker.made)
    assert bench.broker.consumer.sought == [0]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", [*RETRIED, errors.ProducerFenced, errors.InvalidProducerEpoch])
def test_exactly_once_discards_the_producer_and_begins_where_the_broker_says(kind: type[Exception], call: str) -> None:
    async def go() -> Bench:
        bench = Bench(ExactlyOnce)
        bench.broker.failures[call] = [kind("x")]
        await deliver_two(bench)
        return bench

    bench = asyncio.run(go())
    assert bench.broker.records == [b"out 0", b"out 1"]
    assert bench.broker.consumer.offsets == {PARTITION: 2}
    assert len(bench.broker.made) == 2
    assert {producer.options["transactional_id"] for producer in bench.broker.made} == {"gate.t.0"}


def test_a_transaction_that_was_committed_without_a_word_is_not_made_again() -> None:
    async def go() -> Bench:
        bench = Bench(ExactlyOnce)
        bench.broker.failures["answer_of_commit"] = [TimeoutError("x")]
        await deliver_two(bench)
        return bench

    bench = asyncio.run(go())
    assert bench.broker.records == [b"out 0", b"out 1"]
    assert bench.broker.consumer.sought[-1] == 1


@pytest.mark.parametrize("outbox", [AtLeastOnce, ExactlyOnce])
@pytest.mark.parametrize("kind", [errors.TopicAuthorizationFailedError, errors.InvalidTopicError, ValueError])
def test_what_cannot_be_mended_ends_the_worker_with_nothing_committed(
    outbox: type[AtLeastOnce] | type[ExactlyOnce], kind: type[Exception]
) -> None:
    bench: list[Bench] = []

    async def go() -> None:
        bench.append(Bench(outbox))
        bench[0].broker.failures["send"] = [kind("x")]
        await deliver_two(bench[0])

    with pytest.raises((kind, ExceptionGroup)):
        asyncio.run(go())
    assert not bench[0].broker.consumer.offsets


@pytest.mark.parametrize("outbox", [AtLeastOnce, ExactlyOnce])
def test_only_the_record_that_is_too_large_by_itself_is_given_up(
    outbox: type[AtLeastOnce] | type[ExactlyOnce],
) -> None:
    async def go() -> Bench:
        bench = Bench(outbox, records=8, long=3)
        bench.broker.most_bytes = 20
        await deliver_two(bench)
        return bench

    bench = asyncio.run(go())
    assert bench.too_large == {("t", 0, 3)}
    assert set(bench.broker.records) == {b"out %d" % n for n in (0, 1, 2, 4, 5, 6, 7, 8)} | {b"instead of 3"}
    assert bench.broker.consumer.offsets[PARTITION] == 9


def test_a_commit_that_times_out_is_tried_again() -> None:
    async def go() -> Bench:
        bench = Bench(AtLeastOnce)
        bench.broker.consumer.failures = [errors.KafkaTimeoutError("x"), errors.RequestTimedOutError("x")]
        await deliver_two(bench)
        return bench

    assert asyncio.run(go()).broker.consumer.offsets == {PARTITION: 2}


@pytest.mark.parametrize("kind", [errors.CommitFailedError, errors.IllegalGenerationError, errors.UnknownMemberIdError])
def test_a_commit_that_comes_too_late_is_left_to_the_new_owner(kind: type[Exception]) -> None:
    async def go() -> Bench:
        bench = Bench(AtLeastOnce)
        bench.broker.consumer.failures = [kind("x")]
        await deliver_two(bench)
        return bench

    assert asyncio.run(go()).broker.consumer.offsets == {PARTITION: 2}  # of the second record
