"""`gate topics`, `gate lag`, `gate deadletters` and `gate index rebuild --from-topic`, on a real broker."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from click.testing import CliRunner, Result

from gate.cli import main
from gate.demo import BREAD, LIGHTHOUSE
from gate.errors import BadDocument
from gate.limits import Limits
from gate.stream.records import OutgoingRecord, dead_letter_record, decode_record
from gate.stream.settings import Topics
from gate.wire import RejectedMessage
from tests.support.brokers import BrokerSecurity, KafkaServer, TopicFactory, kafka_server
from tests.support.servers import Certificates, certificates, free_ports, wait_until

pytestmark = pytest.mark.usefixtures("empty_folder")

CANARY = "marmalade"
EDITED = LIGHTHOUSE.replace("three summers", "four summers")


def gate(*arguments: str | Path, **environ: str) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], env=environ)


def done(*arguments: str | Path, code: int = 0) -> str:
    result = gate(*arguments)
    assert result.exit_code == code, result.output
    return result.stdout


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@dataclass(frozen=True)
class Stream:
    """Topics of one test, and the options that name them."""

    brokers: str
    group: str
    topics: Topics

    @property
    def options(self) -> tuple[str, ...]:
        named = {
            "kafka_group": self.group,
            "kafka_topics": ",".join(self.topics.check_ins),
            "kafka_verdict_topic": self.topics.verdicts,
            "kafka_dead_letter_topic": self.topics.dead_letters,
        }
        return ("--kafka", self.brokers, *(word for key, name in named.items() for word in ("--set", f"{key}={name}")))

    @property
    def check_ins(self) -> str:
        return self.topics.check_ins[0]

    def send(self, *records: OutgoingRecord, partitions: Sequence[int] = (), times: Sequence[int] = ()) -> None:
        async def send() -> None:
            async with AIOKafkaProducer(bootstrap_servers=self.brokers) as producer:
                for n, one in enumerate(records):
                    await producer.send_and_wait(
                        one.topic,
                        one.value,
                        key=one.key,
                        headers=list(one.headers),
                        partition=partitions[n] if partitions else None,
                        timestamp_ms=times[n] if times else None,
                    )

        asyncio.run(send())

    def read(self, topic: str, count: int) -> list[Any]:
        async def read() -> list[Any]:
            async with AIOKafkaConsumer(
                topic, bootstrap_servers=self.brokers, auto_offset_reset="earliest"
            ) as consumer:
                return [await consumer.getone() for _ in range(count)]

        return asyncio.run(read())

    def commit(self, offsets: dict[int, int]) -> None:
        async def commit() -> None:
            consumer = AIOKafkaConsumer(bootstrap_servers=self.brokers, group_id=self.group, enable_auto_commit=False)
            async with consumer:
                consumer.assign([TopicPartition(self.check_ins, number) for number in offsets])
                await consumer.commit({TopicPartition(self.check_ins, number): at for number, at in offsets.items()})

        asyncio.run(commit())

    def bury(self, *raws: bytes, keep_original: bool = True) -> None:
        """Send records, and write their dead letters as the worker would."""
        self.send(*(OutgoingRecord(self.check_ins, b"key", raw, [("traceparent", b"00-1-2-03")]) for raw in raws))
        for record in self.read(self.check_ins, len(raws)):
            rejected = decode_record(record, limits=Limits())
            if not isinstance(rejected, RejectedMessage):
                rejected = RejectedMessage.of(
                    BadDocument("bad_field", "a reason"), record.value, origin=rejected.origin
                )
            self.send(dead_letter_record(record, rejected, self.topics, omitted=() if keep_original else ("original",)))


def check_in(document_id: str, text: str) -> bytes:
    return json.dumps({"document_id": document_id, "text": text}).encode()


@pytest.fixture
def stream(kafka: KafkaServer, topic_factory: TopicFactory) -> Stream:
    topics = Topics(
        check_ins=(topic_factory.create("in", partitions=2),),
        verdicts=topic_factory.name("out"),
        dead_letters=topic_factory.create("dead"),
    )
    return Stream(kafka.brokers, topic_factory.group(), topics)


# Topics


def names(topic_factory: TopicFactory) -> tuple[str, ...]:
    keys = ("kafka_topics", "kafka_verdict_topic", "kafka_dead_letter_topic", "kafka_quarantine_topic")
    return tuple(word for key in keys for word in ("--set", f"{key}={topic_factory.name(key.split('_')[1])}"))


def test_topics_are_made_once_and_then_left_as_they_are(kafka: KafkaServer, topic_factory: TopicFactory) -> None:
    command = ("topics", "create", "--kafka", kafka.brokers, *names(topic_factory), "--json")
    assert {row["state"] for row in lines(done(*command, "--check", code=1))} == {"missing"}
    made = lines(done(*command, "--partitions", "3"))
    assert [(row["what"], row["state"]) for row in made] == [
        ("check-ins", "created"),
        ("verdicts", "created"),
        ("dead letters", "created"),
        ("quarantine", "created"),
    ]
    assert {row["state"] for row in lines(done(*command, "--partitions", "3", "--check"))} == {"exists"}
    other = lines(done(*command, "--partitions", "4", "--retention-days", "forever", "--compact"))
    assert other[0]["differences"] == {
        "partitions": {"is": "3", "wanted": "4"},
        "cleanup.policy": {"is": "delete", "wanted": "compact"},
        "retention.ms": {"is": str(7 * 86_400_000), "wanted": "-1"},
    }
    assert other[2]["differences"] == {"retention.ms": {"is": str(30 * 86_400_000), "wanted": "-1"}}


def test_a_topic_for_documents_takes_a_record_of_32_mb(kafka: KafkaServer, topic_factory: TopicFactory) -> None:
    named = names(topic_factory)
    done("topics", "create", "--kafka", kafka.brokers, *named)

    async def send() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=kafka.brokers, max_request_size=33 * 2**20)
        async with producer:
            await producer.send_and_wait(named[1].partition("=")[2], b"x" * (32 * 2**20 - 100))

    asyncio.run(send())


def test_more_copies_than_brokers_are_refused_in_the_words_of_the_broker(
    kafka: KafkaServer, topic_factory: TopicFactory
) -> None:
    result = gate("topics", "create", "--kafka", kafka.brokers, *names(topic_factory), "--replication", "2")
    assert result.exit_code == 2
    assert "replication factor" in result.stderr


# Lag


def test_lag_counts_the_records_behind_the_committed_offsets(stream: Stream) -> None:
    stream.send(*[OutgoingRecord(stream.check_ins, b"k", b"{}", [])] * 5, partitions=[0, 0, 0, 1, 1])
    stream.commit({0: 2})
    [report] = lines(done("lag", *stream.options, "--json"))
    assert report["lag"] == 3
    assert [(row["committed"], row["end"], row["lag"]) for row in report["partitions"]] == [(2, 3, 1), (None, 2, 2)]
    assert done("lag", *stream.options, "--max", "3").endswith("3 waiting.\n")
    done("lag", *stream.options, "--max", "2", code=1)


def send_in_transactions(stream: Stream, values: Sequence[bytes]) -> None:
    """One transaction per value, the last one aborted: each ends with a marker, which has an offset of its own."""

    async def send() -> None:
        async with AIOKafkaProducer(bootstrap_servers=stream.brokers, transactional_id=stream.group) as producer:
            for value in values:
                await producer.begin_transaction()
                await producer.send_and_wait(stream.check_ins, value, partition=0)
                await (producer.commit_transaction() if value != values[-1] else producer.abort_transaction())

    asyncio.run(send())


def test_lag_reaches_zero_behind_a_transactional_producer(stream: Stream, topic_factory: TopicFactory) -> None:
    topics = Topics(
        check_ins=stream.topics.check_ins, verdicts=topic_factory.create("out"), dead_letters=stream.topics.dead_letters
    )
    stream = Stream(stream.brokers, stream.group, topics)
    send_in_transactions(stream, [check_in(name, BREAD) for name in ("a", "b", "aborted")])
    done("lag", *stream.options, "--max", "5", code=1)
    with at_work(stream):
        assert [json.loads(record.value)["document_id"] for record in stream.read(topics.verdicts, 2)] == ["a", "b"]
        wait_until(lambda: gate("lag", *stream.options, "--max", "0").exit_code == 0, "the lag did not reach 0")
    [report] = lines(done("lag", *stream.options, "--json"))
    assert (report["lag"], report["partitions"][0]["committed"]) == (0, 6)


# Dead letters


def test_dead_letters_are_listed_with_their_reasons_and_no_text(stream: Stream) -> None:
    stream.bury(CANARY.encode(), b'{"document_id": "a", "text": 7, "title": "%s"}' % CANARY.encode())
    shown = done("deadletters", "list", *stream.options)
    assert "bad_json" in shown
    assert shown.endswith("2 dead letters: 1 bad_json, 1 bad_field.\n")
    rows = lines(done("deadletters", "list", *stream.options, "--json", "--reason", "bad_field"))
    assert [(row["letter"], row["document_id"]) for row in rows] == [("0:1", "a")]
    assert rows[0]["origin"].startswith(stream.check_ins)
    assert CANARY not in shown + json.dumps(rows)
    assert len(lines(done("deadletters", "list", *stream.options, "--json", "--last", "1"))) == 1


def test_the_list_has_the_message_of_each_letter_and_whether_it_was_replayed(stream: Stream) -> None:
    stream.bury(b"no json", b'{"document_id": "a", "text": 7}', b"no json either")

    def replayed() -> list[bool]:
        return [row["replayed"] for row in lines(done("deadletters", "list", *stream.options, "--json"))]

    assert replayed() == [False, False, False]
    done("deadletters", "replay", *stream.options, "--reason", "bad_json", "--dry-run")
    assert replayed() == [False, False, False]
    done("deadletters", "replay", *stream.options, "--reason", "bad_json")
    assert replayed() == [True, False, True]
    rows = done("deadletters", "list", *stream.options).splitlines()[1:-1]
    shown = [re.split(r"  +", row)[-2:] for row in rows]
    assert [cells[0] for cells in shown] == ["yes", "no", "yes"]
    assert shown[0][1].startswith("the record is not JSON: ")  # without the place, which has a column
    assert shown[1][1].startswith("field `text`: expected str")
    done("deadletters", "replay", *stream.options)
    assert replayed() == [True, True, True]


def test_a_record_that_is_no_letter_is_listed_and_not_sent(stream: Stream) -> None:
    stream.send(OutgoingRecord(stream.topics.dead_letters, None, b"\xff" + CANARY.encode(), []))
    assert "unreadable" in done("deadletters", "list", *stream.options)
    assert done("deadletters", "replay", *stream.options, code=1) == "1 of another topic\n"


@pytest.mark.parametrize("keep_original", [True, False])
def test_originals_go_back_to_their_topic_as_they_were_and_once_only(stream: Stream, keep_original: bool) -> None:
    raws = [b"no json", b"\xff\x00 no UTF-8 either"]
    stream.bury(*raws, keep_original=keep_original)
    assert done("deadletters", "replay", *stream.options, "--dry-run") == "2 would be sent\n"
    assert done("deadletters", "replay", *stream.options) == "2 sent\n"
    assert done("deadletters", "replay", *stream.options) == "2 sent before\n"
    found = stream.read(stream.check_ins, 4)
    assert sorted(record.value for record in found) == sorted(raws * 2)
    assert {(record.key, tuple(record.headers)) for record in found} == {(b"key", (("traceparent", b"00-1-2-03"),))}


def test_each_reason_is_sent_by_itself_and_new_letters_of_it_later(stream: Stream) -> None:
    stream.bury(b"no json", b"{}")
    assert done("deadletters", "replay", *stream.options, "--reason", "missing_field") == "1 sent\n"
    assert done("deadletters", "replay", *stream.options) == "1 sent, 1 sent before\n"
    stream.send(
        OutgoingRecord(stream.topics.dead_letters, b"k", stream.read(stream.topics.dead_letters, 1)[0].value, [])
    )
    assert done("deadletters", "replay", *stream.options) == "1 sent, 2 sent before\n"
    assert done("deadletters", "replay", *stream.options, "--at", "0:1") == "1 sent\n"  # by its name: again
    assert done("deadletters", "replay", *stream.options, "--again") == "3 sent\n"


def test_nothing_is_sent_to_a_topic_that_is_not_read_for_check_ins(stream: Stream, topic_factory: TopicFactory) -> None:
    stream.bury(b"no json")
    other = topic_factory.create("other")
    options = [word.replace(stream.check_ins, other) for word in stream.options]
    assert done("deadletters", "replay", *options, code=1) == "1 of another topic\n"


def test_an_original_that_is_gone_or_another_record_is_reported_and_not_sent(stream: Stream) -> None:
    stream.bury(b"no json", keep_original=False)
    [letter] = stream.read(stream.topics.dead_letters, 1)
    beyond, other = json.loads(letter.value), json.loads(letter.value)
    beyond["origin"]["offset"] = 10**9
    other["sha256"] = "0" * 64
    for changed in (beyond, other):
        stream.send(OutgoingRecord(stream.topics.dead_letters, b"k", json.dumps(changed).encode(), []))
    assert done("deadletters", "replay", *stream.options, code=1) == "2 original gone, 1 sent\n"


def test_a_bomb_is_not_sent_again_and_does_not_stop_a_rebuild(stream: Stream) -> None:
    async def send() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=stream.brokers, compression_type="gzip", max_request_size=256 * 2**20
        )
        async with producer:
            await producer.send_and_wait(stream.check_ins, bytes(80 * 2**20), key=b"bomb", partition=0)
            await producer.send_and_wait(stream.check_ins, check_in("a", BREAD), key=b"a", partition=0)

    asyncio.run(send())
    rebuilt = gate("index", "rebuild", "--from-topic", *stream.options, "--index", "new.sqlite", "--json")
    assert lines(rebuilt.stderr)[-1] == {"summary": {"dead_lettered": 1, "new": 1}}
    letter = {
        "reason": "too_large",
        "message": "",
        "origin": {"topic": stream.check_ins, "partition": 0, "offset": 0},
        "document_id": None,
        "sha256": "",
        "size_bytes": 0,
    }
    stream.send(OutgoingRecord(stream.topics.dead_letters, b"bomb", json.dumps(letter).encode(), []))
    assert done("deadletters", "replay", *stream.options, code=1) == "1 original gone\n"


def test_an_original_that_its_topic_refuses_is_reported_and_the_others_are_sent(
    stream: Stream, topic_factory: TopicFactory
) -> None:
    stream.bury(b"no json", random.Random(5).randbytes(5000), b"no json either")
    small = topic_factory.create("small", max_message_bytes="1000")
    moved = Stream(stream.brokers, stream.group, Topics(check_ins=(small,), dead_letters=topic_factory.create("dead")))
    for record in stream.read(stream.topics.dead_letters, 3):
        letter = json.loads(record.value)
        letter["origin"]["topic"] = small
        stream.send(OutgoingRecord(moved.topics.dead_letters, b"k", json.dumps(letter).encode(), []))
    assert done("deadletters", "replay", *moved.options, code=1) == "2 sent, 1 too large to send\n"
    assert [record.value for record in moved.read(small, 2)] == [b"no json", b"no json either"]


@contextmanager
def at_work(stream: Stream, *more: str) -> Iterator[None]:
    """A gate on the topics meanwhile."""
    command = [sys.executable, "-m", "gate", "run", *stream.options, "--index", "kept.sqlite", *more]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


def test_a_document_that_was_too_large_is_judged_after_the_limit_was_raised(
    stream: Stream, topic_factory: TopicFactory
) -> None:
    topics = Topics(
        check_ins=stream.topics.check_ins, verdicts=topic_factory.create("out"), dead_letters=stream.topics.dead_letters
    )
    stream = Stream(stream.brokers, stream.group, topics)
    stream.send(OutgoingRecord(stream.check_ins, b"a", check_in("a", BREAD), [("ce_id", b"7")]))
    with at_work(stream, "--set", "limits.max_document_chars=100"):
        [letter] = stream.read(topics.dead_letters, 1)
    assert json.loads(letter.value)["reason"] == "too_large"
    assert done("deadletters", "replay", *stream.options, "--reason", "too_large") == "1 sent\n"
    assert {tuple(record.headers) for record in stream.read(stream.check_ins, 2)} == {(("ce_id", b"7"),)}
    with at_work(stream):
        [verdict] = stream.read(topics.verdicts, 1)
    assert json.loads(verdict.value)["relation"] == "new"
    assert done("lag", *stream.options, "--max", "0").endswith("0 waiting.\n")


# Rebuild


def test_an_index_is_rebuilt_from_the_topic_in_the_order_of_time(stream: Stream) -> None:
    texts = {"first": LIGHTHOUSE, "copy": EDITED, "gone": BREAD, "back": BREAD}
    sent = [OutgoingRecord(stream.check_ins, name.encode(), check_in(name, text), []) for name, text in texts.items()]
    sent.insert(3, OutgoingRecord(stream.check_ins, b"gone", None, []))
    sent.append(OutgoingRecord(stream.check_ins, b"", b"no json", []))
    # The copy is in the partition that is read first, and later in time.
    stream.send(*sent, partitions=[1, 0, 1, 1, 1, 0], times=[1000, 2000, 3000, 4000, 5000, 6000])
    rebuilt = gate("index", "rebuild", "--from-topic", *stream.options, "--index", "new.sqlite", "--json")
    assert rebuilt.exit_code == 1  # one is no check-in
    assert lines(rebuilt.stderr)[-1] == {"summary": {"new": 3, "near": 1, "deleted": 1, "dead_lettered": 1}}
    [verdict] = lines(done("explain", "copy", "--index", "new.sqlite", "--json"))
    assert (verdict["similar"], verdict["group"]) == (True, "first")
    again = gate("index", "rebuild", "--from-topic", *stream.options, "--index", "new.sqlite")
    assert again.exit_code == 2
    assert "--resume" in again.stderr


def test_a_rebuild_has_one_source() -> None:
    Path("events.jsonl").write_bytes(check_in("a", BREAD))
    for command in (("index", "rebuild"), ("index", "rebuild", "--from-topic", "events.jsonl")):
        assert "give FILES, or --from-topic" in gate(*command, "--index", "new.sqlite").stderr


# What can be wrong

COMMANDS = (
    ("topics", "create"),
    ("lag",),
    ("deadletters", "list"),
    ("deadletters", "replay"),
    ("index", "rebuild", "--from-topic", "--index", "new.sqlite"),
    ("replay", "."),
)


@pytest.mark.parametrize("command", COMMANDS[:-1], ids=" ".join)
def test_without_brokers_every_command_says_how_to_name_them(command: tuple[str, ...]) -> None:
    result = gate(*command)
    assert result.exit_code == 2
    assert "kafka_brokers: this command needs them" in result.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_brokers_that_do_not_answer_are_reported(command: tuple[str, ...]) -> None:
    [port] = free_ports()
    result = gate(*command, "--kafka", f"127.0.0.1:{port}")
    assert result.exit_code == 3
    assert f"127.0.0.1:{port} does not answer" in result.stderr


@pytest.mark.parametrize("command", COMMANDS[1:], ids=" ".join)
def test_a_missing_topic_is_named(command: tuple[str, ...], kafka: KafkaServer, topic_factory: TopicFactory) -> None:
    result = gate(*command, "--kafka", kafka.brokers, *names(topic_factory))
    assert result.exit_code == 2
    assert "does not exist; `gate topics create` makes it" in result.stderr


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def guarded(certified: Certificates) -> Iterator[KafkaServer]:
    security = BrokerSecurity(
        certificates=certified, users={"admin": "sesame", "guest": "guest"}, mechanism="SCRAM-SHA-512"
    )
    with kafka_server(security=security) as server:
        yield server


def as_user(name: str, password: str, server: KafkaServer, authority: Path, *command: str) -> tuple[int, str]:
    """In a process of its own: the library leaves connections over TLS half closed, which tests would complain of."""
    given = {
        "kafka_security": "SASL_SSL",
        "kafka_sasl_mechanism": "SCRAM-SHA-512",
        "kafka_username": name,
        "kafka_ca_file": str(authority),
    }
    options = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    ended = subprocess.run(
        [sys.executable, "-m", "gate", *command, "--kafka", server.brokers, *options],
        env=os.environ | {"GATE_KAFKA_PASSWORD": password},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.kafka
def test_a_user_with_rights_is_admitted(guarded: KafkaServer, certified: Certificates) -> None:
    assert as_user("admin", "sesame", guarded, certified.authority, "topics", "create")[0] == 0
    assert as_user("admin", "sesame", guarded, certified.authority, "lag", "--max", "0")[0] == 0


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("name", "password", "command"),
    [
        ("admin", "open", ("lag",)),
        ("guest", "guest", ("topics", "create")),
        ("guest", "guest", ("lag",)),
        ("guest", "guest", ("deadletters", "list")),
        ("guest", "guest", ("replay", ".")),
    ],
)
def test_a_user_with_a_wrong_password_or_without_rights_is_refused(
    guarded: KafkaServer, certified: Certificates, name: str, password: str, command: tuple[str, ...]
) -> None:
    code, message = as_user(name, password, guarded, certified.authority, *command)
    assert code == 2, message
    assert "denies this user access" in message
    assert "ACLs" in message
    assert "Traceback" not in message


@pytest.mark.kafka
def test_a_broker_without_a_trusted_certificate_is_refused(guarded: KafkaServer, tmp_path: Path) -> None:
    code, message = as_user("admin", "sesame", guarded, certificates(tmp_path).authority, "lag")
    assert code == 2
    assert "certificate cannot be trusted" in message
    assert "sesame" not in message


@pytest.mark.kafka
def test_a_broker_that_requires_tls_and_a_password_is_reported_as_not_answering(guarded: KafkaServer) -> None:
    result = gate("lag", "--kafka", guarded.brokers, "--set", "kafka_request_timeout_seconds=2")
    assert result.exit_code == 3
    assert "does not answer" in result.stderr
