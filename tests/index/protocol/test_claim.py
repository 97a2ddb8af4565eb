"""The answers of a claim: copies, versions, replays, caps. The same over memory and SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.index.protocol.claim import Index
from gate.index.protocol.outcome import Claim, Outcome
from gate.limits import Limits
from gate.pipeline import run_now
from tests.index.claim_harness import (
    ClaimHarness,
    CountingStore,
    FailingStore,
    InterruptedStore,
    NamedAnswer,
    OpenHarness,
    named_answer,
    open_harnesses,
)


@pytest.fixture(params=["memory", "sqlite"])
def open_harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenHarness]:
    with open_harnesses(request.param, tmp_path) as open_one:
        yield open_one


# Copies.


def test_of_two_alike_the_first_passes(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab"])
    first, second, third = harness.check_in("A", "a"), harness.check_in("B", "b"), harness.check_in("C", "c")
    assert (first.relation, second.relation, third.relation) == ("new", "near", "new")
    assert (first.matches, second.matches, third.matches) == ((), ("A",), ())
    assert (second.group, second.candidates, third.candidates) == ("A", 1, 1)
    assert harness.counts() == (3, 3, 4)  # of a copy nothing is kept in buckets


def test_the_same_content_is_an_exact_copy(open_harness: OpenHarness) -> None:
    harness = open_harness()
    harness.check_in("A", "a")
    copy = harness.check_in("B", "a")
    assert (copy.relation, copy.matches, copy.group) == ("exact", ("A",), "A")
    assert harness.counts() == (2, 1, 2)


def test_likeness_is_not_chained(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab", "bc"])
    answers = [harness.check_in(name, name.lower()) for name in "ABC"]
    assert [one.similar for one in answers] == [False, True, False]


def test_where_all_are_kept_a_copy_can_be_matched_too(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab", "bc"], index="all")
    answers = [harness.check_in(name, name.lower()) for name in "ABC"]
    assert [one.similar for one in answers] == [False, True, True]
    assert answers[2].matches == ("B",)
    assert harness.counts() == (3, 3, 6)


def test_where_all_are_kept_equal_contents_share_an_entry(open_harness: OpenHarness) -> None:
    harness = open_harness(index="all")
    assert [harness.check_in(name, "a").relation for name in "ABC"] == ["new", "exact", "exact"]
    assert harness.counts() == (3, 1, 2)


def test_the_best_match_comes_first_and_the_oldest_names_the_group(open_harness: OpenHarness) -> None:
    harness = open_harness({"az": 0.6, "bz": 0.9, "cz": 0.7})
    for name in "ABC":
        harness.check_in(name, name.lower())
    answer = harness.check_in("Z", "z")
    assert (answer.matches, answer.group) == (("B", "C", "A"), "A")


def test_a_content_that_was_refused_is_refused_for_others_too(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab"])
    harness.check_in("A", "a")
    harness.check_in("B", "b")
    again = harness.check_in("C", "b")
    assert (again.relation, again.matches) == ("near", ("A",))


def test_a_refused_content_is_compared_with_its_owners_other_documents_too(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab", "bc"])
    harness.check_in("A", "a")
    harness.check_in("B", "c")
    harness.check_in("B", "b")  # not alike to B's own version, and refused for A's sake
    assert harness.check_in("C", "b").matches == ("A", "B")


def test_unusual_names_are_names(open_harness: OpenHarness) -> None:
    harness = open_harness()
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
    assert harness.check_in(names[0], "a", names[1]).relation == "new"
    for name in names[1:]:
        answer = harness.check_in(name, "a", name)
        assert (answer.relation, answer.matches) == ("exact", (names[0],))
        assert harness.check_in(name, "a") == answer
    assert harness.delete(*names) == [True] * len(names)
    assert harness.counts() == (0, 0, 0)


# Short and empty texts.


def test_short_texts_are_compared_exactly(open_harness: OpenHarness) -> None:
    harness = open_harness()
    answers = [harness.check_in(name, text) for name, text in [("A", "hello"), ("B", "world"), ("C", "hello")]]
    assert [(one.relation, one.similar) for one in answers] == [
        ("too_short", False),
        ("too_short", False),
        ("exact", True),
    ]
    assert harness.counts() == (3, 2, 0)


def test_empty_texts_are_never_similar(open_harness: OpenHarness) -> None:
    harness = open_harness(index="all")
    answers = [harness.check_in(name, "") for name in "AABC"]
    assert {(one.relation, one.similar, one.matches) for one in answers} == {("empty", False, ())}
    harness.delete("A")
    assert harness.check_in("B", "").relation == "empty"
    harness.delete("B", "C")
    assert harness.counts() == (0, 0, 0)


# Versions.


def test_a_new_version_is_not_a_copy_of_the_old_one(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab"])
    harness.check_in("D", "a")
    version = harness.check_in("D", "b")
    assert (version.relation, version.similar, version.candidates) == ("revision", False, 0)


def test_a_new_version_is_judged_against_all_other_documents(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab", "be"])
    harness.check_in("D", "a")
    harness.check_in("E", "e")
    version = harness.check_in("D", "b")
    assert (version.relation, version.matches) == ("near", ("E",))


def test_an_old_version_can_still_be_found(open_harness: OpenHarness) -> None:
    harness = open_harness(["ax", "by"])
    harness.check_in("D", "a")
    harness.check_in("D", "b")
    assert harness.check_in("X", "x").matches == ("D",)
    assert harness.check_in("Y", "y").matches == ("D",)


def test_a_document_that_takes_over_a_refused_copy_of_itself_is_found_by_it(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab", "by"])
    harness.check_in("D", "a")
    assert harness.check_in("E", "b").similar
    assert harness.check_in("D", "b").relation == "revision"
    assert harness.check_in("Y", "y").matches == ("D",)
    assert harness.check_in("E", "b").matches == ("D",)  # still the answer that it had


def test_a_replaced_version_can_no_longer_be_found(open_harness: OpenHarness) -> None:
    harness = open_harness(["ax", "by"], revisions="replace")
    harness.check_in("D", "a")
    harness.check_in("D", "b")
    assert harness.counts() == (1, 1, 2)
    assert not harness.check_in("X", "x").similar
    assert harness.check_in("Y", "y").matches == ("D",)


def test_a_replaced_version_that_is_delivered_again_gets_its_answer_and_stays_replaced(
    open_harness: OpenHarness,
) -> None:
    harness = open_harness(["ax"], revisions="replace")
    first = harness.check_in("D", "a")
    harness.check_in("D", "b")
    before = harness.counts()
    assert harness.check_in("D", "a") == first
    assert harness.counts() == before
    assert not harness.check_in("X", "x").similar


def test_a_version_that_is_refused_replaces_nothing(open_harness: OpenHarness) -> None:
    harness = open_harness(["ax", "be"], revisions="replace")
    harness.check_in("D", "a")
    harness.check_in("E", "e")
    assert harness.check_in("D", "b").matches == ("E",)
    assert harness.check_in("D", "e").relation == "exact"
    assert harness.check_in("X", "x").matches == ("D",)


def test_an_empty_version_replaces_too(open_harness: OpenHarness) -> None:
    harness = open_harness(["ax"], revisions="replace")
    harness.check_in("E", "")
    harness.check_in("D", "a")
    harness.check_in("D", "")
    assert not harness.check_in("X", "x").similar


# Replays.


def test_a_replay_repeats_the_whole_answer_whatever_was_indexed_since(open_harness: OpenHarness) -> None:
    harness = open_harness({"ab": 0.6, "bc": 0.9, "ac": 0.2, "bd": 1.0})
    first = {name: harness.check_in(name, name.lower()) for name in "AB"}
    for name in "CDEFG":
        harness.check_in(name, name.lower())
    assert {name: harness.check_in(name, name.lower()) for name in "BA"} == first


def test_a_replay_of_a_new_document_does_not_find_itself_or_what_came_later(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab"], index="all")
    first = harness.check_in("A", "a")
    harness.check_in("B", "b")
    assert harness.check_in("A", "a") == first


def test_a_claim_that_stopped_before_its_answer_was_saved_is_judged_by_its_ticket(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab"])
    claim = harness.claim("A", "a")
    harness.use(FailingStore(harness.store, "save_answers"))
    with pytest.raises(ConnectionError):
        run_now(harness.index.claim([claim]))
    harness.use(harness._opened)
    assert harness.check_in("B", "b").matches == ("A",)
    assert harness.check_in("A", "a").relation == "new"


def test_a_duplicate_is_compared_with_its_original_even_where_a_cap_hides_that(open_harness: OpenHarness) -> None:
    harness = open_harness({"ab": 0.8})
    harness.check_in("S", "s")
    harness.check_in("A", "a")
    harness.use(FailingStore(harness.store, "save_answers"))
    with pytest.raises(ConnectionError):
        run_now(harness.index.claim([harness.claim("B", "b")]))
    harness.use(harness._opened, limits=Limits(max_candidates=1))  # and the first candidate is a false one
    answer = harness.check_in("B", "b")
    assert (answer.matches, answer.degraded) == (("A",), ("candidates_capped",))


# Races that were lost.


def lose_a_race(harness: ClaimHarness, *, killed_before: str | None = None) -> NamedAnswer | None:
    """B appends although A has just passed; then it is judged, or its process is killed."""

    def win() -> None:
        harness.check_in("A", "a")

    store = InterruptedStore(harness.store, "append", win)
    harness.use(FailingStore(store, killed_before) if killed_before else store)
    waiting = harness.index
    harness.use(harness._opened)
    if killed_before is None:
        [outcome] = run_now(waiting.claim([harness.claim("B", "b")]))
        return named_answer(outcome)
    with pytest.raises(ConnectionError):
        run_now(waiting.claim([harness.claim("B", "b")]))
    return None


def test_what_is_alike_to_the_loser_of_a_race_and_not_to_the_winner_passes(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab", "bc"])
    lost = lose_a_race(harness)
    assert lost is not None
    assert (lost.relation, lost.matches, lost.group) == ("near", ("A",), "A")
    assert harness.counts() == (2, 2, 2)  # of the loser nothing is in the buckets
    assert harness.check_in("C", "c").relation == "new"
    assert harness.check_in("B", "b") == lost


@pytest.mark.parametrize("step", ["convert", "remove_postings", "save_answers"])
def test_no_verdict_names_a_document_whose_claim_was_stopped_and_will_be_refused(
    open_harness: OpenHarness, step: str
) -> None:
    harness = open_harness(["ab", "bc"])
    lose_a_race(harness, killed_before=step)
    exact = harness.check_in("E", "b")
    assert (exact.relation, exact.matches, exact.group) == ("near", ("A",), "A")
    third = harness.check_in("C", "c")
    assert (third.relation, third.matches, third.group) == ("new", (), None)
    stopped = harness.check_in("B", "b")
    assert stopped.similar
    assert "A" in stopped.matches
    assert harness.counts() == (4, 3, 4)


@pytest.mark.parametrize("step", ["convert", "remove_postings", "save_answers"])
def test_a_version_is_not_refused_because_of_a_copy_of_an_earlier_version(open_harness: OpenHarness, step: str) -> None:
    harness = open_harness(["ab", "bc"])
    lose_a_race(harness, killed_before=step)  # B is a copy of A's first version
    second = harness.check_in("A", "c")
    assert (second.relation, second.similar) == ("revision", False)
    assert harness.check_in("B", "b").group == "A"


def test_the_loser_of_a_race_can_be_checked_in_when_the_winner_is_deleted(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab"])
    lose_a_race(harness)
    harness.delete("A")
    assert harness.check_in("B", "b").relation == "new"
    assert harness.check_in("A", "a").matches == ("B",)


# Caps.


def test_a_crowded_bucket_is_read_in_part_and_the_answer_says_so(open_harness: OpenHarness) -> None:
    harness = open_harness(["az"], limits=Limits(max_bucket=2))
    answers = [harness.check_in(name, name.lower()) for name in "ABCD"]
    assert [one.degraded for one in answers] == [(), (), (), ("bucket_capped",)]
    assert harness.check_in("Z", "z").matches == ("A",)  # the oldest are seen
    assert harness.check_in("D", "d") == answers[3]


def test_candidates_beyond_the_limit_are_not_compared_and_the_answer_says_so(open_harness: OpenHarness) -> None:
    harness = open_harness(["cz"], limits=Limits(max_candidates=2))
    for name in "ABC":
        harness.check_in(name, name.lower())
    answer = harness.check_in("Z", "z")
    assert (answer.similar, answer.candidates, answer.degraded) == (False, 2, ("candidates_capped",))


# A search that a limit ended.


@pytest.fixture(params=[("refuse", True), ("quarantine", False)], ids=["refuse", "quarantine"])
def holding_up(request: pytest.FixtureRequest, open_harness: OpenHarness) -> tuple[ClaimHarness, NamedAnswer]:
    """An index in which Z meets more than is compared, and the answer that it is to get."""
    on_capped, similar = request.param
    harness = open_harness(["yz", "az"], limits=Limits(max_candidates=2, on_capped=on_capped))
    for name in "BCD":
        harness.use(harness._opened, limits=Limits())
        assert harness.check_in(name, name.lower()).relation == "new"
    harness.use(harness._opened)
    answer = NamedAnswer("undecided", similar, (), None, 2, ("candidates_capped",))
    return harness, answer


def test_a_document_of_which_a_limit_ended_the_search_is_held_up(holding_up: tuple[ClaimHarness, NamedAnswer]) -> None:
    harness, undecided = holding_up
    before = harness.counts()
    assert harness.preview("Z", "z") == undecided
    assert harness.check_in("Z", "z") == undecided
    assert harness.counts() == (before[0] + 1, before[1] + 1, before[2])  # nothing of it is in the buckets
    harness.use(harness._opened, limits=Limits())
    assert harness.check_in("Z", "z") == undecided  # what was decided stays


def test_nothing_is_refused_because_of_a_document_that_is_held_up(holding_up: tuple[ClaimHarness, NamedAnswer]) -> None:
    harness, undecided = holding_up
    harness.check_in("Z", "z")
    assert harness.check_in("Y", "y") == undecided  # by itself, not by Z
    assert harness.check_in("X", "z") == undecided  # the same text
    harness.use(harness._opened, limits=Limits())
    assert harness.check_in("W", "z").relation == "new"
    assert harness.check_in("V", "y").matches == ("W",)
    assert harness.check_in("Z", "z") == undecided


@pytest.mark.parametrize("step", ["register", "save_answers"])
def test_a_claim_that_stopped_while_it_held_a_document_up_is_repeated(
    holding_up: tuple[ClaimHarness, NamedAnswer], step: str
) -> None:
    harness, undecided = holding_up
    harness.use(FailingStore(harness.store, step))
    with pytest.raises(ConnectionError):
        run_now(harness.index.claim([harness.claim("Z", "z")]))
    harness.use(harness._opened)
    assert harness.check_in("X", "z") == undecided
    assert harness.check_in("Z", "z") == undecided


def test_an_entry_that_was_helped_to_a_ticket_is_not_held_up_any_more(
    holding_up: tuple[ClaimHarness, NamedAnswer],
) -> None:
    harness, _ = holding_up
    stopped = FailingStore(harness.store, "draw")
    harness.use(stopped, limits=Limits())
    with pytest.raises(ConnectionError):
        run_now(harness.index.claim([harness.claim("Z", "z")]))  # it is in its buckets, and has no ticket

    def help_it() -> None:
        harness.use(harness._opened, limits=Limits())
        assert harness.check_in("A", "a").matches == ("Z",)

    store = InterruptedStore(harness._opened, "register", help_it)
    harness.use(store)
    waiting = harness.index
    [outcome] = run_now(waiting.claim([harness.claim("Z", "z")]))
    assert named_answer(outcome).relation == "new"
    assert harness.check_in("Z", "z").relation == "new"


def test_a_document_with_a_match_is_refused_for_it_though_a_limit_ended_the_search(open_harness: OpenHarness) -> None:
    harness = open_harness(["az"], limits=Limits(max_candidates=1, on_capped="quarantine"))
    for name in "AB":
        harness.use(harness._opened, limits=Limits())
        harness.check_in(name, name.lower())
    harness.use(harness._opened)
    answer = harness.check_in("Z", "z")
    assert (answer.relation, answer.matches, answer.degraded) == ("near", ("A",), ("candidates_capped",))


def test_a_document_that_was_held_up_is_judged_again_after_a_delete(
    holding_up: tuple[ClaimHarness, NamedAnswer],
) -> None:
    harness, _ = holding_up
    harness.check_in("Z", "z")
    assert harness.delete("Z") == [True]
    harness.use(harness._opened, limits=Limits())
    assert harness.check_in("Z", "z").relation == "new"


# Looking without claiming.


def test_a_preview_says_what_a_check_in_would_and_changes_nothing(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab", "be"])
    harness.check_in("A", "a")
    harness.check_in("E", "e")
    before = harness.counts()
    for name, letter in [("B", "b"), ("B", "a"), ("A", "b"), ("N", "n"), ("A", "n"), ("S", "short"), ("N", "")]:
        looked = harness.preview(name, letter)
        assert harness.counts() == before
        assert harness.check_in(name, letter) == looked
        harness.delete(name)
        harness.check_in("A", "a")
        before = harness.counts()


def test_a_preview_of_a_document_that_was_answered_repeats_its_answer(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab", "bc"], index="all")
    first = {name: harness.check_in(name, name.lower()) for name in "ABC"}
    assert {name: harness.preview(name, name.lower()) for name in "CBA"} == first
    harness.delete("A")
    assert harness.preview("B", "b").relation == "new"


# Calls across a network.


def test_a_new_document_costs_no_call_that_is_not_needed(open_harness: OpenHarness) -> None:
    harness = open_harness()
    store = CountingStore(harness.store)
    harness.use(store)
    harness.check_in("A", "a")
    assert store.calls == {"register_content": 1, "read": 2, "append": 1, "draw": 1, "register": 1, "save_answers": 1}
    store.calls.clear()
    harness.check_in("A", "a")
    assert store.calls == {"register_content": 1}
    store.calls.clear()
    harness.check_in("B", "a")
    assert store.calls == {"register_content": 1, "save_answers": 1}


def test_a_bulk_delete_costs_as_many_calls_as_a_single_one(open_harness: OpenHarness) -> None:
    harness = open_harness()
    store = CountingStore(harness.store)
    harness.use(store)
    for name in "ABCDE":
        harness.check_in(name, name.lower())
    store.calls.clear()
    harness.delete("A")
    single = dict(store.calls)
    store.calls.clear()
    harness.delete(*"BCDE")
    assert store.calls == single
    store.calls.clear()
    harness.delete("X", "Y")
    assert store.calls == {"void_answers": 1}


async def test_the_steps_may_run_concurrently_in_an_event_loop(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab"])
    index = Index(
        harness.store,
        harness.method,
        harness.profile,
        harness.limits,
        new_entry_id=harness.new_entry_id,
        gather=asyncio.gather,
    )

    async def check_in(claim: Claim) -> Outcome:
        return (await index.claim([claim]))[0]

    outcomes = await asyncio.gather(*(check_in(harness.claim(name, name.lower())) for name in "AB"))
    assert sorted(outcome.answer.similar for outcome in outcomes) == [False, True]
