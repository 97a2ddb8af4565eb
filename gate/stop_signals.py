"""Stops a process in order on SIGTERM and SIGINT, and at once on the second signal."""

from __future__ import annotations

import asyncio
import os
import signal


def stop_on_signals() -> asyncio.Event:
    """An event of the running loop that the first signal sets; the second one ends the process."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as a shell sets SIGINT for a command in the background
            asyncio.get_running_loop().add_signal_handler(number, _stop, stop, number)
    return stop


def _stop(stop: asyncio.Event, number: int) -> None:
    if stop.is_set():
        os._exit(128 + number)
    stop.set()
