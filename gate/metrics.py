"""Every metric and every log event: one method per thing that happened moves the one and writes the other.

Whole batches are told at once, and counted by label before a metric is touched: 0.6 us a document, where one call a
document and metric would take 20. Labels are from closed sets, or bounded here. No method raises, none takes a text.

    match rate = sum(rate(gate_verdicts_total{similar="true"}[5m])) / sum(rate(gate_verdicts_total[5m]))
"""

from __future__ import annotations

import os
import platform
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry, Gauge, Histogram
from prometheus_client import Counter as Count
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from gate.logs import describe_error, get_logger
from gate.model import Degraded, Verdict

What = Literal["index", "broker"]
Stage = Literal["decode", "sign", "claim", "produce", "commit"]
STAGES: tuple[Stage, ...] = ("decode", "sign", "claim", "produce", "commit")

SOURCES = 50  # distinct sources that have a label of their own; whatever comes later is counted as "other"
SOURCE_CHARS = 100  # a longer one is no name, and every scrape would carry it
OTHER, NO_SOURCE = "other", "none"

_MOMENTS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_AGES = (*_MOMENTS[2:], 300.0, 1800.0, 7200.0, 43200.0, 172800.0, 604800.0)  # a replayed archive waited for days
_DOCUMENTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_CHARACTERS = (1e3, 4e3, 16e3, 64e3, 256e3, 1e6, 2e6, 4e6)
_CANDIDATES = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_BITS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_RESEMBLANCES = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 1.0)


class _Histogram(Histogram):
    """A histogram that takes a batch of values at once."""

    def observe_all(self, values: NDArray[np.float64]) -> None:
        self._sum.inc(float(values.sum()))
        places = np.searchsorted(self._upper_bounds, values)  # the first bound that is not below the value
        counts = np.bincount(places)
        for place in counts.nonzero()[0].tolist():
            self._buckets[place].inc(int(counts[place]))


class WorkerMetrics:
    """What a worker tells of its work. Each has a registry, its own where none is given, so that many can live in one
    process. In the workers of a supervisor the values live in files that the supervisor reads."""

    def __init__(self, registry: CollectorRegistry | None = None, *, worker: str = "0") -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        self._worker = worker
        self._log = get_logger(worker=worker)
        self._lock = threading.Lock()  # what is counted here comes from the event loop and from a thread that signs
        self._sources: dict[str | None, str] = {None: NO_SOURCE}
        self._away: dict[What, int] = {}  # how often it was tried in vain
        self._why: dict[What, set[tuple[str, str | None]]] = {}  # and what for
        self._held: set[tuple[str, int]] = set()
        self._make_metrics()

    def _make_metrics(self) -> None:
        def count(name: str, what: str, *labels: str) -> Count:
            return Count(f"gate_{name}_total", what, labels, registry=self.registry)

        def level(name: str, what: str, *labels: str, mode: _Mode = "livesum") -> Gauge:
            return Gauge(f"gate_{name}", what, labels, registry=self.registry, multiprocess_mode=mode)

        def spread(name: str, what: str, *labels: str, buckets: Sequence[float]) -> _Histogram:
            return _Histogram(f"gate_{name}", what, labels, registry=self.registry, buckets=buckets)

        self._verdicts = count("verdicts", "Verdicts given.", "relation", "similar", "profile", "source")
        self._age = spread("checkin_to_verdict_seconds", "From check-in to acknowledged verdict.", buckets=_AGES)
        self._wait = spread("arrival_to_verdict_seconds", "From arrival at the worker to verdict.", buckets=_MOMENTS)
        self._candidates = spread("candidates", "Candidates that a document was compared with.", buckets=_CANDIDATES)
        self._distance = spread("match_distance_bits", "Distance to the best match, where told.", buckets=_BITS)
        self._resemblance = spread(
            "match_resemblance", "Resemblance of the best match, where told.", buckets=_RESEMBLANCES
        )
        self._degraded = count("degraded", "Verdicts that may know less than they should.", "reason")
        self._dead = count("dead_letters", "Events that could not be judged.", "reason")
        self._deleted = count("deletes", "Deletes carried out.", "known")
        self._routed = count("routed", "Documents sent on to a topic of their own.", "to")

        self._batch_documents = spread("batch_documents", "Documents in a batch.", buckets=_DOCUMENTS)
        self._batch_characters = spread("batch_characters", "Characters in a batch.", buckets=_CHARACTERS)
        self._stage = spread("stage_seconds", "What a stage took for a batch.", "stage", buckets=_MOMENTS)

        self._lag = level(
            "lag_records", "Records that wait in a partition.", "topic", "partition", mode="livemostrecent"
        )
        self._partitions = level("assigned_partitions", "Partitions that a worker holds.", "worker")
        self._rebalances = count("rebalances", "Changes of the partitions held.", "kind")
        self._away_now = level("away", "Workers that wait for something that does not answer.", "what")
        self._away_seconds = count("away_seconds", "Time for which something did not answer.", "what")
        self._retries = count("retries", "Tries in vain.", "what")
        self._discarded = count("producers_discarded", "Producers thrown away after an error.", "reason")
        self._fenced = count("fenced", "Producers that a newer owner of the partition shut out.")

        self._round_trip = spread(
            "index_round_trip_seconds", "Calls to Redis that succeeded.", "operation", buckets=_MOMENTS
        )
        self._failed = count("index_errors", "Calls to Redis that failed, each try of one.", "operation", "reason")
        self._circuit = level("index_circuit_open", "Workers that let the index rest after failures.")

        self._build = level("build_info", "What runs.", "version", "python", mode="livemostrecent")
        self._build.labels(_version(), platform.python_version()).set(1)
        # A counter that is there from the beginning shows its first step in a rate.
        for reason in Degraded:
            self._degraded.labels(reason.value)
        for known in ("true", "false"):
            self._deleted.labels(known)
        for what in ("index", "broker"):
            self._away_now.labels(what).set(0)
            self._away_seconds.labels(what)
            self._retries.labels(what)
        for kind in ("assigned", "revoked"):
            self._rebalances.labels(kind)
        for stage in STAGES:
            self._stage.labels(stage)
        self._partitions.labels(self._worker).set(0)
        self._circuit.set(0)

    # A worker's life

    def log_started(self, **settings: object) -> None:
        """Which settings it works with: names and numbers, no secrets."""
        self._log.info("worker.started", version=_version(), pid=os.getpid(), **settings)

    def log_listening(self, host: str, port: int) -> None:
        self._log.info("health.served", host=host, port=port)

    def log_stopping(self, reason: str) -> None:
        self._log.info("worker.stopping", reason=reason)

    def log_stopped(self) -> None:
        self._log.info("worker.stopped")

    def log_crashed(self, error: BaseException) -> None:
        """A bug, or a setting that cannot work: what was not committed comes again."""
        self._log.error("worker.crashed", **describe_error(error))

    def record_assigned(self, partitions: Sequence[tuple[str, int]]) -> None:
        self._held.update(partitions)
        self._moved("assigned", partitions)

    def record_revoked(self, partitions: Sequence[tuple[str, int]]) -> None:
        self._held.difference_update(partitions)
        self._moved("revoked", partitions)
        for topic, partition in partitions:
            self.clear_lag(topic, partition)

    def _moved(self, kind: str, partitions: Sequence[tuple[str, int]]) -> None:
        self._rebalances.labels(kind).inc()
        self._partitions.labels(self._worker).set(len(self._held))
        named = sorted(f"{topic}[{partition}]" for topic, partition in partitions)
        self._log.info(f"partitions.{kind}", partitions=named, held=len(self._held))

    # The work

    def record_verdicts(
        self,
        verdicts: Sequence[Verdict],
        sources: Sequence[str | None],
        checked_in_at: Sequence[float | None],
        arrived_at: Sequence[float],
        now: float,
    ) -> None:
        """Verdicts that the broker has acknowledged. Times are Unix seconds; a clock that is ahead counts as now."""
        if not verdicts:
            return
        kinds = Counter([(one.relation, one.similar, one.profile, source) for one, source in zip(verdicts, sources)])
        for (relation, similar, profile, source), number in kinds.items():
            labels = (relation.value, "true" if similar else "false", profile, self._source(source))
            self._verdicts.labels(*labels).inc(number)
        _spread(self._candidates, [one.candidates for one in verdicts])
        _spread(self._age, [now - at for at in checked_in_at if at is not None])
        _spread(self._wait, [now - at for at in arrived_at])
        if best := [one.matches[0] for one in verdicts if one.matches]:
            _spread(self._distance, [match.distance for match in best if match.distance is not None])
            _spread(self._resemblance, [match.resemblance for match in best if match.resemblance is not None])
        for reason, number in Counter([reason for one in verdicts for reason in one.degraded]).items():
            self._degraded.labels(str(reason)).inc(number)

    def _source(self, source: str | None) -> str:
        known = self._sources.get(source)
        if known is not None or source is None:
            return known or NO_SOURCE
        if len(source) > SOURCE_CHARS or len(self._sources) > SOURCES:
            return OTHER
        return self._sources.setdefault(source, source)

    def record_batch(self, documents: int, characters: int) -> None:
        self._batch_documents.observe(documents)
        self._batch_characters.observe(characters)
        self._log.debug("batch.cut", documents=documents, characters=characters)

    def record_stage(self, name: str, seconds: float) -> None:
        self._stage.labels(name).observe(seconds)

    def record_dead_letters(self, reasons: Sequence[str]) -> None:
        """The codes of the errors, one for each event."""
        counts = Counter(reasons)
        for reason, number in counts.items():
            self._dead.labels(reason).inc(number)
        if counts:
            self._log.warning("events.dead_lettered", reasons=dict(counts))

    def record_deletes(self, known: int, unknown: int) -> None:
        self._deleted.labels("true").inc(known)
        self._deleted.labels("false").inc(unknown)

    def record_routed(self, topic_kind: Literal["accepted", "quarantine"], count: int) -> None:
        self._routed.labels(topic_kind).inc(count)

    def set_lag(self, topic: str, partition: int, records: int) -> None:
        self._lag.labels(topic, str(partition)).set(records)

    def clear_lag(self, topic: str, partition: int) -> None:
        """Somebody else tells it from now on."""
        labels = (topic, str(partition))
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:  # a value in a file cannot be removed; the latest told counts
            self._lag.labels(*labels).set(0)
        else:
            self._lag.remove(*labels)

    # What does not answer

    def record_failed_attempt(self, what: What, code: str, message: str | None = None) -> None:
        """It was tried once more, in vain. The log has the first for each reason, and then ever fewer. The message is
        that of one of the gate's own errors."""
        with self._lock:
            tries = self._away[what] = self._away.get(what, 0) + 1
            reasons = self._why.setdefault(what, set())
            is_new = (code, message) not in reasons
            reasons.add((code, message))
        self._retries.labels(what).inc()
        if tries == 1:
            self._away_now.labels(what).set(1)
        if tries & (tries - 1) == 0 or is_new:
            self._log.warning(
                f"{what}.away", code=code, tries=tries, **({} if message is None else {"message": message})
            )

    def record_recovery(self, what: What, seconds: float) -> None:
        with self._lock:
            tries = self._away.pop(what, 0)
            self._why.pop(what, None)
        self._away_now.labels(what).set(0)
        self._away_seconds.labels(what).inc(max(seconds, 0.0))
        self._log.info(f"{what}.back", seconds=round(seconds, 3), tries=tries)

    def record_producer_discarded(self, reason: str) -> None:
        self._discarded.labels(reason).inc()
        self._log.warning("producer.discarded", reason=reason)

    def record_producer_fenced(self, topic: str, partition: int) -> None:
        self._fenced.inc()
        self._log.warning("producer.fenced", topic=topic, partition=partition)

    # The index (gate.index.redis.client.ClientObserver)

    def round_trip(self, operation: str, seconds: float) -> None:
        self._round_trip.labels(operation).observe(seconds)

    def failed(self, operation: str, reason: str) -> None:
        self._failed.labels(operation, reason).inc()
        self._log.debug("index.failed", operation=operation, reason=reason)

    def circuit(self, state: int) -> None:
        self._circuit.set(state)
        self._log.warning("circuit.opened" if state else "circuit.closed")


_Mode = Literal["livesum", "livemax", "livemostrecent"]


def _spread(histogram: _Histogram, values: Sequence[float]) -> None:
    if values:
        histogram.observe_all(np.maximum(np.array(values, dtype=np.float64), 0.0))


def _version() -> str:
    try:
        return version("checkin-gate")
    except PackageNotFoundError:  # a checkout on the path, not installed
        return "unknown"


class SupervisorMetrics:
    """What a supervisor tells of its workers."""

    def __init__(self, registry: CollectorRegistry, *, workers: int) -> None:
        self._log = get_logger()
        self._wanted = Gauge("gate_workers_wanted", "Workers that there should be.", registry=registry)
        self._wanted.set(workers)
        self._running = Gauge("gate_workers_running", "Workers that there are.", registry=registry)
        self._restarts = Count("gate_worker_restarts_total", "Workers begun again.", ["worker"], registry=registry)
        for number in range(workers):
            self._restarts.labels(str(number))

    def listening(self, host: str, port: int) -> None:
        self._log.info("health.served", host=host, port=port)

    def began(self, worker: int, pid: int, *, again: bool) -> None:
        self._running.inc()
        if again:
            self._restarts.labels(str(worker)).inc()
        self._log.info("worker.restarted" if again else "worker.begun", worker=str(worker), pid=pid)

    def ended(self, worker: int, code: int, *, seconds: float, next_seconds: float | None) -> None:
        """`next_seconds`: when it begins again; None: it does not."""
        self._running.dec()
        log = self._log.info if code == 0 or next_seconds is None else self._log.error
        wait = {} if next_seconds is None else {"next_seconds": round(next_seconds, 3)}
        log("worker.ended", worker=str(worker), code=code, seconds=round(seconds, 3), **wait)

    def stopping(self, reason: str) -> None:
        self._log.info("supervisor.stopping", reason=reason)

    def killed(self, worker: int, reason: str) -> None:
        self._log.error("worker.killed", worker=str(worker), reason=reason)


class WorkerProcessCollector(Collector):
    """CPU and memory of processes by worker, from /proc: the library's own collector knows one process only."""

    def __init__(self, processes: Callable[[], Mapping[str, int]]) -> None:
        self._processes = processes

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        cpu = CounterMetricFamily("gate_worker_cpu_seconds", "CPU time that a worker has used.", labels=["worker"])
        memory = GaugeMetricFamily("gate_worker_memory_bytes", "Memory that a worker holds.", labels=["worker"])
        started = GaugeMetricFamily("gate_worker_start_time_seconds", "When a worker began.", labels=["worker"])
        ticks, page, booted_at = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE"), _booted_at()
        for worker, pid in self._processes().items():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it is gone, or this is no Linux
            cpu.add_metric([worker], (int(fields[11]) + int(fields[12])) / ticks)
            memory.add_metric([worker], int(fields[21]) * page)
            started.add_metric([worker], booted_at + int(fields[19]) / ticks)
        yield from (cpu, memory, started)


@cache
def _booted_at() -> int:
    """Of the machine, in Unix seconds: the same number whoever asks and whenever, so that a start time stays put."""
    for line in Path("/proc/stat").read_text().splitlines():
        if line.startswith("btime "):
            return int(line.split()[1])
    return 0
