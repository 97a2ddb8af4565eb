"""Calls to Kafka clients, each bounded in time: start, stop, and requests that are retried while a cluster settles."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from aiokafka import errors
from aiokafka.conn import collect_hosts, create_conn

from gate.stream.client_options import client_options
from gate.stream.kafka_errors import Action, action_for, translate_error
from gate.stream.settings import KafkaSettings

T = TypeVar("T")

RETRY_SECONDS = 0.1  # between two attempts; a cluster settles in about a second


async def with_timeout(call: Coroutine[Any, Any, T], seconds: float) -> T:
    """A result, or TimeoutError. Some calls of the library never return while the broker is down."""
    async with asyncio.timeout(seconds):
        return await call


async def retry_call(kafka: KafkaSettings, call: Callable[[], Awaitable[T]]) -> T:
    """The result of a call, retried on transient errors for as long as one request may take."""
    last: BaseException = TimeoutError()
    with suppress(TimeoutError):
        async with asyncio.timeout(kafka.request_timeout_seconds):
            while True:
                try:
                    return await call()
                except (errors.KafkaError, OSError) as exc:
                    if action_for(exc) is not Action.RETRY:
                        raise translate_error(exc, kafka) from exc
                    last = exc
                await asyncio.sleep(RETRY_SECONDS)
    raise translate_error(last, kafka) from last


async def start_client(kafka: KafkaSettings, client: Any) -> None:
    """Start a client of the library. On failure the cause is diagnosed, for the library does not report it."""
    try:
        await with_timeout(client.start(), kafka.request_timeout_seconds)
    except (errors.KafkaError, OSError) as exc:
        raise translate_error(await _diagnose(kafka, exc), kafka) from exc


async def stop_client(kafka: KafkaSettings, stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Stop a client, or abandon it after a time-out: with the broker down the library may wait for ever, or raise
    CancelledError in its caller when only a task of its own was cancelled."""
    stopping = asyncio.ensure_future(stop())
    await asyncio.wait([stopping], timeout=kafka.request_timeout_seconds)
    stopping.cancel()
    with suppress(asyncio.CancelledError, errors.KafkaError, OSError):
        if stopping.done():
            stopping.result()


async def _diagnose(kafka: KafkaSettings, error: BaseException) -> BaseException:
    """The error that a broker answers a single connection with; `error` if no broker answers with one."""
    options = client_options(kafka)
    for host, port, _ in collect_hosts(options.pop("bootstrap_servers")):
        try:
            (await with_timeout(create_conn(host, port, **options), kafka.request_timeout_seconds)).close()
        except (ssl.SSLError, errors.KafkaError) as exc:
            if isinstance(exc, ssl.SSLError) or action_for(exc) is not Action.RETRY:
                return exc
        except OSError:
            continue
    return error
