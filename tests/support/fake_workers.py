"""Workers for the tests of the supervisor, run as a command: `python fake_workers.py NAME [--workers N] ...`.

Each shows one behaviour, and all but `ignores_sigterm` stop on SIGTERM.
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
from gate.supervisor import RestartPolicy, WorkerContext, run

CANARY = "the quick canary of a document"


async def steady(settings: object, context: WorkerContext) -> None:
    """Delivers verdicts until SIGTERM, then drains."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    context.metrics.log_started()
    context.metrics.record_assigned([("check-ins", context.number)])
    context.readiness.set("consumer", None)
    while not stop.is_set():
        now = time.time()
        context.metrics.record_verdicts([_VERDICT], ["source"], [now], [now], now)
        context.metrics.set_lag("check-ins", context.number, 7)
        await asyncio.wait([asyncio.create_task(stop.wait())], timeout=0.01)
    context.metrics.log_stop_requested("SIGTERM")
    context.metrics.log_stopped()


async def cut_off(settings: object, context: WorkerContext) -> None:
    """Worker 0 cannot reach the index."""
    if context.number == 0:
        context.metrics.record_failed_attempt("index", "unavailable")
    await steady(settings, context)


async def crashes(settings: object, context: WorkerContext) -> None:
    """Crashes at once, by a bug whose message quotes a document."""
    raise ValueError(CANARY)


async def misconfigured(settings: object, context: WorkerContext) -> None:
    """Worker 0 finds a setting that cannot work."""
    if context.number == 0:
        raise ConfigError("index: made with another profile; name that one")
    await steady(settings, context)


async def ignores_sigterm(settings: object, context: WorkerContext) -> None:
    """Never stops by itself."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    context.readiness.set("consumer", None)
    await asyncio.Event().wait()


async def stuck(settings: object, context: WorkerContext) -> None:
    """Blocks its event loop for good the first time; `settings` is a folder that records that it did."""
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
    parser.add_argument("work")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--drain", type=float, default=20.0)
    parser.add_argument("--stuck", type=float, default=120.0)
    parser.add_argument("--backoff", type=float, default=0.05)
    parser.add_argument("--settings")
    parser.add_argument("--log-format", choices=FORMATS, default="auto")
    given = parser.parse_args()
    policy = RestartPolicy(
        first_delay_seconds=given.backoff,
        longest_delay_seconds=given.backoff * 8,
        drain_margin_seconds=0.0,
        stuck_after_seconds=given.stuck,
    )
    server = ServerSettings(workers=given.workers, http_port=0, log_format=given.log_format)
    sys.exit(run(globals()[given.work], given.settings, server=server, drain_seconds=given.drain, policy=policy))
