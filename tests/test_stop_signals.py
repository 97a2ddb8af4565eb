"""The first signal asks a process to stop, the second ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from gate.stop_signals import stop_on_signals

WAIT = """
import asyncio
from gate.stop_signals import stop_on_signals

async def main():
    stop = stop_on_signals()
    print("ready", flush=True)
    await stop.wait()
    print("stopping", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_sets_the_event(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    stop = stop_on_signals()
    os.kill(os.getpid(), number)
    await stop.wait()
    signal.signal(number, before)


def test_a_second_signal_ends_the_process_at_once() -> None:
    with subprocess.Popen([sys.executable, "-c", WAIT], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in ("ready\n", "stopping\n"):
            assert process.stdout.readline() == line
            process.terminate()
        assert process.wait(30) == 128 + signal.SIGTERM


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """As a shell sets SIGINT for a command in the background."""
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + WAIT.replace("60", "0")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.terminate()
        assert process.wait(30) == 0
