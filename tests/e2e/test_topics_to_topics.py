"""Check-ins in, verdicts out, on a real broker: what is sent for what, and how far the input is then done with."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.support.servers import RedisServer
from tests.support.stage import Sent, Stage

Staging = Callable[..., Stage]

TEXT = "The harbour master keeps a ledger of every ship that enters, with its cargo, its flag and the hour of the tide."
OTHER = "A recipe for bread asks for flour, water, salt and a good deal of patience while the dough is left to rise."


def test_every_check_in_gets_one_verdict_and_only_the_first_of_alike_passes(stage: Staging) -> None:
    on = stage()
    on.send([Sent.of("a", TEXT), Sent.of("b", TEXT + " Fair winds."), Sent.of("c", OTHER)])
    on.start()
    verdicts = {verdict["document_id"]: verdict for verdict in on.verdicts(3)}
    alike = [verdicts["a"], verdicts["b"]]
    assert sorted(one["similar"] for one in alike) == [False, True]
    [winner] = [one["document_id"] for one in alike if not one["similar"]]
    assert {one["group"] for one in alike} == {winner}
    assert verdicts["c"]["relation"] == "new"


def test_a_verdict_has_the_documents_key_and_tells_where_it_came_from(stage: Staging) -> None:
    on = stage(partitions=1)
    headers = [("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), ("other", b"x")]
    on.send([Sent(json.dumps({"document_id": "a", "text": TEXT}).encode(), b"another key", headers)])
    on.start()
    [record] = on.read(on.topics.verdicts, 1)
    told = json.loads(record.value)
    assert record.key == b"a"
    assert told["origin"] == {"topic": on.topics.check_ins[0], "partition": 0, "offset": 0}
    assert dict(record.headers) == {
        "ce_specversion": b"1.0",
        "content-type": b"application/json",
        "ce_id": told["verdict_id"].encode(),
        "ce_type": b"gate.verdict",
        "ce_source": b"/gate/standard@1",
        "traceparent": headers[0][1],
    }


def test_documents_go_on_as_they_came_to_the_topic_that_their_verdict_asks_for(stage: Staging) -> None:
    on = stage(partitions=1, routed=True)
    first = Sent(json.dumps({"document_id": "a", "text": TEXT, "extra": [1]}).encode(), b"k1", [("h", b"1")])
    second = Sent(json.dumps({"document_id": "b", "text": TEXT}).encode(), None, [("h", b"2"), ("h", b"3")])
    on.send([first, second])
    on.start()
    for topic, sent in ((on.topics.accepted, first), (on.topics.quarantine, second)):
        [record] = on.read(topic, 1)
        assert (record.value, record.key, list(record.headers)) == (sent.value, sent.key, list(sent.headers))


def test_what_cannot_be_judged_is_dead_lettered_and_holds_up_nobody(stage: Staging) -> None:
    on = stage(partitions=1)
    bad = Sent(b'{"document_id": "x", "text": ', b"x", [("h", b"1")])
    on.send([Sent.of("a", TEXT), bad, Sent(None, b"\xff", [("h", b"2")]), Sent.of("b", OTHER)])
    on.start()
    assert [one["document_id"] for one in on.verdicts(2)] == ["a", "b"]
    letters = on.read(on.topics.dead_letters, 2)
    told = [json.loads(letter.value) for letter in letters]
    assert [one["reason"] for one in told] == ["bad_json", "bad_key"]
    assert [one["origin"]["offset"] for one in told] == [1, 2]
    assert told[0]["original"] == '{"document_id": "x", "text": '
    assert letters[0].key == b"x"
    assert ("h", b"1") in letters[0].headers
    assert ("gate_reason", b"bad_json") in letters[0].headers


def test_a_delete_and_a_tombstone_take_effect_in_their_place(stage: Staging) -> None:
    on = stage(partitions=1)
    on.send(
        [
            Sent.of("a", TEXT),
            Sent.of("b", TEXT),
            Sent(b'{"document_id": "a", "type": "delete"}', b"a"),
            Sent.of("c", TEXT),
            Sent(None, b"c"),
            Sent.of("d", TEXT),
        ]
    )
    on.start()
    told = {one["document_id"]: one["similar"] for one in on.verdicts(4)}
    assert told == {"a": False, "b": True, "c": False, "d": False}


def test_who_is_told_to_stop_finishes_and_the_next_begins_behind_it(stage: Staging) -> None:
    on = stage()
    on.send(Sent.of(f"d{n}", f"{n} {TEXT}" * (n + 1)) for n in range(30))
    first = on.start()
    on.verdicts(30)
    assert first.stop() == 0
    assert sum(on.committed().values()) == 30
    on.send([Sent.of("late", OTHER)])
    on.start()
    on.verdicts(31)
    on.until_committed(31)
    assert len(on.everything(on.topics.verdicts)) == 31


def test_a_repeated_check_in_gets_the_same_bytes_but_for_its_place(stage: Staging) -> None:
    on = stage(partitions=1)
    on.send([Sent.of("a", TEXT), Sent.of("b", TEXT), Sent.of("a", TEXT), Sent.of("b", TEXT)])
    on.start()
    told = on.verdicts(4)
    for one in told:
        del one["origin"]
    assert told[:2] == told[2:]


def test_topics_that_are_not_there_are_named_before_anything_is_read(stage: Staging) -> None:
    on = stage()
    worker = on.start(wait=False, kafka_accepted_topic="nowhere", kafka_quarantine_topic="gone")
    assert worker.process.wait(60) == 2
    assert "no topic gone, nowhere" in worker.log.read_text()


def test_exactly_once_answers_and_offsets_are_one(stage: Staging) -> None:
    on = stage()
    on.send(Sent.of(f"d{n}", f"{TEXT} {n}" if n % 3 else f"{n} {OTHER} {n}" * 3) for n in range(60))
    worker = on.start(delivery="exactly_once")
    assert len({one["document_id"] for one in on.verdicts(60)}) == 60
    assert worker.stop() == 0
    assert len(on.everything(on.topics.verdicts)) == 60
    assert sum(on.committed().values()) >= 60


def test_two_workers_share_the_partitions_and_the_index(stage: Staging, shared_redis: RedisServer) -> None:
    on = stage(shared_redis.url, partitions=4)
    on.send(Sent.of(f"d{n}", f"{TEXT} Ship {n // 2}, berth {n // 2}." * (1 + n // 2)) for n in range(40))
    on.start(workers=2)
    told = on.verdicts(40)
    assert sum(not one["similar"] for one in told) >= 1
    groups = {one["group"] for one in told}
    assert groups == {one["document_id"] for one in told if not one["similar"]}
