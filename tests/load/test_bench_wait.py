"""A short form of the benchmark of `redis_wait_replicas`: both settings are measured, and only one loses documents."""

from __future__ import annotations

import pytest

from load.bench_wait import SIZES, report


@pytest.mark.redis
@pytest.mark.slow
def test_waiting_is_measured_beside_not_waiting_and_loses_nothing() -> None:
    tables = report(0.5).tables
    assert [(row["batch"], row["redis_wait_replicas"]) for row in tables["cost"]] == [
        (size, replicas) for size in SIZES for replicas in (0, 1)
    ]
    assert all(row["check-ins/s"] > 0 for row in tables["cost"])
    without, with_wait = tables["failover"]
    assert without["lost"] > 0
    assert (with_wait["lost"], with_wait["let_through"], with_wait["wrong"]) == (0, 0, 0)
