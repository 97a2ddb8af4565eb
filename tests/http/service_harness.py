"""A service on a real socket in the event loop of a test, and clients of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from gate.config.settings import load_settings
from gate.metrics import WorkerMetrics
from gate.model import CheckIn
from gate.readiness import Readiness
from gate.serve_main import service_in_process
from gate.supervisor import WorkerContext


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceUnderTest:
    """A running service and a client of it."""

    url: str
    client: httpx2.AsyncClient
    metrics: WorkerMetrics
    readiness: Readiness
    opening: asyncio.Task[None]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def check_in(self, document_id: str, text: str, **more: Any) -> dict[str, Any]:
        """The verdict on one document."""
        answer = await self.client.post("/v1/check-ins", json={"document_id": document_id, "text": text, **more})
        assert answer.status_code == 200, answer.text
        verdict: dict[str, Any] = answer.json()
        return verdict

    def sample(self, name: str, **labels: str) -> float:
        """The value of a metric."""
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


async def until_ready(client: httpx2.AsyncClient) -> None:
    """Ask until the index is open. The service answers meanwhile, so the event loop turns."""
    while (await client.get("/readyz")).status_code != 200:
        pass


@asynccontextmanager
async def running_service(
    *, ready: bool = True, first: Sequence[CheckIn] = (), headers: dict[str, str] | None = None, **flags: Any
) -> AsyncIterator[ServiceUnderTest]:
    """A service with these settings, on a free port. `ready`: wait until its index is open."""
    settings, _ = load_settings({"api_port": 0, **flags}, {})
    metrics, readiness = WorkerMetrics(), Readiness()
    context = WorkerContext(number=0, metrics=metrics, readiness=readiness)
    async with service_in_process(settings, context, first=first) as running:
        readiness.set(Readiness.REQUIRED, None)
        async with httpx2.AsyncClient(base_url=running.url, headers=headers, timeout=30, trust_env=False) as client:
            if ready:
                await until_ready(client)
            yield ServiceUnderTest(
                url=running.url, client=client, metrics=metrics, readiness=readiness, opening=running.opening
            )


def problem(answer: httpx2.Response) -> tuple[int, str, str | None]:
    """The status, code and field of a problem, which has to be a whole one."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    body = answer.json()
    assert body["status"] == answer.status_code
    assert body["type"].endswith(body["code"])
    assert body["title"]
    assert body["detail"]
    return answer.status_code, body["code"], body.get("field")
