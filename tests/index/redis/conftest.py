"""The deployments of Redis that every store test runs on."""

from __future__ import annotations

import pytest


@pytest.fixture(
    params=[
        pytest.param("shared_redis", id="single", marks=pytest.mark.redis),
        pytest.param("shared_redis_cluster", id="cluster", marks=pytest.mark.redis),
    ]
)
def redis_url(request: pytest.FixtureRequest) -> str:
    """The URL of a single server, then of a Cluster. Tests share them: each uses a profile name of its own."""
    url: str = request.getfixturevalue(request.param).url
    return url
