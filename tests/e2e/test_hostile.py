"""Events that nobody should send: each is dead-lettered with a reason, none crashes the gate, and no log quotes one."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from aiokafka import AIOKafkaProducer

from load.hostile import hostile
from tests.support.stage import Sent, Stage

Staging = Callable[..., Stage]

CANARY = "canary-5f1c9e"
TEXT = f"A sentence with {CANARY} in it that must be seen by nobody but those who read the topics themselves."


def test_hostile_events_are_all_dead_lettered_or_judged_and_the_gate_goes_on(stage: Staging) -> None:
    on = stage(partitions=3)
    sent = list(hostile(2000, seed=5))
    on.send(sent)
    worker = on.start()
    on.send([Sent.of("last", TEXT)])
    on.until_committed(len(sent) + 1)
    assert worker.stop() == 0
    letters, verdicts = on.everything(on.topics.dead_letters), on.everything(on.topics.verdicts)
    deletes = sum(one.is_delete for one in sent)
    assert len(letters) + len(verdicts) + deletes == len(sent) + 1
    reasons = Counter(json.loads(letter.value)["reason"] for letter in letters)
    assert {"bad_json", "bad_utf8", "bad_field", "missing_field", "no_content", "bad_key"} <= reasons.keys()


def test_a_bomb_is_dead_lettered_and_the_next_document_is_judged(stage: Staging) -> None:
    on = stage(partitions=1)

    async def send() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=on.brokers, compression_type="gzip", max_request_size=2**30, max_batch_size=2**28
        )
        await producer.start()
        try:
            await producer.send_and_wait(on.topics.check_ins[0], b" " * 2**26 + b"{}", key=b"bomb")
        finally:
            await producer.stop()

    on.send([Sent.of("before", TEXT)])
    asyncio.run(send())
    on.send([Sent.of("after", TEXT + " More words follow here, and more of them, so that it is longer.")])
    on.start()
    assert [one["document_id"] for one in on.verdicts(2)] == ["before", "after"]
    [letter] = on.read(on.topics.dead_letters, 1)
    told = json.loads(letter.value)
    assert (told["reason"], told["origin"]["offset"]) == ("too_large", 1)
    assert "original" not in told


def test_no_text_reaches_a_log_at_debug_level(stage: Staging) -> None:
    on = stage(partitions=1)
    bad = json.dumps({"document_id": "bad", "text": [TEXT]}).encode()
    broken = b'{"document_id": "broken", "text": "' + TEXT.encode()
    on.send([Sent.of("a", TEXT), Sent.of("b", TEXT), Sent(bad, b"bad"), Sent(broken, b"broken")])
    worker = on.start(log_level="debug")
    on.verdicts(2)
    on.read(on.topics.dead_letters, 2)
    assert worker.stop() == 0
    log = worker.log.read_text()
    assert '"level": "debug"' in log
    assert CANARY not in log


def test_what_a_topic_does_not_take_is_replaced_by_something_smaller(topic_factory: object, tmp_path: Path) -> None:
    from gate.stream.settings import Topics

    made = Stage(
        topic_factory.brokers,  # type: ignore[attr-defined]
        Topics(
            check_ins=(topic_factory.create("in"),),  # type: ignore[attr-defined]
            verdicts=topic_factory.create("verdicts"),  # type: ignore[attr-defined]
            dead_letters=topic_factory.create("dead", max_message_bytes="3000"),  # type: ignore[attr-defined]
            accepted=topic_factory.create("accepted", max_message_bytes="3000"),  # type: ignore[attr-defined]
        ),
        topic_factory.group(),  # type: ignore[attr-defined]
        tmp_path,
        str(tmp_path / "index.sqlite"),
    )
    try:
        long = " ".join(f"word{n}" for n in range(2000))
        made.send([Sent.of("long", long), Sent(b'{"text": "' + long.encode() + b'"}', b"bad"), Sent.of("short", TEXT)])
        made.start()
        assert [one["document_id"] for one in made.verdicts(2)] == ["long", "short"]
        letters = [json.loads(one.value) for one in made.read(made.topics.dead_letters, 2)]
        assert {one["reason"] for one in letters} == {"too_large_to_route", "missing_field"}
        assert not any("original" in one for one in letters)
        accepted = made.read(made.topics.accepted, 1)
        assert json.loads(accepted[-1].value)["document_id"] == "short"
    finally:
        made.close()
