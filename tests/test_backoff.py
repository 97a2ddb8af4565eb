"""Delays between retries."""

from __future__ import annotations

from gate.backoff import Backoff


def test_delays_double_up_to_the_longest() -> None:
    backoff = Backoff(first_seconds=1.0, longest_seconds=30.0, draw=lambda: 0.0)
    assert [backoff.next_seconds() for _ in range(8)] == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


def test_jitter_takes_at_most_its_share_off_a_delay() -> None:
    draws = iter([0.0, 0.5, 1.0])
    backoff = Backoff(first_seconds=1.0, longest_seconds=1.0, jitter=0.5, draw=lambda: next(draws))
    assert [backoff.next_seconds() for _ in range(3)] == [1.0, 0.75, 0.5]


def test_jitter_does_not_change_how_delays_grow() -> None:
    backoff = Backoff(first_seconds=1.0, longest_seconds=30.0, jitter=0.5, draw=lambda: 1.0)
    assert [backoff.next_seconds() for _ in range(4)] == [0.5, 1.0, 2.0, 4.0]


def test_a_reset_back_off_starts_with_its_first_delay() -> None:
    backoff = Backoff(first_seconds=1.0, draw=lambda: 0.0)
    backoff.next_seconds(), backoff.next_seconds()
    backoff.reset()
    assert backoff.next_seconds() == 1.0


def test_a_long_series_of_retries_never_overflows() -> None:
    backoff = Backoff(first_seconds=0.5, longest_seconds=30.0, draw=lambda: 0.0)
    assert [backoff.next_seconds() for _ in range(5000)][-1] == 30.0


def test_two_processes_draw_different_delays_by_default() -> None:
    assert len({Backoff(first_seconds=1.0).next_seconds() for _ in range(16)}) > 1
