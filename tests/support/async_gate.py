"""An `AsyncGate` behind the methods of a `Gate`, so that one test suite holds for both."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from threading import Thread
from types import TracebackType
from typing import Any, Self

from gate import AsyncGate


class BlockingAsyncGate:
    """Calls an `AsyncGate` from any thread, as tasks of one event loop that runs in a thread of its own."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever)
        self._thread.start()
        try:
            self._gate = self._result(AsyncGate.open(*arguments, **options))
        except BaseException:
            self._stop()
            raise

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._gate, name)
        return lambda *arguments, **options: self._result(method(*arguments, **options))

    def _result(self, call: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._result(self._gate.close())
        finally:
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
