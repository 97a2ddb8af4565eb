"""A batch is decoded and signed, judged, and answered in the order of its records."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pytest
from aiokafka import TopicPartition

from gate.api import Gate
from gate.core.builtin_profiles import BUILT_IN
from gate.errors import ConfigError, IndexLost, Unavailable, UsageError
from gate.limits import Limits
from gate.metrics import WorkerMetrics
from gate.model import CheckIn
from gate.pipeline import Deletes, Signer
from gate.stream.batch import Judged, SignedCheckIns
from gate.stream.partitions import PartitionTracker
from gate.stream.processor import BatchProcessor, Judge
from gate.stream.settings import Topics
from tests.stream.fake_records import PARTITION, TEXT, check_in_records, polled_batch
from tests.stream.flaky_gate import FlakyGate, LosingGate

Policy = Literal["wait", "pass_unchecked"]


def processor_on(
    open_judge: Callable[[], Judge], on_index_unavailable: Policy = "wait", *, accepted: str | None = None
) -> BatchProcessor:
    limits = Limits(max_document_chars=10_000)
    return BatchProcessor(
        Signer(BUILT_IN["standard"], limits=limits),
        open_judge,
        limits=limits,
        topics=Topics(verdicts="v", dead_letters="d", accepted=accepted),
        on_index_unavailable=on_index_unavailable,
        content_root=None,
        metrics=WorkerMetrics(),
    )


def answers_in(judged: Judged) -> list[tuple[str, str]]:
    """The topic of each answer, and its reason, or its document and relation."""
    return [
        (topic, value.get("reason") or f"{value['document_id']} {value['relation']}")
        for topic, value in outgoing_values(judged)
    ]


def outgoing_values(judged: Judged) -> list[tuple[str, dict[str, Any]]]:
    [answers] = judged.answers
    return [(record.topic, json.loads(record.value or b"")) for record in answers.outgoing]


def test_answers_come_in_the_order_of_the_records() -> None:
    processor = processor_on(Gate)
    judged = processor.judge(processor.prepare(polled_batch("a", b"{", "b", b"[]", "c")))
    assert answers_in(judged) == [
        ("v", "a new"),
        ("d", "bad_json"),
        ("v", "b exact"),
        ("d", "bad_json"),
        ("v", "c exact"),
    ]


def test_each_partition_gets_the_answers_to_its_own_records() -> None:
    other = TopicPartition("in", 1)
    tracker = PartitionTracker(max_batches=1)
    tracker.assign([PARTITION, other], paused=False)
    records = {PARTITION: check_in_records("a", b"{"), other: check_in_records("b")}
    processor = processor_on(Gate)
    judged = processor.judge(processor.prepare(tracker.start_batch(records, tracker.epochs())))
    found = {one.slice.partition: [record.topic for record in one.outgoing] for one in judged.answers}
    assert found == {PARTITION: ["v", "d"], other: ["v"]}


def test_a_delete_divides_a_batch() -> None:
    processor = processor_on(Gate)
    prepared = processor.prepare(polled_batch("a", None, None, "b"))
    assert [type(step) for step in prepared.steps] == [SignedCheckIns, Deletes, SignedCheckIns]
    assert answers_in(processor.judge(prepared)) == [("v", "a new"), ("v", "b new")]


def test_a_document_that_grows_beyond_the_limit_when_it_is_folded_is_rejected_alone() -> None:
    processor = processor_on(Gate)
    long = json.dumps({"document_id": "long", "text": "ﬃ" * 9_000}).encode()
    judged = processor.judge(processor.prepare(polled_batch(long, "a")))
    assert answers_in(judged) == [("d", "too_large"), ("v", "a new")]


def test_steps_before_the_one_that_failed_are_not_repeated_by_the_retry() -> None:
    gate = FlakyGate()
    gate.failing_calls = (2,)  # the delete
    processor = processor_on(lambda: gate)
    prepared = processor.prepare(polled_batch("a", None, "b"))
    with pytest.raises(Unavailable):
        processor.judge(prepared)
    assert gate.checked_in == 1
    judged = processor.judge(prepared)
    assert answers_in(judged) == [("v", "a new"), ("v", "b new")]
    assert gate.checked_in == 2
    assert judged.error is None


def test_a_batch_is_judged_again_from_its_beginning_by_the_index_that_replaces_a_lost_one() -> None:
    gates = [LosingGate(), FlakyGate()]
    opened = iter(gates)
    processor = processor_on(lambda: next(opened))
    prepared = processor.prepare(polled_batch("a", None, "b"))
    with pytest.raises(IndexLost):
        processor.judge(prepared)
    assert answers_in(processor.judge(prepared)) == [("v", "a new"), ("v", "b new")]
    assert [gate.checked_in for gate in gates] == [1, 2]
    with pytest.raises(UsageError):  # it was closed
        gates[0].info()


def test_a_batch_that_follows_one_that_was_given_up_starts_at_its_own_first_step() -> None:
    gate = FlakyGate()
    gate.failing_calls = (2,)
    processor = processor_on(lambda: gate)
    with pytest.raises(Unavailable):
        processor.judge(processor.prepare(polled_batch("a", None)))
    assert answers_in(processor.judge(processor.prepare(polled_batch("b", "c")))) == [
        ("v", "b exact"),
        ("v", "c exact"),
    ]


def test_judging_leaves_the_prepared_batch_as_it_is() -> None:
    processor = processor_on(Gate)
    prepared = processor.prepare(polled_batch("a", b"{", "b"))
    first, second = processor.judge(prepared), processor.judge(prepared)
    assert first.answers == second.answers


def test_with_pass_unchecked_documents_pass_and_deletes_are_dead_lettered_while_the_index_is_unavailable() -> None:
    gate = FlakyGate()
    gate.failing_calls = (1, 2, 3)
    processor = processor_on(lambda: gate, "pass_unchecked")
    judged = processor.judge(processor.prepare(polled_batch("a", None, "b")))
    assert answers_in(judged) == [("v", "a new"), ("d", "index_unavailable"), ("v", "b new")]
    assert isinstance(judged.error, Unavailable)
    verdicts = [value for topic, value in outgoing_values(judged) if topic == "v"]
    assert [verdict["degraded"] for verdict in verdicts] == [["unchecked"]] * 2
    [(_, checked)] = outgoing_values(processor.judge(processor.prepare(polled_batch("a"))))
    assert checked["verdict_id"] != verdicts[0]["verdict_id"]


@pytest.mark.parametrize("on_index_unavailable", ["wait", "pass_unchecked"])
def test_an_index_that_is_unavailable_at_the_start_is_an_error_only_where_it_is_waited_for(
    on_index_unavailable: Policy,
) -> None:
    def open_judge() -> Gate:
        raise Unavailable("the index is unavailable")

    processor = processor_on(open_judge, on_index_unavailable)
    if on_index_unavailable == "wait":
        with pytest.raises(Unavailable):
            processor.open()
    else:
        processor.open()
        assert answers_in(processor.judge(processor.prepare(polled_batch("a")))) == [("v", "a new")]


def test_a_judge_is_opened_once_and_again_only_after_it_was_closed() -> None:
    opened: list[Gate] = []

    def open_judge() -> Gate:
        opened.append(Gate())
        return opened[-1]

    processor = processor_on(open_judge)
    processor.open()
    processor.judge(processor.prepare(polled_batch("a")))
    assert len(opened) == 1
    processor.close()
    processor.close()
    processor.open()
    assert len(opened) == 2


def test_records_whose_answers_were_refused_get_smaller_ones() -> None:
    processor = processor_on(Gate, accepted="accepted")
    judged = processor.judge(processor.prepare(polled_batch("a", b"{", "b", refused=[(0, "accepted"), (1, "d")])))
    assert answers_in(judged) == [("v", "a new"), ("d", "too_large_to_route"), ("d", "bad_json"), ("v", "b exact")]
    assert not any("original" in value for _, value in outgoing_values(judged))
    [answers] = judged.answers
    assert answers.reasons == ("too_large_to_route", "bad_json")


def test_a_verdict_that_is_refused_loses_its_trace_headers_and_is_replaced_when_it_is_refused_again() -> None:
    polled = polled_batch("a", refused=[(0, "v")])
    record = check_in_records("a")[0]
    record.headers = (("baggage", b"x"),)
    processor = processor_on(Gate)
    [answers] = processor.judge(processor.prepare(replace(polled, records=(record,)))).answers
    assert "baggage" not in [name for name, _ in answers.outgoing[0].headers]
    again = polled_batch("a", refused=[(0, "v"), (0, "v")])
    judged = processor.judge(processor.prepare(replace(again, records=(record,))))
    assert answers_in(judged) == [("d", "too_large_to_answer")]


def test_a_dead_letter_loses_one_part_more_each_time_it_is_refused_and_names_them() -> None:
    record = check_in_records(b'{"document_id": "a"}')[0]
    record.headers = (("own", b"x"),)
    processor = processor_on(Gate)
    omitted = []
    for times in range(5):
        polled = polled_batch(record.value, refused=[(0, "d")] * times)
        [answers] = processor.judge(processor.prepare(replace(polled, records=(record,)))).answers
        [letter] = answers.outgoing
        value = json.loads(letter.value or b"")
        omitted.append(value.get("omitted", []))
        assert ("original" in value, "own" in dict(letter.headers)) == (times < 1, times < 2)
        assert (letter.key is not None, value["document_id"] is not None) == (times < 3, times < 4)
    parts = ["original", "headers", "key", "document_id"]
    assert omitted == [parts[:times] for times in range(5)]
    polled = polled_batch(record.value, refused=[(0, "d")] * 5)
    with pytest.raises(ConfigError, match=r"raise its max\.message\.bytes"):
        processor.judge(processor.prepare(replace(polled, records=(record,))))


def test_a_batch_gets_the_verdicts_that_the_gate_gives_on_its_documents() -> None:
    documents = [CheckIn(document_id=name, text=TEXT) for name in ("a", "b", "c")]
    processor = processor_on(Gate)
    [answers] = processor.judge(processor.prepare(polled_batch("a", "b", "c"))).answers
    assert list(answers.verdicts) == Gate().check_in(documents)
    assert answers.slice.partition == PARTITION
