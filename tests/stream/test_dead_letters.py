"""A dead letter holds all that its original was: whatever record is buried, the same record is sent again."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from gate.errors import BadDocument
from gate.limits import Limits
from gate.stream.dead_letters import UNREADABLE, chosen, original_of, read_letter
from gate.stream.events import Headers, dead_letter, read_record
from gate.stream.settings import Topics
from gate.wire import Rejected

TOPICS = Topics()


@dataclass
class Record:
    value: bytes | None
    key: bytes | None = b"key"
    headers: Headers = field(default_factory=list)
    topic: str = "gate.check-ins"
    partition: int = 0
    offset: int = 7
    timestamp: int = 0
    serialized_value_size: int = 0


names = (
    st.sampled_from(["traceparent", "ce_id", "ce_type", "content-type", "gate_reason", "gate_original_ce_id"])
    | st.text()
)


@given(
    value=st.none() | st.binary(max_size=50),
    key=st.none() | st.binary(max_size=10),
    headers=st.lists(st.tuples(names, st.binary(max_size=5)), max_size=6),
)
def test_what_is_buried_and_sent_again_is_what_it_was(
    value: bytes | None, key: bytes | None, headers: list[tuple[str, bytes]]
) -> None:
    record = Record(value, key, headers)
    rejected = read_record(record, limits=Limits())
    if not isinstance(rejected, Rejected):  # a tombstone with a good key
        rejected = Rejected.of(BadDocument("bad_key", "made up"), b"", origin=rejected.origin)
    buried = dead_letter(record, rejected, TOPICS)
    letter = read_letter(Record(buried.value, buried.key, buried.headers, topic=buried.topic))
    sent = original_of(letter)
    assert sent is not None
    assert (sent.topic, sent.key, sent.value, list(sent.headers)) == (record.topic, key, value, headers)


@given(st.binary(max_size=100))
def test_whatever_else_is_in_the_topic_is_no_letter_and_no_error(value: bytes) -> None:
    letter = read_letter(Record(value))
    assert letter.reason == UNREADABLE
    assert original_of(letter) is None


def test_letters_are_chosen_by_reason_or_by_name_or_all() -> None:
    letter = read_letter(Record(b""))
    assert letter.name == "0:7"
    assert chosen(letter, reasons=(), names=())
    assert chosen(letter, reasons=(UNREADABLE,), names=())
    assert not chosen(letter, reasons=("bad_json",), names=())
    assert chosen(letter, reasons=(), names=("0:7",))
    assert not chosen(letter, reasons=(), names=("0:8",))
