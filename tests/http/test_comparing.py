"""Texts, known documents and fingerprints side by side, on every kind of index."""

from __future__ import annotations

from typing import Any

import pytest

from gate.demo import BREAD, LIGHTHOUSE
from tests.http.service_harness import ServiceUnderTest, problem, running_service

EDITED = LIGHTHOUSE.replace("three summers", "four summers")


async def compare(service: ServiceUnderTest, left: Any, right: Any, **more: Any) -> dict[str, Any]:
    answer = await service.client.post("/v1/compare", json={"left": left, "right": right, **more})
    assert answer.status_code == 200, answer.text
    report: dict[str, Any] = answer.json()
    return report


async def test_two_texts_are_compared_exactly_with_the_passages_that_they_share() -> None:
    async with running_service() as service:
        report = await compare(service, LIGHTHOUSE, {"text": EDITED})
        assert (report["alike"], report["relation"], report["would_meet"]) == (True, "near", True)
        assert "".join(passage["text"] for passage in report["passages"][1]) == EDITED
        assert report["passages_missing"] is None
        assert (report["left"]["has_text"], report["left"]["chars"]) == (True, len(LIGHTHOUSE))
        assert report["measures"][0]["value"] == report["resemblance"] > 0.8
        assert report["buckets_met"] == sum(bucket["met"] for bucket in report["buckets"]) > 0
        without = await compare(service, "one two three four", "one two three five", passages=False)
        assert (without["passages"], without["passages_missing"]) == (None, "They were not asked for.")
        assert without["buckets"] != []  # too short for the gate, and measured all the same


async def test_known_documents_are_compared_by_their_signatures(service: ServiceUnderTest) -> None:
    await service.check_in("a", LIGHTHOUSE, title="Lighthouse")
    await service.check_in("b", EDITED)
    texts = await compare(service, LIGHTHOUSE, EDITED)
    stored = await compare(service, {"document_id": "a"}, {"document_id": "b"})
    mixed = await compare(service, {"document_id": "a"}, EDITED)
    for report in (stored, mixed):
        for name in ("alike", "relation", "fingerprints", "differing_bits", "estimated_resemblance", "buckets"):
            assert report[name] == texts[name], name
        assert (report["resemblance"], report["passages"]) == (None, None)
    assert (stored["left"]["title"], stored["left"]["has_text"]) == ("Lighthouse", False)
    assert "keeps no texts" in stored["passages_missing"]
    assert len(stored["differing_bits"]) == stored["distance"]
    same = await compare(service, {"document_id": "a"}, LIGHTHOUSE.upper())
    assert (same["alike"], same["relation"]) == (True, "exact")


async def test_a_short_text_is_only_alike_to_its_equal() -> None:
    async with running_service() as service:
        await service.check_in("short", "Back at noon.")
        await service.check_in("long", LIGHTHOUSE)
        equal = await compare(service, {"document_id": "short"}, "back AT noon.")
        assert (equal["alike"], equal["relation"], equal["buckets"]) == (True, "exact", [])
        other = await compare(service, "The lighthouse on the northern rock.", {"document_id": "long"})
        assert (other["alike"], other["relation"]) == (False, "too_short")


async def test_of_a_fingerprint_only_the_bits_are_compared() -> None:
    async with running_service(profile="simhash") as service:
        verdict = await service.check_in("a", LIGHTHOUSE)
        near = f"{int(verdict['fingerprint'], 16) ^ 0b101:016x}"
        report = await compare(service, {"document_id": "a"}, {"fingerprint": near})
        assert (report["alike"], report["distance"], report["differing_bits"]) == (True, 2, [0, 2])
        assert report["passages_missing"] == "A fingerprint has no text."
        far = await compare(service, {"fingerprint": "0" * 16}, {"fingerprint": "f" * 16})
        assert (far["alike"], far["distance"]) == (False, 64)


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ({"document_id": "unknown"}, (404, "unknown_document", "left.document_id")),
        ({}, (422, "bad_field", "left")),
        ({"text": "a", "document_id": "b"}, (422, "bad_field", "left")),
        ({"fingerprint": "xyz"}, (422, "bad_field", "left.fingerprint")),
        ("word " * 200_001, (413, "too_large", None)),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_side_that_cannot_be_compared_is_named(left: Any, expected: tuple[int, str, str | None]) -> None:
    async with running_service() as service:
        answer = await service.client.post("/v1/compare", json={"left": left, "right": BREAD})
    assert problem(answer) == expected
