"""Check-ins and previews over HTTP, the same on every kind of index."""

from __future__ import annotations

import asyncio

from gate import CheckIn, Gate
from gate.demo import BREAD, LIGHTHOUSE, corpus
from tests.http.service_harness import ServiceUnderTest, problem

EDITED = LIGHTHOUSE.replace("three summers", "four summers")


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
