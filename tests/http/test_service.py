"""The operations of the service, the same on every kind of index."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from gate import CheckIn, Gate
from gate.demo import BREAD, LIGHTHOUSE, corpus
from tests.http.service_harness import ServiceUnderTest, problem, running_service
from tests.support.servers import RedisServer

EDITED = LIGHTHOUSE.replace("three summers", "four summers")


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


# Judging


async def test_a_copy_is_answered_with_what_it_is_a_copy_of(service: ServiceUnderTest) -> None:
    first = await service.check_in("a", LIGHTHOUSE, version=1, title="Lighthouse", source="archive")
    assert (first["relation"], first["similar"], first["version"]) == ("new", False, "1")
    assert (first["title"], first["source"]) == ("Lighthouse", "archive")
    second = await service.check_in("b", EDITED)
    assert (second["relation"], second["similar"], second["group"]) == ("near", True, "a")
    assert second["matches"][0]["document_id"] == "a"


async def test_the_answer_is_the_verdict_of_the_library(service: ServiceUnderTest) -> None:
    answers = [await service.check_in(one, text) for one, text in (("a", LIGHTHOUSE), ("b", EDITED))]
    profile = answers[0]["profile"]
    with Gate() as gate:
        expected = gate.check_in(
            [CheckIn(document_id=one, text=text) for one, text in (("a", LIGHTHOUSE), ("b", EDITED))]
        )
    for answer, verdict in zip(answers, expected, strict=True):
        library = verdict.to_dict() | {"profile": profile, "verdict_id": answer["verdict_id"]}
        assert {key: answer[key] for key in library} == library


async def test_a_list_gets_results_in_its_order_and_its_first_document_passes(service: ServiceUnderTest) -> None:
    documents = [{"document_id": name, "text": LIGHTHOUSE} for name in "abc"]
    answer = await service.client.post("/v1/check-ins", json=documents)
    verdicts = [result["verdict"] for result in answer.json()["results"]]
    assert [verdict["document_id"] for verdict in verdicts] == ["a", "b", "c"]
    assert [verdict["similar"] for verdict in verdicts] == [False, True, True]


async def test_an_empty_list_gets_no_results(service: ServiceUnderTest) -> None:
    assert (await service.client.post("/v1/check-ins", json=[])).json() == {"results": []}


async def test_one_document_that_cannot_be_judged_does_not_hold_up_the_others(service: ServiceUnderTest) -> None:
    documents = [
        {"document_id": "a", "text": LIGHTHOUSE},
        {"document_id": "b", "text": "x", "metadata": {"n": 1}, "size_bytes": 5},
        {"document_id": "long", "text": "word " * 1_000_001},
        {"document_id": "c", "text": LIGHTHOUSE},
    ]
    results = (await service.client.post("/v1/check-ins", json=documents)).json()["results"]
    assert [result.get("verdict", {}).get("relation") for result in results] == ["new", "too_short", None, "exact"]
    assert (results[2]["problem"]["code"], results[2]["problem"]["field"]) == ("too_large", "text")


async def test_files_without_text_are_compared_by_their_bytes(service: ServiceUnderTest) -> None:
    scans = [{"document_id": name, "content_sha256": "5" * 64, "unreadable_reason": "no_text"} for name in "ab"]
    results = (await service.client.post("/v1/check-ins", json=scans)).json()["results"]
    assert [result["verdict"]["relation"] for result in results] == ["unreadable", "exact"]


async def test_a_repeated_check_in_gets_its_first_verdict_again(service: ServiceUnderTest) -> None:
    await service.check_in("a", LIGHTHOUSE)
    first = await service.check_in("b", EDITED)
    again = await service.check_in("b", EDITED)
    assert again | {"judged_at": None} == first | {"judged_at": None}


async def test_a_preview_leaves_no_trace(service: ServiceUnderTest) -> None:
    await service.check_in("a", LIGHTHOUSE)
    for _ in range(2):
        answer = await service.client.post("/v1/previews", json={"document_id": "b", "text": BREAD})
        assert answer.json()["relation"] == "new"
    assert problem(await service.client.get("/v1/documents/b/verdict"))[:2] == (404, "unknown_document")


async def test_concurrent_requests_get_their_own_verdicts(service: ServiceUnderTest) -> None:
    unrelated = [planted.document for planted in corpus(3, 40) if planted.story == "unrelated"]
    verdicts = await asyncio.gather(*(service.check_in(one.document_id, one.text) for one in unrelated))
    assert [verdict["document_id"] for verdict in verdicts] == [one.document_id for one in unrelated]
    assert {verdict["relation"] for verdict in verdicts} == {"new"}


async def test_of_concurrent_copies_exactly_one_passes(service: ServiceUnderTest) -> None:
    verdicts = await asyncio.gather(*(service.check_in(f"copy/{n}", LIGHTHOUSE) for n in range(20)))
    assert sum(not verdict["similar"] for verdict in verdicts) == 1


# Looking


async def test_two_texts_are_compared_with_the_passages_that_they_share(service: ServiceUnderTest) -> None:
    answer = await service.client.post("/v1/compare", json={"left": LIGHTHOUSE, "right": EDITED})
    comparison = answer.json()
    assert (comparison["alike"], comparison["relation"]) == (True, "near")
    assert "".join(passage["text"] for passage in comparison["passages"][1]) == EDITED
    without = await service.client.post("/v1/compare", json={"left": "a", "right": "b", "passages": False})
    assert without.json()["passages"] == [[], []]


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


async def test_stats_count_what_the_index_holds(service: ServiceUnderTest) -> None:
    await service.check_in("a", LIGHTHOUSE)
    stats = (await service.client.get("/v1/stats")).json()
    assert stats["counts"]["documents"] == 1
    await service.check_in("b", BREAD)
    cached = (await service.client.get("/v1/stats")).json()
    assert cached["counts"] == stats["counts"]
    assert 0.0 <= cached["age_seconds"] < 10.0


# Profiles


async def test_the_profile_in_force_comes_first() -> None:
    async with running_service(profile="minhash") as service:
        profiles = (await service.client.get("/v1/profiles")).json()["profiles"]
    assert [profile["ref"] for profile in profiles if profile["in_force"]] == ["minhash@1"]
    assert profiles[0]["ref"] == "minhash@1"
    assert profiles[0]["parameters"]["method"] == "minhash"
    assert len({profile["ref"] for profile in profiles}) == len(profiles)


async def test_a_plan_is_made_for_the_profile_in_force_or_a_built_in_one() -> None:
    async with running_service() as service:
        plan = (await service.client.get("/v1/plan", params={"documents": 10_000_000})).json()
        assert (plan["profile"], plan["documents"]) == ("standard@1", 10_000_000)
        assert plan["total_bytes"] == plan["documents"] * sum(plan["bytes_per_document"].values())
        assert plan["recall"][-1] == {"resemblance": 1.0, "found": 1.0}
        other = (await service.client.get("/v1/plan", params={"profile": "simhash"})).json()
        assert (other["profile"], other["documents"], other["radius"]) == ("simhash@1", 1_000_000, 3)
        unknown = await service.client.get("/v1/plan", params={"profile": "best"})
        assert problem(unknown) == (422, "bad_parameter", "profile")


async def test_a_profile_without_fingerprints_says_so() -> None:
    async with running_service(profile="minhash") as service:
        answer = await service.client.get("/v1/similar", params={"fingerprint": "0" * 16})
    assert problem(answer) == (422, "not_supported", "fingerprint")
    assert "simhash or hybrid" in answer.json()["detail"]


# Operation


async def test_verdicts_and_requests_are_counted() -> None:
    async with running_service() as service:
        await service.check_in("a", LIGHTHOUSE, source="archive")
        await service.client.post("/v1/previews", json={"document_id": "b", "text": LIGHTHOUSE})
        await service.client.get("/v1/similar")
        text = (await service.client.get("/metrics")).text
    assert 'gate_verdicts_total{profile="standard@1",relation="new",similar="false",source="archive"} 1.0' in text
    assert "gate_verdicts_total" in text
    assert 'relation="exact"' not in text  # a preview is no check-in
    assert 'gate_http_requests_total{operation="check_in",status="200"} 1.0' in text
    assert 'gate_http_requests_total{operation="similar_to_fingerprint",status="422"} 1.0' in text


async def test_the_openapi_document_is_served() -> None:
    async with running_service() as service:
        document = (await service.client.get("/openapi.json")).json()
    assert document["openapi"] == "3.1.0"
    assert "/v1/check-ins" in document["paths"]
