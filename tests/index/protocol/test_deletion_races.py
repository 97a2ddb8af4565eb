"""Deletions that race with claims of the same document, of its copies, and with claims that help it.

However it goes, when all processes are done: no posting without a record, no record without a document, nothing dead;
every document that passed is in the index; and when all that are still there have been checked in again, of those
alike exactly one passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, permutations
from typing import Any, Literal

import pytest

from gate.model import Relation
from tests.index.explorer import Explorer, Final, Process
from tests.index.protocol_scenarios import Scenario, cuts, fairness, leftovers, run_in_sequence
from tests.index.stepwise import World

# Counting the lines of so many interleavings would take longer than running them.
pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

ONE_BUCKET = Scenario({b"a": (1,), b"b": (1,)}, ["ab"])
PAIR = Scenario({b"a": (1, 2), b"b": (1, 2)}, ["ab"])
PATH = Scenario({b"a": (1,), b"b": (1, 2), b"c": (2,)}, ["ab", "bc"])
TRIANGLE = Scenario({b"a": (1, 2), b"b": (1, 3), b"c": (2, 3)}, ["ab", "bc", "ac"])
LIVES = 3  # a process may begin that often: a claim and a delete could chase each other for ever
EARLIER = 7000  # entry numbers of what was there before

A, B, C = ("a", "a"), ("b", "b"), ("c", "c")
NO_A, NO_B = ("a",), ("b",)  # deletes, in a sequence
Act = tuple[str, ...]
Index = Literal["originals", "all"]


def world_after(scenario: Scenario, *claims: tuple[str, str]) -> World:
    """The world after these were checked in, one after another."""
    return run_in_sequence(World(), *(scenario.claim(*claim) for claim in claims), number=EARLIER)[0]


def stopped_claims(scenario: Scenario, claim: tuple[str, str], *before: tuple[str, str]) -> list[World]:
    """The worlds in which one more was checked in, and stopped after each of its steps."""
    return list(cuts(world_after(scenario, *before), scenario.claim(*claim), EARLIER + 500))


def problems(scenario: Scenario, claims: Sequence[tuple[str, str]], world: World) -> Iterator[str]:
    yield from leftovers(scenario, world)
    letters = dict(claims)
    living = [name for name in letters if world.get("documents", name)]
    for order in permutations(living):
        numbers = count(9000, 100)
        processes = [scenario.claim(name, letters[name]) for name in order]
        after, _ = run_in_sequence(
            world, *processes, number=next(numbers)
        )  # the first may be judged before another is freed
        after, results = run_in_sequence(after, *processes, number=next(numbers))
        if run_in_sequence(after, *processes, number=next(numbers))[1] != results:
            yield "a document got two answers"
        passes = {name for name, result in zip(order, results, strict=True) if not result.answer.similar}
        yield from fairness(scenario, {name: letters[name] for name in living}, passes)
        yield from leftovers(scenario, after)


def check(scenario: Scenario, claims: Sequence[tuple[str, str]], ends: Iterable[Final]) -> None:
    checked: set[World] = set()
    for end in ends:
        if end.world not in checked:
            checked.add(end.world)
            found = sorted(set(problems(scenario, claims, end.world)))
            assert not found, f"{', '.join(found)}\n{end.schedule()}\n{end.results}\n{end.world}"
    assert checked


def explore(
    scenario: Scenario,
    worlds: Iterable[World],
    processes: Sequence[Process],
    claims: Sequence[tuple[str, str]],
    **given: Any,
) -> None:
    for world in worlds:
        check(scenario, claims, Explorer(processes, world, lives=LIVES, **given).finals())


def explore_randomly(
    scenario: Scenario, worlds: Iterable[World], processes: Sequence[Process], claims: Sequence[tuple[str, str]]
) -> None:
    """Some of the interleavings, drawn at random: of a process against a whole sequence there are too many for all."""
    for seed, world in enumerate(worlds):
        check(scenario, claims, Explorer(processes, world, lives=LIVES).random_schedules(100, seed=seed))


# Two processes, every interleaving.


@pytest.mark.parametrize(("crashes", "concurrent"), [(0, False), (0, True), (1, False)])
def test_a_document_is_deleted_while_it_is_checked_in(crashes: int, concurrent: bool) -> None:
    scenario = replace(ONE_BUCKET, concurrent=concurrent)
    worlds = [*stopped_claims(scenario, A), world_after(scenario, A), world_after(scenario, B, A)]
    explore(scenario, worlds, [scenario.claim(*A), scenario.delete("a")], [A, B], crashes=crashes)


@pytest.mark.parametrize("index", ["originals", "all"])
def test_an_original_is_deleted_while_a_copy_is_checked_in(index: Index) -> None:
    scenario = replace(PAIR, index=index)
    worlds = [world_after(scenario, A), world_after(scenario, A, B), *stopped_claims(scenario, B, A)]
    explore(scenario, worlds, [scenario.claim(*B), scenario.delete("a")], [A, B], crashes=1)


@pytest.mark.parametrize("concurrent", [False, True])
def test_a_document_that_stopped_half_way_is_deleted_while_another_claim_helps_it(concurrent: bool) -> None:
    scenario = replace(PAIR, concurrent=concurrent)
    explore(scenario, stopped_claims(scenario, A), [scenario.claim(*B), scenario.delete("a")], [A, B], crashes=1)


@pytest.mark.parametrize("index", ["originals", "all"])
def test_the_owner_of_a_content_is_deleted_while_another_document_brings_it(index: Index) -> None:
    scenario = replace(ONE_BUCKET, index=index)
    same = ("b", "a")
    worlds = [*stopped_claims(scenario, A), *stopped_claims(scenario, same, A)]
    explore(scenario, worlds, [scenario.claim(*same), scenario.delete("a")], [A, same], crashes=1)


@pytest.mark.parametrize("index", ["originals", "all"])
def test_the_second_holder_of_a_content_is_deleted_while_the_owner_is_checked_in(index: Index) -> None:
    scenario = replace(ONE_BUCKET, index=index)
    same = ("b", "a")
    worlds = [*stopped_claims(scenario, A), *stopped_claims(scenario, same, A)]
    explore(scenario, worlds, [scenario.claim(*A), scenario.delete("b")], [A, same])


@pytest.mark.parametrize("index", ["originals", "all"])
@pytest.mark.parametrize("overtaking", [[NO_A, B, A], [NO_A, A, B], [A, NO_A, B, A], [B, NO_A, NO_B]])
def test_a_slow_check_in_is_overtaken_by_deletes_and_other_check_ins(index: Index, overtaking: list[Act]) -> None:
    scenario = replace(ONE_BUCKET, index=index)
    explore_randomly(
        scenario,
        (World(), world_after(scenario, A), world_after(scenario, B)),
        [scenario.claim(*A), scenario.in_sequence(*overtaking)],
        [A, B],
    )


@pytest.mark.parametrize("overtaking", [[NO_A, A], [NO_A, A, NO_B, B], [NO_A, ("c", "a")], [NO_B, NO_A, A]])
def test_a_slow_copy_is_overtaken_by_the_delete_and_the_return_of_its_original(overtaking: list[Act]) -> None:
    worlds = [world_after(ONE_BUCKET, A), *stopped_claims(ONE_BUCKET, B, A)]
    explore_randomly(
        ONE_BUCKET, worlds, [ONE_BUCKET.claim(*B), ONE_BUCKET.in_sequence(*overtaking)], [A, B, ("c", "a")]
    )


@pytest.mark.parametrize("overtaking", [[NO_A, A], [NO_A, B, A], [A, B], [NO_A, ("c", "a"), A]])
def test_a_slow_delete_is_overtaken_by_others_and_by_check_ins(overtaking: list[Act]) -> None:
    worlds = [world_after(ONE_BUCKET, A), world_after(ONE_BUCKET, A, B)]
    explore_randomly(
        ONE_BUCKET, worlds, [ONE_BUCKET.delete("a"), ONE_BUCKET.in_sequence(*overtaking)], [A, B, ("c", "a")]
    )


def test_two_deletes_of_one_document_and_of_two_alike() -> None:
    worlds = [*stopped_claims(PAIR, B, A), world_after(PAIR, A, B)]
    explore(PAIR, worlds, [PAIR.delete("a"), PAIR.delete("a")], [A, B], crashes=1)
    explore(PAIR, worlds, [PAIR.delete("a"), PAIR.delete("b")], [A, B], crashes=1)


def test_a_delete_that_stopped_for_good_leaves_a_document_that_can_be_checked_in_or_deleted() -> None:
    for world in cuts(world_after(PAIR, A, B), PAIR.delete("a"), 8000):
        for order in permutations([PAIR.claim(*A), PAIR.claim(*B)]):
            after, _ = run_in_sequence(world, *order)
            assert not list(problems(PAIR, [A, B], after))
        assert not list(problems(PAIR, [A, B], run_in_sequence(world, PAIR.delete("a"))[0]))


def test_dangling_postings_of_a_helper_that_crashed_are_removed_by_the_next_read() -> None:
    # The helper shares one bucket with the claim it helps, and leaves a posting in the other one.
    explored = (
        end
        for world in stopped_claims(PATH, B)
        for end in Explorer([PATH.claim(*A), PATH.delete("b")], world, crashes=1, lives=LIVES).finals()
    )
    littered = [end for end in explored if "a posting without a record" in leftovers(PATH, end.world)]
    assert littered
    for end in littered:
        after, _ = run_in_sequence(end.world, PATH.claim("d", "c"))
        assert not list(problems(PATH, [A, ("d", "c")], after))


# Versions of one document, and documents that share their contents.


def test_a_document_takes_a_content_over_that_was_refused_for_its_own_sake() -> None:
    # D holds "a"; E was refused with "b" for that. Now D comes with "b" itself: a version, not a copy of its own.
    d, e = ("d", "a"), ("e", "b")
    processes = [PATH.claim("d", "b"), PATH.claim(*e)]
    for world in [world_after(PATH, d), *stopped_claims(PATH, e, d)]:
        for end in Explorer(processes, world, crashes=1, lives=LIVES).finals():
            [*_, version], [*_, refused] = end.results
            newcomer = run_in_sequence(end.world, PATH.claim("f", "c"))[1][0]
            assert (version.answer.relation, refused.answer.similar) == (Relation.REVISION, True), end.schedule()
            assert newcomer.answer.similar, end.schedule()  # the new version can be found
            assert not list(leftovers(PATH, end.world)), end.schedule()


def test_of_two_versions_that_replace_each_other_at_once_one_stays() -> None:
    scenario = replace(ONE_BUCKET, revisions="replace")
    processes = [scenario.claim("d", "a"), scenario.claim("d", "b")]
    for end in Explorer(processes, crashes=1, lives=LIVES).finals():
        assert not any(result.answer.similar for results in end.results for result in results), end.schedule()
        assert not list(leftovers(scenario, end.world)), end.schedule()
        assert any(record.ticket for _, record in end.world.records), end.schedule()


def test_a_version_that_stopped_anywhere_replaces_the_old_one_when_it_comes_again() -> None:
    scenario = replace(ONE_BUCKET, revisions="replace")
    for world in stopped_claims(scenario, ("d", "b"), ("d", "a")):
        after, _ = run_in_sequence(world, scenario.claim("d", "b"))
        assert [record.content for _, record in after.records] == [b"b"]
        assert not list(leftovers(scenario, after))


def test_a_document_is_deleted_while_its_new_version_replaces_the_old_one() -> None:
    scenario = replace(ONE_BUCKET, revisions="replace")
    processes = [scenario.claim("d", "b"), scenario.delete("d")]
    for end in Explorer(processes, world_after(scenario, ("d", "a")), crashes=1, lives=LIVES).finals():
        assert not list(leftovers(scenario, end.world)), end.schedule()
        gone = not end.world.get("documents", "d")
        assert gone == (not end.world.records), end.schedule()


# Three processes, thousands of random schedules.


@pytest.mark.parametrize(
    "scenario", [TRIANGLE, PATH, replace(TRIANGLE, concurrent=True), replace(TRIANGLE, index="all")]
)
@pytest.mark.parametrize("before", [(), (A,), (A, B), (B, C)])
def test_random_schedules_of_two_claims_and_a_delete(scenario: Scenario, before: tuple[tuple[str, str], ...]) -> None:
    for seed, (first, second, gone) in enumerate([(A, B, "a"), (B, C, "a"), (B, C, "b"), (A, C, "b")]):
        processes = [scenario.claim(*first), scenario.claim(*second), scenario.delete(gone)]
        explorer = Explorer(processes, world_after(scenario, *before), lives=LIVES)
        check(scenario, [A, B, C], explorer.random_schedules(250, seed=seed))


@pytest.mark.parametrize("before", [(), (A,), (B,), (B, A)])
def test_random_schedules_of_a_document_delivered_twice_and_deleted(before: tuple[tuple[str, str], ...]) -> None:
    processes = [ONE_BUCKET.claim(*A), ONE_BUCKET.claim(*A), ONE_BUCKET.delete("a")]
    for crashes in (0, 1):
        explorer = Explorer(processes, world_after(ONE_BUCKET, *before), crashes=crashes, lives=LIVES)
        check(ONE_BUCKET, [A, B], explorer.random_schedules(300, seed=crashes))


def test_random_schedules_of_two_alike_and_a_delete_of_each() -> None:
    processes = [PAIR.claim(*A), PAIR.claim(*B), PAIR.delete("a"), PAIR.delete("b")]
    for before in ((), (A,), (A, B)):
        check(PAIR, [A, B], Explorer(processes, world_after(PAIR, *before), lives=LIVES).random_schedules(300, seed=1))


def test_random_schedules_with_a_crash() -> None:
    # A helper that crashes may leave dangling postings where it shares not all buckets; here it shares all.
    scenario = Scenario({b"a": (1, 2), b"b": (1, 2), b"c": (1, 2)}, ["ab", "bc", "ac"])
    for seed, gone in enumerate("abc"):
        for before in ((), (A,), (A, B), (C,)):
            processes = [scenario.claim(*A), scenario.claim(*B), scenario.delete(gone)]
            explorer = Explorer(processes, world_after(scenario, *before), crashes=1, lives=LIVES)
            check(scenario, [A, B, C], explorer.random_schedules(250, seed=seed))
