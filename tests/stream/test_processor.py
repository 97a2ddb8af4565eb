"""A batch at the desk: decoded and signed by one thread, judged by another, answered in the order of its records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from aiokafka import TopicPartition

from gate.api import Gate
from gate.errors import Unavailable
from gate.limits import Limits
from gate.metrics import WorkerMetrics
from gate.model import CheckIn, Verdict
from gate.pipeline import SignedBatch
from gate.stream.processor import Batch, Desk, batch_of
from gate.stream.settings import Topics

P = TopicPartition("in", 0)
TEXT = "The ferry leaves at six in the morning and returns in the evening, weather and the tide permitting, every day."


@dataclass
class Record:
    offset: int
    value: bytes | None
    key: bytes | None = b"k"
    topic: str = "in"
    partition: int = 0
    timestamp: int = 1
    headers: tuple[tuple[str, bytes], ...] = ()
    serialized_value_size: int = 0


class Moody(Gate):
    """A gate whose index is away for as many calls as it is told."""

    away = 0
    entered = 0

    def check_in_signed(self, signed: SignedBatch) -> list[Verdict]:
        self._maybe_away()
        self.entered += 1
        return super().check_in_signed(signed)

    def delete(self, document_ids: Sequence[str]) -> list[bool]:
        self._maybe_away()
        return super().delete(document_ids)

    def _maybe_away(self) -> None:
        if self.away:
            self.away -= 1
            raise Unavailable("away")


def desk(gate: Gate, when_away: Literal["wait", "pass_unchecked"] = "wait", *, accepted: str | None = None) -> Desk:
    made = Desk(
        Gate(),
        lambda: gate,
        limits=Limits(max_document_chars=10_000),
        topics=Topics(verdicts="v", dead_letters="d", accepted=accepted),
        on_index_unavailable=when_away,
        content_root=None,
        metrics=WorkerMetrics(),
    )
    made.open()
    return made


def batch(*values: bytes | str | None) -> Batch:
    """Strings are document ids of check-ins of one text, None is a tombstone of "a"."""
    records: list[Any] = []
    for offset, value in enumerate(values):
        raw = json.dumps({"document_id": value, "text": TEXT}).encode() if isinstance(value, str) else value
        records.append(Record(offset, raw, key=b"a"))
    return batch_of({P: records}, {P: 1})


def told(done: Batch) -> list[tuple[str, str]]:
    """The topic of each answer, and the document or the reason in it."""
    found = []
    for one in done.parts[P].outgoing:
        value = json.loads(one.value or b"")
        found.append((one.topic, value.get("reason") or f"{value['document_id']} {value['relation']}"))
    return found


def test_answers_come_in_the_order_of_the_records() -> None:
    at = desk(Gate())
    done = at.judge(at.prepare(batch("a", b"{", "b", b"[]", "c")))
    assert told(done) == [("v", "a new"), ("d", "bad_json"), ("v", "b exact"), ("d", "bad_json"), ("v", "c exact")]


def test_a_delete_divides_a_batch() -> None:
    at = desk(Gate())
    prepared = at.prepare(batch("a", None, None, "b"))
    assert len(prepared.steps) == 3
    assert told(at.judge(prepared)) == [("v", "a new"), ("v", "b new")]


def test_a_document_that_the_gate_does_not_admit_is_rejected_by_itself() -> None:
    at = desk(Gate())
    long = json.dumps({"document_id": "long", "text": "ﬃ" * 9_000}).encode()  # grows beyond the limit when folded
    done = at.judge(at.prepare(batch(long, "a")))
    assert told(done) == [("d", "too_large"), ("v", "a new")]


def test_what_was_done_before_the_index_went_away_is_not_done_again() -> None:
    gate = Moody()
    at = desk(gate)
    prepared = at.prepare(batch("a", None, "b"))
    gate.away = 0
    step = gate.delete

    def delete_once_away(document_ids: Sequence[str]) -> list[bool]:
        gate.delete = step  # type: ignore[method-assign]
        raise Unavailable("away")

    gate.delete = delete_once_away  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        at.judge(prepared)
    assert gate.entered == 1
    assert told(at.judge(prepared)) == [("v", "a new"), ("v", "b new")]
    assert gate.entered == 2
    assert at.was_checked(prepared)


def test_where_documents_may_pass_they_pass_unchecked_and_deletes_are_kept_for_later() -> None:
    gate = Moody()
    at = desk(gate, "pass_unchecked")
    prepared = at.prepare(batch("a", None, "b"))
    gate.away = 3
    done = at.judge(prepared)
    assert told(done) == [("v", "a new"), ("d", "index_unavailable"), ("v", "b new")]
    assert not at.was_checked(done)
    verdicts = [json.loads(one.value or b"") for one in done.parts[P].outgoing if one.topic == "v"]
    assert [one["degraded"] for one in verdicts] == [["unchecked"]] * 2
    again = at.judge(at.prepare(batch("a")))
    [checked] = [json.loads(one.value or b"") for one in again.parts[P].outgoing]
    assert checked["verdict_id"] != verdicts[0]["verdict_id"]


@pytest.mark.parametrize("when_away", ["wait", "pass_unchecked"])
def test_an_index_that_is_away_from_the_start_is_waited_for_or_not_as_it_is_set(
    when_away: Literal["wait", "pass_unchecked"],
) -> None:
    def open_judge() -> Gate:
        raise Unavailable("away")

    at = Desk(
        Gate(),
        open_judge,
        limits=Limits(),
        topics=Topics(),
        on_index_unavailable=when_away,
        content_root=None,
        metrics=WorkerMetrics(),
    )
    if when_away == "wait":
        with pytest.raises(Unavailable):
            at.open()
    else:
        at.open()
        assert told(at.judge(at.prepare(batch("a")))) == [("gate.verdicts", "a new")]


def test_what_is_known_to_be_too_large_is_answered_by_something_smaller() -> None:
    at = desk(Gate(), accepted="accepted")
    at.too_large = {("in", 0, 0), ("in", 0, 1)}
    done = at.judge(at.prepare(batch("a", b"{", "b")))
    assert told(done) == [("v", "a new"), ("d", "too_large_to_route"), ("d", "bad_json"), ("v", "b exact")]
    assert not any(b"original" in (one.value or b"") for one in done.parts[P].outgoing)
    at.tell(list(done.parts.values()))
    assert not at.too_large  # delivered, so nobody will ask again


def test_a_check_in_is_counted_when_it_is_acknowledged_and_only_then() -> None:
    metrics = WorkerMetrics()
    at = Desk(
        Gate(),
        Gate,
        limits=Limits(),
        topics=Topics(),
        on_index_unavailable="wait",
        content_root=None,
        metrics=metrics,
    )
    at.open()
    done = at.judge(at.prepare(batch("a", b"{")))
    labels = {"relation": "new", "similar": "false", "profile": "standard@1", "source": "none"}
    assert metrics.registry.get_sample_value("gate_verdicts_total", labels) is None
    at.tell(list(done.parts.values()))
    assert metrics.registry.get_sample_value("gate_verdicts_total", labels) == 1
    assert metrics.registry.get_sample_value("gate_dead_letters_total", {"reason": "bad_json"}) == 1


def test_a_batch_holds_what_the_gate_would_say_of_its_documents() -> None:
    documents = [CheckIn(document_id=name, text=TEXT) for name in ("a", "b", "c")]
    at = desk(Gate())
    done = at.judge(at.prepare(batch("a", "b", "c")))
    assert [done.verdicts[place] for place in range(3)] == Gate().check_in(documents)
