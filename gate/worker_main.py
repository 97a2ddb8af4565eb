"""One worker process: make a gate, a batch processor and a member of the consumer group from the settings."""

from __future__ import annotations

import gc
import sys
from functools import partial

from gate.api import Gate
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.errors import ConfigError
from gate.index.redis.url import is_redis_url
from gate.metrics import WorkerMetrics
from gate.pipeline import Signer
from gate.stop_signals import stop_on_signals
from gate.stream.group_index import GroupIndex, OpenedIndex
from gate.stream.membership import InstanceId
from gate.stream.processor import BatchProcessor
from gate.stream.worker import Worker
from gate.supervisor import WorkerContext, run

COLLECT_AFTER = (100_000, 20, 50)  # a batch makes thousands of values, hardly any of them in a cycle
SWITCH_SECONDS = 0.001  # a busy thread may keep the interpreter from the event loop for so long


def check(settings: Settings) -> None:
    """Refuse settings that cannot work, before any process starts."""
    if settings.kafka is None:
        raise ConfigError("kafka: no brokers are named; give --kafka HOST:PORT, or set kafka_brokers")
    if settings.server.workers > 1 and not is_redis_url(settings.index):
        raise ConfigError(
            f"workers: {settings.server.workers} workers need a shared index: name a Redis with --redis or "
            "--index, or run one worker"
        )
    if settings.service.port is not None:
        from gate.serve_main import check_service  # few workers serve

        if settings.index == MEMORY:
            raise ConfigError(
                "api_port: a service beside a worker needs an index that both open: name a file or a Redis by --index"
            )
        check_service(settings)


def serve(settings: Settings) -> int:
    """Run as many worker processes as are set until SIGTERM or SIGINT comes. Returns the exit code."""
    check(settings)
    return run(work, settings, server=settings.server, drain_seconds=settings.worker.drain_seconds)


async def work(settings: Settings, context: WorkerContext) -> None:
    """Run one worker until SIGTERM or SIGINT comes; a second signal does not wait for the batches in flight."""
    if settings.kafka is None:
        raise ConfigError("kafka: no brokers are named")
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # what was imported stays
    gc.set_threshold(*COLLECT_AFTER)
    stop = stop_on_signals()
    index = GroupIndex(partial(_open_index, settings, context.metrics), group=settings.kafka.group)
    processor = BatchProcessor(
        Signer(
            settings.profile,
            secret=settings.secret.value,
            limits=settings.limits,
            keep_details=settings.keep_details,
            threads=settings.sign_threads,
        ),
        index.open,
        limits=settings.limits,
        topics=settings.kafka.topics,
        on_index_unavailable=settings.worker.on_index_unavailable,
        content_root=settings.content_root,
        trace_header_bytes=settings.worker.trace_header_bytes,
        metrics=context.metrics,
    )
    worker = Worker(
        settings.kafka,
        settings.worker,
        processor,
        index,
        limits=settings.limits,
        metrics=context.metrics,
        readiness=context.readiness,
        instance=InstanceId.of(settings.kafka, worker=context.number, run_id=context.run_id),
    )
    if settings.service.port is None:
        await worker.run(stop)
        return
    from gate.serve_main import service_in_process

    async with service_in_process(settings, context, beside=True):
        await worker.run(stop)


def _open_index(settings: Settings, metrics: WorkerMetrics, *, create: bool) -> OpenedIndex:
    gate = Gate(
        settings.profile,
        index=None if settings.index == MEMORY else settings.index,
        secret=settings.secret.value,
        limits=settings.limits,
        redis=settings.redis,
        observer=metrics,
        create=create,
        keep_details=settings.keep_details,
    )
    try:
        return OpenedIndex(gate, gate.identity, gate.with_store(lambda store: store.replaced()))
    except BaseException:
        gate.close()
        raise
