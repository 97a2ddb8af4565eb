"""The store that is explored step by step keeps the contract of every backend: what is found on it is true of them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from tests.index.stepwise import Mark, Reply, StepwiseStore, World, answered
from tests.index.store_contract import Run, StoreContract

T = TypeVar("T")


class Alone:
    """Grants every ask at once; where several are open, the last one first."""

    def __init__(self) -> None:
        self.world = World()

    def __call__(self, coroutine: Coroutine[Any, Any, T], /) -> T:
        reply = None
        while True:
            try:
                place, ask = coroutine.send(reply)[-1]
            except StopIteration as done:
                value: T = done.value
                return value
            self.world, answer = answered(self.world, ask)
            reply = Reply(place, answer)


@pytest.fixture
def run() -> Run:
    return Alone()


@pytest.fixture
def open_store() -> Callable[[int], StepwiseStore]:
    marks: list[Mark] = []
    return lambda max_bucket: StepwiseStore(marks, max_bucket=max_bucket)


class TestStepwiseStore(StoreContract):
    """The contract, but for an index of a size that a world copied at each step is not made for."""

    test_an_old_mark_still_finds_everything = None  # type: ignore[assignment]
