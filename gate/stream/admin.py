"""What is asked of the brokers themselves: which topics there are, how they are set, how far a group has come.

Every question is bounded in time and asked again while the cluster settles. Whoever is refused is told what is missing.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from aiokafka import TopicPartition, errors
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.conn import collect_hosts, create_conn

from gate.errors import ConfigError
from gate.stream.kafka_errors import Action, action_for, bounded, client_options, translated
from gate.stream.settings import KafkaSettings

T = TypeVar("T")

AGAIN_SECONDS = 0.1  # between two times of asking; a cluster settles in about a second


@dataclass(frozen=True, slots=True)
class Known:
    """A topic that is there."""

    partitions: int
    copies: int


class Admin:
    """The questions. Errors are the gate's own: ConfigError for what is refused or wrong, Unavailable for silence."""

    def __init__(self, kafka: KafkaSettings, client: AIOKafkaAdminClient) -> None:
        self._kafka = kafka
        self._client = client

    async def count_brokers(self) -> int:
        told = await self._asked(self._client.describe_cluster)
        return len(told["brokers"])

    async def topics(self, names: Sequence[str]) -> dict[str, Known]:
        """Those of them that are there."""
        found: dict[str, Known] = {}

        async def ask() -> None:
            for one in await self._client.describe_topics(list(names)):
                code = one["error_code"]
                if code == errors.UnknownTopicOrPartitionError.errno:
                    continue
                if code:
                    raise errors.for_code(code)(one["topic"])
                parts = one["partitions"]
                found[one["topic"]] = Known(len(parts), min((len(part["replicas"]) for part in parts), default=0))

        await self._asked(ask)
        return found

    async def needed(self, names: Iterable[str]) -> dict[str, Known]:
        """All of them, or ConfigError names those that are missing."""
        wanted = list(names)
        found = await self.topics(wanted)
        missing = [name for name in wanted if name not in found]
        if missing:
            raise ConfigError(
                *(f"topic {name}: is not there; `gate topics create` makes it, or name another" for name in missing)
            )
        return found

    async def settings(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """How topics are set, each by its name."""

        async def ask() -> dict[str, dict[str, str]]:
            asked = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
            found: dict[str, dict[str, str]] = {}
            for answer in await self._client.describe_configs(asked):
                for code, _, _, name, entries in answer.resources:
                    if code:
                        raise errors.for_code(code)(name)
                    found[name] = {entry[0]: entry[1] for entry in entries}
            return found

        return await self._asked(ask)

    async def create(self, topic: NewTopic) -> bool:
        """Make a topic, and wait until it is known and led. False: somebody else was first."""

        async def ask() -> bool:
            [(_, code, message)] = (await self._client.create_topics([topic])).topic_errors
            if code == errors.TopicAlreadyExistsError.errno:
                return False
            error = errors.for_code(code) if code else None
            if error in (
                errors.InvalidReplicationFactorError,
                errors.InvalidPartitionsError,
                errors.InvalidConfigurationError,
            ):
                raise ConfigError(f"topic {topic.name}: {message}")
            if error is not None:
                raise error(message)
            return True

        async def is_led() -> None:
            """The answer comes before all brokers know of it."""
            [one] = await self._client.describe_topics([topic.name])
            for code in (one["error_code"], *(part["error_code"] for part in one["partitions"])):
                if code:
                    raise errors.for_code(code)(topic.name)

        made = await self._asked(ask)
        await self._asked(is_led)
        return made

    async def committed(self, group: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offsets at which a group goes on; partitions where it has not begun are left out."""
        wanted = list(partitions)

        async def ask() -> Mapping[TopicPartition, Any]:
            told: Mapping[TopicPartition, Any] = await self._client.list_consumer_group_offsets(
                group, partitions=wanted
            )
            return told

        found = await self._asked(ask)
        return {partition: one.offset for partition, one in found.items() if one.offset >= 0}

    async def _asked(self, ask: Callable[[], Awaitable[T]]) -> T:
        return await asked(self._kafka, ask)


async def asked(kafka: KafkaSettings, ask: Callable[[], Awaitable[T]]) -> T:
    """An answer, within the time of one request; until then, whatever passes is asked again."""
    last: BaseException = TimeoutError()
    with suppress(TimeoutError):
        async with asyncio.timeout(kafka.request_timeout_seconds):
            while True:
                try:
                    return await ask()
                except (errors.KafkaError, OSError) as exc:
                    if action_for(exc) is not Action.RETRY:
                        raise translated(exc, kafka) from exc
                    last = exc
                await asyncio.sleep(AGAIN_SECONDS)
    raise translated(last, kafka) from last


@asynccontextmanager
async def connected(kafka: KafkaSettings) -> AsyncIterator[Admin]:
    client = AIOKafkaAdminClient(**client_options(kafka))
    try:
        await started(kafka, client)
        yield Admin(kafka, client)
    finally:
        await stopped(kafka, client.close)


async def started(kafka: KafkaSettings, client: Any) -> None:
    """Start a client of the library. Why it cannot be reached is found out, for the library does not say."""
    try:
        await bounded(client.start(), kafka.request_timeout_seconds)
    except (errors.KafkaError, OSError) as exc:
        raise translated(await _found_out(kafka, exc), kafka) from exc


async def stopped(kafka: KafkaSettings, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Close a client, or leave it: with the broker away the library may wait for ever, or tell its caller that it was
    cancelled when only a task of the library was."""
    closing = asyncio.ensure_future(close())
    await asyncio.wait([closing], timeout=kafka.request_timeout_seconds)
    closing.cancel()
    with suppress(asyncio.CancelledError, errors.KafkaError, OSError):
        if closing.done():
            closing.result()


async def _found_out(kafka: KafkaSettings, error: BaseException) -> BaseException:
    """What a broker says to a single connection; that it is away, if none says anything else."""
    options = client_options(kafka)
    for host, port, _ in collect_hosts(options.pop("bootstrap_servers")):
        try:
            (await bounded(create_conn(host, port, **options), kafka.request_timeout_seconds)).close()
        except (ssl.SSLError, errors.KafkaError) as exc:
            if isinstance(exc, ssl.SSLError) or action_for(exc) is not Action.RETRY:
                return exc
        except OSError:
            continue
    return error
