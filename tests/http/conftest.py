"""A running service on an index of each kind."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.service_harness import ServiceUnderTest, running_service
from tests.support.servers import RedisServer


@pytest.fixture(params=["memory", "sqlite", pytest.param("redis", marks=pytest.mark.redis)])
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ServiceUnderTest]:
    """A service on an index of each kind; on Redis under a profile of its own, so that tests share no keys."""
    flags: dict[str, Any] = {"index": request.param}
    if request.param == "sqlite":
        flags["index"] = str(tmp_path / "gate.sqlite")
    elif request.param == "redis":
        server: RedisServer = request.getfixturevalue("shared_redis")
        profile = tmp_path / "own.toml"
        profile.write_text(f'name = "s{uuid.uuid4().hex}"\nbase = "standard"\n')
        flags |= {"index": server.url, "profile": str(profile)}
    async with running_service(**flags) as running:
        yield running
