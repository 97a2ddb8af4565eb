"""Carries out the operations of the service: one method for each row of `gate.http.operations`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import UNSET
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from gate.core.builtin_profiles import BUILT_IN
from gate.core.compare import Comparison, compare
from gate.core.plan import plan as planned
from gate.core.profile import Profile
from gate.errors import BadDocument, UnknownDocument
from gate.http import problems
from gate.http.batching import Batcher
from gate.http.messages import (
    CheckInRequest,
    CheckInResult,
    CheckInResults,
    CompareRequest,
    DeletedDocument,
    DocumentVerdicts,
    FingerprintQuery,
    HealthReport,
    IndexStats,
    LivenessReport,
    PlanQuery,
    ProfilePlan,
    Profiles,
    ProfileSummary,
    RecallPoint,
    SimilarDocuments,
    SimilarQuery,
    SimilarRequest,
)
from gate.http.openapi import openapi_document
from gate.http.problems import RequestError
from gate.http.settings import ServiceSettings
from gate.limits import Limits
from gate.model import CheckIn, Match, Verdict
from gate.pipeline import validate_document
from gate.wire import VerdictEvent

T = TypeVar("T")

STATS_SECONDS = 10.0  # an answer about the whole index is kept for so long
_INLINE_CHARS = 64 * 1024  # work on shorter texts costs the event loop less than handing them to a thread


class ServedGate(Protocol):
    """What the service asks of a gate; `gate.async_api.AsyncGate` is one."""

    async def check_in(self, documents: Iterable[CheckIn]) -> list[Verdict]: ...

    async def preview(self, documents: Iterable[CheckIn]) -> list[Verdict]: ...

    async def find_similar(
        self,
        *,
        text: str | None = None,
        document_id: str | None = None,
        fingerprint: str | int | None = None,
        threshold: float | None = None,
        limit: int | None = None,
    ) -> list[Match]: ...

    async def explain(self, document_ids: Iterable[str]) -> list[list[Verdict]]: ...

    async def delete(self, document_ids: Iterable[str]) -> list[bool]: ...

    async def info(self) -> dict[str, int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceParts:
    """What a service works with. `gate` raises Unavailable while the index is not open."""

    gate: Callable[[], ServedGate]
    profile: Profile
    secret: bytes = b""
    limits: Limits
    settings: ServiceSettings
    index_kind: str
    registry: CollectorRegistry
    not_ready: Callable[[], Mapping[str, str]]
    on_verdicts: Callable[[Sequence[Verdict], float], None]  # on check-ins, with the time at which they were begun


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, decoded."""

    path: Mapping[str, str]
    query: Any = None
    body: Any = None
    accept: str = ""

    @property
    def document_id(self) -> str:
        """The id in the path; a slash in it is %2F."""
        try:
            return unquote_to_bytes(self.path["document_id"]).decode()
        except UnicodeDecodeError:
            raise RequestError(
                "bad_path", "document_id: is not UTF-8; percent-encode its UTF-8", field="document_id"
            ) from None


@dataclass(frozen=True, slots=True)
class Text:
    """An answer that is not JSON."""

    body: bytes
    media_type: str


class Service:
    """The operations, for the tasks of one event loop."""

    def __init__(self, parts: ServiceParts) -> None:
        self._parts = parts
        self._check_ins = Batcher(self._check_in_batch, parts.limits)
        self._previews = Batcher(lambda documents: parts.gate().preview(documents), parts.limits)
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="gate-http")
        self._stats: IndexStats | None = None
        self._counted_at = 0.0
        self._counting: asyncio.Task[IndexStats] | None = None

    async def close(self) -> None:
        """Wait for the batches in progress."""
        await self._check_ins.close()
        await self._previews.close()
        self._threads.shutdown(wait=False)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do work that would hold up the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    # Judging

    async def check_in(self, call: Call) -> object:
        return await self._judge(call, self._check_ins)

    async def preview(self, call: Call) -> object:
        return await self._judge(call, self._previews)

    async def _check_in_batch(self, documents: list[CheckIn]) -> list[Verdict]:
        begun_at = time.time()
        verdicts = await self._parts.gate().check_in(documents)
        self._parts.on_verdicts(verdicts, begun_at)
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
            validated = await self.in_thread(lambda: [self._validated(request) for request in requests])
        documents = [document for document in validated if isinstance(document, CheckIn)]
        verdicts = iter(await batcher.judge(documents))
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

    # Looking

    async def compare(self, call: Call) -> Comparison:
        request: CompareRequest = call.body
        chars, most = len(request.left) + len(request.right), self._parts.settings.max_compare_chars
        if chars > most:
            raise RequestError(
                "too_large", f"the texts have {chars} characters together, over api_max_compare_chars = {most}"
            )
        for side in ("left", "right"):
            self._require_text(side, getattr(request, side))
        [comparison] = await self.in_thread(
            lambda: compare(
                [(request.left, request.right)],
                self._parts.profile,
                secret=self._parts.secret,
                max_features=self._parts.limits.max_features,
                show_passages=request.passages,
            )
        )
        return comparison

    def _require_text(self, name: str, text: str) -> None:
        try:
            validate_document(CheckIn(document_id="?", text=text), self._parts.limits)
        except BadDocument as exc:
            detail = str(exc).replace("text:", f"{name}:", 1)
            raise RequestError(exc.code, detail, field=name) from exc

    async def similar_to_text(self, call: Call) -> SimilarDocuments:
        request: SimilarRequest = call.body
        return await self._similar(request, text=request.text)

    async def similar_to_fingerprint(self, call: Call) -> SimilarDocuments:
        query: FingerprintQuery = call.query
        return await self._similar(query, fingerprint=query.fingerprint)

    async def similar_to_document(self, call: Call) -> SimilarDocuments:
        return await self._similar(call.query, document_id=call.document_id)

    async def _similar(self, asked: SimilarQuery | SimilarRequest, **what: str) -> SimilarDocuments:
        threshold = None if asked.threshold is UNSET else asked.threshold
        found = await self._parts.gate().find_similar(
            text=what.get("text"),
            document_id=what.get("document_id"),
            fingerprint=what.get("fingerprint"),
            threshold=threshold,
            limit=asked.limit,
        )
        return SimilarDocuments(matches=found)

    async def verdict(self, call: Call) -> DocumentVerdicts:
        document_id = call.document_id
        [verdicts] = await self._parts.gate().explain([document_id])
        if not verdicts:
            raise UnknownDocument(document_id)
        return DocumentVerdicts(document_id=document_id, verdicts=verdicts)

    async def delete(self, call: Call) -> DeletedDocument:
        document_id = call.document_id
        [deleted] = await self._parts.gate().delete([document_id])
        return DeletedDocument(document_id=document_id, deleted=deleted)

    # The index and the profiles

    async def stats(self, call: Call) -> IndexStats:
        """Counted at most once in STATS_SECONDS, however many ask; those that ask meanwhile share the answer."""
        if self._stats is None or time.monotonic() - self._counted_at > STATS_SECONDS:
            if self._counting is None:
                self._counting = asyncio.create_task(self._count())
                self._counting.add_done_callback(self._counted)
            return await asyncio.shield(self._counting)
        return msgspec.structs.replace(self._stats, age_seconds=round(time.monotonic() - self._counted_at, 3))

    async def _count(self) -> IndexStats:
        counts = await self._parts.gate().info()
        return IndexStats(profile=self._parts.profile.ref, index=self._parts.index_kind, age_seconds=0.0, counts=counts)

    def _counted(self, counting: asyncio.Task[IndexStats]) -> None:
        self._counting = None
        if not counting.cancelled() and counting.exception() is None:
            self._stats, self._counted_at = counting.result(), time.monotonic()

    async def profiles(self, call: Call) -> Profiles:
        own = self._parts.profile
        others = [profile for profile in BUILT_IN.values() if profile.name != own.name]
        return Profiles(
            profiles=[
                ProfileSummary(ref=profile.ref, in_force=profile is own, parameters=profile.parameters())
                for profile in (own, *others)
            ]
        )

    async def plan(self, call: Call) -> ProfilePlan:
        query: PlanQuery = call.query
        profile = self._parts.profile
        if isinstance(query.profile, str) and query.profile != profile.name:
            if query.profile not in BUILT_IN:
                known = ", ".join(BUILT_IN)
                raise RequestError("bad_parameter", f"profile: is not known; give one of {known}", field="profile")
            profile = BUILT_IN[query.profile]
        expected = planned(profile, query.documents)
        return ProfilePlan(
            profile=expected.profile,
            documents=expected.documents,
            probes=expected.probes,
            postings=expected.postings,
            bucket_size=expected.bucket_size,
            expected_candidates=expected.expected_candidates,
            bytes_per_document=expected.bytes_per_document,
            total_bytes=expected.total_bytes,
            radius=expected.radius,
            recall=[RecallPoint(resemblance=alike, found=found) for alike, found in expected.recall],
        )

    # Operation

    async def healthz(self, call: Call) -> LivenessReport:
        return LivenessReport(alive=True)

    async def readyz(self, call: Call) -> HealthReport:
        reasons = dict(self._parts.not_ready())
        return HealthReport(ready=not reasons, reasons=reasons)

    async def metrics(self, call: Call) -> Text:
        encode, kind = choose_encoder(call.accept)
        return Text(encode(self._parts.registry), kind)

    async def openapi(self, call: Call) -> Text:
        return Text(openapi_document(), "application/json")
