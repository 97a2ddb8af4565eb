"""One worker process: from settings to a gate, a desk and a member of the consumer group."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from functools import partial

from gate.api import Gate
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.errors import ConfigError
from gate.index.redis.url import is_redis_url
from gate.stream.processor import Desk
from gate.stream.worker import Worker
from gate.supervisor import WorkerContext, run

COLLECT_AFTER = (100_000, 20, 50)  # a batch makes thousands of values, hardly any of them in a cycle
SWITCH_SECONDS = 0.001  # how long a busy thread may keep the others from the interpreter: the event loop is one of them


def check(settings: Settings) -> None:
    """What can be told to be wrong before any process begins."""
    if settings.kafka is None:
        raise ConfigError("kafka: no brokers are named; give --kafka HOST:PORT, or set kafka_brokers")
    if settings.server.workers > 1 and not is_redis_url(settings.index):
        raise ConfigError(
            f"workers: {settings.server.workers} workers need an index that they share: name a Redis with --redis or "
            "--index, or run one worker"
        )


def serve(settings: Settings) -> int:
    """Work until told to stop, in as many processes as are asked for. Returns the exit code."""
    check(settings)
    return run(work, settings, server=settings.server, drain_seconds=settings.worker.drain_seconds)


async def work(settings: Settings, context: WorkerContext) -> None:
    """Be a worker until SIGTERM or SIGINT comes; a second one does not wait for what is under way."""
    if settings.kafka is None:
        raise ConfigError("kafka: no brokers are named")
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # what was imported stays
    gc.set_threshold(*COLLECT_AFTER)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:  # where a supervisor hears it and passes it on
            asyncio.get_running_loop().add_signal_handler(number, _told, stop, number)

    def gate(index: str | None) -> Gate:
        return Gate(
            settings.profile,
            index=index,
            secret=settings.secret.value,
            limits=settings.limits,
            redis=settings.redis,
            observer=context.metrics,
        )

    desk = Desk(
        gate(None),
        partial(gate, None if settings.index == MEMORY else settings.index),
        limits=settings.limits,
        topics=settings.kafka.topics,
        on_index_unavailable=settings.worker.on_index_unavailable,
        content_root=settings.content_root,
        metrics=context.metrics,
    )
    worker = Worker(
        settings.kafka,
        settings.worker,
        desk,
        limits=settings.limits,
        metrics=context.metrics,
        readiness=context.readiness,
    )
    await worker.run(stop)


def _told(stop: asyncio.Event, number: int) -> None:
    if stop.is_set():
        os._exit(128 + number)
    stop.set()
