"""Answers as they are stored: the same again, and every byte read for good."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gate.core.judge import EarlierDocument
from gate.core.stored_verdict import REASONS, RELATIONS, Answer, Hit, decode_answer, encode_answer
from gate.errors import UNREADABLE_REASONS, UnreadableReason
from gate.model import Degraded, Relation
from tests.core.judged_matches import EARLIER, judged


@given(
    EARLIER,
    st.integers(1, 5),
    st.sets(st.sampled_from(list(Degraded))),
    st.none() | st.sampled_from(UNREADABLE_REASONS),
    st.sampled_from([0, 5]),
)
def test_a_stored_answer_is_read_back_as_it_was(
    documents: list[EarlierDocument],
    cap: int,
    reasons: set[Degraded],
    unreadable: UnreadableReason | None,
    ruled_out: int,
) -> None:
    answer = judged(
        *documents, max_matches=cap, degraded=tuple(reasons), short=unreadable is not None, unreadable=unreadable
    )
    answer = msgspec.structs.replace(answer, ruled_out=ruled_out)
    assert decode_answer(encode_answer(answer)) == answer


def test_an_answer_stored_before_a_field_was_added_is_still_read() -> None:
    old = encode_answer(judged())
    assert old.startswith(b"\x96")  # an array of six
    assert decode_answer(b"\x93\x00\xc2\x07") == judged()


def test_stored_answers_have_known_bytes() -> None:
    """What is stored is read for good: another byte here is a migration of every index."""
    new = Answer(Relation.NEW, similar=False, candidates=3)
    assert encode_answer(new).hex() == "9600c203009090"
    hits = (Hit(2**40, Relation.NEAR, 9, 0.8662, 0.9321), Hit(7, Relation.CONTAINED, None, None, None))
    near = Answer(Relation.NEAR, similar=True, candidates=2, group=7, hits=hits, degraded=(Degraded.MATCHES_CAPPED,))
    assert encode_answer(near).hex() == "9602c302fe9295cf00000100000000000209cd21d6cd2469950703c0c0c09102"
    elsewhere = Answer(Relation.EXACT, similar=True, candidates=0, group=2**33)
    assert encode_answer(elsewhere).hex() == "9601c300cf00000002000000009090"
    locked = Answer(Relation.UNREADABLE, similar=False, candidates=0, unreadable="encrypted")
    assert encode_answer(locked).hex() == "9708c20000909003"
    filtered = Answer(Relation.NEW, similar=False, candidates=3, ruled_out=200)
    assert encode_answer(filtered).hex() == "9800c20300909000ccc8"


def test_every_relation_and_reason_has_its_number() -> None:
    assert sorted(RELATIONS) == sorted(Relation)
    assert sorted(REASONS) == sorted(Degraded)
    first = ("no_text", "binary", "encrypted", "damaged", "bomb", "too_costly", "too_large", "bad_encoding")
    assert (*first, "bad_compression", "not_installed") == UNREADABLE_REASONS  # by their places, from 1


@given(st.integers(0, 10_000))
def test_a_measure_of_four_decimals_is_stored_to_the_last_digit(units: int) -> None:
    measure = round(units / 10_000, 4)
    hit = Hit(1, Relation.NEAR, 0, measure, measure)
    [kept] = decode_answer(encode_answer(Answer(Relation.NEAR, similar=True, candidates=1, hits=(hit,)))).hits
    assert kept == hit
