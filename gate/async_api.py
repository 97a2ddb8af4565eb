"""The library for coroutines: `AsyncGate` awaits what `Gate` does, and never holds up the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack

from gate.api import CLOSED, Gate, RefusedDocument
from gate.arguments import list_of, validated_documents, validated_ids
from gate.core.compare import Comparison
from gate.core.profile import Profile
from gate.errors import UsageError
from gate.index.redis.url import RedisSettings
from gate.index.scan import ScannableStore
from gate.limits import Limits
from gate.model import CheckIn, LookUpResult, Match, Subject, Verdict
from gate.pipeline import SignedBatch, batches

if TYPE_CHECKING:
    from gate.index.redis.client import ClientObserver

T = TypeVar("T")


class GateOptions(TypedDict, total=False):
    """The keyword arguments of `Gate`."""

    index: Path | str | None
    secret: bytes
    limits: Limits | None
    redis: RedisSettings | None
    observer: ClientObserver | None
    create: bool
    keep_details: bool
    sign_threads: int


class AsyncGate:
    """`Gate` for coroutines: the same methods, arguments, answers and errors, awaited.

        async with AsyncGate(index="documents.sqlite") as gate:
            [verdict] = await gate.check_in([document])

    The event loop never judges: one thread validates and signs, another works on the index, each a batch at a time.
    That goes for Redis too. The claim works on what Redis answers, which would hold up the loop as signing does, and so
    every step is written once, for `Gate`. One call is signed while another is claimed, and a long list lets other
    calls in between its batches; the documents of one call are claimed in their order.

    Any number of tasks of one event loop may share it. A call that is cancelled stops before its next batch: the batch
    in progress is carried out to its end, so each document of the list was checked in whole or not at all, and a
    repeated call gets the same verdicts for those that were.
    """

    def __init__(self, profile: Profile | str | Path = "standard", **options: Unpack[GateOptions]) -> None:
        """The arguments of `Gate`. Nothing is opened before `async with` or `open`."""
        self._open_gate = partial(Gate, profile, **options)
        self._gate: Gate | None = None
        self._signing = ThreadPoolExecutor(1, thread_name_prefix="gate-signing")
        self._indexing = ThreadPoolExecutor(1, thread_name_prefix="gate-index")
        self._entered = self._closing = False
        self._calls = 0
        self._last: list[Future[None]] = []
        self._idle = asyncio.Event()
        self._idle.set()

    @classmethod
    async def open(cls, profile: Profile | str | Path = "standard", **options: Unpack[GateOptions]) -> Self:
        """An open gate, for a program that closes it by `close`."""
        return await cls(profile, **options).__aenter__()

    async def __aenter__(self) -> Self:
        if self._entered:
            raise UsageError("this gate was opened before; open another one")
        self._entered = True
        opening = self._indexing.submit(self._open_gate)
        try:
            self._gate = await asyncio.wrap_future(opening)
        except BaseException:
            self._indexing.submit(_close_opened, opening)  # cancelled, it opens all the same
            self._stop_threads()
            raise
        if self._closing:
            await self.close()
            raise UsageError(CLOSED)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let the calls in progress end, then close the index. New calls are refused; a second `close` waits too."""
        self._entered = self._closing = True
        await self._idle.wait()
        if self._gate is not None:
            gate, self._gate = self._gate, None
            # Each runs behind what a cancelled call has left to its thread.
            self._last = [self._signing.submit(_nothing), self._indexing.submit(gate.close)]
            self._stop_threads()
        for work in self._last:
            await asyncio.shield(asyncio.wrap_future(work))

    def _stop_threads(self) -> None:
        self._signing.shutdown(wait=False)
        self._indexing.shutdown(wait=False)

    @contextmanager
    def _call(self) -> Iterator[Gate]:
        """The open gate for one call, which `close` waits for."""
        if self._closing:
            raise UsageError(CLOSED)
        if self._gate is None:
            raise UsageError("this gate is not open; use `async with AsyncGate(...)` or `await AsyncGate.open(...)`")
        self._calls += 1
        self._idle.clear()
        try:
            yield self._gate
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle.set()

    async def check_in(self, documents: Iterable[CheckIn]) -> list[Verdict]:
        """`Gate.check_in`."""
        with self._call() as gate:
            return await self._judge(documents, gate, gate.check_in_signed)

    async def preview(self, documents: Iterable[CheckIn]) -> list[Verdict]:
        """`Gate.preview`."""
        with self._call() as gate:
            return await self._judge(documents, gate, gate.preview_signed)

    async def _judge(
        self, documents: Iterable[CheckIn], gate: Gate, judge: Callable[[SignedBatch], list[Verdict]]
    ) -> list[Verdict]:
        listed = list_of("documents", documents, "CheckIn")
        valid = await _on(self._signing, partial(validated_documents, listed, gate.limits))
        verdicts: list[Verdict] = []
        for batch in batches(valid, gate.limits):
            signed = await _on(self._signing, partial(gate.signer.sign, batch, at=time.time()))
            verdicts += await _on(self._indexing, partial(judge, signed))
        return verdicts

    async def validate(self, documents: Iterable[CheckIn]) -> tuple[list[CheckIn], list[RefusedDocument]]:
        """`Gate.validate`."""
        with self._call() as gate:
            listed = list_of("documents", documents, "CheckIn")
            return await _on(self._signing, partial(gate.validate, listed))

    async def find_similar(
        self,
        *,
        text: str | None = None,
        document_id: str | None = None,
        fingerprint: str | int | None = None,
        threshold: float | None = None,
        limit: int | None = None,
    ) -> list[Match]:
        """`Gate.find_similar`."""
        found = await self.look_up(
            text=text, document_id=document_id, fingerprint=fingerprint, threshold=threshold, limit=limit
        )
        return list(found.matches)

    async def look_up(
        self,
        *,
        text: str | None = None,
        document_id: str | None = None,
        fingerprint: str | int | None = None,
        threshold: float | None = None,
        limit: int | None = None,
    ) -> LookUpResult:
        """`Gate.look_up`; other calls come in between its steps."""
        with self._call() as gate:
            begin = partial(
                gate.begin_look_up,
                text=text,
                document_id=document_id,
                fingerprint=fingerprint,
                threshold=threshold,
                limit=limit,
            )
            work = await _on(self._indexing, begin)
            while await _on(self._indexing, partial(gate.step_look_up, work)):
                pass
            return work.result()

    async def compare(
        self, pairs: Iterable[tuple[str, str]], *, show_passages: bool = True, threshold: float | None = None
    ) -> list[Comparison]:
        """`Gate.compare`."""
        with self._call() as gate:
            listed = list_of("pairs", pairs, "pairs of texts")
            work = partial(gate.compare, listed, show_passages=show_passages, threshold=threshold)
            return await _on(self._signing, work)

    async def measure(self, left: Subject, right: Subject, *, threshold: float | None = None) -> Comparison:
        """`Gate.measure`."""
        with self._call() as gate:
            return await _on(self._indexing, partial(gate.measure, left, right, threshold=threshold))

    async def explain(self, document_ids: Iterable[str]) -> list[list[Verdict]]:
        """`Gate.explain`."""
        with self._call() as gate:
            ids = validated_ids(document_ids)
            return await _on(self._indexing, partial(gate.explain, ids))

    async def delete(self, document_ids: Iterable[str]) -> list[bool]:
        """`Gate.delete`."""
        with self._call() as gate:
            ids = validated_ids(document_ids)
            return await _on(self._indexing, partial(gate.delete, ids))

    async def info(self) -> dict[str, int]:
        """`Gate.info`."""
        with self._call() as gate:
            return await _on(self._indexing, gate.info)

    async def with_store(self, work: Callable[[ScannableStore], Coroutine[Any, Any, T]]) -> T:
        """`Gate.with_store`; the work runs in the thread of the index, not on this event loop."""
        with self._call() as gate:
            return await _on(self._indexing, partial(gate.with_store, work))


async def _on(thread: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    """Do work on a thread. Cancelled before it begins, it is left out; once begun, it is carried out to its end."""
    return await asyncio.wrap_future(thread.submit(work))


def _nothing() -> None: ...


def _close_opened(opening: Future[Gate]) -> None:
    """Close a gate whose opening was cancelled, if it was opened all the same."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
