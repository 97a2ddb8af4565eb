"""Records are decoded or rejected, never with an exception; a repeated answer is the same to the byte."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.limits import Limits
from gate.model import Relation, Verdict
from gate.stream.records import (
    check_in_time,
    dead_letter_record,
    decode_record,
    reject_routing,
    trace_headers,
    verdict_records,
)
from gate.stream.settings import Topics
from gate.wire import CheckInEvent, DecodedMessage, DeleteEvent, RejectedMessage, decode_verdict
from tests.stream.fake_records import FakeRecord

LIMITS = Limits(max_document_chars=1000)
TOPICS = Topics(accepted="accepted", quarantine="quarantine")


def record_of(
    value: bytes | None, key: bytes | None = b"key", headers: tuple[tuple[str, bytes], ...] = (("h", b"1"),)
) -> FakeRecord:
    return FakeRecord(14, value, key, partition=3, timestamp=1_700_000_000_000, headers=headers)


def check_in(**fields: object) -> FakeRecord:
    return record_of(json.dumps({"document_id": "d", "text": "some text", **fields}).encode())


def verdict(**fields: Any) -> Verdict:
    made: dict[str, Any] = {
        "document_id": "d",
        "version": None,
        "similar": False,
        "relation": Relation.NEW,
        "group": "d",
        "content_id": "00",
        "fingerprint": None,
        "profile": "p@1",
        "verdict_id": "v1",
        "features": 2,
        "candidates": 0,
        "matches": (),
        "degraded": (),
    }
    return Verdict(**(made | fields))


def read(record: FakeRecord, **options: Any) -> DecodedMessage | RejectedMessage:
    return decode_record(record, limits=LIMITS, **options)


def event_of(record: FakeRecord) -> CheckInEvent:
    message = read(record)
    assert isinstance(message, DecodedMessage)
    assert isinstance(message.event, CheckInEvent)
    return message.event


def test_a_check_in_is_decoded_with_its_origin() -> None:
    message = read(check_in())
    assert isinstance(message, DecodedMessage)
    assert str(message.origin) == "in[3]@14"


@pytest.mark.parametrize("record", [record_of(None, b"d"), record_of(b'{"document_id": "d", "type": "delete"}')])
def test_a_delete_may_be_an_event_or_a_tombstone(record: FakeRecord) -> None:
    message = read(record)
    assert isinstance(message, DecodedMessage)
    assert message.event == DeleteEvent(document_id="d", type="delete")


@pytest.mark.parametrize("key", [None, b"", b"\xff", b"x" * 1025])
def test_a_tombstone_whose_key_is_no_document_id_is_rejected(key: bytes | None) -> None:
    message = read(record_of(None, key))
    assert isinstance(message, RejectedMessage)
    assert message.error.code == "bad_key"


def test_a_record_far_beyond_the_limit_is_neither_decoded_nor_kept() -> None:
    message = read(record_of(b"[" * 5_000_000))
    assert isinstance(message, RejectedMessage)
    assert (message.error.code, message.raw, message.size_bytes) == ("too_large", None, 5_000_000)


def test_content_is_read_only_where_a_content_root_is_set(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("from a file")
    record = record_of(json.dumps({"document_id": "d", "content_uri": "file:a.txt"}).encode())
    found = read(record, content_root=tmp_path)
    assert isinstance(found, DecodedMessage)
    assert isinstance(found.event, CheckInEvent)
    assert found.event.text == "from a file"
    refused = read(record)
    assert isinstance(refused, RejectedMessage)
    assert "set content_root" in str(refused.error)


@given(st.binary(max_size=300), st.none() | st.binary(max_size=20))
def test_any_bytes_are_decoded_or_rejected(value: bytes, key: bytes | None) -> None:
    assert isinstance(read(record_of(value, key)), DecodedMessage | RejectedMessage)


def test_a_repeated_answer_is_the_same_to_the_byte() -> None:
    record = check_in()
    made = [list(verdict_records(record, event_of(record), verdict(), TOPICS)) for _ in range(2)]
    assert made[0] == made[1]


def test_a_verdict_has_the_origin_and_the_time_of_the_check_in_but_no_time_of_its_own() -> None:
    record = check_in(checked_in_at="2024-02-29T12:00:00Z")
    [answer, _] = verdict_records(record, event_of(record), verdict(), TOPICS)
    event = decode_verdict(answer.value or b"")
    assert event.checked_in_at == datetime(2024, 2, 29, 12, tzinfo=UTC)
    assert str(event.origin) == "in[3]@14"
    assert event.judged_at is None


@pytest.mark.parametrize(("similar", "topic"), [(False, "accepted"), (True, "quarantine")])
def test_a_document_is_routed_unchanged_by_its_verdict(similar: bool, topic: str) -> None:
    record = check_in()
    [_, onward] = verdict_records(record, event_of(record), verdict(similar=similar), TOPICS)
    assert (onward.topic, onward.key, onward.value) == (topic, record.key, record.value)
    assert onward.headers == list(record.headers)


def test_nothing_is_routed_where_no_topic_is_set() -> None:
    record = check_in()
    assert len(list(verdict_records(record, event_of(record), verdict(), Topics()))) == 1


def test_the_answer_carries_the_trace_headers_and_no_others() -> None:
    record = check_in()
    record.headers = (("traceparent", b"00-1-2-01"), ("tracestate", b"a=b"), ("secret", b"x"))
    trace, dropped = trace_headers(record, 100)
    [answer, _] = verdict_records(record, event_of(record), verdict(), TOPICS, trace=trace)
    names = [name for name, _ in answer.headers]
    assert {"traceparent", "tracestate"} <= set(names)
    assert "secret" not in names
    assert not dropped


def test_trace_headers_beyond_the_limit_are_left_out_whole_and_counted() -> None:
    record = check_in()
    record.headers = (("baggage", b"b" * 80), ("tracestate", b"s" * 80), ("traceparent", b"p" * 20))
    assert trace_headers(record, 130) == ([("traceparent", b"p" * 20), ("tracestate", b"s" * 80)], 1)


def test_a_dead_letter_has_key_headers_and_original_and_names_the_reason() -> None:
    record = record_of(b"{", headers=(("h", b"1"), ("ce_id", b"theirs")))
    rejected = read(record)
    assert isinstance(rejected, RejectedMessage)
    letter = dead_letter_record(record, rejected, TOPICS)
    content = json.loads(letter.value or b"")
    assert (letter.topic, letter.key, content["original"]) == ("gate.dead-letters", b"key", "{")
    assert ("h", b"1") in letter.headers
    assert ("gate_reason", b"bad_json") in letter.headers
    assert [value for name, value in letter.headers if name == "ce_id"] == [b"in[3]@14"]


def test_a_document_that_is_too_large_to_route_is_identified_by_origin_and_hash_alone() -> None:
    record = check_in()
    rejected = reject_routing(record, event_of(record))
    assert (rejected.error.code, rejected.raw, rejected.document_id) == ("too_large_to_route", None, "d")
    assert len(rejected.sha256) == 64


def test_the_time_of_a_check_in_is_that_of_its_event_or_else_of_its_record() -> None:
    assert check_in_time(check_in(), event_of(check_in())) == 1_700_000_000
    own = check_in(checked_in_at="1970-01-01T00:01:00Z")
    assert check_in_time(own, event_of(own)) == 60
    without_zone = check_in(checked_in_at="1970-01-01T00:01:00")
    assert check_in_time(without_zone, event_of(without_zone)) == 60
    unknown = check_in()
    unknown.timestamp = -1
    assert check_in_time(unknown, event_of(unknown)) is None
