"""The store that is explored step by step keeps the contract of every backend: what is found on it is true of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, cast

import pytest

from gate.index.store import Store
from tests.index.stepwise import Mark, Reply, StepwiseStore, World, answered
from tests.index.store_contract import StoreContract


class UndisturbedStore:
    """A store whose calls are granted all their asks at once; where several are open, the last one first."""

    def __init__(self, store: StepwiseStore) -> None:
        self._store = store
        self._world = World()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        primitive = getattr(self._store, name)

        async def granted(*arguments: Any, **options: Any) -> Any:
            return self._grant_all(primitive(*arguments, **options))

        return granted

    def _grant_all(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        reply = None
        while True:
            try:
                place, ask = coroutine.send(reply)[-1]
            except StopIteration as done:
                return done.value
            self._world, answer = answered(self._world, ask)
            reply = Reply(place, answer)


@pytest.fixture
def open_store() -> Callable[[int], Awaitable[Store]]:
    marks: list[Mark] = []

    async def open_one(max_bucket: int) -> Store:
        return cast(Store, UndisturbedStore(StepwiseStore(marks, max_bucket=max_bucket)))

    return open_one


class TestStepwiseStore(StoreContract):
    """The contract, but for an index of a size that a world copied at each step is not made for."""

    test_an_old_mark_still_finds_everything = None  # type: ignore[assignment]
