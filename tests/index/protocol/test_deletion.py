"""Deletions free what was refused for their sake, hand over what is shared, and leave nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.index.store import NewEntry
from gate.limits import Limits
from gate.pipeline import run_now
from tests.index.bucket_contract import u64
from tests.index.claim_harness import Before, Fails, OpenDesk, desks


@pytest.fixture(params=["memory", "sqlite"])
def open_desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenDesk]:
    with desks(request.param, tmp_path) as open_one:
        yield open_one


def test_a_delete_leaves_nothing_behind_and_says_what_was_known(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab"])
    for name in "ABC":
        desk.check_in(name, name.lower())
    desk.check_in("C", "d")
    assert desk.delete("B", "X", "C", "B", "A") == [True, False, True, True, True]
    assert desk.counts() == (0, 0, 0)
    assert desk.delete("A") == [False]
    assert desk.delete() == []


def test_a_copy_is_free_when_its_original_is_deleted(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab", "bc"])
    for name in "AB":
        desk.check_in(name, name.lower())
    desk.delete("A")
    told = desk.check_in("B", "b")
    assert (told.relation, told.matches, told.group) == ("new", (), None)
    assert desk.check_in("C", "c").matches == ("B",)
    assert desk.check_in("B", "b") == told


def test_an_exact_copy_is_free_when_its_original_is_deleted(open_desk: OpenDesk) -> None:
    desk = open_desk()
    desk.check_in("A", "a")
    desk.check_in("B", "a")
    desk.delete("A")
    assert desk.check_in("B", "a").relation == "new"
    assert desk.check_in("C", "a").matches == ("B",)
    assert desk.counts() == (2, 1, 2)


def test_of_copies_that_are_freed_one_passes(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab", "ac", "bc"])
    for name in "ABC":
        desk.check_in(name, name.lower())
    desk.delete("A")
    assert [desk.check_in(name, name.lower()).similar for name in "CB"] == [False, True]


def test_a_copy_of_several_is_judged_anew_when_one_of_them_is_deleted(open_desk: OpenDesk) -> None:
    desk = open_desk(["ac", "bc"])
    for name in "ABC":
        desk.check_in(name, name.lower())
    desk.delete("A")
    told = desk.check_in("C", "c")
    assert (told.matches, told.group) == (("B",), "B")


def test_a_group_whose_first_document_is_deleted_gets_another_even_if_no_match_named_it(open_desk: OpenDesk) -> None:
    desk = open_desk({"ac": 0.6, "bc": 0.9}, limits=Limits(max_matches=1))
    for name in "AB":
        desk.check_in(name, name.lower())
    told = desk.check_in("C", "c")
    assert (told.matches, told.group, told.degraded) == (("B",), "A", ("matches_capped",))
    desk.delete("A")
    told = desk.check_in("C", "c")
    assert (told.matches, told.group, told.degraded) == (("B",), "B", ())


def test_a_document_whose_copy_is_deleted_keeps_its_answer(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab"])
    first = desk.check_in("A", "a")
    desk.check_in("B", "b")
    desk.check_in("C", "a")
    desk.delete("B", "C")
    assert desk.check_in("A", "a") == first
    assert desk.counts() == (1, 1, 2)


def test_a_deleted_document_that_comes_back_is_new(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab"])
    desk.check_in("A", "a")
    desk.delete("A")
    assert desk.check_in("B", "b").relation == "new"
    assert desk.check_in("A", "a").matches == ("B",)


def test_a_shared_entry_is_handed_over_when_its_owner_is_deleted(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab"], index="all")
    desk.check_in("A", "a")
    assert desk.check_in("X", "a").matches == ("A",)
    assert desk.check_in("B", "b").matches == ("A",)
    desk.delete("A")
    assert desk.check_in("B", "b").matches == ("X",)
    heir = desk.check_in("X", "a")
    assert (heir.relation, heir.matches) == ("new", ())  # not a copy of itself
    assert desk.check_in("Y", "a").matches == ("X",)
    desk.delete("X", "Y", "B")
    assert desk.counts() == (0, 0, 0)


def test_a_version_does_not_count_once_its_document_owns_what_it_was_refused_for(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab"], index="all")
    desk.check_in("A", "a")
    desk.check_in("X", "a")
    assert desk.check_in("X", "b").matches == ("A",)
    desk.delete("A")
    assert desk.check_in("X", "b").relation == "revision"


def test_dangling_postings_are_removed_where_a_claim_finds_them(open_desk: OpenDesk) -> None:
    desk = open_desk()
    litter = desk.new_entry_id(b"gone")
    run_now(desk.store.append(u64(1, 2, 9), u64(litter, litter, litter), u64(0, 0, 0)))
    desk.check("A", "a")
    assert desk.counts()[2] == 3  # looking leaves no trace
    assert desk.check_in("A", "a").candidates == 0
    assert desk.counts()[2] == 1 + 2


def test_a_deletion_that_stopped_is_finished_by_the_next_claim_that_finds_it(open_desk: OpenDesk) -> None:
    desk = open_desk(["ab"])
    desk.check_in("A", "a")
    desk.use(Fails(desk.store, "remove_postings"))
    with pytest.raises(ConnectionError):
        desk.delete("A")
    desk.use(desk._opened)
    assert desk.check_in("B", "b").relation == "new"
    assert desk.counts() == (2, 1, 2)
    assert desk.check_in("A", "a").matches == ("B",)


def test_an_answer_from_before_a_delete_is_not_saved_for_a_delivery_after_it(open_desk: OpenDesk) -> None:
    """A is about to be told that it is new. It is deleted, B comes in, and A's second delivery has just enrolled."""
    desk = open_desk(["ab"])
    store = desk.store

    def meanwhile() -> None:
        desk.use(store)
        desk.delete("A")
        assert desk.check_in("B", "b").relation == "new"
        again = desk.claim("A", "a")
        entry = desk.new_entry_id(again.content)
        run_now(store.register_content([NewEntry("A", None, again.content, entry, again.body)]))

    desk.use(Before(store, "save_answers", meanwhile))
    assert desk.check_in("A", "a").matches == ("B",)
    assert desk.check_in("A", "a").matches == ("B",)
    assert desk.check_in("B", "b").relation == "new"
