"""Joins the documents of concurrent requests into batches, so that many small requests cost like one batch.

    request ─┐                        ┌─▶ its verdicts
    request ─┼─ waiting ──▶ a batch ──┼─▶ its verdicts
    request ─┘                        └─▶ its verdicts

Nothing is delayed for the sake of a batch: one is begun as soon as fewer than IN_FLIGHT are in progress, with all that
waits by then. While a batch is signed and another claimed, the next one gathers; the busier the service, the larger
its batches.
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
        if not self._scheduled:
            # At the next turn of the loop: requests that came in the same turn are in the batch too.
            self._scheduled = True
            loop.call_soon(self._begin)
        return await waiting.verdicts

    def _begin(self) -> None:
        self._scheduled = False
        while len(self._running) < IN_FLIGHT and (batch := self._next()):
            task = asyncio.create_task(self._run(batch))
            self._running.add(task)
            task.add_done_callback(self._ended)

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
            if request.verdicts.done():  # cancelled
                documents -= len(request.documents)
                chars -= request.chars
            else:
                batch.append(request)
        return batch

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._begin()

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
        """Wait for the batches in progress."""
        while self._running:
            await asyncio.wait(self._running)


def _fail(request: _Waiting, error: Exception) -> None:
    if not request.verdicts.done():
        request.verdicts.set_exception(error)
