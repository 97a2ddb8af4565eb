"""Every metric and every log event: one method per thing that happened updates the metric and writes the log line.

Whole batches are recorded at once, and counted by label before a metric is touched: 0.6 us a document, where one call
per document and metric would take 20. Label values are from closed sets, or bounded here. No method raises, and none
takes a document's text.

    match rate = sum(rate(gate_verdicts_total{similar="true"}[5m])) / sum(rate(gate_verdicts_total[5m]))
"""

from __future__ import annotations

import logging
import os
import platform
import threading
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from gate.core.native.loader import implementation
from gate.errors import IndexLost
from gate.logs import describe_error, get_logger
from gate.model import Degraded, Verdict

Dependency = Literal["index", "broker"]
DEPENDENCIES: tuple[Dependency, ...] = ("index", "broker")
Stage = Literal["decode", "sign", "claim", "produce", "commit"]
STAGES: tuple[Stage, ...] = ("decode", "sign", "claim", "produce", "commit")
DropReason = Literal["too_many", "too_slow"]
DROP_REASONS: tuple[DropReason, ...] = ("too_many", "too_slow")

SOURCES = 50  # distinct sources that get a label value of their own; all later ones are counted as "other"
SOURCE_CHARS = 100  # a longer one is not a name, and every scrape would carry it
OTHER, NO_SOURCE = "other", "none"

# Upper bounds of histogram buckets.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LONG_SECONDS = (*_SECONDS[2:], 300.0, 1800.0, 7200.0, 43200.0, 172800.0, 604800.0)  # replayed archives are days old
_DOCUMENTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_CHARACTERS = (1e3, 4e3, 16e3, 64e3, 256e3, 1e6, 2e6, 4e6)
_CANDIDATES = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_BITS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_RESEMBLANCES = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 1.0)


class _BatchHistogram(Histogram):
    """A histogram that observes a batch of values at once."""

    def observe_all(self, values: NDArray[np.float64]) -> None:
        self._sum.inc(float(values.sum()))
        positions = np.searchsorted(self._upper_bounds, values)  # of the first bound that is not below the value
        counts = np.bincount(positions)
        for position in counts.nonzero()[0].tolist():
            self._buckets[position].inc(int(counts[position]))


class VerdictObserver(Protocol):
    """What is told of verdicts and outages beside the metrics: the recent activity that the page shows."""

    def record_verdicts(self, verdicts: Sequence[Verdict], arrived_at: Sequence[float], now: float) -> None: ...

    def record_refused(self, documents: int) -> None: ...

    def record_failed(self, dependency: str, reason: str) -> None: ...

    def record_recovered(self, dependency: str) -> None: ...


class WorkerMetrics:
    """Metrics and log events of one worker, in a registry of its own unless one is given.

    In the workers of a supervisor the values live in files, which the supervisor merges (prometheus_client's
    multiprocess mode). Each gauge says how: most are summed over the workers that run. `gate_dependency_up` is the
    minimum, since an operator must see that one worker cannot reach Redis while the others can; a mean or a maximum
    would hide it. The values of a worker that ended are dropped from every gauge.
    """

    def __init__(self, registry: CollectorRegistry | None = None, *, worker: str = "0") -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        self._worker = worker
        self._log = get_logger(worker=worker)
        self._lock = threading.Lock()  # the event loop and the thread that signs both record
        self._sources: dict[str | None, str] = {None: NO_SOURCE}
        self._retries: dict[Dependency, int] = {}  # failed attempts since the dependency went down
        self._reasons: dict[Dependency, set[tuple[str, str | None]]] = {}  # and the distinct reasons of these
        self._losses: set[str | None] = set()  # what is missing of the index, as it was logged
        self._assigned: set[tuple[str, int]] = set()
        self.observer: VerdictObserver | None = None
        self._make_metrics()

    def _make_metrics(self) -> None:
        def counter(name: str, help: str, *labels: str) -> Counter:
            return Counter(f"gate_{name}_total", help, labels, registry=self.registry)

        def gauge(name: str, help: str, *labels: str, mode: _GaugeMode = "livesum") -> Gauge:
            return Gauge(f"gate_{name}", help, labels, registry=self.registry, multiprocess_mode=mode)

        def histogram(name: str, help: str, *labels: str, buckets: Sequence[float]) -> _BatchHistogram:
            return _BatchHistogram(f"gate_{name}", help, labels, registry=self.registry, buckets=buckets)

        self._verdicts = counter("verdicts", "Verdicts delivered.", "relation", "similar", "profile", "source")
        self._end_to_end = histogram(
            "end_to_end_latency_seconds",
            "Time from checked_in_at, or else the record's timestamp, to the acknowledgement of the verdict.",
            buckets=_LONG_SECONDS,
        )
        self._processing = histogram(
            "processing_latency_seconds",
            "Time from a check-in's arrival at the worker to the acknowledgement of its verdict.",
            buckets=_SECONDS,
        )
        self._candidates = histogram(
            "candidates_per_document", "Candidates that a document was compared with.", buckets=_CANDIDATES
        )
        self._ruled_out = counter(
            "candidates_ruled_out",
            "Documents of a bucket that were neither fetched nor compared, as the length filter of the profile rules "
            "them out.",
        )
        self._distance = histogram(
            "match_distance_bits", "Distance to the best match, where the method computes one.", buckets=_BITS
        )
        self._resemblance = histogram(
            "match_resemblance_ratio",
            "Resemblance to the best match, from 0 to 1, where the method estimates one.",
            buckets=_RESEMBLANCES,
        )
        self._degraded = counter(
            "degraded_verdicts", "Verdicts that hit a limit or passed unchecked, once per reason.", "reason"
        )
        self._trace_headers = counter(
            "trace_headers_dropped",
            "Trace headers of check-ins that their verdicts do not carry on, because they are too large.",
        )
        self._dead_letters = counter(
            "dead_letters", "Records that could not be processed, sent to the dead-letter topic.", "reason"
        )
        self._deletes = counter("deletes", "Deletes applied, by whether the document id was in the index.", "known")
        self._routed = counter(
            "routed_documents", "Documents sent on to the accepted or the quarantine topic.", "destination"
        )

        self._batch_documents = histogram("batch_documents", "Documents per batch.", buckets=_DOCUMENTS)
        self._batch_characters = histogram("batch_characters", "Characters per batch.", buckets=_CHARACTERS)
        self._stage = histogram("stage_duration_seconds", "Duration of a stage per batch.", "stage", buckets=_SECONDS)

        self._lag = gauge(
            "consumer_lag_records",
            "Records of a partition that this group has not processed yet.",
            "topic",
            "partition",
            mode="livemostrecent",
        )
        self._lost = counter(
            "records_lost",
            "Records of a partition that were deleted, as by retention, before this group read them.",
            "topic",
            "partition",
        )
        self._partitions = gauge("assigned_partitions", "Partitions assigned to a worker.", "worker")
        self._rebalances = counter(
            "rebalances", "Rebalances that assigned partitions to a worker or revoked them.", "kind"
        )
        self._up = gauge(
            "dependency_up",
            "Whether a dependency answers: 1 up, 0 down for at least one worker.",
            "dependency",
            mode="livemin",
        )
        self._index_lost = gauge(
            "index_lost",
            "Workers whose index is gone, incomplete, or another one than their group has worked on.",
        )
        self._down_seconds = counter(
            "dependency_down_seconds",
            "Time for which a dependency was down, summed over workers; it grows with each failed attempt.",
            "dependency",
        )
        self._retried = counter(
            "dependency_retries", "Failed attempts to reach a dependency, each of which is retried.", "dependency"
        )
        self._discarded = counter(
            "producers_discarded", "Kafka producers discarded after an error and replaced by a new one.", "reason"
        )
        self._fenced = counter("producers_fenced", "Kafka producers fenced by a newer owner of their partition.")

        self._request_duration = histogram(
            "index_request_duration_seconds",
            "Duration of successful requests to Redis.",
            "operation",
            buckets=_SECONDS,
        )
        self._request_errors = counter(
            "index_request_errors",
            "Failed requests to Redis; each retry that fails counts again.",
            "operation",
            "reason",
        )
        self._circuit = gauge(
            "index_circuit_breaker_open", "Workers whose circuit breaker rejects requests to Redis after failures."
        )

        self._build = gauge(
            "build_info",
            "Always 1; the labels name the versions that run, and what signs: the compiled kernel (c) or numpy.",
            "version",
            "python",
            "kernel",
            mode="livemostrecent",
        )
        self._build.labels(installed_version(), platform.python_version(), implementation()).set(1)
        # A counter that is exported from the start shows its first increment in a rate.
        for reason in Degraded:
            self._degraded.labels(reason.value)
        for known in ("true", "false"):
            self._deletes.labels(known)
        for dependency in DEPENDENCIES:
            self._up.labels(dependency).set(1)
            self._down_seconds.labels(dependency)
            self._retried.labels(dependency)
        for kind in ("assigned", "revoked"):
            self._rebalances.labels(kind)
        for stage in STAGES:
            self._stage.labels(stage)
        self._partitions.labels(self._worker).set(0)
        self._circuit.set(0)
        self._index_lost.set(0)

    # The worker and its partitions

    def log_started(self, **settings: object) -> None:
        """Log the settings it works with: names and numbers, no secrets."""
        self._log.info("worker.started", version=installed_version(), pid=os.getpid(), **settings)

    def log_stop_requested(self, reason: str) -> None:
        self._log.info("worker.stop_requested", reason=reason)

    def log_stopped(self) -> None:
        self._log.info("worker.stopped")

    def log_crashed(self, error: BaseException) -> None:
        """An unexpected error, or a setting that cannot work. What was not committed is delivered again."""
        self._log.error("worker.crashed", **describe_error(error))

    def record_assigned(self, partitions: Sequence[tuple[str, int]]) -> None:
        self._assigned.update(partitions)
        self._record_rebalance("assigned")
        for topic, partition in partitions:
            self._lost.labels(topic, str(partition))
        self._log.info("partitions.assigned", partitions=_named(partitions), total=len(self._assigned))

    def record_revoked(self, partitions: Sequence[tuple[str, int]]) -> None:
        self._assigned.difference_update(partitions)
        self._record_rebalance("revoked")
        self._log.info("partitions.revoked", partitions=_named(partitions), total=len(self._assigned))
        for topic, partition in partitions:
            self.clear_lag(topic, partition)

    def _record_rebalance(self, kind: str) -> None:
        self._rebalances.labels(kind).inc()
        self._partitions.labels(self._worker).set(len(self._assigned))

    # Batches and verdicts

    def record_verdicts(
        self,
        verdicts: Sequence[Verdict],
        sources: Sequence[str | None],
        checked_in_at: Sequence[float | None],
        arrived_at: Sequence[float],
        now: float,
    ) -> None:
        """Count verdicts that the broker has acknowledged. Times are Unix seconds; one in the future counts as now."""
        if not verdicts:
            return
        if self.observer is not None:
            self.observer.record_verdicts(verdicts, arrived_at, now)
        by_labels = Tally([(v.relation, v.similar, v.profile, source) for v, source in zip(verdicts, sources)])
        for (relation, similar, profile, source), number in by_labels.items():
            labels = (relation.value, "true" if similar else "false", profile, self._source_label(source))
            self._verdicts.labels(*labels).inc(number)
        _observe(self._candidates, [verdict.candidates for verdict in verdicts])
        self._ruled_out.inc(sum(verdict.ruled_out for verdict in verdicts))
        _observe(self._end_to_end, [now - at for at in checked_in_at if at is not None])
        _observe(self._processing, [now - at for at in arrived_at])
        if best := [verdict.matches[0] for verdict in verdicts if verdict.matches]:
            _observe(self._distance, [match.distance for match in best if match.distance is not None])
            _observe(self._resemblance, [match.resemblance for match in best if match.resemblance is not None])
        for reason, number in Tally([reason for verdict in verdicts for reason in verdict.degraded]).items():
            self._degraded.labels(str(reason)).inc(number)

    def _source_label(self, source: str | None) -> str:
        known = self._sources.get(source)
        if known is not None:
            return known
        if source is None or len(source) > SOURCE_CHARS or len(self._sources) > SOURCES:
            return OTHER
        return self._sources.setdefault(source, source)

    def record_batch(self, documents: int, characters: int) -> None:
        self._batch_documents.observe(documents)
        self._batch_characters.observe(characters)
        self._log.debug("batch.prepared", documents=documents, characters=characters)

    def record_stage(self, stage: Stage, seconds: float) -> None:
        self._stage.labels(stage).observe(seconds)

    def record_trace_headers_dropped(self, number: int) -> None:
        self._trace_headers.inc(number)

    def record_dead_letters(self, reasons: Sequence[str]) -> None:
        """Count records that cannot be processed. `reasons` holds the code of the error of each."""
        if self.observer is not None and reasons:
            self.observer.record_refused(len(reasons))
        counts = Tally(reasons)
        for reason, number in counts.items():
            self._dead_letters.labels(reason).inc(number)
        if counts:
            self._log.warning("records.dead_lettered", reasons=dict(counts))

    def record_deletes(self, known: int, unknown: int) -> None:
        self._deletes.labels("true").inc(known)
        self._deletes.labels("false").inc(unknown)

    def record_routed(self, destination: Literal["accepted", "quarantine"], count: int) -> None:
        self._routed.labels(destination).inc(count)

    def set_lag(self, topic: str, partition: int, records: int) -> None:
        self._lag.labels(topic, str(partition)).set(records)

    def record_lost(self, topic: str, partition: int, start: int, end: int) -> None:
        """The offsets from `start` to before `end` were deleted unread. Markers of transactions count too."""
        self._lost.labels(topic, str(partition)).inc(end - start)
        self._log.error(
            "records.lost", topic=topic, partition=partition, first_offset=start, last_offset=end - 1, lost=end - start
        )

    def log_truncated(self, topic: str, partition: int, *, position: int, end: int) -> None:
        """A partition ends before the position of its reader, which starts at the first record again."""
        self._log.error("partition.truncated", topic=topic, partition=partition, position=position, end=end)

    def clear_lag(self, topic: str, partition: int) -> None:
        """Stop exporting the lag of a partition: its new owner reports it."""
        labels = (topic, str(partition))
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:  # a value in a file cannot be removed; the latest one counts
            self._lag.labels(*labels).set(0)
        else:
            self._lag.remove(*labels)

    # Dependencies

    def record_failed_attempt(self, dependency: Dependency, code: str, message: str | None = None) -> None:
        """Count an attempt that failed and is retried. A new reason is logged at once, the same one again at retries
        2, 4, 8 and so on. `message` is that of one of the gate's own errors."""
        with self._lock:
            retries = self._retries[dependency] = self._retries.get(dependency, 0) + 1
            reasons = self._reasons.setdefault(dependency, set())
            is_new = (code, message) not in reasons
            reasons.add((code, message))
        self._retried.labels(dependency).inc()
        if self.observer is not None:
            self.observer.record_failed(dependency, message or code)
        if code == IndexLost.code:
            self._record_index_lost(message)
        why = {} if message is None else {"message": message}
        if retries == 1:
            self._up.labels(dependency).set(0)
            self._log.warning("dependency.went_down", dependency=dependency, retries=retries, code=code, **why)
        elif retries & (retries - 1) == 0 or is_new:
            self._log.warning("dependency.retry_failed", dependency=dependency, retries=retries, code=code, **why)

    def _record_index_lost(self, message: str | None) -> None:
        self._index_lost.set(1)
        if message not in self._losses:
            self._losses.add(message)
            self._log.error("index.lost", message=message)

    def record_down(self, dependency: Dependency, seconds: float) -> None:
        """Count time that a dependency has been down. Called during an outage too, so that the count grows."""
        self._down_seconds.labels(dependency).inc(max(seconds, 0.0))

    def record_recovery(self, dependency: Dependency, seconds: float) -> None:
        """`seconds`: how long it was down, which `record_down` has counted."""
        with self._lock:
            retries = self._retries.pop(dependency, 0)
            self._reasons.pop(dependency, None)
        if dependency == "index":
            self._index_lost.set(0)
            self._losses.clear()
        if self.observer is not None:
            self.observer.record_recovered(dependency)
        self._up.labels(dependency).set(1)
        self._log.info("dependency.came_up", dependency=dependency, down_seconds=round(seconds, 3), retries=retries)

    def record_producer_discarded(self, reason: str) -> None:
        self._discarded.labels(reason).inc()
        self._log.warning("producer.discarded", reason=reason)

    def record_producer_fenced(self, topic: str, partition: int) -> None:
        self._fenced.inc()
        self._log.warning("producer.fenced", topic=topic, partition=partition)

    # Requests to Redis (gate.index.redis.client.ClientObserver)

    def round_trip(self, operation: str, seconds: float) -> None:
        self._request_duration.labels(operation).observe(seconds)

    def failed(self, operation: str, reason: str) -> None:
        self._request_errors.labels(operation, reason).inc()
        self._log.debug("index_request.failed", operation=operation, reason=reason)

    def circuit(self, state: int) -> None:
        self._circuit.set(state)
        self._log.warning("circuit_breaker.opened" if state else "circuit_breaker.closed")


_GaugeMode = Literal["livemin", "livesum", "livemostrecent"]


def _observe(histogram: _BatchHistogram, values: Sequence[float]) -> None:
    if values:
        histogram.observe_all(np.maximum(np.array(values, dtype=np.float64), 0.0))


def _named(partitions: Sequence[tuple[str, int]]) -> list[str]:
    return sorted(f"{topic}[{partition}]" for topic, partition in partitions)


def installed_version() -> str:
    try:
        return version("checkin-gate")
    except PackageNotFoundError:  # a checkout on the path, not installed
        return "unknown"


class SupervisorMetrics:
    """Metrics and log events of the processes of workers, in a supervisor or in a single worker by itself."""

    def __init__(self, registry: CollectorRegistry, *, workers: int) -> None:
        self._log = get_logger()
        self._desired = Gauge("gate_workers_desired", "Workers that should run.", registry=registry)
        self._desired.set(workers)
        self._running = Gauge("gate_workers_running", "Workers that run.", registry=registry)
        self._restarts = Counter(
            "gate_worker_restarts_total", "Restarts of a worker that had ended.", ["worker"], registry=registry
        )
        for number in range(workers):
            self._restarts.labels(str(number))
        self._connections = Counter(
            "gate_http_connections_dropped_total",
            "Connections to the health server that were closed before their request was answered.",
            ["reason"],
            registry=registry,
        )
        for reason in DROP_REASONS:
            self._connections.labels(reason)

    def record_connection_dropped(self, reason: DropReason) -> None:
        self._connections.labels(reason).inc()

    def log_listening(self, host: str, port: int) -> None:
        self._log.info("health_server.started", host=host, port=port)

    def record_start(self, worker: int, pid: int, *, is_restart: bool) -> None:
        self._running.inc()
        if is_restart:
            self._restarts.labels(str(worker)).inc()
        self._log.info("process.restarted" if is_restart else "process.started", worker=str(worker), pid=pid)

    def record_exit(
        self, worker: int, exit_code: int, *, lived_seconds: float, restart_in_seconds: float | None
    ) -> None:
        """`restart_in_seconds` is None where the worker is not restarted."""
        self._running.dec()
        restart = {} if restart_in_seconds is None else {"restart_in_seconds": round(restart_in_seconds, 3)}
        self._log.log(
            logging.ERROR if exit_code != 0 and restart else logging.INFO,
            "process.exited",
            worker=str(worker),
            exit_code=exit_code,
            lived_seconds=round(lived_seconds, 3),
            **restart,
        )

    def log_stop_requested(self, reason: str) -> None:
        self._log.info("supervisor.stop_requested", reason=reason)

    def log_killed(self, worker: int, reason: str) -> None:
        self._log.error("process.killed", worker=str(worker), reason=reason)


class WorkerProcessCollector(Collector):
    """CPU, memory and start time of each worker's process, from /proc: the library's own collector knows one only."""

    def __init__(self, processes: Callable[[], Mapping[str, int]]) -> None:
        self._processes = processes

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        cpu = CounterMetricFamily("gate_worker_cpu_seconds", "User and system CPU time of a worker.", labels=["worker"])
        memory = GaugeMetricFamily(
            "gate_worker_resident_memory_bytes", "Resident memory of a worker.", labels=["worker"]
        )
        started = GaugeMetricFamily(
            "gate_worker_start_time_seconds", "Unix time at which a worker's process started.", labels=["worker"]
        )
        ticks, page, booted_at = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE"), _booted_at()
        for worker, pid in self._processes().items():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # the process has ended, or this is not Linux
            cpu.add_metric([worker], (int(fields[11]) + int(fields[12])) / ticks)
            memory.add_metric([worker], int(fields[21]) * page)
            started.add_metric([worker], booted_at + int(fields[19]) / ticks)
        yield from (cpu, memory, started)


@cache
def _booted_at() -> int:
    """Unix time at which the machine booted, read once: a start time computed from it stays the same at each scrape."""
    for line in Path("/proc/stat").read_text().splitlines():
        if line.startswith("btime "):
            return int(line.split()[1])
    return 0
