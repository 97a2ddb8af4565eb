"""A short form of the measurement of pauses, and its arithmetic."""

from __future__ import annotations

from pathlib import Path

import pytest

from load.pauses import SHORT, PausePlan, longest_gap, run


@pytest.mark.parametrize(
    ("times", "gap"),
    [((), 10.0), ((3.0,), 7.0), ((9.0, 1.0, 2.0), 7.0), ((-1.0, 4.0, 6.0, 12.0), 4.0)],
    ids=str,
)
def test_a_pause_is_the_longest_gap_between_two_verdicts_or_an_end_of_the_window(
    times: tuple[float, ...], gap: float
) -> None:
    assert longest_gap(times, 0.0, 10.0) == gap


def test_every_event_is_measured_with_and_without_static_membership() -> None:
    events = {
        membership: [event for of, event in PausePlan().scenarios if of == membership]
        for membership in ("dynamic", "static")
    }
    assert sorted(events["dynamic"]) == sorted(events["static"])
    assert len(events["static"]) == 5


@pytest.mark.kafka
@pytest.mark.redis
@pytest.mark.timeout(240)
def test_static_members_pause_less_than_dynamic_ones_when_another_dies_and_is_restarted(tmp_path: Path) -> None:
    dynamic, static = run(SHORT, tmp_path)
    assert (dynamic.membership, static.membership) == ("dynamic", "static")
    assert dynamic.healthy_seconds is not None
    assert static.healthy_seconds is not None
    assert static.healthy_seconds < dynamic.healthy_seconds
