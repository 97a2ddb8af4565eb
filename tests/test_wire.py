"""Messages: check-ins and deletes in, verdicts and dead letters out."""

from __future__ import annotations

import base64
import hashlib
import json
import tracemalloc
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import BadDocument
from gate.limits import Limits
from gate.model import CheckIn, Degraded, Match, Relation, Verdict
from gate.wire import (
    CheckInEvent,
    DeleteEvent,
    Origin,
    RejectedMessage,
    VerdictEvent,
    decode_event,
    decode_verdict,
    encode,
    identify,
)

LIMITS = Limits(max_document_chars=100)
HERE = Origin(file="events.jsonl", line=7)
SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
SECRET_TEXT = "the words of the document"


def decode(raw: bytes | dict[str, Any]) -> CheckInEvent | DeleteEvent:
    return decode_event(raw if isinstance(raw, bytes) else json.dumps(raw).encode(), origin=HERE, limits=LIMITS)


def refusal(raw: bytes | dict[str, Any]) -> BadDocument:
    with pytest.raises(BadDocument) as caught:
        decode(raw)
    return caught.value


def check_in(raw: dict[str, Any]) -> CheckIn:
    event = decode(raw)
    assert isinstance(event, CheckInEvent)
    return event.check_in()


def test_a_document_id_and_a_text_are_enough() -> None:
    assert check_in({"document_id": "a", "text": "hello"}) == CheckIn(document_id="a", text="hello")


def test_source_and_title_of_a_check_in_event_are_those_of_the_check_in() -> None:
    document = check_in({"document_id": "a", "text": "hello", "title": "Greeting", "source": "mail"})
    assert document == CheckIn(document_id="a", text="hello", title="Greeting", source="mail")


def test_all_fields_of_a_check_in_arrive() -> None:
    event = decode(
        {
            "type": "check_in",
            "document_id": "a",
            "version": "v2",
            "text": "hello",
            "title": "Greeting",
            "source": "mail",
            "metadata": {"tags": [1, None, {"x": "y"}]},
            "checked_in_at": "2024-05-06T07:08:09Z",
        }
    )
    assert event == CheckInEvent(
        document_id="a",
        version="v2",
        text="hello",
        title="Greeting",
        source="mail",
        metadata=msgspec.Raw(b'{"tags": [1, null, {"x": "y"}]}'),
        checked_in_at=datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC),
    )


def test_unknown_fields_are_ignored() -> None:
    assert check_in({"document_id": "a", "text": "hello", "colour": {"of": ["the", "future"]}}).text == "hello"


@pytest.mark.parametrize("version", [7, "7"])
def test_a_version_may_be_a_number_or_a_string_and_is_a_string_inside(version: object) -> None:
    assert check_in({"document_id": "a", "text": "t", "version": version}).version == "7"


def test_an_empty_text_is_a_content() -> None:
    assert check_in({"document_id": "a", "text": ""}).text == ""


def test_a_null_counts_as_a_field_that_is_not_there() -> None:
    event = decode({"document_id": "a", "text": "t", "content_uri": None, "version": None, "metadata": None})
    assert event == CheckInEvent(document_id="a", text="t")


def test_a_delete_names_its_document() -> None:
    assert decode({"document_id": "a", "type": "delete"}) == DeleteEvent(document_id="a", type="delete")


def test_the_other_fields_of_a_delete_are_ignored() -> None:
    assert decode({"text": 5, "document_id": "a", "type": "delete"}) == DeleteEvent(document_id="a", type="delete")


@pytest.mark.parametrize(
    ("raw", "code", "names"),
    [
        (b"", "bad_json", "ends too soon"),
        (b"not json", "bad_json", "not JSON"),
        (b'{"document_id":"a","text":"abc', "bad_json", "ends too soon"),
        (b'{"document_id":"a","text":"abc"} {}', "bad_json", "trailing"),
        (b'{"document_id":5,"text":"abc"', "bad_json", "ends too soon"),
        (b"[1, 2]", "bad_json", "no object"),
        (b'"text"', "bad_json", "no object"),
        (b'{"document_id":"a","text":"abc","metadata":' + b'{"a":' * 100_000, "bad_json", "too deep"),
        ({"text": "abc"}, "missing_field", "`document_id`"),
        ({"type": "delete"}, "missing_field", "`document_id`"),
        ({"document_id": 5, "text": "abc"}, "bad_field", "`document_id`: expected str, got int"),
        ({"document_id": "", "text": "abc"}, "bad_field", "`document_id`: expected str of length >= 1"),
        ({"document_id": "x" * 1025, "text": "abc"}, "bad_field", "`document_id`: expected str of length <= 1024"),
        ({"document_id": "", "type": "delete"}, "bad_field", "`document_id`"),
        ({"document_id": "a", "text": ["abc"]}, "bad_field", "`text`: expected str | null, got array"),
        ({"document_id": "a", "text": "abc", "version": 1.5}, "bad_field", "`version`"),
        (b'{"document_id":"a","text":"abc","version":' + b"9" * 5000 + b"}", "bad_field", "`version`"),
        ({"document_id": "a", "text": "abc", "checked_in_at": "yesterday"}, "bad_field", "`checked_in_at`"),
        ({"document_id": "a", "text": "abc", "metadata": "m"}, "bad_field", "`metadata`"),
        ({"document_id": "a", "text": "abc", "type": "purge"}, "bad_field", "`type`: unknown; allowed are `check_in`"),
        ({"document_id": "a", "text": "abc", "content_uri": "file:x"}, "bad_field", "both"),
        (
            {"document_id": "a", "text": "abc", "content_sha256": SHA256},
            "bad_field",
            "`text` and `content_sha256` are both",
        ),
        ({"document_id": "a", "content_sha256": SHA256.upper()}, "bad_field", "`content_sha256`"),
        (
            {"document_id": "a", "content_sha256": SHA256, "unreadable_reason": "age"},
            "bad_field",
            "`unreadable_reason`",
        ),
        ({"document_id": "a", "text": "", "unreadable_reason": "binary"}, "bad_field", "send `content_sha256` with it"),
        ({"document_id": "a"}, "no_content", "`text` nor `content_uri`"),
        ({"document_id": "a", "text": None}, "no_content", "`text` nor `content_uri`"),
        ({"document_id": "a", "text": "x" * 101}, "too_large", "limits.max_document_chars"),
        (b'{"document_id":"a","text":"caf\xe9"}', "bad_utf8", "field `text`: not UTF-8 at byte 30"),
        (b'{"document_id":"a","text":"\xed\xa0\x80 and more"}', "bad_utf8", "field `text`"),
        (rb'{"document_id":"a","text":"half \ud83d"}', "bad_text", "field `text`"),
        (rb'{"document_id":"a","text":"half \ude00 and more"}', "bad_text", "field `text`"),
        (rb'{"document_id":"a","text":"t","metadata":{"k":["\ud83d x"]}}', "bad_text", "field `metadata`"),
        (rb'{"document_id":"a","text":"t","new":"\ud83d x"}', "bad_text", "does not read"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_its_reason_its_field_and_its_origin(
    raw: bytes | dict[str, Any], code: str, names: str
) -> None:
    error = refusal(raw)
    assert error.code == code
    assert names in str(error)
    assert str(error).startswith("events.jsonl:7: ")


@pytest.mark.parametrize(
    "raw",
    [
        json.dumps({"document_id": 5, "text": SECRET_TEXT}).encode(),
        json.dumps({"document_id": "a", "type": SECRET_TEXT, "text": "t"}).encode(),
        json.dumps({"document_id": "a", "text": "t", "checked_in_at": SECRET_TEXT}).encode(),
        json.dumps({"document_id": "a", "text": "t", SECRET_TEXT: "?"}).replace("?", "\\ud83d").encode(),
        json.dumps({"document_id": "a", "text": SECRET_TEXT + "\ud83d"}).encode(),
        json.dumps({"document_id": "a", "text": SECRET_TEXT}).encode() + b"\xff",
        SECRET_TEXT.encode(),
    ],
)
def test_an_error_never_quotes_the_document(raw: bytes) -> None:
    assert SECRET_TEXT not in str(refusal(raw))


def test_a_character_beyond_the_basic_plane_is_accepted() -> None:
    raw = rb'{"document_id":"a","text":"\ud83d\ude00 and \u0000"}'
    event = decode(raw)
    assert isinstance(event, CheckInEvent)
    assert event.text == "😀 and \0"


PAIRS = b"[" + b"[]," * 300_000 + b"[]]"


@pytest.mark.parametrize(
    "raw",
    [
        b'{"document_id":"a","text":"t","metadata":{"x":' + PAIRS + b"}}",
        '{"document_id":"a","text":"t","metadata":{"é":'.encode() + PAIRS + b"}}",
        b'{"document_id":"a","text":"t","unknown":' + PAIRS + b"}",
        b'{"document_id":' + PAIRS + b',"text":"t"}',
        b'{"document_id":"a","text":"t","type":' + PAIRS + b"}",
        b'{"document_id":"a","text":"t","metadata":' + PAIRS + b"}",
        b'{"document_id":"a","text":"t","metadata":{"x":' + PAIRS + PAIRS,
    ],
    ids=["metadata", "metadata not ASCII", "unknown field", "id", "type", "metadata no object", "cut off"],
)
def test_a_message_of_many_small_values_takes_a_small_multiple_of_its_bytes(raw: bytes) -> None:
    tracemalloc.start()
    with suppress(BadDocument):
        decode_event(raw, limits=LIMITS)
    RejectedMessage.of(BadDocument("bad_json", ""), raw, origin=None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * len(raw)


@pytest.mark.parametrize("value", [b"\xff", b"\xed\xa0\x80", b"x" * 65_540 + b"\xff", "é".encode()[:1]])
def test_metadata_that_is_not_utf8_is_refused(value: bytes) -> None:
    error = refusal(b'{"document_id":"a","text":"t","metadata":{"k":["%s"]}}' % value)
    assert error.code == "bad_utf8"
    assert "field `metadata`" in str(error)


def test_the_size_of_an_event_counts_all_its_texts_and_its_metadata() -> None:
    event = decode({"document_id": "ab", "text": "cde", "title": "f", "source": "gh", "metadata": {"i": "j"}})
    assert isinstance(event, CheckInEvent)
    assert event.size == 3 + 1 + 2 + len('{"i": "j"}')


@given(st.binary(max_size=200))
def test_any_bytes_decode_or_raise_bad_document(raw: bytes) -> None:
    with suppress(BadDocument):
        decode_event(raw, limits=LIMITS)
    encode(RejectedMessage.of(BadDocument("bad_json", ""), raw, origin=None).dead_letter(keep_original=True))


@given(st.binary(max_size=40), st.sampled_from(["document_id", "text", "version", "type", "metadata"]))
def test_any_value_of_a_field_decodes_or_raises_bad_document(value: bytes, field: str) -> None:
    raw = b'{"document_id":"a","text":"t","%s":"%s"}' % (field.encode(), value)
    with suppress(BadDocument):
        decode_event(raw, limits=LIMITS)
    encode(RejectedMessage.of(BadDocument("bad_json", ""), raw, origin=None).dead_letter(keep_original=True))


@pytest.mark.slow
@given(st.text(min_size=1, max_size=50), st.text(max_size=100))
def test_every_text_of_whole_characters_arrives_as_it_was_sent(document_id: str, text: str) -> None:
    event = decode_event(encode(CheckInEvent(document_id=document_id, text=text)), limits=LIMITS)
    assert event == CheckInEvent(document_id=document_id, text=text)


@pytest.mark.parametrize(
    ("raw", "document_id"),
    [
        (b'{"document_id":"a"}', "a"),
        (b'{"document_id":"a","text":"\xff"}', "a"),
        (rb'{"document_id":"a","text":"\ud83d"}', "a"),
        (b'{"document_id":5}', None),
        (rb'{"document_id":"\ud83d"}', None),
        (b'{"text":"t"}', None),
        (b'{"document_id":"a"', None),
        (b"[]", None),
    ],
)
def test_an_invalid_message_is_identified_by_its_document_id_where_that_can_be_read(
    raw: bytes, document_id: str | None
) -> None:
    assert identify(raw) == document_id


RAW = json.dumps({"document_id": "a", "text": SECRET_TEXT, "version": 1.5}).encode()
NOW = datetime(2024, 5, 6, tzinfo=UTC)


def test_a_dead_letter_says_why_and_where_and_does_not_hold_the_text() -> None:
    line = encode(RejectedMessage.of(refusal(RAW), RAW, origin=HERE).dead_letter(at=NOW))
    assert SECRET_TEXT.encode() not in line
    letter = json.loads(line)
    assert letter.pop("message").startswith("events.jsonl:7: field `version`")
    assert letter == {
        "reason": "bad_field",
        "origin": {"file": "events.jsonl", "line": 7},
        "document_id": "a",
        "sha256": hashlib.sha256(RAW).hexdigest(),
        "size_bytes": len(RAW),
        "dead_lettered_at": "2024-05-06T00:00:00Z",
        "schema_version": 1,
    }


def test_a_dead_letter_for_the_file_keeps_the_original_so_that_nothing_is_lost() -> None:
    letter = json.loads(encode(RejectedMessage.of(refusal(RAW), RAW, origin=HERE).dead_letter(keep_original=True)))
    assert letter["original"].encode() == RAW


def test_an_original_that_is_not_utf_8_is_kept_too() -> None:
    raw = b'{"document_id":"a","text":"caf\xe9"}'
    letter = json.loads(encode(RejectedMessage.of(refusal(raw), raw, origin=HERE).dead_letter(keep_original=True)))
    assert base64.b64decode(letter["original_base64"]) == raw
    assert "original" not in letter


VERDICT = Verdict(
    document_id="b",
    version="2",
    similar=True,
    relation=Relation.NEAR,
    group="a",
    content_id="00112233445566778899aabbccddeeff",
    fingerprint="0123456789abcdef",
    profile="standard@1",
    verdict_id="v",
    features=40,
    candidates=3,
    matches=(
        Match(
            document_id="a", version=None, relation=Relation.NEAR, distance=2, resemblance=0.875, bit_agreement=0.9688
        ),
    ),
    degraded=(Degraded.BUCKET_CAPPED,),
    source="archive",
    title="Report",
)


def test_a_verdict_on_the_wire_has_these_fields_and_values() -> None:
    assert json.loads(encode(VerdictEvent.of(VERDICT, origin=HERE, judged_at=NOW))) == {
        "document_id": "b",
        "version": "2",
        "similar": True,
        "relation": "near",
        "matches": [
            {
                "document_id": "a",
                "version": None,
                "relation": "near",
                "distance": 2,
                "resemblance": 0.875,
                "containment": None,
                "bit_agreement": 0.9688,
            }
        ],
        "group": "a",
        "fingerprint": "0123456789abcdef",
        "content_id": "00112233445566778899aabbccddeeff",
        "profile": "standard@1",
        "features": 40,
        "candidates": 3,
        "degraded": ["bucket_capped"],
        "verdict_id": "v",
        "source": "archive",
        "title": "Report",
        "unreadable_reason": None,
        "ruled_out": 0,
        "origin": {"file": "events.jsonl", "line": 7},
        "checked_in_at": None,
        "judged_at": "2024-05-06T00:00:00Z",
        "schema_version": 1,
    }


def test_a_verdict_converts_to_json_under_the_names_of_the_wire() -> None:
    fields = VERDICT.to_dict()
    on_the_wire = json.loads(encode(VerdictEvent.of(VERDICT)))
    assert json.loads(VERDICT.to_json()) == fields
    assert {name: on_the_wire[name] for name in fields} == fields
    assert set(on_the_wire) - set(fields) == {"origin", "checked_in_at", "judged_at", "schema_version"}
    assert VERDICT.matches[0].to_dict() == fields["matches"][0]


def test_a_verdict_event_is_read_back_as_it_was_written() -> None:
    event = VerdictEvent.of(VERDICT, origin=HERE, checked_in_at=NOW, judged_at=NOW)
    assert decode_verdict(encode(event)) == event


def test_a_verdict_of_a_newer_gate_can_be_read() -> None:
    newer = json.loads(encode(VerdictEvent.of(VERDICT))) | {"mood": "good", "schema_version": 2}
    read = decode_verdict(json.dumps(newer).encode())
    assert read.matches[0].document_id == "a"
    assert read.schema_version == 2


def test_an_origin_reads_as_file_and_line_or_topic_partition_and_offset() -> None:
    assert str(HERE) == "events.jsonl:7"
    assert str(Origin(topic="check-ins", partition=3, offset=12)) == "check-ins[3]@12"


def test_a_content_uri_that_has_not_been_read_cannot_be_judged() -> None:
    event = decode({"document_id": "a", "content_uri": "file:x"})
    assert isinstance(event, CheckInEvent)
    with pytest.raises(BadDocument, match="content_uri"):
        event.check_in()


@pytest.mark.parametrize(
    ("origin", "unit"),
    [(Origin(file="e.jsonl", line=1), "line"), (Origin(topic="in", partition=0, offset=7), "record")],
)
@pytest.mark.parametrize("raw", [b"no json", b"[1]", b"\xff"])
def test_an_error_speaks_of_lines_in_files_and_of_records_in_topics(origin: Origin, unit: str, raw: bytes) -> None:
    with pytest.raises(BadDocument) as caught:
        decode_event(raw, origin=origin, limits=LIMITS)
    assert f"{origin}: the {unit}" in str(caught.value)
    assert ("line" in str(caught.value).removeprefix(str(origin))) is (unit == "line")
