"""The supervisor restarts workers, stops them together and serves one port: real processes, really killed."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from gate.supervisor import RESTART_JITTER, RestartPolicy

pytestmark = pytest.mark.slow

FAKE_WORKERS = Path(__file__).parent / "support" / "fake_workers.py"
CANARY = "the quick canary of a document"
TIMEOUT_SECONDS = 60.0


class RunningSupervisor:
    """A supervisor with fake workers: its process, its log and its pages."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self._fresh: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._fresh.put(json.loads(line))
        self._fresh.put(None)

    def event(self, name: str, **facts: Any) -> dict[str, Any]:
        """The next log line of this event with these fields."""
        while True:
            line = self._fresh.get(timeout=TIMEOUT_SECONDS)
            assert line is not None, f"the supervisor ended without {name} {facts}: {self.lines}"
            self.lines.append(line)
            if line["event"] == name and facts.items() <= line.items():
                return line

    def end(self) -> int:
        """The exit code, once the supervisor has ended; `lines` then holds the whole log."""
        code = self.process.wait(TIMEOUT_SECONDS)
        self._reader.join()
        while (line := self._fresh.get()) is not None:
            self.lines.append(line)
        return code

    def events(self, name: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == name]

    def get(self, path: str) -> tuple[int, str]:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=10)) as http:
            http.request("GET", path)
            answer = http.getresponse()
            return answer.status, answer.read().decode()

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric over all labels but these; NaN where it is not exported."""
        samples = []
        for line in self.get("/metrics")[1].splitlines():
            parts = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            if parts and parts[1] == name and labels.items() <= set(re.findall(r'(\w+)="([^"]*)"', parts[2] or "")):
                samples.append(float(parts[3]))
        return sum(samples) if samples else float("nan")

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not condition():
            assert time.monotonic() < deadline, self.get("/metrics")[1]
            time.sleep(0.02)

    def start(self) -> None:
        """Wait until it serves its pages."""
        self.port = self.event("health_server.started")["port"]


@contextmanager
def supervise(work: str, *options: str) -> Iterator[RunningSupervisor]:
    command = [sys.executable, str(FAKE_WORKERS), work, *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    running = RunningSupervisor(process)
    try:
        running.start()
        yield running
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the supervisor and any worker it left behind
        process.wait()
        running._reader.join()
        assert process.stderr is not None
        process.stderr.close()


def test_a_killed_worker_is_restarted_and_its_counters_continue() -> None:
    with supervise("steady") as running:
        victim = running.event("worker.started", worker="1")["pid"]
        running.until(lambda: running.metric("gate_verdicts_total") > 20)
        running.until(lambda: running.get("/readyz")[0] == 200)
        before = running.metric("gate_verdicts_total")
        os.kill(victim, signal.SIGKILL)
        assert running.event("process.exited", worker="1")["exit_code"] == -signal.SIGKILL
        assert running.event("worker.started", worker="1")["pid"] != victim
        assert running.metric("gate_verdicts_total") >= before
        running.until(lambda: running.metric("gate_assigned_partitions", worker="1") == 1)
        running.until(lambda: running.get("/readyz")[0] == 200)
        assert running.metric("gate_worker_restarts_total") == 1
        assert running.metric("gate_consumer_lag_records") == 14
        assert running.metric("gate_workers_running") == 2
        assert running.metric("gate_worker_resident_memory_bytes", worker="0") > 10e6
        running.process.terminate()
        assert running.end() == 0


def test_gauges_of_a_dead_worker_are_dropped_and_its_counters_stay() -> None:
    with supervise("steady", "--backoff", "1000") as running:
        victim = running.event("worker.started", worker="1")["pid"]
        running.until(lambda: running.metric("gate_consumer_lag_records") == 14)
        before = running.metric("gate_verdicts_total")
        os.kill(victim, signal.SIGKILL)
        running.event("process.exited", worker="1")
        assert running.metric("gate_consumer_lag_records") == 7
        assert running.metric("gate_workers_running") == 1
        assert running.metric("gate_verdicts_total") >= before
        assert running.get("/readyz")[0] == 503


def test_a_dependency_is_down_as_long_as_one_running_worker_cannot_reach_it() -> None:
    with supervise("cut_off", "--backoff", "1000") as running:
        victim = running.event("worker.started", worker="0")["pid"]
        running.until(lambda: running.get("/readyz")[0] == 200)
        assert running.metric("gate_dependency_up", dependency="index") == 0
        assert running.metric("gate_dependency_up", dependency="broker") == 1
        os.kill(victim, signal.SIGKILL)
        running.event("process.exited", worker="0")
        assert running.metric("gate_dependency_up", dependency="index") == 1


def test_sigterm_to_the_supervisor_lets_every_worker_drain() -> None:
    with supervise("steady") as running:
        for _ in range(2):
            running.event("worker.started")
        running.process.terminate()
        assert running.end() == 0
        assert {line["worker"] for line in running.events("worker.stopped")} == {"0", "1"}
        assert [line["exit_code"] for line in running.events("process.exited")] == [0, 0]


def test_ctrl_c_to_the_whole_process_group_stops_workers_in_order_even_while_they_start() -> None:
    with supervise("steady") as running:
        running.event("process.started", worker="1")
        os.killpg(running.process.pid, signal.SIGINT)
        assert running.end() == 0
        assert running.events("supervisor.stop_requested")[0]["reason"] == "SIGINT"
        assert running.events("process.killed") == []


def test_a_worker_that_does_not_stop_in_time_is_killed() -> None:
    with supervise("ignores_sigterm", "--drain", "0.2") as running:
        running.until(lambda: running.get("/readyz")[0] == 200)
        running.process.terminate()
        assert running.end() == 1
        assert {line["worker"] for line in running.events("process.killed")} == {"0", "1"}


def test_a_second_ctrl_c_does_not_wait_for_the_drain() -> None:
    with supervise("ignores_sigterm", "--drain", "1000") as running:
        running.until(lambda: running.get("/readyz")[0] == 200)
        running.process.send_signal(signal.SIGINT)
        running.event("supervisor.stop_requested")
        running.process.send_signal(signal.SIGINT)
        assert running.end() == 1


def test_a_worker_that_crashes_at_once_is_restarted_ever_later_and_its_error_quotes_nothing() -> None:
    with supervise("crashes") as running:
        waits = [running.event("process.exited", worker="0")["restart_in_seconds"] for _ in range(4)]
        for wait, longest in zip(waits, [0.05, 0.1, 0.2, 0.4], strict=True):
            assert longest * 0.75 < wait <= longest
        assert running.metric("gate_worker_restarts_total", worker="0") >= 3
        assert running.get("/readyz")[0] == 503
        running.process.terminate()
        running.end()
        [first, *_] = running.events("worker.crashed")
        assert first["error"] == "ValueError"
        assert "fake_workers.py" in first["frames"][-1]
        assert CANARY not in json.dumps(running.lines)


def test_a_wrong_setting_stops_all_workers() -> None:
    with supervise("misconfigured") as running:
        assert running.end() == 2
        assert running.events("worker.crashed")[0]["message"] == "index: made with another profile; name that one"
        assert running.events("process.restarted") == []


def test_a_stuck_worker_is_killed_and_restarted(tmp_path: Path) -> None:
    with supervise("stuck", "--stuck", "2", "--settings", str(tmp_path)) as running:
        running.until(lambda: running.get("/readyz")[0] == 200)
        running.process.terminate()
        assert running.end() == 0
        assert {line["worker"] for line in running.events("process.killed")} == {"0", "1"}


def test_a_worker_that_ended_by_a_signal_of_another_process_is_restarted() -> None:
    with supervise("steady") as running:
        os.kill(running.event("worker.started", worker="0")["pid"], signal.SIGTERM)
        assert running.event("process.exited")["exit_code"] == 0
        running.event("worker.started", worker="0")


def test_workers_stop_when_their_supervisor_was_killed_and_leave_no_files_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with supervise("steady") as running:
        pids = [running.event("worker.started")["pid"] for _ in range(2)]
        running.process.kill()
        running.process.wait()
        running._reader.join()  # the pipe of stderr is closed: every worker has ended
        assert not any(Path(f"/proc/{pid}").exists() and is_running(pid) for pid in pids)
        assert list(tmp_path.glob("gate-metrics-*")) == []


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_readiness_names_the_worker_and_the_reason() -> None:
    with supervise("crashes") as running:
        running.event("process.exited", worker="1")
        status, body = running.get("/readyz")
        assert status == 503
        assert "worker 1" in json.loads(body)["reasons"]
        assert running.get("/healthz")[0] == 200


def test_one_worker_runs_without_a_supervisor() -> None:
    with supervise("steady", "--workers", "1") as running:
        assert running.event("worker.started")["pid"] == running.process.pid
        running.until(lambda: running.metric("gate_verdicts_total") > 5)
        assert running.metric("gate_workers_running") == running.metric("gate_workers_desired") == 1
        assert running.metric("gate_worker_resident_memory_bytes", worker="0") > 10e6
        running.process.terminate()
        assert running.end() == 0


def test_delays_of_restarts_double_up_to_the_longest() -> None:
    backoff = RestartPolicy(first_delay_seconds=1.0, longest_delay_seconds=30.0).backoff()
    for longest in (1, 2, 4, 8, 16, 30, *[30] * 1000):
        assert longest * (1 - RESTART_JITTER) <= backoff.next_seconds() <= longest
