"""What the service says of known documents, the same on every kind of index."""

from __future__ import annotations

from urllib.parse import quote

from gate.demo import BREAD, LIGHTHOUSE
from tests.http.service_harness import ServiceUnderTest, problem

EDITED = LIGHTHOUSE.replace("three summers", "four summers")


async def test_a_document_says_which_verdict_it_got(service: ServiceUnderTest) -> None:
    await service.check_in("a", LIGHTHOUSE)
    given = await service.check_in("b/../b", EDITED, version="2")
    answer = (await service.client.get(f"/v1/documents/{quote('b/../b', safe='')}/verdict")).json()
    assert answer["document_id"] == "b/../b"
    [verdict] = answer["verdicts"]
    assert verdict["verdict_id"] == given["verdict_id"]
    assert verdict["matches"] == given["matches"]
    [sentences] = answer["reasons"]
    assert sentences[0] == "It is near: a document much like it was known."


async def test_a_document_is_reported_with_all_its_contents(service: ServiceUnderTest) -> None:
    await service.check_in("a", LIGHTHOUSE)
    metadata = {"pages": 2}
    await service.check_in("b", BREAD, version="1", title="Bread", metadata=metadata)
    await service.check_in("b", EDITED, version="2")
    report = (await service.client.get("/v1/documents/b")).json()
    assert (report["document_id"], report["group"]) == ("b", "a")
    first, second = report["contents"]
    assert (first["version"], first["details"]["title"], first["details"]["metadata"]) == ("1", "Bread", metadata)
    assert (first["verdict"]["relation"], second["verdict"]["relation"]) == ("new", "near")
    assert second["verdict"]["content_id"] == second["content_id"]
    assert "The best match is a" in " ".join(second["reasons"])
    unknown = await service.client.get("/v1/documents/unknown")
    assert problem(unknown) == (404, "unknown_document", "document_id")


async def test_a_deleted_document_frees_its_copies(service: ServiceUnderTest) -> None:
    await service.check_in("a", LIGHTHOUSE)
    assert (await service.client.delete("/v1/documents/a")).json() == {"document_id": "a", "deleted": True}
    assert (await service.client.delete("/v1/documents/a")).json() == {"document_id": "a", "deleted": False}
    assert (await service.check_in("b", LIGHTHOUSE))["relation"] == "new"
