"""What tests of commands share: a folder of notes, and indexes in files and on a Redis with a password."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from gate.demo import BREAD, LIGHTHOUSE
from tests.cli.command import EDITED, EVENTS, done
from tests.support.servers import RedisServer, redis_server

PASSWORD = "correct-horse"
NUMBERS = count()


@pytest.fixture(scope="session")
def guarded_redis() -> Iterator[RedisServer]:
    with redis_server(password=PASSWORD) as started:
        yield started


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.redis)])
def new(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[str, ...]]:
    """Options for an index of its own: with a profile of its own, where indexes share a server."""

    def options(base: str = "standard") -> tuple[str, ...]:
        name = f"cli-{next(NUMBERS)}"
        Path(f"{name}.toml").write_text(f'base = "{base}"\n')
        if request.param == "sqlite":
            return ("--index", str(tmp_path / f"{name}.sqlite"), "--profile", f"{name}.toml")
        started: RedisServer = request.getfixturevalue("guarded_redis")
        monkeypatch.setenv("GATE_REDIS_PASSWORD", PASSWORD)
        return ("--index", started.url, "--profile", f"{name}.toml")

    return options


@pytest.fixture
def index(new: Callable[..., tuple[str, ...]]) -> tuple[str, ...]:
    made = new()
    done("run", "--quiet", *made, stdin=EVENTS)
    return made


@pytest.fixture
def in_a_file(tmp_path: Path) -> tuple[str, ...]:
    made = ("--index", str(tmp_path / "x.sqlite"))
    done("run", "--quiet", *made, stdin=EVENTS)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    (made / "new").mkdir(parents=True)
    (made / "a.txt").write_text(LIGHTHOUSE)
    (made / "b.txt").write_text(BREAD)
    (made / "new" / "c.txt").write_text(EDITED)
    return made
