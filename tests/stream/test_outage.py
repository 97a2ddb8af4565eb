"""An outage lasts from the first failed attempt to the next one that succeeds, and is reported as such."""

from __future__ import annotations

import pytest

from gate.metrics import WorkerMetrics
from gate.readiness import Readiness
from gate.stream.outage import Outage


@pytest.fixture
def readiness() -> Readiness:
    return Readiness()


@pytest.fixture
def outage(readiness: Readiness) -> Outage:
    return Outage("index", WorkerMetrics(), readiness)


def test_a_dependency_that_never_failed_has_no_outage(outage: Outage, readiness: Readiness) -> None:
    outage.recovered()
    assert not outage.active
    assert "index" not in readiness.reasons()


def test_during_an_outage_the_readiness_gives_the_message_of_the_last_failure(
    outage: Outage, readiness: Readiness
) -> None:
    outage.failed("timeout", "the index does not answer: check redis_url")
    outage.failed("refused")
    assert outage.active
    assert readiness.reasons()["index"] == "unavailable: refused"
    outage.failed("timeout", "the index does not answer: check redis_url")
    assert readiness.reasons()["index"] == "unavailable: the index does not answer: check redis_url"


def test_a_success_ends_the_outage(outage: Outage, readiness: Readiness) -> None:
    outage.failed("timeout")
    outage.recovered()
    assert not outage.active
    assert "index" not in readiness.reasons()


def test_every_failed_attempt_is_counted_as_a_retry(readiness: Readiness) -> None:
    metrics = WorkerMetrics()
    outage = Outage("broker", metrics, readiness)
    outage.failed("timeout")
    outage.failed("refused")
    outage.recovered()
    assert metrics.registry.get_sample_value("gate_dependency_retries_total", {"dependency": "broker"}) == 2
    assert metrics.registry.get_sample_value("gate_dependency_up", {"dependency": "broker"}) == 1


def test_the_time_that_a_dependency_is_down_grows_with_each_failed_attempt(readiness: Readiness) -> None:
    metrics, times = WorkerMetrics(), iter((10.0, 10.0, 13.0, 14.5, 20.0, 30.0, 30.0))
    outage = Outage("broker", metrics, readiness, clock=lambda: next(times))

    def down_seconds() -> float | None:
        return metrics.registry.get_sample_value("gate_dependency_down_seconds_total", {"dependency": "broker"})

    seen = []
    for step in (outage.failed, outage.failed, outage.failed):
        step("timeout")
        seen.append(down_seconds())
    assert seen == [0.0, 3.0, 4.5]
    outage.recovered()
    assert down_seconds() == 10.0
    outage.failed("timeout")
    assert down_seconds() == 10.0
