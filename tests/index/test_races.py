"""Processes that race over one index, are killed and get documents twice: exactly one of documents alike passes.

The long form, over 2,000 groups: `python -m load.races`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from gate.core.builtin_profiles import BUILT_IN
from gate.model import CheckIn, Relation, Verdict
from load.races import INDEXES, PROFILE, Group, RaceTally, empty_index, groups, judge, race

GROUPS = 120


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.redis] if name != "sqlite" else []) for name in INDEXES]
)
def test_one_of_the_alike_passes_though_workers_race_are_killed_and_get_documents_twice(name: str) -> None:
    with empty_index(name) as index:
        tally = race(name, index, groups_count=GROUPS, seed=3)
    assert (tally.none_survived, tally.two_survived, tally.changed_verdicts) == (0, 0, 0)
    assert (tally.chained, tally.refused_named) == (0, 0)
    assert tally.kills
    assert tally.double_deliveries


@pytest.mark.redis
def test_looking_up_and_then_inserting_lets_several_pass_in_the_same_races() -> None:
    with empty_index("redis") as index:
        tally = race("naive", index, groups_count=GROUPS // 3, seed=3, naive=True)
    assert tally.two_survived
    assert tally.changed_verdicts
    assert tally.as_expected


def test_the_groups_are_alike_as_they_are_said_to_be() -> None:
    made = list(groups(40, 5, BUILT_IN[PROFILE]))
    paths = [group for group in made if len(group.alike) == len(group.documents) - 1 and len(group.documents) > 2]
    whole = [g for g in made if len(g.alike) == len(g.documents) * (len(g.documents) - 1) // 2]
    assert len(paths) + len(whole) == len(made) == 40
    assert len(paths) > 2
    assert len(whole) > 10
    assert {len(group.documents) for group in made} == {2, 3, 4, 5}


def verdict(name: str, similar: bool, *, candidates: int = 0) -> Verdict:
    return Verdict(
        document_id=name,
        version=None,
        similar=similar,
        relation=Relation.NEAR if similar else Relation.NEW,
        group=name,
        content_id="",
        fingerprint=None,
        profile="",
        verdict_id="",
        features=None,
        candidates=candidates,
        matches=(),
        degraded=(),
    )


PATH = Group(tuple(CheckIn(document_id=name, text="") for name in "abc"), frozenset({(0, 1), (1, 2)}))


def judged(*similar: bool, again: Iterator[Verdict] | None = None) -> RaceTally:
    verdicts = {name: [verdict(name, is_similar)] for name, is_similar in zip("abc", similar, strict=True)}
    for one in again or ():
        verdicts[one.document_id].append(one)
    tally = RaceTally("test")
    judge(PATH, verdicts, tally)
    return tally


def test_a_group_of_which_none_passed_is_counted() -> None:
    assert judged(True, True, True).none_survived == 1
    assert judged(True, False, True).violations == 0


def test_two_alike_that_passed_are_counted_and_two_unlike_are_not() -> None:
    assert judged(False, False, True).two_survived == 1
    assert judged(False, True, False).violations == 0


def test_a_verdict_that_changed_in_any_field_is_counted() -> None:
    again = iter([verdict("b", True, candidates=7)])
    assert judged(False, True, False, again=again).changed_verdicts == 1
    assert judged(False, True, False, again=iter([verdict("b", True)])).violations == 0


def test_a_refusal_because_of_a_refused_document_is_counted() -> None:
    tally = judged(False, True, True)
    assert (tally.chained, tally.violations) == (1, 1)
    assert judged(False, True, False).chained == 0


def test_a_verdict_that_names_a_refused_document_is_counted() -> None:
    names_b = msgspec.structs.replace(verdict("c", True), group="b")
    tally = RaceTally("test")
    verdicts = {"a": [verdict("a", True)], "b": [verdict("b", True)], "c": [names_b]}
    judge(PATH, verdicts, tally)
    assert tally.refused_named == 1
