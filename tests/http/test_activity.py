"""The recent activity: by interval, bounded in memory, with quantiles that are near enough."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gate import CheckIn, Degraded, Gate, Relation, Verdict
from gate.demo import BREAD, LIGHTHOUSE
from gate.http.activity import INTERVAL_SECONDS, MAX_OUTAGES, MINUTES, Activity, Point, moment

START = 1_000_000.0


class FakeClock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def activity(clock: FakeClock) -> Activity:
    return Activity(feed_size=10, clock=clock)


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    texts = {"a": LIGHTHOUSE, "b": LIGHTHOUSE, "c": BREAD}
    with Gate() as gate:
        return gate.check_in([CheckIn(document_id=name, text=text) for name, text in texts.items()])


def record(activity: Activity, verdicts: list[Verdict], seconds: float = 0.01) -> None:
    now = activity.now()
    activity.record_verdicts(verdicts, [now - seconds] * len(verdicts), now)


def test_verdicts_are_counted_in_their_interval_and_in_all(
    activity: Activity, clock: FakeClock, verdicts: list[Verdict]
) -> None:
    record(activity, verdicts)
    clock.now += 3 * INTERVAL_SECONDS
    record(activity, verdicts[:1])
    activity.record_refused(2)
    points = activity.points(1)
    assert [point.verdicts for _, point in points] == [3, 0, 0, 1]
    assert points[-1][0] - points[0][0] == 3 * INTERVAL_SECONDS
    assert points[0][1].relations == {Relation.NEW: 2, Relation.EXACT: 1}
    assert (points[0][1].similar, points[-1][1].refused) == (1, 2)
    assert (activity.totals.verdicts, activity.totals.refused, activity.feed.newest) == (4, 2, 4)


def test_verdicts_that_hit_a_limit_are_counted_once(activity: Activity, verdicts: list[Verdict]) -> None:
    both = replace(verdicts[0], degraded=(Degraded.BUCKET_CAPPED, Degraded.MATCHES_CAPPED))
    record(activity, [both, verdicts[1]])
    assert activity.totals.degraded == 1


def test_only_the_last_hour_is_kept(activity: Activity, clock: FakeClock, verdicts: list[Verdict]) -> None:
    for _ in range(2 * MINUTES):
        record(activity, verdicts)
        clock.now += 60
    points = activity.points(MINUTES)
    assert len(points) == len(activity._points) == MINUTES * 60 // INTERVAL_SECONDS
    assert sum(point.verdicts for _, point in points) == 3 * (MINUTES - 1)
    assert len(activity.points(5)) == 5 * 60 // INTERVAL_SECONDS


@pytest.mark.parametrize("jump", [10 * 365 * 86400, -86400])
def test_a_clock_that_jumps_costs_nothing_and_loses_no_verdict(
    activity: Activity, clock: FakeClock, verdicts: list[Verdict], jump: float
) -> None:
    record(activity, verdicts)
    clock.now += jump
    record(activity, verdicts)
    assert len(activity._points) == 1
    assert activity.totals.verdicts == 6


@pytest.mark.parametrize("seconds", [0.0002, 0.004, 0.25, 3.0, 600.0])
def test_a_quantile_is_within_an_eighth(activity: Activity, verdicts: list[Verdict], seconds: float) -> None:
    record(activity, verdicts * 33, seconds)
    record(activity, verdicts[:1], seconds * 100)
    assert activity.totals.quantile(0.5) == pytest.approx(seconds, rel=0.126)
    assert activity.totals.quantile(0.99) == pytest.approx(seconds, rel=0.126)
    assert activity.totals.quantile(1.0) == pytest.approx(min(seconds * 100, 6000), rel=0.126)


def test_nothing_has_no_quantile_and_a_clock_that_went_back_took_no_time(
    activity: Activity, verdicts: list[Verdict]
) -> None:
    assert Point().quantile(0.5) is None
    record(activity, verdicts, -5.0)
    assert activity.totals.quantile(0.5) == pytest.approx(0.0001, rel=0.126)


def test_an_outage_lasts_from_its_first_failure_to_the_recovery(activity: Activity, clock: FakeClock) -> None:
    activity.record_recovered("index")
    activity.record_failed("index", "refused")
    clock.now += 5
    activity.record_failed("index", "still refused")
    activity.record_failed("broker", "away")
    clock.now += 5
    activity.record_recovered("index")
    newest, first = activity.outages
    assert (newest.dependency, newest.ended_at) == ("broker", None)
    assert (first.reason, first.began_at, first.ended_at) == ("refused", START, START + 10)
    for _ in range(2 * MAX_OUTAGES):
        activity.record_failed("index", "refused")
        activity.record_recovered("index")
    assert len(activity.outages) == MAX_OUTAGES


def test_a_moment_is_in_milliseconds_of_utc() -> None:
    assert moment(1.23456).isoformat() == "1970-01-01T00:00:01.235000+00:00"
