"""A stocked index is one that check-ins would have left: the measurements rest on it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gate.index.tools.audit import audit
from gate.model import Relation
from gate.pipeline import SignedBatch
from load.bench_redis_contenders import FEATURES, GateOnRedis
from tests.support.servers import redis_server

pytestmark = pytest.mark.redis

COUNT = 600


@pytest.fixture(scope="module", params=["simhash", "standard"])
def stocked(request: pytest.FixtureRequest) -> Iterator[GateOnRedis]:
    with redis_server() as server:
        ours = GateOnRedis(server.url, request.param)
        ours.stock(COUNT)
        yield ours
        ours.close()


def test_nothing_is_missing_and_nothing_is_astray(stocked: GateOnRedis) -> None:
    report = stocked.runner.run(audit(stocked.store, stocked.method, stocked.profile))
    assert report.found == {}
    assert report.checked["documents"] == report.checked["entries"] == COUNT


def test_its_documents_are_known(stocked: GateOnRedis) -> None:
    bodies = np.random.default_rng(1)  # as the contender draws them
    bodies.integers(0, 256, stocked.drawn.width, np.uint8)
    earlier = bodies.integers(0, 256, (COUNT, stocked.drawn.width), np.uint8)
    if stocked.drawn.width > 8:
        earlier[:, 8:12] = np.frombuffer(FEATURES.to_bytes(4, "little"), np.uint8)
    [claim] = stocked.drawn.batch(1)
    copy = type(claim)(document_id="copy", version=None, content=claim.content, body=earlier[7].tobytes())
    [verdict] = stocked.runner.run(stocked.pipeline.check_in(SignedBatch([copy], [FEATURES])))
    assert (verdict.relation, verdict.group) == (Relation.NEAR, "document-0000007")
