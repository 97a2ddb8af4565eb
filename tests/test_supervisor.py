"""Workers that are begun again, told to stop together, and seen on one port: real processes, really killed."""

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

from gate.supervisor import Patience

FAKE_WORKERS = Path(__file__).parent / "supervisor" / "fake_workers.py"
CANARY = "the quick canary of a document"
PATIENCE_SECONDS = 60.0


class Play:
    """A scene that runs: its log, its pages, its process."""

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
        """The next line of the log that tells this."""
        while True:
            line = self._fresh.get(timeout=PATIENCE_SECONDS)
            assert line is not None, f"the scene ended without {name} {facts}: {self.lines}"
            self.lines.append(line)
            if line["event"] == name and facts.items() <= line.items():
                return line

    def end(self) -> int:
        """Wait for the end; all that was logged is then in `lines`."""
        code = self.process.wait(PATIENCE_SECONDS)
        self._reader.join()
        while (line := self._fresh.get()) is not None:
            self.lines.append(line)
        return code

    def told(self, name: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == name]

    def get(self, path: str) -> tuple[int, str]:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=10)) as http:
            http.request("GET", path)
            answer = http.getresponse()
            return answer.status, answer.read().decode()

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric over all but these labels; NaN where it is not there."""
        found = []
        for line in self.get("/metrics")[1].splitlines():
            parts = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            if parts and parts[1] == name and labels.items() <= set(re.findall(r'(\w+)="([^"]*)"', parts[2] or "")):
                found.append(float(parts[3]))
        return sum(found) if found else float("nan")

    def until(self, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not true():
            assert time.monotonic() < deadline, self.get("/metrics")[1]
            time.sleep(0.02)

    def start(self) -> None:
        """Wait until it serves its pages."""
        self.port = self.event("health_server.started")["port"]


@contextmanager
def play(scene: str, *options: str) -> Iterator[Play]:
    command = [sys.executable, str(FAKE_WORKERS), scene, *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    running = Play(process)
    try:
        running.start()
        yield running
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # it, and whoever it has left behind
        process.wait()
        running._reader.join()
        assert process.stderr is not None
        process.stderr.close()


def test_a_killed_worker_is_begun_again_and_its_counters_go_on() -> None:
    with play("steady") as scene:
        victim = scene.event("worker.started", worker="1")["pid"]
        scene.until(lambda: scene.metric("gate_verdicts_total") > 20)
        scene.until(lambda: scene.get("/readyz")[0] == 200)
        before = scene.metric("gate_verdicts_total")
        os.kill(victim, signal.SIGKILL)
        assert scene.event("process.exited", worker="1")["exit_code"] == -signal.SIGKILL
        assert scene.event("worker.started", worker="1")["pid"] != victim
        assert scene.metric("gate_verdicts_total") >= before
        scene.until(lambda: scene.metric("gate_assigned_partitions", worker="1") == 1)
        scene.until(lambda: scene.get("/readyz")[0] == 200)
        assert scene.metric("gate_worker_restarts_total") == 1
        assert scene.metric("gate_consumer_lag_records") == 14
        assert scene.metric("gate_workers_running") == 2
        assert scene.metric("gate_worker_resident_memory_bytes", worker="0") > 10e6
        scene.process.terminate()
        assert scene.end() == 0


def test_what_a_dead_worker_held_is_not_counted_and_what_it_did_is() -> None:
    with play("steady", "--backoff", "1000") as scene:
        victim = scene.event("worker.started", worker="1")["pid"]
        scene.until(lambda: scene.metric("gate_consumer_lag_records") == 14)
        before = scene.metric("gate_verdicts_total")
        os.kill(victim, signal.SIGKILL)
        scene.event("process.exited", worker="1")
        assert scene.metric("gate_consumer_lag_records") == 7
        assert scene.metric("gate_workers_running") == 1
        assert scene.metric("gate_verdicts_total") >= before
        assert scene.get("/readyz")[0] == 503


def test_a_dependency_is_down_as_long_as_one_running_worker_cannot_reach_it() -> None:
    with play("cut_off", "--backoff", "1000") as scene:
        victim = scene.event("worker.started", worker="0")["pid"]
        scene.until(lambda: scene.get("/readyz")[0] == 200)
        assert scene.metric("gate_dependency_up", dependency="index") == 0
        assert scene.metric("gate_dependency_up", dependency="broker") == 1
        os.kill(victim, signal.SIGKILL)
        scene.event("process.exited", worker="0")
        assert scene.metric("gate_dependency_up", dependency="index") == 1


def test_a_signal_to_the_supervisor_lets_every_worker_finish_what_it_has_begun() -> None:
    with play("steady") as scene:
        for _ in range(2):
            scene.event("worker.started")
        scene.process.terminate()
        assert scene.end() == 0
        assert {line["worker"] for line in scene.told("worker.stopped")} == {"0", "1"}
        assert [line["exit_code"] for line in scene.told("process.exited")] == [0, 0]


def test_ctrl_c_which_everybody_hears_ends_workers_in_order_even_while_they_begin() -> None:
    with play("steady") as scene:
        scene.event("process.started", worker="1")
        os.killpg(scene.process.pid, signal.SIGINT)
        assert scene.end() == 0
        assert scene.told("supervisor.stop_requested")[0]["reason"] == "SIGINT"
        assert scene.told("process.killed") == []


def test_a_worker_that_does_not_stop_in_time_is_killed() -> None:
    with play("deaf", "--drain", "0.2") as scene:
        scene.until(lambda: scene.get("/readyz")[0] == 200)
        scene.process.terminate()
        assert scene.end() == 1
        assert {line["worker"] for line in scene.told("process.killed")} == {"0", "1"}


def test_who_asks_twice_does_not_wait_for_the_drain() -> None:
    with play("deaf", "--drain", "1000") as scene:
        scene.until(lambda: scene.get("/readyz")[0] == 200)
        scene.process.send_signal(signal.SIGINT)
        scene.event("supervisor.stop_requested")
        scene.process.send_signal(signal.SIGINT)
        assert scene.end() == 1


def test_a_worker_that_dies_at_once_is_begun_ever_later_and_its_error_quotes_nothing() -> None:
    with play("dies") as scene:
        waits = [scene.event("process.exited", worker="0")["restart_in_seconds"] for _ in range(4)]
        for wait, longest in zip(waits, [0.05, 0.1, 0.2, 0.4], strict=True):
            assert longest * 0.75 < wait <= longest
        assert scene.metric("gate_worker_restarts_total", worker="0") >= 3
        assert scene.get("/readyz")[0] == 503
        scene.process.terminate()
        scene.end()
        [first, *_] = scene.told("worker.crashed")
        assert first["error"] == "ValueError"
        assert "fake_workers.py" in first["frames"][-1]
        assert CANARY not in json.dumps(scene.lines)


def test_a_wrong_setting_ends_everybody() -> None:
    with play("wrong") as scene:
        assert scene.end() == 2
        assert scene.told("worker.crashed")[0]["message"] == "index: made with another profile; name that one"
        assert scene.told("process.restarted") == []


def test_a_stuck_worker_is_killed_and_begun_again(tmp_path: Path) -> None:
    with play("stuck", "--stuck", "2", "--settings", str(tmp_path)) as scene:
        scene.until(lambda: scene.get("/readyz")[0] == 200)
        scene.process.terminate()
        assert scene.end() == 0
        assert {line["worker"] for line in scene.told("process.killed")} == {"0", "1"}


def test_a_worker_that_somebody_else_told_to_stop_is_begun_again() -> None:
    with play("steady") as scene:
        os.kill(scene.event("worker.started", worker="0")["pid"], signal.SIGTERM)
        assert scene.event("process.exited")["exit_code"] == 0
        scene.event("worker.started", worker="0")


def test_workers_stop_when_their_supervisor_is_gone_and_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with play("steady") as scene:
        pids = [scene.event("worker.started")["pid"] for _ in range(2)]
        scene.process.kill()
        scene.process.wait()
        scene._reader.join()  # the last who could write has closed its end
        assert not any(Path(f"/proc/{pid}").exists() and is_running(pid) for pid in pids)
        assert list(tmp_path.glob("gate-metrics-*")) == []


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_readiness_names_the_worker_and_the_reason() -> None:
    with play("dies") as scene:
        scene.event("process.exited", worker="1")
        status, body = scene.get("/readyz")
        assert status == 503
        assert "worker 1" in json.loads(body)["reasons"]
        assert scene.get("/healthz")[0] == 200


def test_one_worker_needs_no_supervisor() -> None:
    with play("steady", "--workers", "1") as scene:
        assert scene.event("worker.started")["pid"] == scene.process.pid
        scene.until(lambda: scene.metric("gate_verdicts_total") > 5)
        assert scene.metric("gate_workers_running") == scene.metric("gate_workers_desired") == 1
        assert scene.metric("gate_worker_resident_memory_bytes", worker="0") > 10e6
        scene.process.terminate()
        assert scene.end() == 0


def test_waits_double_up_to_the_longest() -> None:
    patience = Patience(backoff_seconds=1.0, longest_backoff_seconds=30.0)
    assert [patience.wait_seconds(failures) for failures in (1, 2, 3, 5, 6, 1000)] == [1, 2, 4, 16, 30, 30]
