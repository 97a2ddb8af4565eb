"""A gate on a real broker and a real Redis, or on an index of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from load.brokers import Fresh
from load.servers import RedisServer, redis_server
from load.stage import Stage

Staging = Callable[..., Stage]


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    with redis_server("--appendonly", "yes", "--appendfsync", "always") as server:
        yield server


@pytest.fixture
def stage(fresh: Fresh, tmp_path: Path) -> Iterator[Staging]:
    """Topics and workers of one test; the index is a file unless one is named."""
    made: list[Stage] = []

    def make(index: str | None = None, **options: object) -> Stage:
        made.append(Stage.fresh(fresh, tmp_path / str(len(made)), index or str(tmp_path / "index.sqlite"), **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.close()
