"""The session, the overview and the feed of a running service."""

from __future__ import annotations

from pathlib import Path

from gate.demo import BREAD, LIGHTHOUSE
from gate.http.tokens import new_token, token_table
from tests.http.service_harness import ServiceUnderTest, problem, running_service


async def test_the_overview_shows_what_was_judged_and_what_the_index_holds(service: ServiceUnderTest) -> None:
    await service.check_in("a", LIGHTHOUSE)
    await service.check_in("b", LIGHTHOUSE)
    await service.client.post("/v1/previews", json={"document_id": "c", "text": BREAD})
    refused = [{"document_id": "c", "text": "word " * 1_000_001}]
    await service.client.post("/v1/check-ins", json=refused)
    await service.client.get("/v1/stats")
    overview = (await service.client.get("/v1/overview", params={"minutes": 1})).json()
    assert overview["totals"]["relations"] == {"new": 1, "exact": 1}
    assert (overview["totals"]["verdicts"], overview["totals"]["similar"], overview["totals"]["refused"]) == (2, 1, 1)
    assert overview["totals"] == overview["window"]
    assert sum(point["verdicts"] for point in overview["points"]) == 2
    assert 0 < overview["window"]["p50_seconds"] <= overview["window"]["p99_seconds"]
    assert (overview["ready"], overview["reasons"], overview["outages"]) == (True, {}, [])
    assert overview["index_counts"]["documents"] == 2
    assert overview["started_at"] <= overview["at"]


async def test_an_outage_of_the_index_is_in_the_overview() -> None:
    async with running_service() as service:
        assert service.metrics.observer is not None
        service.metrics.record_failed_attempt("index", "unavailable", "the index does not answer")
        [outage] = (await service.client.get("/v1/overview")).json()["outages"]
        assert (outage["dependency"], outage["reason"], outage["ended_at"]) == (
            "index",
            "the index does not answer",
            None,
        )
        service.metrics.record_recovery("index", 1.0)
        [outage] = (await service.client.get("/v1/overview")).json()["outages"]
        assert outage["ended_at"] >= outage["began_at"]


async def test_the_feed_is_followed_without_a_gap() -> None:
    async with running_service() as service:
        for name, text in (("a", LIGHTHOUSE), ("b", LIGHTHOUSE), ("c", BREAD)):
            await service.check_in(name, text, source="archive", title=name)
        feed = (await service.client.get("/v1/feed", params={"limit": 2})).json()
        assert [given["verdict"]["document_id"] for given in feed["verdicts"]] == ["c", "b"]
        assert (feed["newest"], feed["oldest"], feed["missed"]) == (3, 1, 0)
        assert (feed["sources"], feed["profiles"]) == (["archive"], ["standard@1"])
        [older] = (await service.client.get("/v1/feed", params={"before": 2})).json()["verdicts"]
        assert (older["seq"], older["verdict"]["title"]) == (1, "a")
        first = (await service.client.get("/v1/feed", params={"after": 0, "limit": 1})).json()
        assert ([given["seq"] for given in first["verdicts"]], first["newest"]) == ([1], 1)
        rest = (await service.client.get("/v1/feed", params={"after": 1})).json()
        assert ([given["seq"] for given in rest["verdicts"]], rest["newest"]) == ([3, 2], 3)
        [copy] = (await service.client.get("/v1/feed", params={"relation": "exact"})).json()["verdicts"]
        assert copy["verdict"]["document_id"] == "b"
        assert (await service.client.get("/v1/feed", params={"degraded": "true"})).json()["verdicts"] == []
        wrong = await service.client.get("/v1/feed", params={"relation": "alike"})
        assert problem(wrong) == (422, "bad_parameter", "relation")


async def test_a_feed_begins_anew_with_another_process_name() -> None:
    names = []
    for _ in range(2):
        async with running_service() as service:
            names.append((await service.client.get("/v1/feed")).json()["process"])
    assert names[0] != names[1]


async def test_a_session_says_what_its_token_may_do(tmp_path: Path) -> None:
    reader, path = new_token(), tmp_path / "tokens.toml"
    path.write_text(token_table("dashboard", reader, ("read", "delete")))
    async with running_service(api_tokens_file=str(path)) as service:
        assert problem(await service.client.get("/v1/session"))[:2] == (401, "unauthorized")
        answer = await service.client.get("/v1/session", headers={"authorization": f"Bearer {reader}"})
    session = answer.json()
    assert (session["token"], session["scopes"]) == ("dashboard", ["read", "delete"])
    async with running_service(api_max_body_bytes=1000) as service:
        session = (await service.client.get("/v1/session")).json()
    assert (session["token"], session["scopes"]) == (None, ["read", "write", "delete"])
    assert (session["profile"], session["index"], session["max_body_bytes"]) == ("standard@1", "memory", 1000)
