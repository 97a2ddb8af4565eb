"""Operations that judge documents: check-ins and previews, those of concurrent requests together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from gate.errors import BadDocument
from gate.http import problems
from gate.http.batching import Batcher
from gate.http.calls import Call, ServiceParts
from gate.http.messages import CheckInRequest, CheckInResult, CheckInResults
from gate.http.problems import RequestError
from gate.model import CheckIn, Verdict
from gate.pipeline import validate_document
from gate.wire import VerdictEvent

_INLINE_CHARS = 64 * 1024  # work on shorter texts costs the event loop less than handing them to a thread


class Judging:
    """Check-ins and previews."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts
        self._check_ins = Batcher(self._check_in_batch, parts.limits)
        self._previews = Batcher(lambda documents: parts.gate().preview(documents), parts.limits)

    async def close(self) -> None:
        """Wait for the batches in progress."""
        await self._check_ins.close()
        await self._previews.close()

    async def check_in(self, call: Call) -> object:
        return await self._judge(call, self._check_ins)

    async def preview(self, call: Call) -> object:
        return await self._judge(call, self._previews)

    async def _check_in_batch(self, documents: list[CheckIn]) -> list[Verdict]:
        begun_at = time.time()
        verdicts = await self._parts.gate().check_in(documents)
        sources = [verdict.source for verdict in verdicts]
        arrived_at = [begun_at] * len(verdicts)
        self._parts.metrics.record_verdicts(verdicts, sources, [None], arrived_at, time.time())
        self._parts.catalogue.add_verdicts(verdicts)
        return verdicts

    async def _judge(self, call: Call, batcher: Batcher) -> object:
        if isinstance(call.body, CheckInRequest):
            [result] = await self._results([call.body], batcher)
            if isinstance(result, RequestError):
                raise result
            return result
        most = self._parts.settings.max_documents
        if len(call.body) > most:
            raise RequestError(
                "too_large",
                f"the list has {len(call.body)} documents, over api_max_documents = {most}; send fewer at once",
            )
        results = await self._results(call.body, batcher)
        return CheckInResults(
            results=[
                CheckInResult(verdict=result)
                if isinstance(result, VerdictEvent)
                else CheckInResult(problem=result.problem())
                for result in results
            ]
        )

    async def _results(self, requests: Sequence[CheckInRequest], batcher: Batcher) -> list[VerdictEvent | RequestError]:
        if sum(len(request.text or "") for request in requests) <= _INLINE_CHARS:
            validated = [self._validated(request) for request in requests]
        else:
            validated = await self._parts.in_thread(lambda: [self._validated(request) for request in requests])
        documents = [document for document in validated if isinstance(document, CheckIn)]
        verdicts = iter(await batcher.judge(documents))
        if refused := len(validated) - len(documents):
            self._parts.activity.record_refused(refused)
        now = datetime.now(UTC)
        return [
            VerdictEvent.of(next(verdicts), checked_in_at=document.checked_in_at, judged_at=now)
            if isinstance(document, CheckIn)
            else document
            for document in validated
        ]

    def _validated(self, request: CheckInRequest) -> CheckIn | RequestError:
        document = request.check_in()
        try:
            validate_document(document, self._parts.limits)
        except BadDocument as exc:
            return problems.of_error(exc)
        return document
