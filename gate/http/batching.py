"""Joins the documents of concurrent requests into batches, so that many small requests cost like one batch.

    request ─┐                        ┌─▶ its verdicts
    request ─┼─ waiting ──▶ a batch ──┼─▶ its verdicts
    request ─┘                        └─▶ its verdicts

A document in a batch of 32 costs a fifth of one that is judged alone. So beside a batch another is begun only with
enough documents to be worth it; and behind a batch of several requests the next waits for LINGER_SECONDS, because their
clients, just answered, are about to ask again. Requests that come one by one are not delayed. The busier the service,
the larger its batches.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gate.errors import Unavailable
from gate.limits import Limits
from gate.model import CheckIn, Verdict

IN_FLIGHT = 2  # one is signed while another is claimed; a third would wait, and be smaller than it could be
BESIDE_DOCUMENTS = 64  # that wait before a batch is begun beside another; twice as many cost hardly less each
LINGER_SECONDS = 0.001  # about what 32 clients take to read an answer and send the next request

Judge = Callable[[list[CheckIn]], Awaitable[list[Verdict]]]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """The documents of one request, and where its verdicts go."""

    documents: list[CheckIn]
    chars: int
    verdicts: asyncio.Future[list[Verdict]]


class Batcher:
    """Judges the documents of requests in batches within the limits; for the tasks of one event loop.

    A request is never divided between batches, so its documents are judged in their order. One whose task is cancelled
    while it waits is left out; once its batch has begun, the batch is carried out to its end.
    """

    def __init__(self, judge: Judge, limits: Limits) -> None:
        self._judge = judge
        self._limits = limits
        self._waiting: deque[_Waiting] = deque()
        self._waiting_documents = 0
        self._latest_requests = 0  # in the batch that was begun last
        self._running: set[asyncio.Task[None]] = set()
        self._scheduled = False

    async def judge(self, documents: list[CheckIn]) -> list[Verdict]:
        """The verdicts on the documents of one request, in their order."""
        if not documents:
            return []
        loop = asyncio.get_running_loop()
        chars = sum(len(document.text) for document in documents)
        waiting = _Waiting(documents, chars, loop.create_future())
        self._waiting.append(waiting)
        self._waiting_documents += len(documents)
        self._schedule()
        return await waiting.verdicts

    def _schedule(self) -> None:
        """Begin at the next turn of the loop, so that requests that came in the same turn are in the batch too; or a
        little later, where the batch before had several requests."""
        if self._scheduled or (self._running and self._waiting_documents < BESIDE_DOCUMENTS):
            return
        self._scheduled = True
        loop = asyncio.get_running_loop()
        if self._latest_requests > 1:
            loop.call_later(LINGER_SECONDS, self._begin)
        else:
            loop.call_soon(self._begin)

    def _begin(self) -> None:
        self._scheduled = False
        while self._may_begin() and (batch := self._next()):
            self._latest_requests = len(batch)
            task = asyncio.create_task(self._run(batch))
            self._running.add(task)
            task.add_done_callback(self._ended)

    def _may_begin(self) -> bool:
        if not self._running:
            return True
        return len(self._running) < IN_FLIGHT and self._waiting_documents >= BESIDE_DOCUMENTS

    def _next(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        documents = chars = 0
        while self._waiting:
            request = self._waiting[0]
            documents += len(request.documents)
            chars += request.chars
            is_full = documents > self._limits.batch_documents or chars > self._limits.batch_chars
            if batch and is_full:
                break
            self._waiting.popleft()
            self._waiting_documents -= len(request.documents)
            if request.verdicts.done():  # cancelled
                documents -= len(request.documents)
                chars -= request.chars
            else:
                batch.append(request)
        return batch

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if self._waiting:
            self._schedule()

    async def _run(self, batch: list[_Waiting]) -> None:
        try:
            verdicts = await self._judge([document for request in batch for document in request.documents])
        except Unavailable as exc:
            for request in batch:
                _fail(request, exc)
        except Exception as exc:  # noqa: BLE001 - handed to the request that it belongs to
            if len(batch) == 1:
                _fail(batch[0], exc)
            else:  # one request must not fail for another one: what was judged already gets the same verdict again
                for request in batch:
                    await self._run([request])
        else:
            start = 0
            for request in batch:
                end = start + len(request.documents)
                if not request.verdicts.done():
                    request.verdicts.set_result(verdicts[start:end])
                start = end

    async def close(self) -> None:
        """Wait for the batches in progress, and for those that are about to begin."""
        while self._running or self._waiting:
            if self._running:
                await asyncio.wait(self._running)
            else:
                await asyncio.sleep(LINGER_SECONDS)


def _fail(request: _Waiting, error: Exception) -> None:
    if not request.verdicts.done():
        request.verdicts.set_exception(error)
