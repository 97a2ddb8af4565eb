"""What the service says of the index and of profiles."""

from __future__ import annotations

from gate.demo import BREAD, LIGHTHOUSE
from tests.http.service_harness import ServiceUnderTest, problem, running_service


async def test_stats_count_what_the_index_holds(service: ServiceUnderTest) -> None:
    await service.check_in("a", LIGHTHOUSE)
    stats = (await service.client.get("/v1/stats")).json()
    assert stats["counts"]["documents"] == 1
    await service.check_in("b", BREAD)
    cached = (await service.client.get("/v1/stats")).json()
    assert cached["counts"] == stats["counts"]
    assert 0.0 <= cached["age_seconds"] < 10.0


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
