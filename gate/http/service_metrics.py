"""Metrics and log events of the service, beside those of the verdicts that it gives (`gate.metrics`)."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from gate.errors import ConfigError
from gate.logs import describe_error, get_logger

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class ServiceMetrics:
    """What one service process counts. Operations and statuses are closed sets."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._log = get_logger()
        self._requests = Counter(
            "gate_http_requests_total", "Requests answered.", ["operation", "status"], registry=registry
        )
        self._duration = Histogram(
            "gate_http_request_duration_seconds",
            "Time from the head of a request to its answer.",
            ["operation"],
            registry=registry,
            buckets=_SECONDS,
        )
        self._in_progress = Gauge(
            "gate_http_requests_in_progress",
            "Requests that are not answered yet.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._pending = Gauge(
            "gate_http_pending_bytes",
            "Bytes of the bodies of requests that are not answered yet.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._counters: dict[tuple[str, int], Counter] = {}
        self._durations: dict[str, Histogram] = {}

    def record_request(self, operation: str, status: int, seconds: float) -> None:
        """`operation` is the name of one, or `none` where a request is for no operation."""
        counter = self._counters.get((operation, status))
        if counter is None:
            counter = self._counters[operation, status] = self._requests.labels(operation, str(status))
        histogram = self._durations.get(operation)
        if histogram is None:
            histogram = self._durations[operation] = self._duration.labels(operation)
        counter.inc()
        histogram.observe(seconds)

    def set_load(self, requests: int, pending_bytes: int) -> None:
        self._in_progress.set(requests)
        self._pending.set(pending_bytes)

    def log_listening(self, *, url: str, index: str, tokens: bool) -> None:
        self._log.info("service.started", url=url, index=index, tokens=tokens)

    def log_request_failed(self, operation: str, error: BaseException) -> None:
        """An unexpected error ended a request."""
        self._log.error("request.failed", operation=operation, **describe_error(error))

    def log_tokens_reloaded(self, tokens: int) -> None:
        self._log.info("tokens.reloaded", tokens=tokens)

    def log_tokens_invalid(self, problem: ConfigError) -> None:
        """The changed tokens file is wrong: the tokens before the change stay in force."""
        self._log.error("tokens.invalid", message=str(problem))
