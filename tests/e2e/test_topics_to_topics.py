"""Check-ins in, verdicts out, on a real broker: which records answer which, and which offsets are committed."""

from __future__ import annotations

import json

from tests.support.gate_on_kafka import GateFactory, InputRecord
from tests.support.servers import RedisServer

TEXT = "The harbour master keeps a ledger of every ship that enters, with its cargo, its flag and the hour of the tide."
OTHER = "A recipe for bread asks for flour, water, salt and a good deal of patience while the dough is left to rise."


def test_every_check_in_gets_one_verdict_and_the_first_of_near_duplicates_passes(gate_on_kafka: GateFactory) -> None:
    gate = gate_on_kafka()
    gate.send([InputRecord.of("a", TEXT), InputRecord.of("b", TEXT + " Fair winds."), InputRecord.of("c", OTHER)])
    gate.start()
    verdicts = {verdict["document_id"]: verdict for verdict in gate.verdicts(3)}
    alike = [verdicts["a"], verdicts["b"]]
    assert sorted(verdict["similar"] for verdict in alike) == [False, True]
    [winner] = [verdict["document_id"] for verdict in alike if not verdict["similar"]]
    assert {verdict["group"] for verdict in alike} == {winner}
    assert verdicts["c"]["relation"] == "new"


def test_a_verdict_has_the_document_id_as_key_and_the_origin_of_the_check_in(gate_on_kafka: GateFactory) -> None:
    gate = gate_on_kafka(partitions=1)
    headers = [("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), ("other", b"x")]
    gate.send([InputRecord(json.dumps({"document_id": "a", "text": TEXT}).encode(), b"another key", headers)])
    gate.start()
    [record] = gate.read(gate.topics.verdicts, 1)
    verdict = json.loads(record.value)
    assert record.key == b"a"
    assert verdict["origin"] == {"topic": gate.topics.check_ins[0], "partition": 0, "offset": 0}
    assert dict(record.headers) == {
        "ce_specversion": b"1.0",
        "content-type": b"application/json",
        "ce_id": verdict["verdict_id"].encode(),
        "ce_type": b"gate.verdict",
        "ce_source": b"/gate/standard@1",
        "traceparent": headers[0][1],
    }


def test_documents_are_routed_unchanged_by_their_verdicts(gate_on_kafka: GateFactory) -> None:
    gate = gate_on_kafka(partitions=1, routed=True)
    first = InputRecord(json.dumps({"document_id": "a", "text": TEXT, "extra": [1]}).encode(), b"k1", [("h", b"1")])
    second = InputRecord(json.dumps({"document_id": "b", "text": TEXT}).encode(), None, [("h", b"2"), ("h", b"3")])
    gate.send([first, second])
    gate.start()
    for topic, sent in ((gate.topics.accepted, first), (gate.topics.quarantine, second)):
        [record] = gate.read(topic, 1)
        assert (record.value, record.key, list(record.headers)) == (sent.value, sent.key, list(sent.headers))


def test_a_record_that_cannot_be_judged_is_dead_lettered_and_the_next_one_is_judged(gate_on_kafka: GateFactory) -> None:
    gate = gate_on_kafka(partitions=1)
    bad = InputRecord(b'{"document_id": "x", "text": ', b"x", [("h", b"1")])
    gate.send([InputRecord.of("a", TEXT), bad, InputRecord(None, b"\xff", [("h", b"2")]), InputRecord.of("b", OTHER)])
    gate.start()
    assert [verdict["document_id"] for verdict in gate.verdicts(2)] == ["a", "b"]
    letters = gate.read(gate.topics.dead_letters, 2)
    contents = [json.loads(letter.value) for letter in letters]
    assert [content["reason"] for content in contents] == ["bad_json", "bad_key"]
    assert [content["origin"]["offset"] for content in contents] == [1, 2]
    assert contents[0]["original"] == '{"document_id": "x", "text": '
    assert letters[0].key == b"x"
    assert ("h", b"1") in letters[0].headers
    assert ("gate_reason", b"bad_json") in letters[0].headers


def test_a_delete_and_a_tombstone_take_effect_between_the_check_ins_around_them(gate_on_kafka: GateFactory) -> None:
    gate = gate_on_kafka(partitions=1)
    gate.send(
        [
            InputRecord.of("a", TEXT),
            InputRecord.of("b", TEXT),
            InputRecord(b'{"document_id": "a", "type": "delete"}', b"a"),
            InputRecord.of("c", TEXT),
            InputRecord(None, b"c"),
            InputRecord.of("d", TEXT),
        ]
    )
    gate.start()
    similar = {verdict["document_id"]: verdict["similar"] for verdict in gate.verdicts(4)}
    assert similar == {"a": False, "b": True, "c": False, "d": False}


def test_a_stopped_worker_has_committed_its_batches_and_the_next_one_resumes_behind_them(
    gate_on_kafka: GateFactory,
) -> None:
    gate = gate_on_kafka()
    gate.send(InputRecord.of(f"d{n}", f"{n} {TEXT}" * (n + 1)) for n in range(30))
    first = gate.start()
    gate.verdicts(30)
    assert first.stop() == 0
    assert sum(gate.committed_offsets().values()) == 30
    gate.send([InputRecord.of("late", OTHER)])
    gate.start()
    gate.verdicts(31)
    gate.wait_committed(31)
    assert len(gate.all_records(gate.topics.verdicts)) == 31


def test_a_repeated_check_in_gets_the_same_verdict_but_for_its_origin(gate_on_kafka: GateFactory) -> None:
    gate = gate_on_kafka(partitions=1)
    gate.send(
        [InputRecord.of("a", TEXT), InputRecord.of("b", TEXT), InputRecord.of("a", TEXT), InputRecord.of("b", TEXT)]
    )
    gate.start()
    verdicts = gate.verdicts(4)
    for verdict in verdicts:
        del verdict["origin"]
    assert verdicts[:2] == verdicts[2:]


def test_missing_topics_are_named_before_anything_is_polled(gate_on_kafka: GateFactory) -> None:
    gate = gate_on_kafka()
    worker = gate.start(wait=False, kafka_accepted_topic="nowhere", kafka_quarantine_topic="gone")
    assert worker.process.wait(60) == 2
    assert "no topic gone, nowhere" in worker.log.read_text()


def test_exactly_once_no_check_in_has_two_verdicts(gate_on_kafka: GateFactory) -> None:
    gate = gate_on_kafka()
    gate.send(InputRecord.of(f"d{n}", f"{TEXT} {n}" if n % 3 else f"{n} {OTHER} {n}" * 3) for n in range(60))
    worker = gate.start(delivery="exactly_once")
    assert len({verdict["document_id"] for verdict in gate.verdicts(60)}) == 60
    assert worker.stop() == 0
    assert len(gate.all_records(gate.topics.verdicts)) == 60
    assert sum(gate.committed_offsets().values()) >= 60


def test_two_workers_share_the_partitions_and_the_index(gate_on_kafka: GateFactory, shared_redis: RedisServer) -> None:
    gate = gate_on_kafka(shared_redis.url, partitions=4)
    gate.send(InputRecord.of(f"d{n}", f"{TEXT} Ship {n // 2}, berth {n // 2}." * (1 + n // 2)) for n in range(40))
    gate.start(workers=2)
    verdicts = gate.verdicts(40)
    assert sum(not verdict["similar"] for verdict in verdicts) >= 1
    groups = {verdict["group"] for verdict in verdicts}
    assert groups == {verdict["document_id"] for verdict in verdicts if not verdict["similar"]}
