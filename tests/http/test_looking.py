"""Comparisons and similar documents over HTTP, the same on every kind of index."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from gate.demo import LIGHTHOUSE
from tests.http.service_harness import ServiceUnderTest, problem, running_service

EDITED = LIGHTHOUSE.replace("three summers", "four summers")


async def test_similar_documents_are_found_by_text_id_and_fingerprint(service: ServiceUnderTest) -> None:
    verdict = await service.check_in("reports/ä 1", LIGHTHOUSE)
    asked: tuple[Any, ...] = (
        ("POST", "/v1/similar", {"text": EDITED, "threshold": 0.5}, {}),
        ("GET", "/v1/similar", None, {"fingerprint": verdict["fingerprint"], "limit": 1}),
    )
    for method, path, body, query in asked:
        answer = await service.client.request(method, path, json=body, params=query)
        assert [match["document_id"] for match in answer.json()["matches"]] == ["reports/ä 1"], path
    path = f"/v1/documents/{quote('reports/ä 1', safe='')}/similar"
    assert (await service.client.get(path, params={"threshold": 0.9})).json() == {"matches": []}


async def test_a_profile_without_fingerprints_says_so() -> None:
    async with running_service(profile="minhash") as service:
        answer = await service.client.get("/v1/similar", params={"fingerprint": "0" * 16})
    assert problem(answer) == (422, "not_supported", "fingerprint")
    assert "simhash or hybrid" in answer.json()["detail"]
