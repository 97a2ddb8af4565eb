"""Bounds what is in progress at once: requests, those of one client, and the bytes of their bodies."""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import Self

from gate.http.problems import RequestError
from gate.http.service_metrics import ServiceMetrics
from gate.http.settings import ServiceSettings

RETRY_SECONDS = 1  # a request takes milliseconds: after a second there is room, or the service is too small


class Admission:
    """Counts the requests in progress, for the tasks of one event loop."""

    def __init__(self, settings: ServiceSettings, metrics: ServiceMetrics) -> None:
        self._settings = settings
        self._clients: Counter[str] = Counter()
        self._metrics = metrics
        self.requests = 0
        self.pending_bytes = 0

    def admit(self, client: str) -> Admitted:
        """Room for one request, in a `with` block. RequestError: there is none."""
        if self._clients[client] >= self._settings.max_client_requests:
            limit = self._settings.max_client_requests
            raise RequestError(
                "too_many_requests",
                f"this client has {limit} requests in progress (api_max_client_requests); wait for an answer first",
                retry_after=RETRY_SECONDS,
            )
        if self.requests >= self._settings.max_requests:
            raise RequestError(
                "overloaded",
                f"{self.requests} requests are in progress (api_max_requests); send it again later",
                retry_after=RETRY_SECONDS,
            )
        return Admitted(self, client)

    def _begin(self, client: str) -> None:
        self.requests += 1
        self._clients[client] += 1
        self._metrics.set_load(self.requests, self.pending_bytes)

    def _end(self, client: str, held: int) -> None:
        self.requests -= 1
        self.pending_bytes -= held
        self._clients[client] -= 1
        if not self._clients[client]:
            del self._clients[client]
        self._metrics.set_load(self.requests, self.pending_bytes)

    def _hold(self, size: int) -> None:
        if self.pending_bytes + size > self._settings.max_pending_bytes:
            raise RequestError(
                "overloaded",
                f"the requests in progress hold {self._settings.max_pending_bytes} bytes (api_max_pending_bytes); "
                "send it again later",
                retry_after=RETRY_SECONDS,
                closes=True,
            )
        self.pending_bytes += size
        self._metrics.set_load(self.requests, self.pending_bytes)


class Admitted:
    """The room of one request."""

    __slots__ = ("_admission", "_client", "_held")

    def __init__(self, admission: Admission, client: str) -> None:
        self._admission = admission
        self._client = client
        self._held = 0

    def hold(self, size: int) -> None:
        """Count bytes of its body. RequestError: there is no room for them."""
        self._admission._hold(size)
        self._held += size

    def __enter__(self) -> Self:
        self._admission._begin(self._client)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._admission._end(self._client, self._held)
