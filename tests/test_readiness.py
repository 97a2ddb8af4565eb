"""Readiness of a worker: what makes it ready, and which changes are reported."""

from __future__ import annotations

from typing import Any

from gate.readiness import Readiness


def test_a_worker_is_ready_when_its_consumer_and_all_parts_are() -> None:
    readiness = Readiness()
    assert not readiness.ready
    readiness.set("index", None)
    assert readiness.reasons() == {"consumer": "starting"}
    readiness.set("consumer", None)
    assert readiness.reasons() == {}
    readiness.set("index", "does not answer")
    assert readiness.reasons() == {"index": "does not answer"}


def test_a_change_of_readiness_is_reported_and_a_repetition_is_not() -> None:
    reported: list[Any] = []
    readiness = Readiness(reported.append)
    readiness.set("consumer", None)
    readiness.set("consumer", None)
    readiness.set("index", "down")
    assert reported == [{}, {"index": "down"}]
