"""Waiting for what does not answer: ever longer, told once, and seen by whoever asks whether the worker is ready."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Literal

from gate.metrics import WorkerMetrics
from gate.readiness import Readiness


class Backoff:
    """Longer after each try, and not the same for everybody: whatever took a server away took it from all at once."""

    def __init__(self, first_seconds: float = 0.1, longest_seconds: float = 5.0) -> None:
        self._first = first_seconds
        self._longest = longest_seconds
        self._next = first_seconds

    async def wait(self) -> None:
        await asyncio.sleep(self._next * random.uniform(0.5, 1.0))  # noqa: S311 - it guards no secret
        self._next = min(2 * self._next, self._longest)

    def reset(self) -> None:
        self._next = self._first


class Absence:
    """Since when something has been away, for the metrics, the log and the readiness."""

    def __init__(self, what: Literal["index", "broker"], metrics: WorkerMetrics, readiness: Readiness) -> None:
        self._what = what
        self._metrics = metrics
        self._readiness = readiness
        self._since: float | None = None

    @property
    def now(self) -> bool:
        return self._since is not None

    def noted(self, code: str, message: str | None = None) -> None:
        """It was tried in vain; the message, where there is one, says why and what to do."""
        if self._since is None:
            self._since = time.monotonic()
        self._metrics.record_failed_attempt(self._what, code, message)
        self._readiness.set(self._what, f"away: {message or code}")

    def over(self) -> None:
        if self._since is not None:
            self._metrics.record_recovery(self._what, time.monotonic() - self._since)
            self._since = None
            self._readiness.set(self._what, None)
