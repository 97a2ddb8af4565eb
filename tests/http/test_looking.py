"""Comparisons and similar documents over HTTP, the same on every kind of index."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from gate.demo import LIGHTHOUSE
from tests.http.service_harness import ServiceUnderTest, problem, running_service

EDITED = LIGHTHOUSE.replace("three summers", "four summers")


async def test_similar_documents_are_found_by_text_id_and_fingerprint(service: ServiceUnderTest) -> None:
    known = {"title": "Lighthouse", "uri": "file:lighthouse.txt", "size_bytes": 7, "source": "archive"}
    verdict = await service.check_in("reports/ä 1", LIGHTHOUSE, **known)
    asked: tuple[Any, ...] = (
        ("POST", "/v1/similar", {"text": EDITED, "threshold": 0.5}, {}),
        ("GET", "/v1/similar", None, {"fingerprint": verdict["fingerprint"], "limit": 1}),
    )
    for method, path, body, query in asked:
        answer = await service.client.request(method, path, json=body, params=query)
        [match] = answer.json()["matches"]
        assert (match["document_id"], match["group"]) == ("reports/ä 1", "reports/ä 1"), path
        assert {name: match[name] for name in known} == known
        assert match["fingerprint"] == verdict["fingerprint"]
        assert match["bit_agreement"] == round(1 - match["distance"] / 64, 4)
    path = f"/v1/documents/{quote('reports/ä 1', safe='')}/similar"
    answer = (await service.client.get(path, params={"threshold": 0.9})).json()
    found_nothing = {"matches": [], "scanned": 0, "complete": True, "degraded": []}
    assert answer == {**found_nothing, "fingerprint": verdict["fingerprint"], "threshold": 0.9}


async def test_a_threshold_of_bits_means_what_it_says_and_a_wide_one_scans(service: ServiceUnderTest) -> None:
    verdict = await service.check_in("a", LIGHTHOUSE)
    far = f"{int(verdict['fingerprint'], 16) ^ (1 << 20) - 1:016x}"  # 20 bits

    async def look_up(threshold: float) -> dict[str, Any]:
        query = f"fingerprint={far}&threshold={threshold}"
        answer: dict[str, Any] = (await service.client.get(f"/v1/similar?{query}")).json()
        return answer

    wide, narrower = await look_up(0.68), await look_up(0.69)
    assert [match["distance"] for match in wide["matches"]] == [20]
    assert (wide["scanned"], wide["complete"]) == (1, True)
    assert (narrower["matches"], narrower["scanned"]) == ([], 1)
    refused = await service.client.get("/v1/similar", params={"fingerprint": far, "threshold": 0.6})
    assert problem(refused) == (422, "bad_parameter", "threshold")
    assert "give 0.625 or more" in refused.json()["detail"]


async def test_a_copy_is_found_by_its_original_and_names_its_family() -> None:
    async with running_service(profile="roth-2013") as service:
        await service.check_in("a", LIGHTHOUSE)
        await service.check_in("b", EDITED)
        answer = (await service.client.get("/v1/documents/a/similar")).json()
    assert [(match["document_id"], match["group"]) for match in answer["matches"]] == [("b", "a")]


@pytest.mark.parametrize(("profile", "threshold"), [("standard", 0.65), ("simhash", 1 - 3 / 64), ("containment", 0.7)])
async def test_the_threshold_in_force_is_named(profile: str, threshold: float) -> None:
    async with running_service(profile=profile) as service:
        answer = (await service.client.post("/v1/similar", json={"text": LIGHTHOUSE})).json()
    assert answer["threshold"] == threshold
    assert (answer["fingerprint"] is None) == (profile == "containment")


async def test_a_profile_without_fingerprints_says_so() -> None:
    async with running_service(profile="minhash") as service:
        answer = await service.client.get("/v1/similar", params={"fingerprint": "0" * 16})
    assert problem(answer) == (422, "not_supported", "fingerprint")
    assert "simhash or hybrid" in answer.json()["detail"]
