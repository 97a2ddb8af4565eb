"""Workers for the tests of the supervisor, run as a command: `python fake_workers.py NAME [--workers N] ...`.

Each is as small as what it shows. All but the deaf one stop on SIGTERM.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
import time

from gate.errors import ConfigError
from gate.logs import FORMATS
from gate.model import Relation, Verdict
from gate.stream.settings import ServerSettings
from gate.supervisor import Patience, WorkerContext, run

CANARY = "the quick canary of a document"


async def steady(settings: object, context: WorkerContext) -> None:
    """Works until it is told to stop, then says that it has drained."""
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    context.metrics.log_started()
    context.metrics.record_assigned([("check-ins", context.number)])
    context.readiness.set("consumer", None)
    while not told.is_set():
        now = time.time()
        context.metrics.record_verdicts([_VERDICT], ["scene"], [now], [now], now)
        context.metrics.set_lag("check-ins", context.number, 7)
        await asyncio.wait([asyncio.create_task(told.wait())], timeout=0.01)
    context.metrics.log_stop_requested("SIGTERM")
    context.metrics.log_stopped()


async def cut_off(settings: object, context: WorkerContext) -> None:
    """One of them does not reach the index."""
    if context.number == 0:
        context.metrics.record_failed_attempt("index", "unavailable")
    await steady(settings, context)


async def dies(settings: object, context: WorkerContext) -> None:
    """Dies at once, of a bug."""
    raise ValueError(CANARY)


async def wrong(settings: object, context: WorkerContext) -> None:
    """One of them finds that it cannot work."""
    if context.number == 0:
        raise ConfigError("index: made with another profile; name that one")
    await steady(settings, context)


async def deaf(settings: object, context: WorkerContext) -> None:
    """Hears no signal."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    context.readiness.set("consumer", None)
    await asyncio.Event().wait()


async def stuck(settings: object, context: WorkerContext) -> None:
    """Blocks its event loop for good, the first time; `settings` is a folder where it leaves word of that."""
    try:
        os.mkdir(f"{settings}/{context.number}")  # noqa: PTH102
    except FileExistsError:
        await steady(settings, context)
    else:
        threading.Event().wait()


_VERDICT = Verdict(
    document_id="a",
    version=None,
    similar=False,
    relation=Relation.NEW,
    group="a",
    content_id="0",
    fingerprint=None,
    profile="standard@1",
    verdict_id="v",
    features=1,
    candidates=0,
    matches=(),
    degraded=(),
)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("scene")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--drain", type=float, default=20.0)
    parser.add_argument("--stuck", type=float, default=120.0)
    parser.add_argument("--backoff", type=float, default=0.05)
    parser.add_argument("--settings")
    parser.add_argument("--log-format", choices=FORMATS, default="auto")
    given = parser.parse_args()
    patience = Patience(
        backoff_seconds=given.backoff,
        longest_backoff_seconds=given.backoff * 8,
        margin_seconds=0.0,
        stuck_seconds=given.stuck,
    )
    server = ServerSettings(workers=given.workers, http_port=0, log_format=given.log_format)
    sys.exit(run(globals()[given.scene], given.settings, server=server, drain_seconds=given.drain, patience=patience))
