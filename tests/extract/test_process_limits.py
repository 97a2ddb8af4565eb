"""Limits on a process, in one of its own."""

from __future__ import annotations

import signal
import subprocess
import sys


def end_of(program: str) -> tuple[int, list[str]]:
    imports = "from gate.extract.process_limits import address_space_bytes, limit_process, limit_work\n"
    done = subprocess.run([sys.executable, "-c", imports + program], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.splitlines()[-1:]


def test_memory_beyond_the_limit_is_refused() -> None:
    program = "limit_work(cpu_seconds=9, memory_bytes=address_space_bytes() + (1 << 24))\nbytes(1 << 26)"
    assert end_of(program) == (1, ["MemoryError"])


def test_cpu_beyond_the_limit_ends_the_process() -> None:
    program = "limit_work(cpu_seconds=0, memory_bytes=1 << 40)\nwhile True: pass"
    assert end_of(program)[0] == -signal.SIGXCPU


def test_a_limited_process_writes_no_files() -> None:
    program = "import os, sys, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nlimit_process()\n"
    assert end_of(program + "import tempfile\nf = tempfile.TemporaryFile()\nf.write(b'x'); f.flush()")[0] == 1
