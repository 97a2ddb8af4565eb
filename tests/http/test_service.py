"""The operations of the service together: each has a handler, and is counted."""

from __future__ import annotations

from gate.demo import LIGHTHOUSE
from tests.http.service_harness import running_service


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
