"""Lists, families and pairs over HTTP, the same on every kind of index."""

from __future__ import annotations

from urllib.parse import quote

from gate.demo import BREAD, LIGHTHOUSE
from tests.http.service_harness import ServiceUnderTest, problem, running_service

EDITED = LIGHTHOUSE.replace("three summers", "four summers")


async def test_documents_are_listed_a_page_at_a_time_in_the_order_of_their_ids(service: ServiceUnderTest) -> None:
    for n in (3, 1, 2):
        await service.check_in(f"note {n}", f"note number {n}", title=f"Note {n}")
    first = (await service.client.get("/v1/documents", params={"limit": 2})).json()
    assert [row["document_id"] for row in first["documents"]] == ["note 1", "note 2"]
    assert (first["next"], first["matching"], first["known"], first["complete"]) == ("note 2", 3, 3, True)
    second = (await service.client.get("/v1/documents", params={"limit": 2, "after": first["next"]})).json()
    assert [(row["document_id"], row["title"]) for row in second["documents"]] == [("note 3", "Note 3")]
    assert second["next"] is None


async def test_documents_are_searched_by_id_title_relation_and_family(service: ServiceUnderTest) -> None:
    await service.check_in("archive/1", LIGHTHOUSE, title="The Lighthouse")
    await service.check_in("inbox/1", EDITED, title="Summers")
    await service.check_in("inbox/2", BREAD, title="How to bake")

    async def found(**query: str) -> list[str]:
        answer = await service.client.get("/v1/documents", params=query)
        return [row["document_id"] for row in answer.json()["documents"]]

    assert await found(q="LIGHT") == ["archive/1"]
    assert await found(q="inbox/") == ["inbox/1", "inbox/2"]
    assert await found(prefix="inbox/", title="bake") == ["inbox/2"]
    assert await found(relation="near") == ["inbox/1"]
    assert await found(group="archive/1") == ["archive/1", "inbox/1"]
    await service.client.delete(f"/v1/documents/{quote('archive/1', safe='')}")
    assert await found() == ["inbox/1", "inbox/2"]
    assert problem(await service.client.get("/v1/documents?relation=like"))[1:] == ("bad_parameter", "relation")


async def test_a_family_names_its_original_first_and_says_why_each_is_in_it(service: ServiceUnderTest) -> None:
    await service.check_in("z", LIGHTHOUSE, title="The Lighthouse", checked_in_at="2026-05-06T07:08:09Z")
    await service.check_in("b", EDITED, checked_in_at="2026-05-07T07:08:09Z")
    await service.check_in("a", LIGHTHOUSE, checked_in_at="2026-05-08T07:08:09Z")
    for asked in ("z", "b"):
        family = (await service.client.get(f"/v1/groups/{asked}")).json()
        assert (family["group"], family["total"], family["complete"]) == ("z", 3, True)
        original, edited, copy = family["members"]
        assert [member["document_id"] for member in family["members"]] == ["z", "b", "a"]
        assert (original["title"], original["similar"], original["distance"]) == ("The Lighthouse", False, 0)
        assert (edited["relation"], copy["relation"]) == ("near", "exact")
        assert 0 < edited["distance"] < 32
        assert edited["bit_agreement"] == round(1 - edited["distance"] / 64, 4)
        assert 0.7 < edited["resemblance"] < 1.0
        assert edited["reasons"][0] == "It is near: a document much like it was known."
        assert edited["checked_in_at"] == "2026-05-07T07:08:09Z"
    page = (await service.client.get("/v1/groups/z", params={"offset": 1, "limit": 1})).json()
    assert [member["document_id"] for member in page["members"]] == ["b"]
    assert problem(await service.client.get("/v1/groups/unknown")) == (404, "unknown_document", "document_id")


async def test_a_threshold_is_tried_on_pairs_of_known_documents(service: ServiceUnderTest) -> None:
    await service.check_in("a", LIGHTHOUSE, title="First")
    await service.check_in("b", EDITED)
    await service.check_in("c", BREAD)
    low = (await service.client.get("/v1/pairs", params={"threshold": 0.3})).json()
    [pair] = low["pairs"]
    assert (pair["left"], pair["right"], pair["right_title"]) == ("b", "a", "First")
    assert (low["sampled"], low["known"], low["truncated"]) == (3, 3, False)
    assert (low["threshold"], low["profile_threshold"]) == (0.3, 0.65)
    assert pair["resemblance"] > 0.7
    high = (await service.client.get("/v1/pairs", params={"threshold": 0.99})).json()
    assert high["pairs"] == []
    one = (await service.client.get("/v1/pairs", params={"sample": 1})).json()
    assert (one["sampled"], one["threshold"]) == (1, 0.65)


async def test_a_document_beyond_the_catalogue_is_found_by_its_whole_id() -> None:
    async with running_service(api_catalogue_documents=1) as service:
        await service.client.get("/v1/documents")
        for name in "ab":
            await service.check_in(name, f"text of {name}")
        answer = (await service.client.get("/v1/documents", params={"q": "b"})).json()
        assert [row["document_id"] for row in answer["documents"]] == ["b"]
        assert not answer["complete"]
        unknown = (await service.client.get("/v1/documents", params={"q": "c"})).json()
        assert (unknown["documents"], unknown["matching"]) == ([], 0)


async def test_the_overview_names_the_largest_families(service: ServiceUnderTest) -> None:
    await service.client.get("/v1/documents")
    for name in "abc":
        await service.check_in(name, LIGHTHOUSE, title=f"Copy {name}")
    await service.check_in("alone", BREAD)
    overview = (await service.client.get("/v1/overview")).json()
    assert overview["families"] == [{"group": "a", "title": "Copy a", "members": 3}]
    assert overview["families_complete"]
