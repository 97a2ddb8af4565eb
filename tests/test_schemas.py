"""The schemas are what the code says, and accept exactly what the gate accepts."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gate import CheckIn, Gate
from gate.demo import BREAD, LIGHTHOUSE
from gate.errors import REASONS, BadDocument
from gate.limits import Limits
from gate.schemas import MESSAGES, asyncapi, documents, schemas
from gate.stream.content import read_content
from gate.stream.records import dead_letter_record, decode_record, trace_headers, verdict_records
from gate.stream.settings import KafkaSettings, Topics
from gate.wire import CheckInEvent, Origin, RejectedMessage, VerdictEvent, decode_event, encode
from tests.stream.fake_records import FakeRecord

FOLDER = Path(__file__).parent.parent / "schemas"
NOWHERE = Path("/nonexistent")


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schemas()[name], format_checker=Draft202012Validator.FORMAT_CHECKER)


CHECK_IN, DELETE = validator("check_in.json"), validator("delete.json")
VERDICT, DEAD_LETTER = validator("verdict.json"), validator("dead_letter.json")


# The documents


@pytest.mark.parametrize("name", sorted(documents()))
def test_a_schema_is_what_the_code_says(name: str) -> None:
    stored = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert stored == documents()[name], f"schemas/{name} differs from the code: run `make schemas`"


def test_no_schema_is_left_of_a_message_that_is_gone() -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == set(documents())


@pytest.mark.parametrize("name", sorted(schemas()))
def test_a_schema_is_one_and_has_an_id_a_title_and_a_description(name: str) -> None:
    schema = schemas()[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:checkin-gate:schema:{name.removesuffix('.json').replace('_', '-')}:1"
    assert schema["title"]
    assert schema["description"]


@pytest.mark.parametrize("name", sorted(schemas()))
def test_every_field_of_a_schema_is_described(name: str) -> None:
    for definition in schemas()[name]["$defs"].values():
        for field, facts in definition.get("properties", {}).items():
            assert facts.get("description"), f"{definition['title']}.{field}"


@pytest.mark.parametrize("name", sorted(schemas()))
def test_the_examples_of_a_schema_are_valid_and_whole(name: str) -> None:
    schema = schemas()[name]
    for example in schema["examples"]:
        validator(name).validate(example)
        if name in ("verdict.json", "dead_letter.json"):
            [kind] = [kind for title, kind in MESSAGES.values() if title == schema["title"]]
            left_out = {"original_base64", "omitted"}
            assert set(example) == set(kind.__struct_fields__) - left_out
            assert json.loads(encode(msgspec.convert(example, kind))) == example


def test_the_examples_of_incoming_messages_are_accepted_by_the_gate() -> None:
    for name in ("check_in.json", "delete.json"):
        for example in schemas()[name]["examples"]:
            decode_event(json.dumps(example).encode(), limits=Limits())


def test_the_examples_of_fields_are_valid() -> None:
    for name, schema in schemas().items():
        for definition in schema["$defs"].values():
            for facts in definition.get("properties", {}).values():
                for example in facts.get("examples", ()):
                    validator(name).evolve(schema={**facts, "$defs": schema["$defs"]}).validate(example)


def test_only_the_document_id_is_required_of_a_check_in_besides_its_content() -> None:
    schema = schemas()["check_in.json"]
    assert schema["$defs"]["CheckInEvent"]["required"] == ["document_id"]
    assert [one["required"] for one in schema["oneOf"]] == [["text"], ["content_uri"], ["content_sha256"]]


@pytest.mark.parametrize("name", sorted(schemas()))
def test_a_schema_lets_unknown_fields_through(name: str) -> None:
    assert 'additionalProperties": false' not in json.dumps(schemas()[name])


# What comes in


def gate_accepts(event: Any) -> bool:
    """Whether the gate accepts an event; for a `content_uri`, whether it would go and read the file."""
    try:
        decoded = decode_event(json.dumps(event).encode(), limits=Limits())
        if isinstance(decoded, CheckInEvent) and decoded.content_uri is not None:
            read_content(decoded.content_uri, root=NOWHERE, limits=Limits())
    except BadDocument as exc:
        return exc.code == "unreadable_content"
    return True


def schema_accepts(event: Any) -> bool:
    return CHECK_IN.is_valid(event) or DELETE.is_valid(event)


TIMES = [
    "2026-05-06T07:08:09Z", "2026-05-06t07:08:09z", "2026-05-06 07:08:09", "2026-05-06T07:08:09.1+01:00",
    "2026-05-06T07:08:09-0100", "2024-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "0001-01-01T00:00:00Z",
    "2026-12-31T23:59:59.123456789Z",
    "yesterday", "", "2026-05-06", "2026-05-06T07:08Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z",
    "0000-01-01T00:00:00Z", "2026-05-06T24:00:00Z", "2026-05-06T23:59:60Z", "2026-05-06T07:08:09.Z",
    "2026-05-06T07:08:09+24:00", "2026-05-06T07:08:09+01", "2026-05-06_07:08:09Z", "20260506T070809Z",
    " 2026-05-06T07:08:09Z",
]  # fmt: skip
URIS = [
    "file:a.txt", "file:///a.txt", "file:/a", "FILE:a", "file://localhost/a", "file:a%20b", "file:a//b", "file:/",
    "file:", "file://", "file://host/a", "http://example.org/a", "a.txt", "", "file:a?b", "file:a#b", "file://a",
    "files:a",
]  # fmt: skip
HASHES = ["0" * 64, "0" * 63, "A" * 64, "g" * 64, "", None, 7]
UNREADABLE = ["no_text", "binary", "no_content", "", None, 7]
VERSIONS = ["", "2", "x" * 256, "x" * 257, 7, 0, -1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 1.5, True, [], {}]
IDS = ["a", "x" * 1024, "x" * 1025, "", 7, None, True, [], "\0", "é😀"]
TYPES = ["check_in", "delete", "purge", "", None, 7]


def hand_picked() -> Iterator[dict[str, Any]]:
    base = {"document_id": "a", "text": "t"}
    yield from ({}, base, {"document_id": "a"}, {"text": "t"}, {"type": "delete"}, {**base, "unknown": [1, None]})
    pools: dict[str, list[Any]] = {
        "document_id": IDS,
        "type": TYPES,
        "version": [*VERSIONS, None],
        "text": ["", "t", None, 7, b"".decode(), ["t"], {}],
        "title": ["", "t", None, 7],
        "source": ["", "t", None, {}],
        "content_sha256": HASHES,
        "unreadable_reason": UNREADABLE,
        "metadata": [{}, {"a": [1, {"b": None}]}, None, [], "m", 7],
        "checked_in_at": [*TIMES, None, 7, 1.5],
    }
    for field, values in pools.items():
        yield from ({**base, field: value} for value in values)
        yield from ({"type": "delete", "document_id": "a", field: value} for value in values)
    for uri in [*URIS, None, 7]:
        yield {"document_id": "a", "content_uri": uri}
        yield {"document_id": "a", "content_uri": uri, "text": None}
        yield {"document_id": "a", "content_uri": uri, "text": "t"}
    for reason, digest in product(UNREADABLE, HASHES):
        yield {"document_id": "a", "content_sha256": digest, "unreadable_reason": reason}
        yield {"document_id": "a", "content_sha256": digest, "unreadable_reason": reason, "content_uri": "file:a"}
        yield {"document_id": "a", "content_uri": "file:a", "unreadable_reason": reason}


@pytest.mark.parametrize("event", list(hand_picked()), ids=lambda event: json.dumps(event)[:80])
def test_the_schemas_accept_an_event_if_the_gate_does(event: dict[str, Any]) -> None:
    assert schema_accepts(event) == gate_accepts(event)


@pytest.mark.parametrize("uri", ["", "http://a", "http://example.org/a.txt"])
def test_a_content_uri_of_no_file_passes_the_decoder_and_is_dead_lettered(uri: str, tmp_path: Path) -> None:
    """`decode_event` alone looks at no URI, so it accepts more than the schema; `decode_record` does not."""
    event = {"document_id": "a", "content_uri": uri}
    raw = json.dumps(event).encode()
    assert isinstance(decode_event(raw, limits=Limits()), CheckInEvent)
    assert not schema_accepts(event)
    record = consumed(raw)
    rejected = decode_record(record, limits=Limits(), content_root=tmp_path)
    assert isinstance(rejected, RejectedMessage)
    letter = json.loads(dead_letter_record(record, rejected, ROUTED).value or b"")
    assert (letter["reason"], letter["document_id"]) == ("bad_field", "a")
    assert letter["message"].startswith("gate.check-ins[0]@1024: field `content_uri`: ")


@pytest.mark.parametrize("event", [None, 7, "text", [], [{"document_id": "a", "text": "t"}]])
def test_neither_the_schemas_nor_the_gate_accept_what_is_no_object(event: Any) -> None:
    assert not schema_accepts(event)
    assert not gate_accepts(event)


TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
# A whole number as a float is one of the things that a JSON Schema cannot tell from an integer.
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False).filter(lambda n: not n.is_integer())
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
DAYS = st.builds("{:04}-{:02}-{:02}".format, st.integers(0, 9998), st.integers(0, 13), st.integers(0, 32))
CLOCKS = st.builds("{:02}:{:02}:{:02}".format, st.integers(0, 24), st.integers(0, 60), st.integers(0, 60))
ZONES = st.sampled_from(["", "Z", "z", "+00:00", "-23:59", "+24:00", "+0130", "+1", " Z"])
FRACTIONS = st.sampled_from(["", ".1", ".123456", ".1234567", "."])
TIMESTAMPS = st.builds("{}{}{}{}{}".format, DAYS, st.sampled_from("Tt _"), CLOCKS, FRACTIONS, ZONES)
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "document_id": st.sampled_from(IDS) | TEXT | ANYTHING,
        "type": st.sampled_from(TYPES) | ANYTHING,
        "version": st.sampled_from(VERSIONS) | ANYTHING,
        "text": TEXT | ANYTHING,
        "content_uri": st.sampled_from(URIS) | ANYTHING,
        "content_sha256": st.sampled_from(HASHES) | ANYTHING,
        "unreadable_reason": st.sampled_from(UNREADABLE) | ANYTHING,
        "title": TEXT | ANYTHING,
        "source": TEXT | ANYTHING,
        "metadata": st.dictionaries(TEXT, ANYTHING, max_size=2) | ANYTHING,
        "checked_in_at": st.sampled_from(TIMES) | TIMESTAMPS | ANYTHING,
    },
)


@pytest.mark.slow
@given(EVENTS | st.builds(lambda event: {"document_id": "a", "text": "t", **event}, EVENTS))
@settings(max_examples=500)
def test_the_schemas_accept_any_event_if_the_gate_does(event: dict[str, Any]) -> None:
    assert schema_accepts(event) == gate_accepts(event)


@pytest.mark.slow
@given(TIMESTAMPS)
@settings(max_examples=500)
def test_the_schema_accepts_any_time_if_the_gate_does(timestamp: str) -> None:
    event = {"document_id": "a", "text": "t", "checked_in_at": timestamp}
    assert schema_accepts(event) == gate_accepts(event)


# What goes out


@pytest.mark.parametrize("profile", ["standard", "simhash", "minhash", "containment"])
def test_the_verdicts_of_the_gate_are_valid(profile: str) -> None:
    documents = [
        ("a", LIGHTHOUSE),
        ("b", LIGHTHOUSE.upper()),
        ("c", BREAD),
        ("a", BREAD[:300]),
        ("d", ""),
        ("e", "one"),
    ]
    verdicts = Gate(profile).check_in([CheckIn(document_id=name, text=text, title=name) for name, text in documents])
    now, origin = datetime(2026, 5, 6, tzinfo=UTC), Origin(topic="gate.check-ins", partition=3, offset=7)
    for verdict in verdicts:
        for event in (
            VerdictEvent.of(verdict),
            VerdictEvent.of(verdict, origin=origin, checked_in_at=now, judged_at=now),
        ):
            VERDICT.validate(json.loads(encode(event)))


@pytest.mark.parametrize("raw", [b"{}", b"\xff", b'{"document_id":"a"}', b"x" * 100])
def test_the_dead_letters_of_the_gate_are_valid(raw: bytes) -> None:
    with pytest.raises(BadDocument) as caught:
        decode_event(raw, limits=Limits())
    for keep in (True, False):
        for at in (None, datetime(2026, 5, 6, 1, 2, 3, 4, tzinfo=UTC)):
            letter = RejectedMessage.of(caught.value, raw, origin=None).dead_letter(at=at, keep_original=keep)
            DEAD_LETTER.validate(json.loads(encode(letter)))


def test_the_reasons_of_dead_letters_are_all_named() -> None:
    description = schemas()["dead_letter.json"]["$defs"]["DeadLetter"]["properties"]["reason"]["description"]
    assert all(reason in description for reason in REASONS)


def test_a_time_without_a_zone_is_no_time_that_the_gate_writes() -> None:
    [example] = schemas()["verdict.json"]["examples"]
    assert not VERDICT.is_valid({**example, "judged_at": "2026-05-06T07:08:09"})
    assert not VERDICT.is_valid({**example, "judged_at": "yesterday"})


# The topics


def consumed(value: bytes | None) -> FakeRecord:
    """A record of the check-ins topic, with headers that the gate carries and headers that it sets itself."""
    headers = (
        ("traceparent", b"00-1-2-03"),
        ("tracestate", b"a=b"),
        ("baggage", b"c=d"),
        ("ce_id", b"e"),
        ("own", b"f"),
    )
    return FakeRecord(1024, value, key=b"any", topic="gate.check-ins", headers=headers)


ROUTED = Topics(accepted="accepted", quarantine="quarantine")


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def test_every_reference_of_the_asyncapi_document_resolves() -> None:
    document = asyncapi()
    for reference in references(document):
        file, _, path = reference.partition("#")
        part: Any = documents()[file.removeprefix("./")] if file else document
        for step in path.split("/")[1:]:
            part = part[step]
        assert part


def test_the_topics_of_the_asyncapi_document_are_those_of_the_settings() -> None:
    document, topics = asyncapi(), KafkaSettings().topics
    addresses = {channel: facts["address"] for channel, facts in document["channels"].items()}
    [check_ins] = topics.check_ins
    assert addresses == {
        "check_ins": check_ins,
        "verdicts": topics.verdicts,
        "dead_letters": topics.dead_letters,
        "accepted": topics.accepted,
        "quarantine": topics.quarantine,
    }
    for facts in document["channels"].values():
        assert facts["bindings"]["kafka"].get("topic") == facts["address"]
    assert document["servers"]["kafka"]["host"] == KafkaSettings().brokers
    assert document["operations"]["judge"]["bindings"]["kafka"]["groupId"]["enum"] == [KafkaSettings().group]


def test_every_channel_has_an_operation_and_every_message_a_channel() -> None:
    document = asyncapi()
    used = {operation["channel"]["$ref"].rpartition("/")[2] for operation in document["operations"].values()}
    assert used == set(document["channels"])
    messages = {name for facts in document["channels"].values() for name in facts["messages"]}
    assert messages == set(document["components"]["messages"])


def test_every_header_of_the_asyncapi_document_is_described() -> None:
    for name, facts in asyncapi()["components"]["messages"].items():
        for header, described in facts.get("headers", {}).get("properties", {}).items():
            assert described.get("description"), f"{name}: {header}"


def test_every_message_of_the_asyncapi_document_has_examples_that_are_valid() -> None:
    for name, facts in asyncapi()["components"]["messages"].items():
        assert facts["examples"], name
        for example in facts["examples"]:
            payload = facts["payload"]
            if "schema" in payload:
                payload = documents()[payload["schema"]["$ref"].removeprefix("./")]
            Draft202012Validator(payload).validate(example["payload"])
            assert ("headers" in example) == ("headers" in facts)
            if "headers" in facts:
                Draft202012Validator(facts["headers"]).validate(example["headers"])


def assert_described(message: str, headers: list[tuple[str, bytes]], value: bytes | None) -> None:
    """Whether the headers and the value of a record are those that the AsyncAPI document describes."""
    facts = asyncapi()["components"]["messages"][message]
    Draft202012Validator(facts["headers"]).validate({name: value.decode() for name, value in headers})
    schema = documents()[facts["payload"]["schema"]["$ref"].removeprefix("./")]
    Draft202012Validator(schema).validate(json.loads(value or b""))


def test_a_verdict_record_has_the_key_the_headers_and_the_value_that_are_described() -> None:
    event = CheckInEvent(document_id="a", text=LIGHTHOUSE, source="mail", title="The Lighthouse")
    [verdict] = Gate().check_in([event.check_in()])
    record = consumed(encode(event))
    [answer, routed] = verdict_records(record, event, verdict, ROUTED, trace=trace_headers(record, 1000)[0])
    assert_described("verdict", answer.headers, answer.value)
    described = asyncapi()["components"]["messages"]["verdict"]["headers"]
    assert {name for name, _ in answer.headers} == set(described["properties"])
    assert answer.key == b"a"
    sent = json.loads(answer.value or b"")
    assert (sent["source"], sent["title"]) == ("mail", "The Lighthouse")
    assert b"goats" not in (answer.value or b"")
    assert (routed.key, routed.value, routed.headers) == (record.key, record.value, list(record.headers))
    assert CHECK_IN.is_valid(json.loads(routed.value or b""))


def test_a_dead_letter_record_has_the_key_the_headers_and_the_value_that_are_described() -> None:
    record = consumed(b'{"text": "t"}')
    rejected = decode_record(record, limits=Limits())
    assert isinstance(rejected, RejectedMessage)
    letter = dead_letter_record(record, rejected, ROUTED)
    assert_described("dead_letter", letter.headers, letter.value)
    described = asyncapi()["components"]["messages"]["dead_letter"]["headers"]
    carried = {"traceparent", "tracestate", "baggage", "own", "gate_original_ce_id"}
    assert {name for name, _ in letter.headers} == set(described["required"]) | carried
    assert letter.key == record.key


def test_a_tombstone_deletes_what_its_key_names_as_described() -> None:
    decoded = decode_record(consumed(None), limits=Limits())
    assert not isinstance(decoded, RejectedMessage)
    assert DELETE.is_valid(msgspec.to_builtins(decoded.event))
    assert decoded.event.document_id == "any"


def test_the_summaries_of_messages_are_one_line() -> None:
    for facts in asyncapi()["components"]["messages"].values():
        assert facts["summary"] == inspect.cleandoc(facts["summary"]).partition("\n")[0]
