"""Deletions free what was refused for their sake, hand over what is shared, and leave nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.index.store import NewEntry
from gate.limits import Limits
from gate.pipeline import run_now
from tests.index.bucket_contract import u64
from tests.index.claim_harness import FailingStore, InterruptedStore, OpenHarness, open_harnesses


@pytest.fixture(params=["memory", "sqlite"])
def open_harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenHarness]:
    with open_harnesses(request.param, tmp_path) as open_one:
        yield open_one


def test_a_delete_leaves_nothing_behind_and_says_what_was_known(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab"])
    for name in "ABC":
        harness.check_in(name, name.lower())
    harness.check_in("C", "d")
    assert harness.delete("B", "X", "C", "B", "A") == [True, False, True, True, True]
    assert harness.counts() == (0, 0, 0)
    assert harness.delete("A") == [False]
    assert harness.delete() == []


def test_a_copy_is_free_when_its_original_is_deleted(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab", "bc"])
    for name in "AB":
        harness.check_in(name, name.lower())
    harness.delete("A")
    answer = harness.check_in("B", "b")
    assert (answer.relation, answer.matches, answer.group) == ("new", (), None)
    assert harness.check_in("C", "c").matches == ("B",)
    assert harness.check_in("B", "b") == answer


def test_an_exact_copy_is_free_when_its_original_is_deleted(open_harness: OpenHarness) -> None:
    harness = open_harness()
    harness.check_in("A", "a")
    harness.check_in("B", "a")
    harness.delete("A")
    assert harness.check_in("B", "a").relation == "new"
    assert harness.check_in("C", "a").matches == ("B",)
    assert harness.counts() == (2, 1, 2)


def test_of_copies_that_are_freed_one_passes(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab", "ac", "bc"])
    for name in "ABC":
        harness.check_in(name, name.lower())
    harness.delete("A")
    assert [harness.check_in(name, name.lower()).similar for name in "CB"] == [False, True]


def test_a_copy_of_several_is_judged_anew_when_one_of_them_is_deleted(open_harness: OpenHarness) -> None:
    harness = open_harness(["ac", "bc"])
    for name in "ABC":
        harness.check_in(name, name.lower())
    harness.delete("A")
    answer = harness.check_in("C", "c")
    assert (answer.matches, answer.group) == (("B",), "B")


def test_a_group_whose_first_document_is_deleted_gets_another_even_if_no_match_named_it(
    open_harness: OpenHarness,
) -> None:
    harness = open_harness({"ac": 0.6, "bc": 0.9}, limits=Limits(max_matches=1))
    for name in "AB":
        harness.check_in(name, name.lower())
    answer = harness.check_in("C", "c")
    assert (answer.matches, answer.group, answer.degraded) == (("B",), "A", ("matches_capped",))
    harness.delete("A")
    answer = harness.check_in("C", "c")
    assert (answer.matches, answer.group, answer.degraded) == (("B",), "B", ())


def test_a_document_whose_copy_is_deleted_keeps_its_answer(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab"])
    first = harness.check_in("A", "a")
    harness.check_in("B", "b")
    harness.check_in("C", "a")
    harness.delete("B", "C")
    assert harness.check_in("A", "a") == first
    assert harness.counts() == (1, 1, 2)


def test_a_deleted_document_that_comes_back_is_new(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab"])
    harness.check_in("A", "a")
    harness.delete("A")
    assert harness.check_in("B", "b").relation == "new"
    assert harness.check_in("A", "a").matches == ("B",)


def test_a_shared_entry_is_handed_over_when_its_owner_is_deleted(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab"], index="all")
    harness.check_in("A", "a")
    assert harness.check_in("X", "a").matches == ("A",)
    assert harness.check_in("B", "b").matches == ("A",)
    harness.delete("A")
    assert harness.check_in("B", "b").matches == ("X",)
    heir = harness.check_in("X", "a")
    assert (heir.relation, heir.matches) == ("new", ())  # not a copy of itself
    assert harness.check_in("Y", "a").matches == ("X",)
    harness.delete("X", "Y", "B")
    assert harness.counts() == (0, 0, 0)


def test_a_version_does_not_count_once_its_document_owns_what_it_was_refused_for(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab"], index="all")
    harness.check_in("A", "a")
    harness.check_in("X", "a")
    assert harness.check_in("X", "b").matches == ("A",)
    harness.delete("A")
    assert harness.check_in("X", "b").relation == "revision"


def test_dangling_postings_are_removed_where_a_claim_finds_them(open_harness: OpenHarness) -> None:
    harness = open_harness()
    dangling = harness.new_entry_id(b"gone")
    run_now(harness.store.append(u64(1, 2, 9), u64(dangling, dangling, dangling), u64(0, 0, 0)))
    harness.preview("A", "a")
    assert harness.counts()[2] == 3  # looking leaves no trace
    assert harness.check_in("A", "a").candidates == 0
    assert harness.counts()[2] == 1 + 2


def test_a_deletion_that_stopped_is_finished_by_the_next_claim_that_finds_it(open_harness: OpenHarness) -> None:
    harness = open_harness(["ab"])
    harness.check_in("A", "a")
    harness.use(FailingStore(harness.store, "remove_postings"))
    with pytest.raises(ConnectionError):
        harness.delete("A")
    harness.use(harness._opened)
    assert harness.check_in("B", "b").relation == "new"
    assert harness.counts() == (2, 1, 2)
    assert harness.check_in("A", "a").matches == ("B",)


def test_an_answer_from_before_a_delete_is_not_saved_for_a_delivery_after_it(open_harness: OpenHarness) -> None:
    """A is about to be answered that it is new. It is deleted, B comes in, and A's second delivery has just begun."""
    harness = open_harness(["ab"])
    store = harness.store

    def meanwhile() -> None:
        harness.use(store)
        harness.delete("A")
        assert harness.check_in("B", "b").relation == "new"
        again = harness.claim("A", "a")
        entry = harness.new_entry_id(again.content)
        run_now(store.register_content([NewEntry("A", None, again.content, entry, again.body)]))

    harness.use(InterruptedStore(store, "save_answers", meanwhile))
    assert harness.check_in("A", "a").matches == ("B",)
    assert harness.check_in("A", "a").matches == ("B",)
    assert harness.check_in("B", "b").relation == "new"
