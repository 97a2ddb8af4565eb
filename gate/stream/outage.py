"""Since when a dependency of a worker has been unavailable, for the metrics, the log and the readiness."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from gate.metrics import WorkerMetrics
from gate.readiness import Readiness


class Outage:
    """The time between the first failed attempt to use a dependency and the next one that succeeds."""

    def __init__(
        self,
        dependency: Literal["index", "broker"],
        metrics: WorkerMetrics,
        readiness: Readiness,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._dependency = dependency
        self._metrics = metrics
        self._readiness = readiness
        self._clock = clock
        self._since: float | None = None
        self._counted = 0.0  # until when the time of this outage is counted

    @property
    def active(self) -> bool:
        return self._since is not None

    def failed(self, code: str, message: str | None = None) -> None:
        """An attempt failed; the message, where there is one, says why and what to do."""
        if self._since is None:
            self._since = self._counted = self._clock()
        self._count()
        self._metrics.record_failed_attempt(self._dependency, code, message)
        self._readiness.set(self._dependency, f"unavailable: {message or code}")

    def recovered(self) -> None:
        """An attempt succeeded. Ends an outage, if there is one."""
        if self._since is not None:
            self._count()
            self._metrics.record_recovery(self._dependency, self._counted - self._since)
            self._since = None
            self._readiness.set(self._dependency, None)

    def _count(self) -> None:
        now = self._clock()
        self._metrics.record_down(self._dependency, now - self._counted)
        self._counted = now
