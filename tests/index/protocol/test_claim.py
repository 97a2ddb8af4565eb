"""What a document is told: copies, versions, replays, caps. The same over memory and SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.index.protocol.claim import Claim, Index, Outcome
from gate.limits import Limits
from gate.pipeline import run_now
from tests.index.claim_harness import Counting, Fails, OpenDesk, desks


@pytest.fixture(params=["memory", "sqlite"])
def open_desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenDesk]:
    with desks(request.param, tmp_path) as open_one:
        yield open_one


# Copies.


def test_of_two_alike_the_first_passes(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab"])
    first, second, third = desk.check_in("A", "a"), desk.check_in("B", "b"), desk.check_in("C", "c")
    assert (first.relation, second.relation, third.relation) == ("new", "near", "new")
    assert (first.matches, second.matches, third.matches) == ((), ("A",), ())
    assert (second.group, second.candidates, third.candidates) == ("A", 1, 1)
    assert desk.counts() == (3, 3, 4)  # of a copy nothing is kept in buckets


def test_the_same_content_is_an_exact_copy(open_desk: OpenDesk) -> None:
    desk = open_desk()
    desk.check_in("A", "a")
    copy = desk.check_in("B", "a")
    assert (copy.relation, copy.matches, copy.group) == ("exact", ("A",), "A")
    assert desk.counts() == (2, 1, 2)


def test_likeness_is_not_chained(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab", "bc"])
    told = [desk.check_in(name, name.lower()) for name in "ABC"]
    assert [one.similar for one in told] == [False, True, False]


def test_where_all_are_kept_a_copy_can_be_matched_too(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab", "bc"], index="all")
    told = [desk.check_in(name, name.lower()) for name in "ABC"]
    assert [one.similar for one in told] == [False, True, True]
    assert told[2].matches == ("B",)
    assert desk.counts() == (3, 3, 6)


def test_where_all_are_kept_equal_contents_share_an_entry(open_desk: OpenDesk) -> None:
    desk = open_desk(index="all")
    assert [desk.check_in(name, "a").relation for name in "ABC"] == ["new", "exact", "exact"]
    assert desk.counts() == (3, 1, 2)


def test_the_best_match_comes_first_and_the_oldest_names_the_group(open_desk: OpenDesk) -> None:
    desk = open_desk({"az": 0.6, "bz": 0.9, "cz": 0.7})
    for name in "ABC":
        desk.check_in(name, name.lower())
    told = desk.check_in("Z", "z")
    assert (told.matches, told.group) == (("B", "C", "A"), "A")


def test_a_content_that_was_refused_is_refused_for_others_too(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab"])
    desk.check_in("A", "a")
    desk.check_in("B", "b")
    again = desk.check_in("C", "b")
    assert (again.relation, again.matches) == ("near", ("A",))


def test_a_refused_content_is_compared_with_its_owners_other_documents_too(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab", "bc"])
    desk.check_in("A", "a")
    desk.check_in("B", "c")
    desk.check_in("B", "b")  # not alike to B's own version, and refused for A's sake
    assert desk.check_in("C", "b").matches == ("A", "B")


def test_unusual_names_are_names(open_desk: OpenDesk) -> None:
    desk = open_desk()
    names = [
        "a",
        " a",
        "a ",
        "A",
        "ä",
        "a\u0308",
        "日本",
        "\U0001f600",
        "a\x00b",
        "a\nb",
        "'; --",
        '"',
        "%_",
        "/../",
        "x" * 5000,
    ]
    assert desk.check_in(names[0], "a", names[1]).relation == "new"
    for name in names[1:]:
        told = desk.check_in(name, "a", name)
        assert (told.relation, told.matches) == ("exact", (names[0],))
        assert desk.check_in(name, "a") == told
    assert desk.delete(*names) == [True] * len(names)
    assert desk.counts() == (0, 0, 0)


# Short and empty texts.


def test_short_texts_are_compared_exactly(open_desk: OpenDesk) -> None:
    desk = open_desk()
    told = [desk.check_in(name, text) for name, text in [("A", "hello"), ("B", "world"), ("C", "hello")]]
    assert [(one.relation, one.similar) for one in told] == [
        ("too_short", False),
        ("too_short", False),
        ("exact", True),
    ]
    assert desk.counts() == (3, 2, 0)


def test_empty_texts_are_never_similar(open_desk: OpenDesk) -> None:
    desk = open_desk(index="all")
    told = [desk.check_in(name, "") for name in "AABC"]
    assert {(one.relation, one.similar, one.matches) for one in told} == {("empty", False, ())}
    desk.delete("A")
    assert desk.check_in("B", "").relation == "empty"
    desk.delete("B", "C")
    assert desk.counts() == (0, 0, 0)


# Versions.


def test_a_new_version_is_not_a_copy_of_the_old_one(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab"])
    desk.check_in("D", "a")
    version = desk.check_in("D", "b")
    assert (version.relation, version.similar, version.candidates) == ("revision", False, 0)


def test_a_new_version_is_judged_against_everybody_else(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab", "be"])
    desk.check_in("D", "a")
    desk.check_in("E", "e")
    version = desk.check_in("D", "b")
    assert (version.relation, version.matches) == ("near", ("E",))


def test_an_old_version_can_still_be_found(open_desk: OpenDesk) -> None:
    desk = open_desk(["ax", "by"])
    desk.check_in("D", "a")
    desk.check_in("D", "b")
    assert desk.check_in("X", "x").matches == ("D",)
    assert desk.check_in("Y", "y").matches == ("D",)


def test_a_document_that_takes_over_a_refused_copy_of_itself_is_found_by_it(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab", "by"])
    desk.check_in("D", "a")
    assert desk.check_in("E", "b").similar
    assert desk.check_in("D", "b").relation == "revision"
    assert desk.check_in("Y", "y").matches == ("D",)
    assert desk.check_in("E", "b").matches == ("D",)  # still told what it was told


def test_a_replaced_version_can_no_longer_be_found(open_desk: OpenDesk) -> None:
    desk = open_desk(["ax", "by"], revisions="replace")
    desk.check_in("D", "a")
    desk.check_in("D", "b")
    assert desk.counts() == (1, 1, 2)
    assert not desk.check_in("X", "x").similar
    assert desk.check_in("Y", "y").matches == ("D",)


def test_a_replaced_version_that_is_delivered_again_gets_its_answer_and_stays_replaced(open_desk: OpenDesk) -> None:
    desk = open_desk(["ax"], revisions="replace")
    first = desk.check_in("D", "a")
    desk.check_in("D", "b")
    before = desk.counts()
    assert desk.check_in("D", "a") == first
    assert desk.counts() == before
    assert not desk.check_in("X", "x").similar


def test_a_version_that_is_refused_replaces_nothing(open_desk: OpenDesk) -> None:
    desk = open_desk(["ax", "be"], revisions="replace")
    desk.check_in("D", "a")
    desk.check_in("E", "e")
    assert desk.check_in("D", "b").matches == ("E",)
    assert desk.check_in("D", "e").relation == "exact"
    assert desk.check_in("X", "x").matches == ("D",)


def test_an_empty_version_replaces_too(open_desk: OpenDesk) -> None:
    desk = open_desk(["ax"], revisions="replace")
    desk.check_in("E", "")
    desk.check_in("D", "a")
    desk.check_in("D", "")
    assert not desk.check_in("X", "x").similar


# Replays.


def test_a_replay_repeats_the_whole_answer_whatever_was_indexed_since(open_desk: OpenDesk) -> None:
    desk = open_desk({"ab": 0.6, "bc": 0.9, "ac": 0.2, "bd": 1.0})
    first = {name: desk.check_in(name, name.lower()) for name in "AB"}
    for name in "CDEFG":
        desk.check_in(name, name.lower())
    assert {name: desk.check_in(name, name.lower()) for name in "BA"} == first


def test_a_replay_of_a_new_document_does_not_find_itself_or_what_came_later(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab"], index="all")
    first = desk.check_in("A", "a")
    desk.check_in("B", "b")
    assert desk.check_in("A", "a") == first


def test_a_claim_that_stopped_before_its_answer_was_saved_is_judged_by_its_ticket(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab"])
    claim = desk.claim("A", "a")
    desk.use(Fails(desk.store, "save_answers"))
    with pytest.raises(ConnectionError):
        run_now(desk.index.claim([claim]))
    desk.use(desk._opened)
    assert desk.check_in("B", "b").matches == ("A",)
    assert desk.check_in("A", "a").relation == "new"


def test_a_duplicate_is_compared_with_its_original_even_where_a_cap_hides_that(open_desk: OpenDesk) -> None:
    desk = open_desk({"ab": 0.8})
    desk.check_in("S", "s")
    desk.check_in("A", "a")
    desk.use(Fails(desk.store, "save_answers"))
    with pytest.raises(ConnectionError):
        run_now(desk.index.claim([desk.claim("B", "b")]))
    desk.use(desk._opened, limits=Limits(max_candidates=1))  # and the first candidate is a stranger
    told = desk.check_in("B", "b")
    assert (told.matches, told.degraded) == (("A",), ("candidates_capped",))


# Caps.


def test_a_crowded_bucket_is_read_in_part_and_the_answer_says_so(open_desk: OpenDesk) -> None:
    desk = open_desk(["az"], limits=Limits(max_bucket=2))
    told = [desk.check_in(name, name.lower()) for name in "ABCD"]
    assert [one.degraded for one in told] == [(), (), (), ("bucket_capped",)]
    assert desk.check_in("Z", "z").matches == ("A",)  # the oldest are seen
    assert desk.check_in("D", "d") == told[3]


def test_candidates_beyond_the_limit_are_not_compared_and_the_answer_says_so(open_desk: OpenDesk) -> None:
    desk = open_desk(["cz"], limits=Limits(max_candidates=2))
    for name in "ABC":
        desk.check_in(name, name.lower())
    told = desk.check_in("Z", "z")
    assert (told.similar, told.candidates, told.degraded) == (False, 2, ("candidates_capped",))


# Looking without claiming.


def test_a_preview_says_what_a_check_in_would_and_changes_nothing(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab", "be"])
    desk.check_in("A", "a")
    desk.check_in("E", "e")
    before = desk.counts()
    for name, letter in [("B", "b"), ("B", "a"), ("A", "b"), ("N", "n"), ("A", "n"), ("S", "short"), ("N", "")]:
        looked = desk.check(name, letter)
        assert desk.counts() == before
        assert desk.check_in(name, letter) == looked
        desk.delete(name)
        desk.check_in("A", "a")
        before = desk.counts()


def test_a_preview_of_a_document_that_was_answered_repeats_its_answer(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab", "bc"], index="all")
    first = {name: desk.check_in(name, name.lower()) for name in "ABC"}
    assert {name: desk.check(name, name.lower()) for name in "CBA"} == first
    desk.delete("A")
    assert desk.check("B", "b").relation == "new"


# Calls across a network.


def test_a_new_document_costs_no_call_that_is_not_needed(open_desk: OpenDesk) -> None:
    desk = open_desk()
    store = Counting(desk.store)
    desk.use(store)
    desk.check_in("A", "a")
    assert store.calls == {"register_content": 1, "read": 2, "append": 1, "draw": 1, "register": 1, "save_answers": 1}
    store.calls.clear()
    desk.check_in("A", "a")
    assert store.calls == {"register_content": 1}
    store.calls.clear()
    desk.check_in("B", "a")
    assert store.calls == {"register_content": 1, "save_answers": 1}


def test_a_bulk_delete_costs_as_many_calls_as_a_single_one(open_desk: OpenDesk) -> None:
    desk = open_desk()
    store = Counting(desk.store)
    desk.use(store)
    for name in "ABCDE":
        desk.check_in(name, name.lower())
    store.calls.clear()
    desk.delete("A")
    single = dict(store.calls)
    store.calls.clear()
    desk.delete(*"BCDE")
    assert store.calls == single
    store.calls.clear()
    desk.delete("X", "Y")
    assert store.calls == {"void_answers": 1}


async def test_the_steps_may_run_concurrently_in_an_event_loop(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab"])
    index = Index(
        desk.store, desk.method, desk.profile, desk.limits, new_entry_id=desk.new_entry_id, gather=asyncio.gather
    )

    async def check_in(claim: Claim) -> Outcome:
        return (await index.claim([claim]))[0]

    outcomes = await asyncio.gather(*(check_in(desk.claim(name, name.lower())) for name in "AB"))
    assert sorted(outcome.answer.similar for outcome in outcomes) == [False, True]
