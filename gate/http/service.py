"""The operations of the service together: one handler for each row of `gate.http.operations`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from prometheus_client.exposition import choose_encoder

from gate.http.activity_views import ActivityViews
from gate.http.calls import Call, ServiceParts, Text
from gate.http.catalogue_views import CatalogueViews
from gate.http.comparing import Comparing
from gate.http.document_views import DocumentViews
from gate.http.file_views import FileViews
from gate.http.index_views import IndexViews
from gate.http.judging import Judging
from gate.http.looking import Looking
from gate.http.messages import HealthReport, LivenessReport
from gate.http.openapi import openapi_document
from gate.http.operations import OPERATIONS

Handler = Callable[[Call], Awaitable[object]]


class Service:
    """The operations, for the tasks of one event loop."""

    def __init__(self, parts: ServiceParts) -> None:
        self.parts = parts
        self._judging = Judging(parts)
        self._index = IndexViews(parts)
        homes = (
            self._judging,
            Looking(parts),
            Comparing(parts),
            DocumentViews(parts),
            CatalogueViews(parts),
            FileViews(parts),
            self._index,
            ActivityViews(parts, self._index),
            Operating(parts),
        )
        self._handlers: dict[str, Handler] = {
            operation.name: handler
            for operation in OPERATIONS
            for home in homes
            if (handler := getattr(home, operation.name, None)) is not None
        }

    def handler(self, operation: str) -> Handler:
        """What carries out an operation."""
        return self._handlers[operation]

    async def close(self) -> None:
        """Wait for the work in progress."""
        await self._judging.close()
        await self._index.close()
        await self.parts.catalogue.close()
        self.parts.threads.shutdown(wait=False)
        await asyncio.to_thread(self.parts.files.close)


class Operating:
    """What orchestrators and scrapers ask."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts

    async def healthz(self, call: Call) -> LivenessReport:
        return LivenessReport(alive=True)

    async def readyz(self, call: Call) -> HealthReport:
        reasons = dict(self._parts.not_ready())
        return HealthReport(ready=not reasons, reasons=reasons)

    async def metrics(self, call: Call) -> Text:
        encode, kind = choose_encoder(call.accept)
        return Text(encode(self._parts.metrics.registry), kind)

    async def openapi(self, call: Call) -> Text:
        return Text(openapi_document(), "application/json")
