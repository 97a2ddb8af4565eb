"""A short form of the run under faults: what holds for tens of thousands of check-ins holds for a few hundred."""

from __future__ import annotations

from pathlib import Path

import pytest

from load.fault_tally import FaultPlan
from load.faults import run

pytestmark = [pytest.mark.kafka, pytest.mark.redis]

SHORT = FaultPlan(
    documents=400,
    rate=80.0,
    kills=2,
    freezes=1,
    broker_restarts=1,
    redis_restarts=1,
    empties=1,
    clocks=1,
    deletions=1,
    brokers=1,
    seed=2,
)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_nothing_is_lost_and_one_of_each_group_passes_while_everything_fails_in_turn(
    delivery: str, tmp_path: Path
) -> None:
    tally = run(SHORT, delivery, tmp_path)
    assert tally.deleted
    assert tally.copies
    assert tally.is_correct, (tally.row(), tally.problems)
