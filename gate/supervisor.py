"""Many workers, one command: N processes that are begun again when they die, and told to stop together.

    parent ──spawn──▶ worker 0 ┐   counters: files that the parent reads (prometheus multiprocess mode)
       │   ──spawn──▶ worker 1 ├─▶ readiness: a pipe each
       │   ──spawn──▶ worker 2 ┘   ticks of the event loop: a number in shared memory each
       └─ one port: metrics of all, readiness of all

A worker keeps its number when it is begun again, and with it the file of its counters: they go on where they were.
A worker that finds its parent gone stops as if it were told to.
"""

from __future__ import annotations

import asyncio
import ctypes
import multiprocessing
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
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

from gate.errors import ConfigError, GateError
from gate.http.health import STUCK_SECONDS, Checks, health_server, serve_health, ticking
from gate.logs import configure_logging
from gate.metrics import SupervisorMetrics, WorkerMetrics, WorkerProcessCollector
from gate.readiness import Readiness
from gate.stream.settings import ServerSettings

WRONG, CRASHED = 2, 70  # exit codes: a setting that no second try can mend; a bug
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where prometheus_client keeps values, if set before it is imported
_START_SECONDS = 60.0  # what a worker may take before its event loop runs
_LOOK_SECONDS = 1.0  # how often the supervisor looks around when nothing happens


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerContext:
    """A worker's place: its number, and to whom it tells what happens and whether it can work."""

    number: int
    metrics: WorkerMetrics
    readiness: Readiness


# A function of a module, not of another function: workers import it by its name. It stops on SIGTERM by itself.
Work = Callable[[Any, WorkerContext], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for what. The default of each is far above what a healthy worker needs."""

    backoff_seconds: float = 0.5  # before a worker that died is begun again; twice as long each time it dies again
    longest_backoff_seconds: float = 30.0
    settled_seconds: float = 60.0  # who lived as long is no longer suspected to die at once
    margin_seconds: float = 5.0  # beyond the time that a worker may take to drain, before it is killed
    stuck_seconds: float = 120.0  # an event loop that has not ticked for so long never will: killed, begun again

    def wait_seconds(self, failures: int) -> float:
        """Before the next try, after so many deaths in a row."""
        return min(self.backoff_seconds * 2.0 ** min(failures - 1, 30), self.longest_backoff_seconds)


def run(
    work: Work, settings: object, *, server: ServerSettings, drain_seconds: float, patience: Patience | None = None
) -> int:
    """Work in this process, or in as many as are asked for, until told to stop. Returns the exit code."""
    configure_logging(server.log_level, server.log_format)
    if server.workers == 1:
        return asyncio.run(_alone(work, settings, server))
    return Supervisor(work, settings, server, drain_seconds, patience or Patience()).run()


async def _alone(work: Work, settings: object, server: ServerSettings) -> int:
    metrics, readiness = WorkerMetrics(), Readiness()
    metrics.registry.register(WorkerProcessCollector(lambda: {"0": os.getpid()}))
    SupervisorMetrics(metrics.registry, workers=1).record_start(0, os.getpid(), is_restart=False)
    context = WorkerContext(number=0, metrics=metrics, readiness=readiness)
    if server.http_port is None:
        return await _work(work, settings, context)
    async with serve_health(
        registry=metrics.registry, readiness=readiness, host=server.http_host, port=server.http_port
    ) as port:
        metrics.log_listening(server.http_host, port)
        return await _work(work, settings, context)


async def _work(work: Work, settings: object, context: WorkerContext) -> int:
    """The exit code. An unexpected error is logged without its message, which might quote a document."""
    try:
        await work(settings, context)
    except GateError:
        raise
    except Exception as exc:  # noqa: BLE001 - the last one to hear of it
        context.metrics.log_crashed(exc)
        return CRASHED
    return 0


# A worker's side


def _be_worker(
    work: Work, settings: object, number: int, server: ServerSettings, reports: Connection, pulse: ctypes.c_double
) -> None:
    values.ValueClass = values.MultiProcessValue(lambda: number)
    configure_logging(server.log_level, server.log_format)
    threading.Thread(target=_follow_parent, daemon=True, name="parent").start()

    def tell(reasons: Mapping[str, str]) -> None:
        with suppress(OSError):  # nobody listens any more, and the signal to stop is on its way
            reports.send(dict(reasons))

    def tick(at: float) -> None:
        pulse.value = at

    context = WorkerContext(number=number, metrics=WorkerMetrics(worker=str(number)), readiness=Readiness(tell))

    async def live() -> int:
        async with ticking(tick):
            return await _work(work, settings, context)

    try:
        sys.exit(asyncio.run(live()))
    except GateError as exc:
        context.metrics.log_crashed(exc)
        sys.exit(WRONG if isinstance(exc, ConfigError) else CRASHED)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        shutil.rmtree(os.environ[METRICS_FOLDER], ignore_errors=True)  # who would have done it is gone
        os.kill(os.getpid(), signal.SIGTERM)


# The supervisor's side


@dataclass
class _Worker:
    number: int
    process: BaseProcess | None = None
    reports: Connection | None = None
    pulse: Any = None
    begun_at: float = 0.0
    failures: int = 0
    next_at: float | None = 0.0  # None: it runs, or has come to its end
    reasons: dict[str, str] = field(default_factory=lambda: {Readiness.NEEDED: "starting"})


class Supervisor:
    """Begins workers, begins them again, and ends when they have ended."""

    def __init__(
        self, work: Work, settings: object, server: ServerSettings, drain_seconds: float, patience: Patience
    ) -> None:
        self._work = work
        self._settings = settings
        self._server = server
        self._drain_seconds = drain_seconds
        self._patience = patience
        self._context = multiprocessing.get_context("spawn")  # a fork would share sockets, threads and locks
        self._workers = [_Worker(number) for number in range(server.workers)]
        self._code = 0
        self._kill_at: float | None = None  # once told to stop
        self._looked_at = time.monotonic()
        self._registry = CollectorRegistry()
        self._oversight = SupervisorMetrics(self._registry, workers=server.workers)

    def run(self) -> int:
        with ExitStack() as opened:
            self._folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="gate-metrics-")))
            self._registry.register(WorkerProcessCollector(self._pids))
            self._registry.register(_Merged(self._folder))
            if self._server.http_port is not None:
                checks = Checks(registry=self._registry, alive=self._alive, ready=self._ready)
                port = opened.enter_context(
                    health_server(checks, host=self._server.http_host, port=self._server.http_port)
                )
                self._oversight.log_listening(self._server.http_host, port)
            resource_tracker.ensure_running()  # or the first worker would begin it, and so hear Ctrl-C again
            signals = opened.enter_context(_signals())
            opened.callback(self._kill_all, "the supervisor failed")
            while self._go_on():
                self._begin_due()
                self._wait(signals)
                self._hear_signals(signals)
                self._hear_reports()
                self._bury()
                self._kill_overdue()
        return self._code

    def _go_on(self) -> bool:
        return any(worker.process is not None or worker.next_at is not None for worker in self._workers)

    def _begin_due(self) -> None:
        for worker in self._workers:
            if worker.next_at is not None and worker.next_at <= time.monotonic():
                self._begin(worker)

    def _begin(self, worker: _Worker) -> None:
        again = worker.process is not None or worker.begun_at > 0
        worker.reports, theirs = self._context.Pipe(duplex=False)
        worker.pulse = self._context.RawValue(ctypes.c_double, time.monotonic() + _START_SECONDS)
        worker.process = self._context.Process(
            target=_be_worker,
            args=(self._work, self._settings, worker.number, self._server, theirs, worker.pulse),
            name=f"gate-{worker.number}",
        )
        with _environment(METRICS_FOLDER, str(self._folder)), _without(signal.SIGINT):
            worker.process.start()
        theirs.close()
        worker.begun_at, worker.next_at = time.monotonic(), None
        worker.reasons = {Readiness.NEEDED: "starting"}
        self._oversight.record_start(worker.number, worker.process.pid or 0, is_restart=again)

    def _wait(self, signals: socket.socket) -> None:
        """Until something happens, or something is due."""
        now = self._looked_at = time.monotonic()
        due = [worker.next_at for worker in self._workers if worker.next_at is not None]
        due += [now + _LOOK_SECONDS] if self._kill_at is None else [now + _LOOK_SECONDS, self._kill_at]
        waited: list[Any] = [signals]
        for worker in self._workers:
            waited += [worker.process.sentinel] if worker.process is not None else []
            waited += [worker.reports] if worker.reports is not None else []
        connection.wait(waited, timeout=max(min(due) - now, 0.0))

    def _hear_signals(self, signals: socket.socket) -> None:
        with suppress(BlockingIOError):
            for number in signals.recv(64):
                if self._kill_at is None:
                    self._stop(signal.Signals(number).name)
                elif number == signal.SIGINT:  # asked for twice, by a person who does not want to wait
                    self._kill_at = time.monotonic()

    def _stop(self, reason: str) -> None:
        """Tell everybody to finish what was begun. Nobody begins any more."""
        self._oversight.log_stop_requested(reason)
        self._kill_at = time.monotonic() + self._drain_seconds + self._patience.margin_seconds
        for worker in self._workers:
            worker.next_at = None
            if worker.process is not None:
                worker.process.terminate()

    def _hear_reports(self) -> None:
        for worker in self._workers:
            try:
                while worker.reports is not None and worker.reports.poll():
                    worker.reasons = worker.reports.recv()
            except (EOFError, OSError):
                worker.reports = None

    def _bury(self) -> None:
        """Of each that has ended: count it, and settle whether and when it begins again."""
        for worker in self._workers:
            if worker.process is None or worker.process.is_alive():
                continue
            code = worker.process.exitcode or 0
            worker.process.close()
            worker.process, worker.reports = None, None
            worker.reasons = {Readiness.NEEDED: f"ended with {code}"}
            mark_process_dead(worker.number, str(self._folder))
            lived = time.monotonic() - worker.begun_at
            if self._kill_at is not None:
                # Nothing is lost by a worker that was told to stop before it could hear; the others failed to drain.
                self._code = self._code or (0 if code in (0, -signal.SIGTERM) else 1)
            elif code == WRONG:
                self._code = WRONG
            else:  # whatever the code: only the supervisor tells a worker to stop
                worker.failures = 1 if lived > self._patience.settled_seconds else worker.failures + 1
                # Not all at the same time: what one died of may be what they all ask for.
                wait = self._patience.wait_seconds(worker.failures) * random.uniform(0.8, 1.0)  # noqa: S311
                worker.next_at = time.monotonic() + wait
            wait_seconds = None if worker.next_at is None else worker.next_at - time.monotonic()
            self._oversight.record_exit(worker.number, code, lived_seconds=lived, restart_in_seconds=wait_seconds)
            if code == WRONG and self._kill_at is None:
                self._stop("a setting is wrong")

    def _kill_overdue(self) -> None:
        now = time.monotonic()
        if self._kill_at is not None and now >= self._kill_at:
            self._kill_all("it did not stop in time")
        for worker in self._workers:
            if worker.process is not None and now - worker.pulse.value > self._patience.stuck_seconds:
                self._oversight.log_killed(worker.number, "its event loop is stuck")
                worker.process.kill()
                worker.pulse.value = now  # once is enough

    def _kill_all(self, reason: str) -> None:
        for worker in self._workers:
            if worker.process is not None:
                self._oversight.log_killed(worker.number, reason)
                worker.process.kill()
                worker.process.join()

    # What the pages tell, from a thread of theirs

    def _pids(self) -> dict[str, int]:
        return {str(worker.number): pid for worker in self._workers if (pid := _pid(worker.process)) is not None}

    def _alive(self) -> dict[str, object]:
        late = time.monotonic() - self._looked_at
        return {"supervisor": f"stuck for {late:.0f} seconds"} if late > STUCK_SECONDS else {}

    def _ready(self) -> dict[str, object]:
        now = time.monotonic()
        found: dict[str, object] = {}
        for worker in self._workers:
            reasons = dict(worker.reasons)
            if worker.process is not None and now - worker.pulse.value > STUCK_SECONDS:
                reasons["event_loop"] = "stuck"
            if reasons:
                found[f"worker {worker.number}"] = reasons
        return found


class _Merged(Collector):
    """The values of all workers. A file that a worker has just made may be empty still."""

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
    except ValueError:  # it was closed in this very moment
        return None


@contextmanager
def _signals() -> Iterator[socket.socket]:
    """A socket that holds the numbers of the signals that came."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
        wakeup = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        try:
            yield ours
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _without(number: signal.Signals) -> Iterator[None]:
    """A signal that whoever is begun here never hears: Ctrl-C goes to everybody, and the parent tells what it means."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """A variable for whoever is begun here, and not for this process."""
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
