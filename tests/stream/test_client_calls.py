"""Calls to Kafka clients end in bounded time, with an error that says what is wrong."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaProducer, errors

from gate.errors import ConfigError, Unavailable
from gate.stream.client_calls import retry_call, start_client, stop_client, with_timeout
from gate.stream.client_options import client_options
from gate.stream.settings import KafkaSettings

BRIEF = KafkaSettings(request_timeout_seconds=0.2)


@pytest.fixture
def silent_broker() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


class Calls:
    """A call that raises these errors, one each time, and then returns 7."""

    def __init__(self, *failures: BaseException) -> None:
        self.failures = list(failures)
        self.count = 0

    async def __call__(self) -> int:
        self.count += 1
        if self.failures:
            raise self.failures.pop(0)
        return 7


async def test_a_call_that_never_returns_times_out() -> None:
    with pytest.raises(TimeoutError):
        await with_timeout(asyncio.sleep(3600), 0.01)
    assert await with_timeout(asyncio.sleep(0, result=7), 5) == 7


async def test_a_call_is_retried_after_transient_errors() -> None:
    call = Calls(errors.LeaderNotAvailableError(), OSError(111, "refused"))
    assert await retry_call(KafkaSettings(), call) == 7
    assert call.count == 3


async def test_a_call_that_fails_for_longer_than_a_request_may_take_is_unavailable() -> None:
    async def refuse() -> None:
        raise errors.LeaderNotAvailableError

    with pytest.raises(Unavailable, match="localhost:9092 does not answer"):
        await retry_call(BRIEF, refuse)


async def test_a_call_that_hangs_for_longer_than_a_request_may_take_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await retry_call(BRIEF, lambda: asyncio.sleep(3600))


async def test_a_denied_call_is_a_configuration_error_and_not_retried() -> None:
    call = Calls(errors.TopicAuthorizationFailedError())
    with pytest.raises(ConfigError, match="denies this user access"):
        await retry_call(KafkaSettings(), call)
    assert call.count == 1


async def test_an_unknown_error_of_a_call_is_raised_as_it_is() -> None:
    with pytest.raises(ValueError, match="a bug"):
        await retry_call(KafkaSettings(), Calls(ValueError("a bug")))


async def test_a_client_of_a_broker_that_never_answers_is_unavailable(silent_broker: str) -> None:
    kafka = KafkaSettings(brokers=silent_broker, request_timeout_seconds=0.2)
    client = AIOKafkaProducer(**client_options(kafka))
    with pytest.raises(Unavailable, match=silent_broker):
        await start_client(kafka, client)
    await stop_client(kafka, client.stop)


async def test_a_client_that_never_stops_is_abandoned() -> None:
    stopped: list[bool] = []

    async def stop() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            stopped.append(True)

    await stop_client(BRIEF, stop)
    await asyncio.sleep(0)
    assert stopped == [True]


@pytest.mark.parametrize("error", [errors.KafkaConnectionError("x"), OSError(104, "reset"), asyncio.CancelledError()])
async def test_an_error_of_the_broker_while_a_client_stops_is_ignored(error: BaseException) -> None:
    async def stop() -> None:
        raise error

    await stop_client(BRIEF, stop)


async def test_a_bug_in_stopping_a_client_is_raised() -> None:
    async def stop() -> None:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        await stop_client(BRIEF, stop)
