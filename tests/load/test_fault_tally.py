"""The comparison of a run under faults finds each broken promise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from gate.core.builtin_profiles import BUILT_IN
from load.fault_tally import COPY, PROFILE, Answers, FaultTally, Position, SentRecord, compare
from load.races import Group, groups

[GROUP] = groups(1, 1, BUILT_IN[PROFILE])
IDS = [document.document_id for document in GROUP.documents]


def answer(offset: int, document_id: str, *, similar: bool, **more: Any) -> SimpleNamespace:
    origin = {"partition": 0, "offset": offset}
    return SimpleNamespace(
        value=json.dumps({"document_id": document_id, "similar": similar, "origin": origin} | more).encode()
    )


def tally(
    sent: Mapping[Position, SentRecord], *verdicts: SimpleNamespace, start: int = 0, reported: range = range(0)
) -> FaultTally:
    made = FaultTally(delivery="exactly_once")
    answers = Answers(verdicts, [])
    compare(made, [GROUP], sent, answers, starts={0: start}, reported=[(0, reported)])
    return made


def family(*similar: bool, epochs: tuple[int, ...] = ()) -> tuple[dict[Position, SentRecord], list[SimpleNamespace]]:
    """The documents of the group, all sent and answered."""
    sent = {(0, n): SentRecord(name, epochs[n] if epochs else 0) for n, name in enumerate(IDS)}
    return sent, [answer(n, name, similar=similar[n % len(similar)]) for n, name in enumerate(IDS)]


def test_one_survivor_is_right_and_none_or_two_are_not() -> None:
    sent, verdicts = family(True)
    first = answer(0, IDS[0], similar=False)
    assert tally(sent, first, *verdicts[1:]).is_correct
    assert tally(sent, *verdicts).none_survived == 1
    assert tally(*family(False)[:1], *family(False)[1]).two_survived == 1


def test_a_group_that_was_divided_by_the_loss_of_the_index_is_left_out() -> None:
    sent, verdicts = family(False, epochs=tuple(range(len(IDS))))
    assert tally(sent, *verdicts).is_correct


def test_a_record_without_an_answer_is_lost_unless_it_was_deleted_and_reported() -> None:
    sent = {(0, 0): SentRecord("x", 0), (0, 1): SentRecord("y", 0)}
    assert tally(sent, answer(1, "y", similar=False)).lost == 1
    unreported = tally(sent, answer(1, "y", similar=False), start=1)
    assert (unreported.lost, unreported.deleted, unreported.unreported, unreported.is_correct) == (0, 1, 1, False)
    assert tally(sent, answer(1, "y", similar=False), start=1, reported=range(1)).is_correct


@pytest.mark.parametrize("epoch", [0, 1])
def test_another_verdict_on_the_same_document_is_a_change_unless_the_index_was_lost_between(epoch: int) -> None:
    sent = {(0, 0): SentRecord("x", 0), (0, 1): SentRecord("x", epoch)}
    made = tally(sent, answer(0, "x", similar=False), answer(1, "x", similar=True))
    assert made.changed == (1 if epoch == 0 else 0)


def test_a_repeated_answer_is_wrong_with_exactly_once_delivery_and_changed_bytes_always() -> None:
    sent = {(0, 0): SentRecord("x", 0)}
    repeated = tally(sent, answer(0, "x", similar=False), answer(0, "x", similar=False))
    assert (repeated.repeated, repeated.changed, repeated.is_correct) == (1, 0, False)
    assert tally(sent, answer(0, "x", similar=False), answer(0, "x", similar=True)).changed == 1


def test_a_copy_that_passes_after_the_index_was_lost_is_found() -> None:
    sent = {(0, 0): SentRecord(f"{COPY}x 1", 1)}
    assert tally(sent, answer(0, f"{COPY}x 1", similar=True)).is_correct
    assert tally(sent, answer(0, f"{COPY}x 1", similar=False)).copies_passed == 1


def test_the_group_of_these_tests_has_documents_that_are_alike() -> None:
    assert isinstance(GROUP, Group)
    assert GROUP.alike
