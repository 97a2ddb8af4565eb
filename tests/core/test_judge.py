"""From what was found to an answer."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.core.judge import EXACT, Known, judge
from gate.core.stored_verdict import REASONS, RELATIONS, Answer, Hit, decode_answer, encode_answer
from gate.core.verify import PLACES, Likeness
from gate.model import Degraded, Relation

ME = "me"


def near(resemblance: float | None = 0.9, distance: int | None = 1, relation: Relation = Relation.NEAR) -> Likeness:
    return Likeness(distance=distance, resemblance=resemblance, containment=0.5, relation=relation)


def known(entry: int, likeness: Likeness, *, ticket: int | None = None, owner: str = "other") -> Known:
    return Known(entry, owner, entry if ticket is None else ticket, likeness)


def judged(
    *found: Known,
    empty: bool = False,
    short: bool = False,
    earlier_versions: bool = False,
    candidates: int = 7,
    degraded: tuple[Degraded, ...] = (),
    max_matches: int = 10,
) -> Answer:
    return judge(
        ME,
        found,
        empty=empty,
        short=short,
        earlier_versions=earlier_versions,
        candidates=candidates,
        degraded=degraded,
        max_matches=max_matches,
    )


# Relations


@pytest.mark.parametrize(
    ("answer", "relation"),
    [
        (judged(), Relation.NEW),
        (judged(short=True), Relation.TOO_SHORT),
        (judged(earlier_versions=True), Relation.REVISION),
        (judged(short=True, earlier_versions=True), Relation.REVISION),
        (judged(empty=True), Relation.EMPTY),
        (judged(known(1, EXACT), empty=True, short=True, earlier_versions=True), Relation.EMPTY),
    ],
)
def test_a_document_that_nothing_is_alike_to_passes(answer: Answer, relation: Relation) -> None:
    assert answer.relation is relation
    assert not answer.similar
    assert answer.group == 0
    assert answer.hits == ()


@pytest.mark.parametrize("relation", [Relation.EXACT, Relation.NEAR, Relation.CONTAINED, Relation.CONTAINS])
def test_a_document_that_something_is_alike_to_is_called_by_its_best_match(relation: Relation) -> None:
    best, other = known(4, near(1.0, relation=relation)), known(3, near(0.8))
    for short, earlier in ((False, False), (True, False), (False, True)):
        answer = judged(other, best, short=short, earlier_versions=earlier)
        assert answer.similar
        assert answer.relation is relation
        assert [hit.entry for hit in answer.hits] == [4, 3]


def test_other_versions_of_a_document_do_not_count_against_it() -> None:
    answer = judged(known(1, EXACT, owner=ME), known(2, near(), owner=ME), earlier_versions=True)
    assert answer.relation is Relation.REVISION
    assert not answer.similar
    both = judged(known(1, EXACT, owner=ME), known(2, near(0.8)), earlier_versions=True)
    assert both.relation is Relation.NEAR
    assert [hit.entry for hit in both.hits] == [2]
    assert both.group == 2


# Order, caps and groups


def test_matches_come_exact_first_then_by_resemblance_then_by_distance_then_by_ticket() -> None:
    ordered = [
        known(10, EXACT, ticket=99),
        known(16, near(1.0, 0), ticket=2),
        known(11, near(1.0, 5), ticket=98),
        known(12, near(0.9, 0), ticket=97),
        known(13, near(0.9, 2), ticket=3),
        known(14, near(0.9, 2), ticket=4),
        known(15, near(0.2, 0), ticket=1),
    ]
    for seed in range(20):
        shuffled = random.Random(seed).sample(ordered, len(ordered))
        assert [hit.entry for hit in judged(*shuffled).hits] == [10, 16, 11, 12, 13, 14, 15]


def test_where_only_the_distance_is_known_it_orders_the_matches() -> None:
    found = [known(1, near(None, 3)), known(2, near(None, 0)), known(3, near(None, 2)), known(4, near(None, 2))]
    assert [hit.entry for hit in judged(*found).hits] == [2, 3, 4, 1]


LIKENESSES = st.builds(
    Likeness,
    distance=st.none() | st.integers(0, 64),
    resemblance=st.none() | st.floats(0, 1).map(lambda value: round(value, PLACES)),
    containment=st.none() | st.floats(0, 1).map(lambda value: round(value, PLACES)),
    relation=st.sampled_from([Relation.EXACT, Relation.NEAR, Relation.CONTAINED, Relation.CONTAINS]),
)
FOUND = st.lists(
    st.tuples(st.integers(1, 50), st.sampled_from([ME, "a", "b"]), LIKENESSES),
    max_size=15,
    unique_by=lambda one: one[0],
).map(lambda rows: [Known(100 + ticket, owner, ticket, how) for ticket, owner, how in rows])


@given(FOUND, st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_answer_does_not_depend_on_the_order_in_which_matches_were_found(
    found: list[Known], cap: int, draw: random.Random
) -> None:
    assert judged(*found, max_matches=cap) == judged(*draw.sample(found, len(found)), max_matches=cap)


@given(FOUND, st.integers(1, 5))
def test_the_group_is_the_first_by_ticket_even_if_it_is_not_among_the_matches_named(
    found: list[Known], cap: int
) -> None:
    answer = judged(*found, max_matches=cap)
    others = [one for one in found if one.document_id != ME]
    assert answer.group == min(((one.ticket, one.entry) for one in others), default=(0, 0))[1]
    assert answer.similar == bool(others)


@given(FOUND, st.integers(1, 5))
def test_matches_beyond_the_cap_are_left_out_and_the_answer_says_so(found: list[Known], cap: int) -> None:
    answer, whole = judged(*found, max_matches=cap), judged(*found, max_matches=100)
    assert answer.hits == whole.hits[:cap]
    assert (Degraded.MATCHES_CAPPED in answer.degraded) == (len(whole.hits) > cap)
    assert answer.relation == whole.relation


@given(st.sets(st.sampled_from(list(Degraded))))
def test_every_reason_is_told_once_in_one_order(reasons: set[Degraded]) -> None:
    answer = judged(degraded=tuple(reasons))
    assert answer.degraded == tuple(sorted(reasons))
    assert answer.candidates == 7


def test_a_hit_keeps_the_measures_of_its_match() -> None:
    [hit] = judged(known(5, Likeness(3, 0.75, 0.5, Relation.CONTAINS))).hits
    assert hit == Hit(5, Relation.CONTAINS, 3, 0.75, 0.5)


# Keeping


@given(FOUND, st.integers(1, 5), st.sets(st.sampled_from(list(Degraded))))
def test_an_answer_that_was_kept_is_the_same_again(found: list[Known], cap: int, reasons: set[Degraded]) -> None:
    answer = judged(*found, max_matches=cap, degraded=tuple(reasons))
    assert decode_answer(encode_answer(answer)) == answer


def test_an_answer_kept_before_a_field_was_added_is_still_read() -> None:
    old = encode_answer(judged())
    assert old.startswith(b"\x96")  # an array of six
    assert decode_answer(b"\x93\x00\xc2\x07") == judged()


def test_kept_answers_are_known_by_their_bytes() -> None:
    """What is stored is read for good: another byte here is a migration of every index."""
    new = Answer(Relation.NEW, similar=False, candidates=3)
    assert encode_answer(new).hex() == "9600c203009090"
    hits = (Hit(2**40, Relation.NEAR, 9, 0.8662, 0.9321), Hit(7, Relation.CONTAINED, None, None, None))
    near = Answer(Relation.NEAR, similar=True, candidates=2, group=7, hits=hits, degraded=(Degraded.MATCHES_CAPPED,))
    assert encode_answer(near).hex() == "9602c302fe9295cf00000100000000000209cd21d6cd2469950703c0c0c09102"
    elsewhere = Answer(Relation.EXACT, similar=True, candidates=0, group=2**33)
    assert encode_answer(elsewhere).hex() == "9601c300cf00000002000000009090"


def test_every_word_of_an_answer_has_its_number() -> None:
    assert sorted(RELATIONS) == sorted(Relation)
    assert sorted(REASONS) == sorted(Degraded)


@given(st.integers(0, 10_000))
def test_a_measure_to_four_places_is_kept_to_the_last_digit(units: int) -> None:
    measure = round(units / 10_000, 4)
    hit = Hit(1, Relation.NEAR, 0, measure, measure)
    [kept] = decode_answer(encode_answer(Answer(Relation.NEAR, similar=True, candidates=1, hits=(hit,)))).hits
    assert kept == hit
