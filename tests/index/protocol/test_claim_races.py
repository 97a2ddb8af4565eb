"""The claim that is shipped, through every interleaving of two and three documents, with crashes and replays.

What is checked at every end is in `protocol_scenarios`: no two documents alike pass, some document of every family
passes, a repeated check-in gets the same answer, and nothing is half-done. The weakened claims at the bottom each lack
one rule; the same search must find fault with each of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest

from gate.index.protocol.candidates import BucketReading, CandidateSet
from gate.index.protocol.claim import Index
from gate.index.store import EntryRecord, Registration
from tests.index.protocol_scenarios import ClaimRace, Scenario

# Counting the lines of so many interleavings would take longer than running them.
pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

PAIR = Scenario({b"a": (1, 2), b"b": (1, 2)}, ["ab"])
ONE_BUCKET = Scenario({b"a": (1,), b"b": (1,)}, ["ab"])
PATH = Scenario({b"a": (1,), b"b": (1, 2), b"c": (2,)}, ["ab", "bc"])
TRIANGLE = Scenario({b"a": (1, 2), b"b": (1, 3), b"c": (2, 3)}, ["ab", "bc", "ac"])
FALSE_CANDIDATE = Scenario({b"a": (1,), b"b": (1,), b"c": (1,)}, ["ab"])  # c shares their buckets and is not alike
EACH_ONCE = [("a", "a"), ("b", "b"), ("c", "c")]
SIDE_BY_SIDE: dict[str, Any] = {"concurrent": True, "any_order": True}


def explore(scenario: Scenario, claims: list[tuple[str, str]], *, crashes: int = 0, replays: int = 0) -> None:
    race = ClaimRace(scenario, claims)
    ends = 0
    for end in race.explored(crashes=crashes, replays=replays).finals():
        ends += 1
        found = sorted(set(race.problems(end)))
        assert not found, f"{', '.join(found)}\n{end.schedule()}\n{end.results}"
    assert ends > 1


def test_two_documents_with_two_crashes_and_a_replay() -> None:
    explore(PAIR, EACH_ONCE[:2], crashes=2, replays=1)


def test_two_documents_whose_steps_run_concurrently_with_two_crashes_and_a_replay() -> None:
    explore(replace(PAIR, **SIDE_BY_SIDE), EACH_ONCE[:2], crashes=2, replays=1)


def test_two_documents_that_are_both_kept_with_a_crash_and_a_replay() -> None:
    explore(replace(PAIR, index="all"), EACH_ONCE[:2], crashes=1, replays=1)


def test_two_documents_that_are_both_kept_concurrently_with_a_crash() -> None:
    explore(replace(PAIR, index="all", **SIDE_BY_SIDE), EACH_ONCE[:2], crashes=1)


@pytest.mark.parametrize("names", ["abc", "bac", "acb"])  # the one in the middle has the middle, lowest, highest number
def test_three_documents_of_which_the_middle_one_is_alike_to_both(names: str) -> None:
    explore(PATH, [(name, name) for name in names])


@pytest.mark.timeout(600)
def test_three_documents_in_a_row_with_a_crash() -> None:
    explore(PATH, EACH_ONCE, crashes=1)


@pytest.mark.timeout(600)
def test_three_documents_in_a_row_concurrently_with_a_crash() -> None:
    explore(replace(PATH, **SIDE_BY_SIDE), EACH_ONCE, crashes=1)


def test_three_documents_in_a_row_that_are_all_kept() -> None:
    explore(replace(PATH, index="all"), EACH_ONCE)


def test_three_documents_all_alike_concurrently() -> None:
    explore(replace(TRIANGLE, **SIDE_BY_SIDE), EACH_ONCE)


@pytest.mark.timeout(900)
def test_three_documents_all_alike_with_a_crash() -> None:
    explore(TRIANGLE, EACH_ONCE, crashes=1)


def test_a_false_candidate_in_the_same_bucket_passes_and_changes_nothing() -> None:
    explore(FALSE_CANDIDATE, EACH_ONCE)


@pytest.mark.parametrize("index", ["originals", "all"])
def test_two_documents_with_the_same_content_with_a_crash_and_a_replay(index: Literal["originals", "all"]) -> None:
    explore(replace(PAIR, index=index), [("a", "a"), ("b", "a")], crashes=1, replays=1)


def test_two_documents_with_the_same_content_and_one_alike() -> None:
    explore(ONE_BUCKET, [("a", "a"), ("b", "a"), ("c", "b")])


def test_a_document_delivered_to_two_workers_at_once_with_a_crash() -> None:
    explore(PAIR, [("a", "a"), ("a", "a")], crashes=1, replays=1)


def test_a_document_delivered_to_two_workers_at_once_and_one_alike() -> None:
    explore(ONE_BUCKET, [("a", "a"), ("a", "a"), ("b", "b")])


# The claims that lack a rule.


class NeverHelps(Index):
    async def _help(self, unregistered: dict[int, EntryRecord]) -> dict[int, EntryRecord | None]:
        return {}


class HelpsByHalf(Index):
    """Draws the ticket without completing the appends."""

    async def _help(self, unregistered: dict[int, EntryRecord]) -> dict[int, EntryRecord | None]:
        if not unregistered:
            return {}
        first = await self._store.draw(len(unregistered))
        wanted = [Registration(entry, ticket=first + n) for n, entry in enumerate(unregistered)]
        return dict(zip(unregistered, await self._store.register(wanted), strict=True))


class DropsTheFirstRead(Index):
    """Reads only the tail, and does not carry the candidates of the first read."""

    async def _enter_and_reread(
        self,
        entrants: dict[int, EntryRecord],
        ticketed: dict[int, EntryRecord],
        found: dict[int, CandidateSet],
        first: BucketReading,
    ) -> dict[int, EntryRecord]:
        for i in entrants:
            found.pop(i, None)
        return await super()._enter_and_reread(entrants, ticketed, found, first)


class LooksUpAndInserts(Index):
    """Does not read again."""

    async def _enter_and_reread(
        self,
        entrants: dict[int, EntryRecord],
        ticketed: dict[int, EntryRecord],
        found: dict[int, CandidateSet],
        first: BucketReading,
    ) -> dict[int, EntryRecord]:
        records = list(entrants.values())
        registered = await self._register(records, await self._append_and_draw(records))
        return ticketed | {i: r for i, r in zip(entrants, registered, strict=True) if r is not None}


class TrustsAnEarlyRead(Index):
    """Judges a document that was helped to its ticket by what was read while its content was registered."""

    async def _enter_and_reread(
        self,
        entrants: dict[int, EntryRecord],
        ticketed: dict[int, EntryRecord],
        found: dict[int, CandidateSet],
        first: BucketReading,
    ) -> dict[int, EntryRecord]:
        return ticketed | await super()._enter_and_reread(entrants, {}, found, first)


@pytest.mark.parametrize(
    ("scenario", "crashes"),
    [
        (replace(PAIR, kind=NeverHelps), 0),
        (replace(PATH, kind=HelpsByHalf), 0),
        (replace(PAIR, kind=DropsTheFirstRead, index="all"), 0),
        (replace(PAIR, kind=LooksUpAndInserts), 0),
        (replace(PAIR, kind=TrustsAnEarlyRead, concurrent=True), 1),
    ],
    ids=lambda value: value.kind.__name__ if isinstance(value, Scenario) else "",
)
def test_a_claim_that_lacks_a_rule_lets_two_pass(scenario: Scenario, crashes: int) -> None:
    race = ClaimRace(scenario, EACH_ONCE[: len(scenario.buckets)])
    ends = race.explored(crashes=crashes).finals()
    assert any("two that are alike passed" in race.problems(end) for end in ends)
