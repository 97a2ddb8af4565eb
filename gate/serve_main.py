"""One process of the HTTP service: open the index, listen, and answer until a signal comes.

The index is opened beside the listening, and again and again while it is unavailable: meanwhile the service answers,
with 503, and /readyz says why.
"""

from __future__ import annotations

import asyncio
import gc
import secrets
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from gate.async_api import AsyncGate
from gate.backoff import Backoff
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.demo import corpus
from gate.errors import ConfigError, NoIndex, Unavailable
from gate.http.access import AccessPolicy
from gate.http.activity import Activity
from gate.http.app import ServiceApp
from gate.http.calls import ServiceParts
from gate.http.catalogue_scan import LiveCatalogue
from gate.http.file_documents import UploadReader
from gate.http.server import bind, serving
from gate.http.service import Service
from gate.http.service_metrics import ServiceMetrics
from gate.http.settings import ServiceSettings
from gate.http.tokens import TokenFile
from gate.index.redis.url import is_redis_url
from gate.index.scan import ScannableStore
from gate.metrics import WorkerMetrics
from gate.model import CheckIn, LookUpResult, Verdict
from gate.readiness import Readiness
from gate.stop_signals import stop_on_signals
from gate.stream.outage import Outage
from gate.supervisor import WorkerContext, run
from gate.worker_main import COLLECT_AFTER, SWITCH_SECONDS

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What a process of the service works with. `demo`: it begins with the documents of the demonstration."""

    settings: Settings
    demo: bool = False


def check(settings: Settings) -> None:
    """Refuse settings that cannot work, before any process starts."""
    server = settings.server
    if server.workers > 1 and not is_redis_url(settings.index):
        raise ConfigError(
            f"workers: {server.workers} processes need a shared index: name a Redis with --index, or run one process"
        )
    check_service(settings)


def check_service(settings: Settings) -> None:
    """Refuse settings of the service that cannot work, wherever it runs."""
    service, server = settings.service, settings.server
    if not service.is_loopback and service.tokens_file is None:
        raise ConfigError(
            f"api_tokens_file: the service on {service.host} is open to other machines and needs tokens: make one with "
            "`gate token NAME >> tokens.toml` and name that file, or set api_host to 127.0.0.1"
        )
    if server.workers > 1 and not service.port:
        raise ConfigError(f"api_port: {server.workers} processes need one port for all of them; give its number")


def serve(settings: Settings, *, demo: bool = False) -> int:
    """Run the service until SIGTERM or SIGINT comes. Returns the exit code."""
    check(settings)
    options = ServeOptions(settings=settings, demo=demo)
    return run(work, options, server=settings.server, drain_seconds=settings.worker.drain_seconds)


async def work(options: ServeOptions, context: WorkerContext) -> None:
    """Run one process of the service until SIGTERM or SIGINT comes; a second signal waits for nothing."""
    settings = options.settings
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # what was imported stays
    gc.set_threshold(*COLLECT_AFTER)
    stop = stop_on_signals()
    first = [planted.document for planted in corpus()] if options.demo else []
    async with service_in_process(settings, context, first=first) as running:
        context.readiness.set(Readiness.REQUIRED, None)
        if options.demo and sys.stderr.isatty():
            sys.stderr.write(f"Look at the documents of the demonstration at {running.url}\n")
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({stopping, running.opening}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if running.opening.done():
            running.opening.result()  # a setting that does not fit the index


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningService:
    """A service that listens. `opening` ends with an error where the index cannot be worked with."""

    url: str
    opening: asyncio.Task[None]


@asynccontextmanager
async def service_in_process(
    settings: Settings, context: WorkerContext, *, first: Sequence[CheckIn] = (), beside: bool = False
) -> AsyncIterator[RunningService]:
    """Serve until the block ends. `beside`: a worker in this process creates the index, and says when it is ready."""
    service_settings = settings.service
    metrics = ServiceMetrics(context.metrics.registry)
    tokens = _tokens(service_settings, metrics)
    listening = bind(service_settings, shared=settings.server.workers > 1)
    activity = Activity(feed_size=service_settings.feed_verdicts)
    context.metrics.observer = activity
    index_context = replace(context, readiness=Readiness()) if beside else context
    gate = ServedIndex(lambda: _open_gate(settings, context.metrics, create=not beside), index_context)
    service = Service(
        ServiceParts(
            gate=lambda: gate,
            profile=settings.profile,
            secret=settings.secret.value,
            limits=settings.limits,
            settings=service_settings,
            index_kind=_index_kind(settings),
            not_ready=context.readiness.reasons,
            metrics=context.metrics,
            activity=activity,
            catalogue=LiveCatalogue(
                lambda: gate,
                most=service_settings.catalogue_documents,
                is_shared=settings.index != MEMORY,
            ),
            files=UploadReader(
                settings.extract,
                processes=service_settings.extract_processes,
                max_chars=service_settings.max_body_bytes,
            ),
            process=secrets.token_hex(8),
            processes=settings.server.workers,
            demo=bool(first),
        )
    )
    app = ServiceApp(service, settings=service_settings, access=AccessPolicy(service_settings, tokens), metrics=metrics)
    opening = asyncio.create_task(gate.keep_open(first))
    try:
        async with serving(app, listening, service_settings, drain_seconds=settings.worker.drain_seconds):
            url = _url(service_settings, listening)
            metrics.log_listening(url=url, index=_index_kind(settings), tokens=tokens is not None)
            yield RunningService(url=url, opening=opening)
    finally:
        listening.close()
        opening.cancel()
        await asyncio.wait({opening})
        await service.close()
        await gate.close()


def _tokens(settings: ServiceSettings, metrics: ServiceMetrics) -> TokenFile | None:
    if settings.tokens_file is None:
        return None
    return TokenFile(
        Path(settings.tokens_file), on_reload=metrics.log_tokens_reloaded, on_problem=metrics.log_tokens_invalid
    )


def _open_gate(settings: Settings, metrics: WorkerMetrics, *, create: bool) -> Awaitable[AsyncGate]:
    return AsyncGate.open(
        settings.profile,
        index=None if settings.index == MEMORY else settings.index,
        secret=settings.secret.value,
        limits=settings.limits,
        redis=settings.redis,
        observer=metrics,
        keep_details=settings.keep_details,
        sign_threads=settings.sign_threads,
        create=create,
    )


def _index_kind(settings: Settings) -> str:
    return "redis" if is_redis_url(settings.index) else MEMORY if settings.index == MEMORY else "sqlite"


def _url(settings: ServiceSettings, listening: socket.socket) -> str:
    host = settings.host if ":" not in settings.host else f"[{settings.host.strip('[]')}]"
    return f"{'https' if settings.cert_file else 'http'}://{host}:{listening.getsockname()[1]}"


class ServedIndex:
    """The gate of a service: opened when its index answers, and its outages reported."""

    def __init__(self, open_gate: Callable[[], Awaitable[AsyncGate]], context: WorkerContext) -> None:
        self._open_gate = open_gate
        self._metrics = context.metrics
        self._readiness = context.readiness
        self._outage = Outage("index", context.metrics, context.readiness)
        self._readiness.set("index", "not open yet")
        self._gate: AsyncGate | None = None

    async def keep_open(self, first: Sequence[CheckIn]) -> None:
        """Open the index, trying again while it is unavailable; then check the first documents in. It does not return
        by itself. Any other error than Unavailable is raised."""
        backoff = Backoff(first_seconds=0.2, longest_seconds=10.0)
        while self._gate is None:
            try:
                gate = await self._open_gate()
                await self._check_in_first(gate, first)
            except (Unavailable, NoIndex) as exc:  # an index that is not created here will be
                self._outage.failed(exc.code, str(exc))
                await asyncio.sleep(backoff.next_seconds())
            else:
                self._gate = gate
                self._outage.recovered()
                self._readiness.set("index", None)
        await asyncio.Event().wait()

    async def _check_in_first(self, gate: AsyncGate, documents: Sequence[CheckIn]) -> None:
        """Their verdicts are counted and shown as those of any others."""
        begun_at = time.time()
        verdicts = await gate.check_in(documents)
        sources = [verdict.source for verdict in verdicts]
        self._metrics.record_verdicts(verdicts, sources, [None], [begun_at] * len(verdicts), time.time())

    async def close(self) -> None:
        if self._gate is not None:
            await self._gate.close()

    async def _call(self, work: Callable[[AsyncGate], Awaitable[T]]) -> T:
        if self._gate is None:
            raise Unavailable("the index is not open yet")
        try:
            result = await work(self._gate)
        except Unavailable as exc:
            self._outage.failed(exc.code, str(exc))
            raise
        self._outage.recovered()
        return result

    async def check_in(self, documents: Iterable[CheckIn]) -> list[Verdict]:
        return await self._call(lambda gate: gate.check_in(documents))

    async def preview(self, documents: Iterable[CheckIn]) -> list[Verdict]:
        return await self._call(lambda gate: gate.preview(documents))

    async def look_up(
        self,
        *,
        text: str | None = None,
        document_id: str | None = None,
        fingerprint: str | int | None = None,
        threshold: float | None = None,
        limit: int | None = None,
    ) -> LookUpResult:
        return await self._call(
            lambda gate: gate.look_up(
                text=text, document_id=document_id, fingerprint=fingerprint, threshold=threshold, limit=limit
            )
        )

    async def explain(self, document_ids: Iterable[str]) -> list[list[Verdict]]:
        return await self._call(lambda gate: gate.explain(document_ids))

    async def delete(self, document_ids: Iterable[str]) -> list[bool]:
        return await self._call(lambda gate: gate.delete(document_ids))

    async def info(self) -> dict[str, int]:
        return await self._call(lambda gate: gate.info())

    async def with_store(self, work: Callable[[ScannableStore], Coroutine[Any, Any, T]]) -> T:
        return await self._call(lambda gate: gate.with_store(work))
