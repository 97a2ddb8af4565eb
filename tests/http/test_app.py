"""What surrounds every operation: paths, tokens, limits, time, headers, and errors."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gate.async_api import AsyncGate
from gate.demo import LIGHTHOUSE
from gate.http.tokens import new_token, token_table
from gate.model import Verdict
from tests.http.service_harness import ServiceUnderTest, problem, running_service

DOCUMENT = {"document_id": "a", "text": LIGHTHOUSE}
SECURITY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


# Paths and methods


async def test_a_path_without_an_operation_is_not_found() -> None:
    async with running_service() as service:
        for path in ("/page/", "/v1", "/v1/documents//verdict", "/v1/documents/a/b/verdict", "/v1/check-ins/"):
            assert problem(await service.client.get(path))[:2] == (404, "unknown_path"), path
    assert service.sample("gate_http_requests_total", operation="none", status="404") == 5


async def test_another_method_is_refused_with_those_that_the_path_takes() -> None:
    async with running_service() as service:
        answer = await service.client.put("/v1/similar")
        assert problem(answer)[:2] == (405, "wrong_method")
        assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
        assert problem(await service.client.options("/v1/check-ins"))[0] == 405
        assert "access-control-allow-origin" not in answer.headers


async def test_head_is_answered_as_get_without_a_body() -> None:
    async with running_service() as service:
        answer = await service.client.head("/v1/profiles")
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) > 100


async def test_a_document_id_that_is_not_utf8_is_refused() -> None:
    async with running_service() as service:
        assert problem(await service.client.get("/v1/documents/%ff/verdict")) == (400, "bad_path", "document_id")


# Access


async def test_a_request_for_another_host_or_from_another_page_is_refused() -> None:
    async with running_service() as service:
        rebound = await service.client.get("/v1/profiles", headers={"host": "evil.example"})
        assert problem(rebound) == (421, "wrong_host", "host")
        crossed = await service.client.post("/v1/check-ins", json=DOCUMENT, headers={"origin": "https://evil.example"})
        assert problem(crossed) == (403, "forbidden_origin", "origin")
        assert problem(await service.client.get("/v1/documents/a/verdict"))[0] == 404
        own = {"origin": f"http://127.0.0.1:{service.port}"}
        assert (await service.client.post("/v1/check-ins", json=DOCUMENT, headers=own)).status_code == 200


async def test_tokens_are_needed_by_scope_where_there_are_any(tmp_path: Path) -> None:
    reader, writer = new_token(), new_token()
    path = tmp_path / "tokens.toml"
    path.write_text(token_table("reader", reader, ("read",)) + token_table("writer", writer, ("write",)))
    async with running_service(api_tokens_file=str(path)) as service:
        ask = service.client
        missing = await ask.post("/v1/check-ins", json=DOCUMENT)
        assert problem(missing) == (401, "unauthorized", "authorization")
        assert missing.headers["www-authenticate"].startswith("Bearer")
        assert problem(await ask.get("/metrics"))[0] == 401
        with_reader, with_writer = ({"authorization": f"Bearer {token}"} for token in (reader, writer))
        assert problem(await ask.post("/v1/check-ins", json=DOCUMENT, headers=with_reader))[1] == "forbidden_scope"
        assert (await ask.post("/v1/check-ins", json=DOCUMENT, headers=with_writer)).status_code == 200
        assert problem(await ask.delete("/v1/documents/a", headers=with_writer))[1] == "forbidden_scope"
        assert (await ask.get("/v1/documents/a/verdict", headers=with_reader)).status_code == 200
        for open_to_all in ("/healthz", "/readyz", "/openapi.json"):
            assert (await ask.get(open_to_all)).status_code == 200


@pytest.mark.parametrize("path", ["/v1/profiles", "/healthz", "/nowhere", "/v1/similar"])
async def test_every_answer_has_the_security_headers(path: str) -> None:
    async with running_service() as service:
        answer = await service.client.get(path)
    assert {name: answer.headers[name] for name in SECURITY} == SECURITY
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert "server" not in answer.headers


# Bodies


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        (b"", 400, "bad_json", None),
        (b"{", 400, "bad_json", None),
        (b'{"document_id": "a", "text": "\xff"}', 400, "bad_json", None),
        (b'{"document_id": "a", "text": "\\ud800"}', 400, "bad_json", None),
        (b'{"metadata": ' + b"[" * 50_000, 400, "bad_json", None),
        (b'{"document_id": "a"}', 422, "missing_field", "text"),
        (b'{"document_id": "a", "text": 7}', 422, "bad_field", "text"),
        (b'[{"document_id": "a", "text": "t", "version": 1.5}]', 422, "bad_field", "[0].version"),
        (b'{"document_id": "a", "text": "t", "metadata": [1]}', 422, "bad_field", "metadata"),
        (b'{"document_id": "a", "text": "t", "size_bytes": -1}', 422, "bad_field", "size_bytes"),
    ],
)
async def test_a_broken_body_is_refused_and_nothing_is_entered(
    body: bytes, status: int, code: str, field: str | None
) -> None:
    async with running_service() as service:
        answer = await service.client.post("/v1/check-ins", content=body, headers={"content-type": "application/json"})
        assert problem(answer) == (status, code, field)
        assert (await service.client.get("/v1/stats")).json()["counts"]["documents"] == 0


@pytest.mark.parametrize("kind", ["text/plain", "", "multipart/form-data", "application/x-www-form-urlencoded"])
async def test_a_page_cannot_send_a_check_in_without_asking_first(kind: str) -> None:
    """These are the media types that browsers let any page send."""
    async with running_service() as service:
        answer = await service.client.post(
            "/v1/check-ins", content=json.dumps(DOCUMENT), headers={"content-type": kind}
        )
    assert problem(answer)[0] in (400, 415)


async def test_a_body_over_the_limit_is_refused_by_its_length_and_by_what_comes() -> None:
    async with running_service(api_max_body_bytes=1000) as service:
        large = b'{"document_id": "a", "text": "%s"}' % (b"x" * 2000)
        headers = {"content-type": "application/json"}
        assert problem(await service.client.post("/v1/check-ins", content=large, headers=headers))[:2] == (
            413,
            "too_large",
        )

        async def chunks() -> Any:
            for start in range(0, len(large), 100):
                yield large[start : start + 100]

        answer = await service.client.post("/v1/check-ins", content=chunks(), headers=headers)
        assert problem(answer)[:2] == (413, "too_large")
        assert "api_max_body_bytes" in answer.json()["detail"]
        assert service.sample("gate_http_requests_total", operation="check_in", status="413") == 2


async def test_a_list_and_texts_to_compare_have_limits() -> None:
    async with running_service(api_max_documents=2, api_max_compare_chars=10) as service:
        answer = await service.client.post("/v1/check-ins", json=[DOCUMENT] * 3)
        assert problem(answer)[:2] == (413, "too_large")
        assert "api_max_documents = 2" in answer.json()["detail"]
        answer = await service.client.post("/v1/compare", json={"left": "123456", "right": "12345"})
        assert problem(answer)[:2] == (413, "too_large")
        assert (await service.client.post("/v1/compare", json={"left": "12345", "right": "12345"})).status_code == 200


async def test_a_single_document_that_is_too_long_is_413(tmp_path: Path) -> None:
    limits: dict[str, Any] = {"limits.max_document_chars": 100}
    async with running_service(**limits) as service:
        answer = await service.client.post("/v1/check-ins", json=DOCUMENT)
        assert problem(answer) == (413, "too_large", "text")
        assert "max_document_chars = 100" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("threshold=0", "threshold"),
        ("threshold=nan", "threshold"),
        ("threshold=null", "threshold"),
        ("limit=1001", "limit"),
        ("limit=", "limit"),
        ("most=3", "most"),
    ],
)
async def test_a_wrong_parameter_is_refused_by_its_name(query: str, field: str) -> None:
    async with running_service() as service:
        await service.check_in(**DOCUMENT)
        answer = await service.client.get(f"/v1/documents/a/similar?{query}")
        assert problem(answer) == (422, "bad_parameter", field)
        assert (await service.client.get("/v1/documents/a/similar?limit=1000&threshold=1")).status_code == 200
        assert problem(await service.client.get("/v1/documents/a/similar?limit=1&limit=2"))[1] == "bad_parameter"


# Time and room


class HeldGate:
    """Keeps the check-ins of a service from ending until they are let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = threading.Event()
        self.go = asyncio.Event()
        check_in = AsyncGate.check_in

        async def held(gate: AsyncGate, documents: Any) -> list[Verdict]:
            self.begun.set()
            await self.go.wait()
            return await check_in(gate, documents)

        monkeypatch.setattr(AsyncGate, "check_in", held)


async def begun(service: ServiceUnderTest, count: int) -> list[asyncio.Task[httpx2.Response]]:
    """Requests that the service works on."""
    tasks = [
        asyncio.create_task(service.client.post("/v1/check-ins", json={"document_id": f"{n}", "text": "t"}))
        for n in range(count)
    ]
    while service.sample("gate_http_requests_in_progress") < count:
        await asyncio.sleep(0)
    return tasks


async def test_more_requests_than_one_client_may_have_are_429_and_all_together_503(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = HeldGate(monkeypatch)
    held.go.set()
    async with running_service(api_max_client_requests=2) as service:
        held.go.clear()
        tasks = await begun(service, 2)
        answer = await service.client.get("/v1/profiles")
        assert problem(answer)[:2] == (429, "too_many_requests")
        assert answer.headers["retry-after"] == "1"
        assert (await service.client.get("/healthz")).status_code == 200  # it answers while it is full
        held.go.set()
        assert [(await task).status_code for task in tasks] == [200, 200]
        assert (await service.client.get("/v1/profiles")).status_code == 200
    async with running_service(api_max_requests=2) as service:
        held.go.clear()
        tasks = await begun(service, 2)
        answer = await service.client.get("/v1/profiles")
        assert problem(answer)[:2] == (503, "overloaded")
        assert answer.headers["retry-after"] == "1"
        held.go.set()
        assert [(await task).status_code for task in tasks] == [200, 200]


async def test_bodies_that_are_waiting_have_a_limit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldGate(monkeypatch)
    held.go.set()
    async with running_service(api_max_pending_bytes=150) as service:
        held.go.clear()
        body = json.dumps({"document_id": "a", "text": "t" * 60})
        kind = {"content-type": "application/json"}
        first = asyncio.create_task(service.client.post("/v1/check-ins", content=body, headers=kind))
        await asyncio.to_thread(held.begun.wait)
        while service.sample("gate_http_pending_bytes") < len(body):
            await asyncio.sleep(0)
        answer = await service.client.post("/v1/check-ins", content=body, headers=kind)
        assert problem(answer)[:2] == (503, "overloaded")
        assert "api_max_pending_bytes" in answer.json()["detail"]
        held.go.set()
        assert (await first).status_code == 200
        assert (await service.client.post("/v1/check-ins", content=body, headers=kind)).status_code == 200


async def test_a_request_that_takes_too_long_is_answered_and_carried_out_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = HeldGate(monkeypatch)
    held.go.set()
    async with running_service(api_answer_seconds=0.05) as service:
        held.go.clear()
        answer = await service.client.post("/v1/check-ins", json=DOCUMENT)
        assert problem(answer)[:2] == (503, "timeout")
        assert answer.headers["retry-after"] == "2"
        held.go.set()
        while (known := await service.client.get("/v1/documents/a/verdict")).status_code == 404:
            pass
        assert known.json()["verdicts"][0]["relation"] == "new"


async def test_a_client_that_goes_away_leaves_its_document_entered_or_not_but_never_half(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = HeldGate(monkeypatch)
    held.go.set()
    async with running_service() as service:
        held.go.clear()
        [task] = await begun(service, 1)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        held.go.set()
        while (await service.client.get("/v1/documents/0/verdict")).status_code != 200:
            pass
        [verdict] = (await service.client.get("/v1/documents/0/verdict")).json()["verdicts"]
        assert verdict["verdict_id"] == (await service.check_in("0", "t"))["verdict_id"]


# Errors


async def test_an_unexpected_error_is_logged_without_its_message_and_the_service_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(gate: AsyncGate, document_ids: Any) -> Any:
        raise ArithmeticError("the text of a document")

    monkeypatch.setattr(AsyncGate, "explain", broken)
    async with running_service() as service:
        answer = await service.client.get("/v1/documents/a/verdict")
        assert problem(answer)[:2] == (500, "internal")
        assert "the text of a document" not in answer.text
        assert (await service.client.get("/v1/profiles")).status_code == 200
    [record] = [record for record in caplog.records if "request.failed" in str(record.msg)]
    assert "ArithmeticError" in str(record.msg)
    assert "the text of a document" not in str(record.msg)


async def test_no_log_line_and_no_metric_holds_a_text_or_a_title(caplog: pytest.LogCaptureFixture) -> None:
    secret = "the private words of a document that nothing may repeat anywhere"
    async with running_service(log_level="debug") as service:
        await service.check_in("a", secret, title="a private title")
        for body in (f'{{"document_id": "b", "text": "{secret}"', f'{{"text": "{secret}"}}'):
            answer = await service.client.post(
                "/v1/check-ins", content=body, headers={"content-type": "application/json"}
            )
            assert "private" not in answer.text
        metrics = (await service.client.get("/metrics")).text
    assert "private" not in metrics
    assert "private" not in caplog.text
