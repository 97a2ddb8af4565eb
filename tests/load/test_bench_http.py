"""A short form of the benchmark of the service: every contender answers, and its rows say what they cost."""

from __future__ import annotations

import pytest

from load.bench_http import HttpMeasurement, cost_rows, request_bytes, run, target_rows

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.mark.slow
def test_every_contender_answers_the_same_requests() -> None:
    tables = run(requests=8, rounds=1, connections=(2,), redis=False).tables
    assert {row["server"] for row in tables["CPU per request"]} == {
        "bare endpoint",
        "simhash, memory",
        "simhash, memory, unbatched",
    }
    assert len(tables["CPU per request"]) == 6
    assert all(row["p99 ms"] >= row["p50 ms"] > 0 for row in tables["latency at half load"])


def test_a_share_is_that_of_rounds_side_by_side() -> None:
    results = {
        ("bare", "previews", 32): HttpMeasurement([10.0, 20.0, 30.0], [1.0, 1.0, 1.0]),
        ("simhash, memory", "previews", 32): HttpMeasurement([20.0, 80.0, 60.0], [1.0, 1.0, 1.0]),
    }
    rows = cost_rows(results, "bare")
    assert [(row["server"], row["CPU us"], row["share of bare"]) for row in rows] == [
        ("bare", 20.0, 1.0),
        ("simhash, memory", 60.0, 0.5),
    ]
    [target] = target_rows(results, "bare", ["simhash, memory"])
    assert (target["measured"], target["met"]) == (0.5, True)


def test_a_request_is_whole() -> None:
    request = request_bytes("previews", "a", "text")
    head, body = request.split(b"\r\n\r\n")
    assert b"Content-Length: %d" % len(body) in head
