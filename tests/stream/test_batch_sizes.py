"""Batches to a topic are smaller after a refusal, and grow back."""

from __future__ import annotations

from gate.stream.batch_sizes import BATCH_BYTES, GROW_SECONDS, BatchSizes


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_refused_batch_halves_the_batches_of_its_topic_alone() -> None:
    sizes = BatchSizes(Clock())
    sizes.lower("v", 100_000)
    assert (sizes.limit("v"), sizes.limit("other")) == (50_000, BATCH_BYTES)
    sizes.lower("v", 50_000)
    assert sizes.limit("v") == 25_000
    sizes.lower("v", 400_000)  # sent before the refusals were known
    assert sizes.limit("v") == 12_500


def test_batches_grow_back_once_in_a_while_until_they_are_as_before() -> None:
    clock = Clock()
    sizes = BatchSizes(clock)
    sizes.lower("v", BATCH_BYTES // 2)
    seen = []
    for _ in range(4):
        seen += [sizes.limit("v"), sizes.limit("v")]
        clock.now += GROW_SECONDS
    assert seen == [BATCH_BYTES // 4] * 2 + [BATCH_BYTES // 2] * 2 + [BATCH_BYTES] * 4


def test_after_a_refusal_the_time_begins_again() -> None:
    clock = Clock()
    sizes = BatchSizes(clock)
    sizes.lower("v", 1000)
    clock.now += GROW_SECONDS
    assert sizes.limit("v") == 1000
    sizes.lower("v", 1000)
    clock.now += GROW_SECONDS - 1
    assert sizes.limit("v") == 500


def test_a_limit_is_never_zero() -> None:
    sizes = BatchSizes(Clock())
    for _ in range(40):
        sizes.lower("v", 1)
    assert sizes.limit("v") == 1
