"""Operations that judge documents: check-ins and previews, those of concurrent requests together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from gate.errors import BadDocument
from gate.http import problems
from gate.http.batching import Batcher
from gate.http.calls import Call, ServiceParts
from gate.http.file_documents import document_of
from gate.http.messages import CheckInRequest, CheckInResult, CheckInResults
from gate.http.problems import RequestError
from gate.http.uploads import UploadForm
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
        if isinstance(call.body, UploadForm):
            documents = await self._documents_of(call.body, call)
            return self._answer(await self._results(documents, batcher), single=len(documents) == 1)
        if isinstance(call.body, CheckInRequest):
            return self._answer(await self._results(await self._documents([call.body]), batcher), single=True)
        most = self._parts.settings.max_documents
        if len(call.body) > most:
            raise RequestError(
                "too_large",
                f"the list has {len(call.body)} documents, over api_max_documents = {most}; send fewer at once",
            )
        return self._answer(await self._results(await self._documents(call.body), batcher), single=False)

    def _answer(self, results: Sequence[VerdictEvent | RequestError], *, single: bool) -> object:
        if single:
            [result] = results
            if isinstance(result, RequestError):
                raise result
            return result
        return CheckInResults(
            results=[
                CheckInResult(verdict=result)
                if isinstance(result, VerdictEvent)
                else CheckInResult(problem=result.problem())
                for result in results
            ]
        )

    async def _documents(self, requests: Sequence[CheckInRequest]) -> list[CheckIn | RequestError]:
        if sum(len(request.text or "") for request in requests) <= _INLINE_CHARS:
            return [self._validated(request.check_in()) for request in requests]
        return await self._parts.in_thread(lambda: [self._validated(request.check_in()) for request in requests])

    async def _documents_of(self, form: UploadForm, call: Call) -> list[CheckIn | RequestError]:
        """The documents in uploaded files."""
        documents = [document_of(read, form.fields) for read in await self._parts.files.read(form, call.hold)]
        return await self._parts.in_thread(lambda: [self._validated(document) for document in documents])

    async def _results(
        self, validated: Sequence[CheckIn | RequestError], batcher: Batcher
    ) -> list[VerdictEvent | RequestError]:
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

    def _validated(self, document: CheckIn | RequestError) -> CheckIn | RequestError:
        if isinstance(document, RequestError):
            return document
        try:
            validate_document(document, self._parts.limits)
        except BadDocument as exc:
            return problems.of_error(exc)
        return document
