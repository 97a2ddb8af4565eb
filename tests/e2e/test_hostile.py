"""Malformed and malicious events: each is dead-lettered with a reason, none crashes the gate, no log quotes one."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from gate.stream.settings import Topics
from load.hostile import run
from tests.support.brokers import KafkaServer, TopicFactory
from tests.support.gate_on_kafka import GateFactory, GateOnKafka, InputRecord
from tests.support.raw_batches import RawBatch, damage_on_disk, send_raw_batches

CANARY = "canary-5f1c9e"
TEXT = f"A sentence with {CANARY} in it that may be seen in the topics and in no log."


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_every_hostile_record_is_dead_lettered_or_judged_and_the_gate_keeps_running(
    kafka: KafkaServer, tmp_path: Path, delivery: str
) -> None:
    one = run(1500, delivery, seed=5, folder=tmp_path, server=kafka)
    assert one.tally.is_correct, one.tally
    assert {"bad_json", "bad_utf8", "bad_field", "missing_field", "no_content", "bad_key"} <= one.reasons.keys()
    assert one.reasons["unreadable_record"] == 3


def test_a_bomb_is_dead_lettered_and_the_next_document_is_judged(gate_on_kafka: GateFactory) -> None:
    gate = gate_on_kafka(partitions=1)

    async def send() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=gate.brokers, compression_type="gzip", max_request_size=2**30, max_batch_size=2**28
        )
        await producer.start()
        try:
            await producer.send_and_wait(gate.topics.check_ins[0], b" " * 2**26 + b"{}", key=b"bomb")
        finally:
            await producer.stop()

    gate.send([InputRecord.of("before", TEXT)])
    asyncio.run(send())
    gate.send([InputRecord.of("after", TEXT + " More words follow here, and more of them, so that it is longer.")])
    gate.start()
    assert [verdict["document_id"] for verdict in gate.verdicts(2)] == ["before", "after"]
    [letter] = gate.read(gate.topics.dead_letters, 1)
    content = json.loads(letter.value)
    assert (content["reason"], content["origin"]["offset"]) == ("too_large", 1)
    assert "original" not in content


def test_the_log_at_debug_level_quotes_no_document(gate_on_kafka: GateFactory) -> None:
    gate = gate_on_kafka(partitions=1)
    bad = json.dumps({"document_id": "bad", "text": [TEXT]}).encode()
    broken = b'{"document_id": "broken", "text": "' + TEXT.encode()
    gate.send(
        [InputRecord.of("a", TEXT), InputRecord.of("b", TEXT), InputRecord(bad, b"bad"), InputRecord(broken, b"broken")]
    )
    worker = gate.start(log_level="debug")
    gate.verdicts(2)
    gate.read(gate.topics.dead_letters, 2)
    assert worker.stop() == 0
    log = worker.log.read_text()
    assert '"level": "debug"' in log
    assert CANARY not in log


def test_answers_that_are_too_large_for_their_topics_are_replaced_by_smaller_ones(
    topic_factory: TopicFactory, tmp_path: Path
) -> None:
    topics = Topics(
        check_ins=(topic_factory.create("in"),),
        verdicts=topic_factory.create("verdicts"),
        dead_letters=topic_factory.create("dead", max_message_bytes="3000"),
        accepted=topic_factory.create("accepted", max_message_bytes="3000"),
    )
    gate = GateOnKafka(topic_factory.brokers, topics, topic_factory.group(), tmp_path, str(tmp_path / "index.sqlite"))
    try:
        long = " ".join(f"word{n}" for n in range(2000))
        bad = InputRecord(b'{"text": "' + long.encode() + b'"}', b"bad")
        gate.send([InputRecord.of("long", long), bad, InputRecord.of("short", TEXT)])
        gate.start()
        assert [verdict["document_id"] for verdict in gate.verdicts(2)] == ["long", "short"]
        letters = [json.loads(record.value) for record in gate.read(topics.dead_letters, 2)]
        assert {letter["reason"] for letter in letters} == {"too_large_to_route", "missing_field"}
        assert not any("original" in letter for letter in letters)
        accepted = gate.read(topics.accepted, 1)
        assert json.loads(accepted[-1].value)["document_id"] == "short"
    finally:
        gate.close()


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_records_whose_headers_key_or_id_fill_the_topics_of_their_answers_do_not_block_the_next(
    topic_factory: TopicFactory, tmp_path: Path, delivery: str
) -> None:
    topics = Topics(
        check_ins=(topic_factory.create("in"),),
        verdicts=topic_factory.create("verdicts", max_message_bytes="4000"),
        dead_letters=topic_factory.create("dead", max_message_bytes="4000"),
    )
    gate = GateOnKafka(topic_factory.brokers, topics, topic_factory.group(), tmp_path, str(tmp_path / "index.sqlite"))
    noise = random.Random(3)
    named = {"document_id": "".join(chr(noise.randrange(0x20000, 0x2A000)) for _ in range(1024)), "text": TEXT}
    large = noise.randbytes(5000)
    try:
        gate.send(
            [
                InputRecord.of("before", TEXT),
                InputRecord(json.dumps({"document_id": "traced", "text": TEXT}).encode(), b"k", [("baggage", large)]),
                InputRecord(json.dumps(named).encode(), b"k"),
                InputRecord(b'{"document_id": "headers"', b"k", [("own", large)]),
                InputRecord(b'{"document_id": "key"', large),
                InputRecord(b'{"document_id": "both"', large, [("baggage", large)]),
                InputRecord.of("after", TEXT),
            ]
        )
        worker = gate.start(delivery=delivery, trace_header_bytes=6000)
        gate.wait_committed(7)
        assert worker.stop() == 0
        verdicts = {json.loads(record.value)["document_id"] for record in gate.all_records(topics.verdicts)}
        assert verdicts == {"before", "traced", "after"}
        letters = [json.loads(record.value) for record in gate.all_records(topics.dead_letters)]
        found = {letter["origin"]["offset"]: (letter["reason"], letter.get("omitted", [])) for letter in letters}
        assert found == {
            2: ("too_large_to_answer", ["key", "document_id"]),
            3: ("bad_json", ["original", "headers"]),
            4: ("bad_json", ["original", "key"]),
            5: ("bad_json", ["original", "headers", "key"]),
        }
        assert len(letters) <= 4 * len(found)  # a refusal repeats what was sent beside it, a few times at most
    finally:
        gate.close()


def test_a_trace_header_of_more_than_a_megabyte_is_not_carried_on(gate_on_kafka: GateFactory) -> None:
    gate = gate_on_kafka(partitions=1)
    value = json.dumps({"document_id": "a", "text": TEXT}).encode()
    gate.send([InputRecord(value, b"a", [("baggage", bytes(1_200_000)), ("traceparent", b"00-1-2-01")])])
    worker = gate.start()
    [verdict] = gate.read(gate.topics.verdicts, 1)
    headers = dict(verdict.headers)
    assert "baggage" not in headers
    assert headers["traceparent"] == b"00-1-2-01"
    assert "gate_trace_headers_dropped_total 1.0" in worker.metrics()


def test_batches_that_no_ordinary_client_sends_do_not_block_the_next_record(
    gate_on_kafka: GateFactory, kafka: KafkaServer
) -> None:
    gate = gate_on_kafka(partitions=1)
    [topic] = gate.topics.check_ins
    named = InputRecord(InputRecord.of("named", TEXT).value, b"named", [("@@", b"1")])
    batches = [
        RawBatch(
            [InputRecord.of("first", TEXT), named, InputRecord.of("second", TEXT)],
            lambda records: records.replace(b"@@", b"\xff\xfe"),
        ),
        RawBatch(
            [InputRecord.of("third", TEXT), InputRecord.of("fourth", TEXT)],
            lambda records: gzip.compress(records[:70]) + gzip.compress(records[70:]),
            1,
        ),
        RawBatch([InputRecord.of("damaged", TEXT), InputRecord.of("damaged too", TEXT)]),
        RawBatch([InputRecord.of("fifth", TEXT)]),
    ]
    *_, damaged, _ = asyncio.run(send_raw_batches(gate.brokers, topic, batches))
    damage_on_disk(kafka, topic, 0, [damaged])
    worker = gate.start()
    documents = [verdict["document_id"] for verdict in gate.verdicts(5)]
    assert documents == ["first", "second", "third", "fourth", "fifth"]
    letters = gate.read(gate.topics.dead_letters, 3)
    contents = [json.loads(letter.value) for letter in letters]
    assert [(one["reason"], one["origin"]["offset"]) for one in contents] == [
        ("unreadable_record", 1),
        ("unreadable_record", damaged),
        ("unreadable_record", damaged + 1),
    ]
    assert (letters[0].key, contents[0]["original"]) == (b"named", (named.value or b"").decode())
    assert worker.stop() == 0
