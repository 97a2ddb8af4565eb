"""Counts of a replay: groups by size, in bounded memory, and the throughput."""

from __future__ import annotations

import pytest

from gate.archive.replay_stats import ReplayStats, Throughput, pause_seconds
from gate.errors import BadDocument
from gate.model import Relation
from gate.wire import Origin, RejectedMessage


def test_groups_are_listed_by_size_with_their_original() -> None:
    stats = ReplayStats()
    stats.count_verdict(Relation.NEW, "a", similar=False)
    for group, count in (("a", 2), ("b", 3), ("c", 2)):
        for _ in range(count):
            stats.count_verdict(Relation.NEAR, group, similar=True)
    assert stats.largest_groups() == [("b", 4), ("a", 3), ("c", 3)]
    assert stats.judged == 8


def test_many_groups_are_counted_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gate.archive.replay_stats.MAX_GROUPS", 10)
    stats = ReplayStats()
    for n in range(1000):
        stats.count_verdict(Relation.NEAR, "large", similar=True)
        stats.count_verdict(Relation.NEAR, f"small {n}", similar=True)
    assert len(stats.groups) <= 21
    assert stats.largest_groups()[0] == ("large", 1001)


def test_throughput_gives_the_rate_and_the_time_left() -> None:
    throughput = Throughput(10.0, 1000)
    assert throughput.seconds_left(250, 20.0) == 30.0
    assert throughput.documents_per_second(50, 20.0) == 5.0
    assert (throughput.seconds_left(0, 20.0), Throughput(10.0, None).seconds_left(5, 20.0)) == (None, None)


def test_a_replay_at_a_rate_waits_until_the_next_document_is_due() -> None:
    assert pause_seconds(10, 5.0, started=100.0, now=101.0) == 1.0
    assert pause_seconds(10, 5.0, started=100.0, now=103.0) == 0.0


def test_of_each_reason_all_rejections_are_counted_and_a_few_named() -> None:
    stats = ReplayStats()
    for line in range(1, 9):
        error = BadDocument("bad_json", "e.jsonl: the line is not JSON")
        stats.count_rejected(RejectedMessage.of(error, b"x", origin=Origin(file="e.jsonl", line=line)))
    assert stats.as_json()["unreadable"] == {
        "bad_json": {"count": 8, "examples": [f"e.jsonl:{line}" for line in range(1, 6)]}
    }
