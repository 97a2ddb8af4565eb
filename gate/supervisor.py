"""Runs N worker processes with one command: restarts those that end, and stops all of them together.

    supervisor ──spawn──▶ worker 0 ┐   metrics: files that the supervisor merges (prometheus_client's multiprocess mode)
       │       ──spawn──▶ worker 1 ├─▶ readiness: one pipe per worker
       │       ──spawn──▶ worker 2 ┘   heartbeats of the event loop: one number in shared memory per worker
       └─ one port: the metrics and the readiness of all workers

A restarted worker keeps its number, and with it the files of its metrics: counters continue where they were. A worker
whose supervisor has died stops as on SIGTERM.
"""

from __future__ import annotations

import asyncio
import ctypes
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, values
from prometheus_client.core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from gate.backoff import Backoff
from gate.errors import ConfigError, GateError
from gate.http.health import STUCK_SECONDS, Checks, health_server, serve_health, ticking
from gate.logs import configure_logging
from gate.metrics import SupervisorMetrics, WorkerMetrics, WorkerProcessCollector
from gate.readiness import Readiness
from gate.stream.settings import ServerSettings

EXIT_CONFIG, EXIT_CRASH = 2, 70  # a setting that no restart can fix; an unexpected error
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where prometheus_client keeps values, if set before it is imported
RESTART_JITTER = 0.2  # the largest share taken off a delay: workers that crash together do not restart together
_START_SECONDS = 60.0  # that a worker may take until its event loop runs
_CHECK_SECONDS = 1.0  # between two checks of the workers when nothing happens


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerContext:
    """What a worker gets from the process it runs in: its number, and where it reports metrics and readiness."""

    number: int
    run_id: str | None = None  # of the supervisor that restarts it; None: there is none
    metrics: WorkerMetrics
    readiness: Readiness


# A function of a module, not of another function: worker processes import it by its name. It stops on SIGTERM.
Work = Callable[[Any, WorkerContext], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """When a worker is restarted, and when it is killed. Each default is far above what a healthy worker needs."""

    first_delay_seconds: float = 0.5  # before the first restart; it doubles with each further crash
    longest_delay_seconds: float = 30.0
    stable_after_seconds: float = 60.0  # a worker that ran for so long starts again with the first delay
    drain_margin_seconds: float = 5.0  # beyond the time to drain, until a worker that does not stop is killed
    stuck_after_seconds: float = 120.0  # without a heartbeat of its event loop, until a worker is killed and restarted

    def backoff(self) -> Backoff:
        return Backoff(
            first_seconds=self.first_delay_seconds, longest_seconds=self.longest_delay_seconds, jitter=RESTART_JITTER
        )


def run(
    work: Work, settings: object, *, server: ServerSettings, drain_seconds: float, policy: RestartPolicy | None = None
) -> int:
    """Run one worker in this process, or several in processes of their own, until a signal. Returns the exit code."""
    configure_logging(server.log_level, server.log_format)
    if server.workers == 1:
        return asyncio.run(_run_alone(work, settings, server))
    return Supervisor(work, settings, server, drain_seconds, policy or RestartPolicy()).run()


async def _run_alone(work: Work, settings: object, server: ServerSettings) -> int:
    metrics, readiness = WorkerMetrics(), Readiness()
    metrics.registry.register(WorkerProcessCollector(lambda: {"0": os.getpid()}))
    process_metrics = SupervisorMetrics(metrics.registry, workers=1)
    process_metrics.record_start(0, os.getpid(), is_restart=False)
    context = WorkerContext(number=0, metrics=metrics, readiness=readiness)
    if server.http_port is None:
        return await _run_work(work, settings, context)
    async with serve_health(
        registry=metrics.registry,
        readiness=readiness,
        host=server.http_host,
        port=server.http_port,
        max_connections=server.http_max_connections,
        on_dropped=process_metrics.record_connection_dropped,
    ) as port:
        process_metrics.log_listening(server.http_host, port)
        return await _run_work(work, settings, context)


async def _run_work(work: Work, settings: object, context: WorkerContext) -> int:
    """The exit code. An unexpected error is logged without its message, which might quote a document."""
    try:
        await work(settings, context)
    except GateError:
        raise
    except Exception as exc:  # noqa: BLE001 - the outermost frame: the error is logged, and the process ends
        context.metrics.log_crashed(exc)
        return EXIT_CRASH
    return 0


# In a worker process


def _worker_process(
    work: Work, settings: object, server: ServerSettings, number: int, run_id: str, reports: Connection, heartbeat: Any
) -> None:
    values.ValueClass = values.MultiProcessValue(lambda: number)
    configure_logging(server.log_level, server.log_format)
    threading.Thread(target=_stop_without_parent, daemon=True, name="parent").start()

    def report(reasons: Mapping[str, str]) -> None:
        with suppress(OSError):  # the supervisor has died, and SIGTERM is on its way
            reports.send(dict(reasons))

    def beat(now: float) -> None:
        heartbeat.value = now

    metrics, readiness = WorkerMetrics(worker=str(number)), Readiness(report)
    context = WorkerContext(number=number, run_id=run_id, metrics=metrics, readiness=readiness)

    async def run_with_heartbeat() -> int:
        async with ticking(beat):
            return await _run_work(work, settings, context)

    try:
        sys.exit(asyncio.run(run_with_heartbeat()))
    except GateError as exc:
        context.metrics.log_crashed(exc)
        sys.exit(EXIT_CONFIG if isinstance(exc, ConfigError) else EXIT_CRASH)


def _stop_without_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        shutil.rmtree(os.environ[METRICS_FOLDER], ignore_errors=True)  # which the supervisor can no longer do
        os.kill(os.getpid(), signal.SIGTERM)


# In the supervisor


@dataclass
class _WorkerState:
    number: int
    backoff: Backoff
    process: BaseProcess | None = None
    reports: Connection | None = None
    heartbeat: Any = None
    started_at: float = 0.0
    start_at: float | None = 0.0  # when it is due to be started; None: it runs, or is not restarted
    reasons: dict[str, str] = field(default_factory=lambda: {Readiness.REQUIRED: "starting"})


class Supervisor:
    """Starts workers, restarts those that end, and returns when a signal has stopped all of them."""

    def __init__(
        self, work: Work, settings: object, server: ServerSettings, drain_seconds: float, policy: RestartPolicy
    ) -> None:
        self._work = work
        self._settings = settings
        self._server = server
        self._drain_seconds = drain_seconds
        self._policy = policy
        self._context = multiprocessing.get_context("spawn")  # a fork would share sockets, threads and locks
        self._workers = [_WorkerState(number, policy.backoff()) for number in range(server.workers)]
        self._run_id = uuid.uuid4().hex
        self._exit_code = 0
        self._kill_at: float | None = None  # set once the workers were asked to stop
        self._checked_at = time.monotonic()
        self._registry = CollectorRegistry()
        self._metrics = SupervisorMetrics(self._registry, workers=server.workers)

    def run(self) -> int:
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gate-metrics-")))
            self._registry.register(WorkerProcessCollector(self._pids))
            self._registry.register(_MergedMetrics(self._folder))
            if self._server.http_port is not None:
                checks = Checks(registry=self._registry, alive=self._alive, ready=self._ready)
                port = stack.enter_context(
                    health_server(
                        checks,
                        host=self._server.http_host,
                        port=self._server.http_port,
                        max_connections=self._server.http_max_connections,
                        on_dropped=self._metrics.record_connection_dropped,
                    )
                )
                self._metrics.log_listening(self._server.http_host, port)
            resource_tracker.ensure_running()  # the first worker would start it otherwise, without SIGINT blocked
            signals = stack.enter_context(_signals())
            stack.callback(self._kill_all, "the supervisor failed")
            while self._has_work():
                self._start_due()
                self._wait(signals)
                self._handle_signals(signals)
                self._receive_reports()
                self._handle_exits()
                self._kill_overdue()
        return self._exit_code

    def _has_work(self) -> bool:
        return any(worker.process is not None or worker.start_at is not None for worker in self._workers)

    def _start_due(self) -> None:
        for worker in self._workers:
            if worker.start_at is not None and worker.start_at <= time.monotonic():
                self._start(worker)

    def _start(self, worker: _WorkerState) -> None:
        is_restart = worker.started_at > 0
        worker.reports, sender = self._context.Pipe(duplex=False)
        worker.heartbeat = self._context.RawValue(ctypes.c_double, time.monotonic() + _START_SECONDS)
        worker.process = self._context.Process(
            target=_worker_process,
            args=(self._work, self._settings, self._server, worker.number, self._run_id, sender, worker.heartbeat),
            name=f"gate-{worker.number}",
        )
        with _environment(METRICS_FOLDER, str(self._folder)), _blocked(signal.SIGINT):
            worker.process.start()
        sender.close()
        worker.started_at, worker.start_at = time.monotonic(), None
        worker.reasons = {Readiness.REQUIRED: "starting"}
        self._metrics.record_start(worker.number, worker.process.pid or 0, is_restart=is_restart)

    def _wait(self, signals: socket.socket) -> None:
        """Until a signal, a report or an exit arrives, or something is due."""
        now = self._checked_at = time.monotonic()
        due = [worker.start_at for worker in self._workers if worker.start_at is not None]
        due += [now + _CHECK_SECONDS] if self._kill_at is None else [now + _CHECK_SECONDS, self._kill_at]
        sources: list[Any] = [signals]
        for worker in self._workers:
            sources += [worker.process.sentinel] if worker.process is not None else []
            sources += [worker.reports] if worker.reports is not None else []
        connection.wait(sources, timeout=max(min(due) - now, 0.0))

    def _handle_signals(self, signals: socket.socket) -> None:
        with suppress(BlockingIOError):
            for number in signals.recv(64):
                if self._kill_at is None:
                    self._stop(signal.Signals(number).name)
                elif number == signal.SIGINT:  # Ctrl-C for the second time: do not wait for the drain
                    self._kill_at = time.monotonic()

    def _stop(self, reason: str) -> None:
        """Ask every worker to drain and end. None is restarted from now on."""
        self._metrics.log_stop_requested(reason)
        self._kill_at = time.monotonic() + self._drain_seconds + self._policy.drain_margin_seconds
        for worker in self._workers:
            worker.start_at = None
            if worker.process is not None:
                worker.process.terminate()

    def _receive_reports(self) -> None:
        for worker in self._workers:
            try:
                while worker.reports is not None and worker.reports.poll():
                    worker.reasons = worker.reports.recv()
            except (EOFError, OSError):
                worker.reports = None

    def _handle_exits(self) -> None:
        """Record each worker that has ended, and decide whether and when it is restarted."""
        for worker in self._workers:
            if worker.process is None or worker.process.is_alive():
                continue
            exit_code = worker.process.exitcode or 0
            worker.process.close()
            worker.process, worker.reports = None, None
            worker.reasons = {Readiness.REQUIRED: f"exited with {exit_code}"}
            mark_process_dead(worker.number, str(self._folder))
            lived = time.monotonic() - worker.started_at
            delay = None
            if self._kill_at is not None:
                # A worker that SIGTERM ended before it could handle it has lost nothing; any other failed to drain.
                self._exit_code = self._exit_code or (0 if exit_code in (0, -signal.SIGTERM) else 1)
            elif exit_code == EXIT_CONFIG:
                self._exit_code = EXIT_CONFIG
            else:  # exit code 0 too: only the supervisor stops workers
                if lived > self._policy.stable_after_seconds:
                    worker.backoff.reset()
                delay = worker.backoff.next_seconds()
                worker.start_at = time.monotonic() + delay
            self._metrics.record_exit(worker.number, exit_code, lived_seconds=lived, restart_in_seconds=delay)
            if exit_code == EXIT_CONFIG and self._kill_at is None:
                self._stop("a setting is wrong")

    def _kill_overdue(self) -> None:
        now = time.monotonic()
        if self._kill_at is not None and now >= self._kill_at:
            self._kill_all("it did not stop in time")
        for worker in self._workers:
            if worker.process is not None and now - worker.heartbeat.value > self._policy.stuck_after_seconds:
                self._metrics.log_killed(worker.number, "its event loop is stuck")
                worker.process.kill()
                worker.heartbeat.value = now  # killed and logged once, not at each check until it has ended

    def _kill_all(self, reason: str) -> None:
        for worker in self._workers:
            if worker.process is not None:
                self._metrics.log_killed(worker.number, reason)
                worker.process.kill()
                worker.process.join()

    # Called by the threads of the health server

    def _pids(self) -> dict[str, int]:
        return {str(worker.number): pid for worker in self._workers if (pid := _pid(worker.process)) is not None}

    def _alive(self) -> dict[str, object]:
        late = time.monotonic() - self._checked_at
        return {"supervisor": f"stuck for {late:.0f} seconds"} if late > STUCK_SECONDS else {}

    def _ready(self) -> dict[str, object]:
        now = time.monotonic()
        by_worker: dict[str, object] = {}
        for worker in self._workers:
            reasons = dict(worker.reasons)
            if worker.process is not None and now - worker.heartbeat.value > STUCK_SECONDS:
                reasons["event_loop"] = "stuck"
            if reasons:
                by_worker[f"worker {worker.number}"] = reasons
        return by_worker


class _MergedMetrics(Collector):
    """The metrics of all workers. A file that a worker has just created may still be empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        files = []
        for path in self._folder.glob("*.db"):
            with suppress(FileNotFoundError):
                if path.stat().st_size:
                    files.append(str(path))
        yield from MultiProcessCollector.merge(files)


def _pid(process: BaseProcess | None) -> int | None:
    try:
        return None if process is None else process.pid
    except ValueError:  # the main thread has just closed it
        return None


@contextmanager
def _signals() -> Iterator[socket.socket]:
    """A socket from which the numbers of received signals are read."""
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        handlers = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
        wakeup = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield reader
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in handlers.items():
                signal.signal(number, handler)


@contextmanager
def _blocked(number: signal.Signals) -> Iterator[None]:
    """Block a signal in processes that are started here: a terminal sends Ctrl-C to every process of the group, and the
    supervisor alone decides what it means."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Set a variable for processes that are started here, and unset it for this one afterwards."""
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
