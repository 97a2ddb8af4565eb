"""What the service says of known documents, the same on every kind of index."""

from __future__ import annotations

from urllib.parse import quote

from gate.demo import LIGHTHOUSE
from tests.http.service_harness import ServiceUnderTest

EDITED = LIGHTHOUSE.replace("three summers", "four summers")


async def test_a_document_says_which_verdict_it_got(service: ServiceUnderTest) -> None:
    await service.check_in("a", LIGHTHOUSE)
    given = await service.check_in("b/../b", EDITED, version="2")
    answer = (await service.client.get(f"/v1/documents/{quote('b/../b', safe='')}/verdict")).json()
    assert answer["document_id"] == "b/../b"
    [verdict] = answer["verdicts"]
    assert verdict["verdict_id"] == given["verdict_id"]
    assert verdict["matches"] == given["matches"]


async def test_a_deleted_document_frees_its_copies(service: ServiceUnderTest) -> None:
    await service.check_in("a", LIGHTHOUSE)
    assert (await service.client.delete("/v1/documents/a")).json() == {"document_id": "a", "deleted": True}
    assert (await service.client.delete("/v1/documents/a")).json() == {"document_id": "a", "deleted": False}
    assert (await service.check_in("b", LIGHTHOUSE))["relation"] == "new"
