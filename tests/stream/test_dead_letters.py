"""A dead letter is decoded, and the record that it is about is restored as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gate.errors import BadDocument
from gate.limits import Limits
from gate.stream.dead_letters import UNREADABLE, decode_dead_letter, is_selected, restore_original
from gate.stream.records import dead_letter_record, decode_record
from gate.stream.settings import Topics
from gate.wire import RejectedMessage
from tests.stream.fake_records import FakeRecord

TOPICS = Topics()


names = (
    st.sampled_from(["traceparent", "ce_id", "ce_type", "content-type", "gate_reason", "gate_original_ce_id"])
    | st.text()
)


@given(
    value=st.none() | st.binary(max_size=50),
    key=st.none() | st.binary(max_size=10),
    headers=st.lists(st.tuples(names, st.binary(max_size=5)), max_size=6),
)
def test_the_restored_original_is_the_record_that_was_dead_lettered(
    value: bytes | None, key: bytes | None, headers: list[tuple[str, bytes]]
) -> None:
    record = FakeRecord(7, value, key, "gate.check-ins", headers=tuple(headers))
    rejected = decode_record(record, limits=Limits())
    if not isinstance(rejected, RejectedMessage):  # a tombstone with a good key
        rejected = RejectedMessage.of(BadDocument("bad_key", "made up"), b"", origin=rejected.origin)
    written = dead_letter_record(record, rejected, TOPICS)
    letter = decode_dead_letter(
        FakeRecord(7, written.value, written.key, written.topic, headers=tuple(written.headers))
    )
    sent = restore_original(letter)
    assert sent is not None
    assert (sent.topic, sent.key, sent.value, list(sent.headers)) == (record.topic, key, value, headers)


@given(st.binary(max_size=100))
def test_any_other_record_of_the_topic_is_unreadable_and_no_error(value: bytes) -> None:
    letter = decode_dead_letter(FakeRecord(7, value))
    assert letter.reason == UNREADABLE
    assert restore_original(letter) is None


def test_dead_letters_are_selected_by_position_or_else_by_reason_or_else_all() -> None:
    letter = decode_dead_letter(FakeRecord(7, b""))
    assert letter.position == "0:7"
    assert is_selected(letter, reasons=(), positions=())
    assert is_selected(letter, reasons=(UNREADABLE,), positions=())
    assert not is_selected(letter, reasons=("bad_json",), positions=())
    assert is_selected(letter, reasons=(), positions=("0:7",))
    assert not is_selected(letter, reasons=(), positions=("0:8",))
