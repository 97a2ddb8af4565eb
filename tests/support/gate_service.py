"""The HTTP service as tests and benchmarks run it: processes of `gate serve` on loopback ports."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START_SECONDS = 60.0


@dataclass
class ServiceProcess:
    """One `gate serve`, and the file that its log goes to."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def url(self) -> str:
        """Where it listens, as its log says; empty: the log does not say so yet."""
        found = re.search(r'"url": "(?P<url>[^"]+)"', self.log.read_text())
        return found["url"] if found else ""

    def get(self, path: str) -> tuple[int, Any]:
        """The status and the body of an answer; 0 where there is none."""
        try:
            with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as answer:  # noqa: S310 - loopback
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except (OSError, ValueError):
            return 0, None

    def wait_ready(self, *, ready: bool = True) -> None:
        """Wait until it is ready; or until it answers that it is not."""
        deadline = time.monotonic() + START_SECONDS
        while self.get("/readyz")[0] != (200 if ready else 503):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the service is not up\n{self.log.read_text()[-4000:]}")
            time.sleep(0.02)

    def stop(self, seconds: float = 30.0) -> int:
        """Stop as an orchestrator does, by SIGTERM; the exit code."""
        self.process.terminate()
        return self.process.wait(seconds)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def service_process(
    log: Path, *options: str, wait: bool = True, environ: dict[str, str] | None = None
) -> Iterator[ServiceProcess]:
    """A process of `gate serve`, on any free port unless the options name one; killed at the end if it still runs."""
    port: Sequence[str] = () if "--port" in options else ("--port", "0")
    command = [sys.executable, "-m", "gate", "serve", *port, *options]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GATE_")} | (environ or {})
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=log.parent)
    started = ServiceProcess(process, log)
    try:
        if wait:
            started.wait_ready()
        yield started
    finally:
        if process.poll() is None:
            started.kill()
