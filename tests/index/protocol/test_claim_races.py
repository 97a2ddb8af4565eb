"""The claim that is shipped, through every interleaving of two documents and many of three, with crashes and replays.

What is checked at every end is in `protocol_scenarios`: no two documents alike pass, some document of every family
passes, every refused document is alike to one that passed, a repeated check-in gets the same answer, what was refused
is in no bucket, answers name only what was accepted and exists, and nothing is half-done. The weakened claims at the
bottom each lack one rule; the same search must find fault with each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest

from gate.index.protocol.candidates import BucketReading, CandidateSet
from gate.index.protocol.claim import Index
from gate.index.protocol.outcome import Claim
from gate.index.protocol.registration import Registrar
from gate.index.protocol.settlement import Settler
from gate.index.store import Conversion, EntryRecord, Registration
from tests.index.explorer import Final
from tests.index.protocol_scenarios import ClaimRace, Scenario

# Counting the lines of so many interleavings would take longer than running them.
pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

PAIR = Scenario({b"a": (1, 2), b"b": (1, 2)}, ["ab"])
ONE_BUCKET = Scenario({b"a": (1,), b"b": (1,)}, ["ab"])
PATH = Scenario({b"a": (1,), b"b": (1, 2), b"c": (2,)}, ["ab", "bc"])
TRIANGLE = Scenario({b"a": (1, 2), b"b": (1, 3), b"c": (2, 3)}, ["ab", "bc", "ac"])
ROW = Scenario({b"a": (1,), b"b": (1, 2), b"c": (2, 3), b"d": (3,)}, ["ab", "bc", "cd"])
FALSE_CANDIDATE = Scenario({b"a": (1,), b"b": (1,), b"c": (1,)}, ["ab"])  # c shares their buckets and is not alike
EACH_ONCE = [("a", "a"), ("b", "b"), ("c", "c")]
SIDE_BY_SIDE: dict[str, Any] = {"concurrent": True, "any_order": True}


def check(race: ClaimRace, ends: Iterable[Final]) -> None:
    checked = 0
    for end in ends:
        checked += 1
        found = sorted(set(race.problems(end)))
        assert not found, f"{', '.join(found)}\n{end.schedule()}\n{end.results}"
    assert checked > 1


def explore(scenario: Scenario, claims: list[tuple[str, str]], *, crashes: int = 0, replays: int = 0) -> None:
    race = ClaimRace(scenario, claims)
    check(race, race.explored(crashes=crashes, replays=replays).finals())


def explore_randomly(scenario: Scenario, claims: list[tuple[str, str]], *, crashes: int = 0, replays: int = 0) -> None:
    """Some of the interleavings, drawn at random: of three documents there are too many for all."""
    race = ClaimRace(scenario, claims)
    check(race, race.explored(crashes=crashes, replays=replays).random_schedules(150, seed=crashes))


def test_two_documents_with_a_crash() -> None:
    explore(PAIR, EACH_ONCE[:2], crashes=1)


def test_two_documents_in_one_bucket_with_two_crashes_and_a_replay() -> None:
    explore(ONE_BUCKET, EACH_ONCE[:2], crashes=2, replays=1)


def test_two_documents_whose_steps_run_concurrently_with_a_replay() -> None:
    explore(replace(PAIR, **SIDE_BY_SIDE), EACH_ONCE[:2], replays=1)


def test_two_documents_whose_steps_run_concurrently_with_two_crashes() -> None:
    explore_randomly(replace(PAIR, **SIDE_BY_SIDE), EACH_ONCE[:2], crashes=2, replays=1)


def test_two_documents_that_are_both_kept_with_a_crash_and_a_replay() -> None:
    explore(replace(PAIR, index="all"), EACH_ONCE[:2], crashes=1, replays=1)


def test_two_documents_that_are_both_kept_concurrently_with_a_crash() -> None:
    explore(replace(PAIR, index="all", **SIDE_BY_SIDE), EACH_ONCE[:2], crashes=1)


@pytest.mark.parametrize("names", ["abc", "bac", "acb"])  # the one in the middle has the middle, lowest, highest number
@pytest.mark.parametrize("crashes", [0, 1])
@pytest.mark.parametrize("order", [{}, SIDE_BY_SIDE], ids=["in turn", "concurrently"])
def test_three_documents_of_which_the_middle_one_is_alike_to_both(
    names: str, crashes: int, order: dict[str, Any]
) -> None:
    explore_randomly(replace(PATH, **order), [(name, name) for name in names], crashes=crashes)


def test_three_documents_in_a_row_that_are_all_kept() -> None:
    explore(replace(PATH, index="all"), EACH_ONCE)


@pytest.mark.parametrize("crashes", [0, 1])
@pytest.mark.parametrize("order", [{}, SIDE_BY_SIDE], ids=["in turn", "concurrently"])
def test_three_documents_all_alike(crashes: int, order: dict[str, Any]) -> None:
    explore_randomly(replace(TRIANGLE, **order), EACH_ONCE, crashes=crashes, replays=crashes)


def test_four_documents_in_a_row() -> None:
    explore_randomly(ROW, [*EACH_ONCE, ("d", "d")])


def test_a_false_candidate_in_the_same_bucket_passes_and_changes_nothing() -> None:
    explore_randomly(FALSE_CANDIDATE, EACH_ONCE)


@pytest.mark.parametrize("index", ["originals", "all"])
def test_two_documents_with_the_same_content_with_a_crash_and_a_replay(index: Literal["originals", "all"]) -> None:
    explore(replace(PAIR, index=index), [("a", "a"), ("b", "a")], crashes=1, replays=1)


def test_two_documents_with_the_same_content_and_one_alike() -> None:
    explore_randomly(ONE_BUCKET, [("a", "a"), ("b", "a"), ("c", "b")])


def test_a_document_delivered_to_two_workers_at_once_with_a_crash() -> None:
    explore(PAIR, [("a", "a"), ("a", "a")], crashes=1, replays=1)


def test_a_document_delivered_to_two_workers_at_once_and_one_alike() -> None:
    explore_randomly(ONE_BUCKET, [("a", "a"), ("a", "a"), ("b", "b")])


# The claims that lack a rule.


class NeverHelps(Registrar):
    async def help(self, unregistered: dict[int, EntryRecord]) -> dict[int, EntryRecord | None]:
        return {}


class HelpsByHalf(Registrar):
    """Draws the ticket without completing the appends."""

    async def help(self, unregistered: dict[int, EntryRecord]) -> dict[int, EntryRecord | None]:
        if not unregistered:
            return {}
        first = await self._store.draw(len(unregistered))
        wanted = [Registration(entry, ticket=first + n) for n, entry in enumerate(unregistered)]
        return dict(zip(unregistered, await self._store.register(wanted), strict=True))


class LeavesLatePostings(Registrar):
    """Appends for an entry that is a duplicate by then, and does not take it back."""

    async def register(
        self, records: Sequence[EntryRecord], registrations: Sequence[Registration]
    ) -> list[EntryRecord | None]:
        return await self._store.register(registrations) if registrations else []


class TrustsATicket(Settler):
    """Takes every entry that holds a ticket for accepted, though its claim may still lose."""

    async def accepted(self, ticketed: Iterable[EntryRecord]) -> set[int]:
        return {record.entry for record in ticketed}


class KeepsTheTicket(Settler):
    """Leaves those that lost as they are."""

    async def convert(self, lost: Mapping[int, tuple[EntryRecord, EntryRecord]]) -> dict[int, EntryRecord]:
        return {i: loser for i, (loser, _) in lost.items()}


class KeepsThePostings(Settler):
    """Leaves those that lost in the buckets."""

    async def convert(self, lost: Mapping[int, tuple[EntryRecord, EntryRecord]]) -> dict[int, EntryRecord]:
        wanted = [Conversion(loser.entry, loser.ticket, winner.entry) for loser, winner in lost.values()]
        converted = await self._store.convert(wanted) if wanted else []
        return {i: record for i, record in zip(lost, converted, strict=True) if record is not None}


class IndexThatNeverHelps(Index):
    registrar = NeverHelps


class IndexThatHelpsByHalf(Index):
    registrar = HelpsByHalf


class IndexThatLeavesLatePostings(Index):
    registrar = LeavesLatePostings


class IndexThatTrustsATicket(Index):
    settler = TrustsATicket


class IndexThatKeepsTheTicket(Index):
    settler = KeepsTheTicket


class IndexThatKeepsThePostings(Index):
    settler = KeepsThePostings


class IndexThatTrustsTheTicketOfACopy(Index):
    """Calls a document an exact copy of one that may still lose."""

    async def _settle_shared(self, claims: Sequence[Claim], records: dict[int, EntryRecord]) -> dict[int, EntryRecord]:
        return records


class DropsTheFirstRead(Index):
    """Reads only the tail, and does not carry the candidates of the first read."""

    async def _enter_and_reread(
        self,
        entrants: dict[int, EntryRecord],
        ticketed: dict[int, EntryRecord],
        candidates: dict[int, CandidateSet],
        first: BucketReading,
        *,
        unlike: bool = False,
    ) -> dict[int, EntryRecord]:
        for i in entrants:
            candidates.pop(i, None)
        return await super()._enter_and_reread(entrants, ticketed, candidates, first)


class LooksUpAndInserts(Index):
    """Does not read again."""

    async def _enter_and_reread(
        self,
        entrants: dict[int, EntryRecord],
        ticketed: dict[int, EntryRecord],
        candidates: dict[int, CandidateSet],
        first: BucketReading,
        *,
        unlike: bool = False,
    ) -> dict[int, EntryRecord]:
        records = list(entrants.values())
        registered = await self._registrar.register(records, await self._registrar.append_and_draw(records))
        return ticketed | {i: r for i, r in zip(entrants, registered, strict=True) if r is not None}


class TrustsAnEarlyRead(Index):
    """Judges a document that was helped to its ticket by what was read while its content was registered."""

    async def _enter_and_reread(
        self,
        entrants: dict[int, EntryRecord],
        ticketed: dict[int, EntryRecord],
        candidates: dict[int, CandidateSet],
        first: BucketReading,
        *,
        unlike: bool = False,
    ) -> dict[int, EntryRecord]:
        return ticketed | await super()._enter_and_reread(entrants, {}, candidates, first)


def problems_of(
    scenario: Scenario, claims: list[tuple[str, str]], *, crashes: int = 0, randomly: bool = False
) -> Iterator[str]:
    race = ClaimRace(scenario, claims)
    explored = race.explored(crashes=crashes)
    for end in explored.random_schedules(10_000, seed=1) if randomly else explored.finals():
        yield from race.problems(end)


@pytest.mark.parametrize(
    ("scenario", "crashes"),
    [
        (replace(PAIR, kind=IndexThatNeverHelps), 0),
        (replace(PATH, kind=IndexThatHelpsByHalf), 0),
        (replace(PAIR, kind=DropsTheFirstRead, index="all"), 0),
        (replace(PAIR, kind=LooksUpAndInserts), 0),
        (replace(PAIR, kind=TrustsAnEarlyRead, concurrent=True), 1),
    ],
    ids=lambda value: value.kind.__name__ if isinstance(value, Scenario) else "",
)
def test_a_claim_that_lacks_a_rule_lets_two_pass(scenario: Scenario, crashes: int) -> None:
    claims = EACH_ONCE[: len(scenario.buckets)]
    assert "two that are alike passed" in problems_of(scenario, claims, crashes=crashes, randomly=len(claims) > 2)


@pytest.mark.parametrize(
    ("kind", "claims", "problem"),
    [
        (IndexThatKeepsTheTicket, "a=a b=b", "a refused document holds a ticket"),
        (IndexThatKeepsThePostings, "a=a b=b", "a refused document is in the buckets"),
        (IndexThatLeavesLatePostings, "a=a b=b c=c", "a refused document is in the buckets"),
        (IndexThatTrustsATicket, "a=a b=b c=c", "a document was refused and nothing that is alike to it passed"),
        (IndexThatTrustsATicket, "a=a b=b c=c", "an answer names a document that was refused"),
        (IndexThatTrustsTheTicketOfACopy, "a=a b=b d=b", "an answer names a document that was refused"),
    ],
)
def test_a_claim_that_lacks_a_rule_counts_a_refused_document(kind: type[Index], claims: str, problem: str) -> None:
    pairs = [(claim[0], claim[-1]) for claim in claims.split()]
    assert problem in problems_of(replace(PATH, kind=kind), pairs)
