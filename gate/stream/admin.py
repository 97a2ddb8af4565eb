"""Administrative requests to the brokers: topics, their configuration, and the offsets of a group."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from aiokafka import OffsetAndMetadata, TopicPartition, errors
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from gate.errors import ConfigError
from gate.stream.client_calls import retry_call, start_client, stop_client
from gate.stream.client_options import client_options
from gate.stream.group_index import decode_metadata
from gate.stream.settings import KafkaSettings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """An existing topic. Of partitions with different numbers of replicas, the smallest counts."""

    partitions: int
    replication_factor: int


class Admin:
    """Requests that are retried while the cluster settles. ConfigError: denied or wrong; Unavailable: no answer."""

    def __init__(self, kafka: KafkaSettings, client: AIOKafkaAdminClient) -> None:
        self._kafka = kafka
        self._client = client

    async def count_brokers(self) -> int:
        cluster = await self._retry(self._client.describe_cluster)
        return len(cluster["brokers"])

    async def describe_topics(self, names: Sequence[str]) -> dict[str, TopicInfo]:
        """The topics among these that exist."""
        existing: dict[str, TopicInfo] = {}

        async def describe() -> None:
            for topic in await self._client.describe_topics(list(names)):
                code = topic["error_code"]
                if code == errors.UnknownTopicOrPartitionError.errno:
                    continue
                if code:
                    raise errors.for_code(code)(topic["topic"])
                partitions = topic["partitions"]
                replicas = min((len(partition["replicas"]) for partition in partitions), default=0)
                existing[topic["topic"]] = TopicInfo(len(partitions), replicas)

        await self._retry(describe)
        return existing

    async def require_topics(self, names: Iterable[str]) -> dict[str, TopicInfo]:
        """All of these topics; ConfigError names those that do not exist."""
        required = list(names)
        existing = await self.describe_topics(required)
        missing = [name for name in required if name not in existing]
        if missing:
            raise ConfigError(*(f"topic {name}: does not exist; `gate topics create` makes it" for name in missing))
        return existing

    async def describe_configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """The configuration of each of these topics."""

        async def describe() -> dict[str, dict[str, str]]:
            resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
            configs: dict[str, dict[str, str]] = {}
            for response in await self._client.describe_configs(resources):
                for code, _, _, name, entries in response.resources:
                    if code:
                        raise errors.for_code(code)(name)
                    configs[name] = {entry[0]: entry[1] for entry in entries}
            return configs

        return await self._retry(describe)

    async def create_topic(self, topic: NewTopic) -> bool:
        """Create a topic, and wait until every partition has a leader. False: it exists already."""

        async def create() -> bool:
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

        async def check_leaders() -> None:
            """The request is answered before all brokers know the topic."""
            [created] = await self._client.describe_topics([topic.name])
            for code in (created["error_code"], *(partition["error_code"] for partition in created["partitions"])):
                if code:
                    raise errors.for_code(code)(topic.name)

        is_new = await self._retry(create)
        await self._retry(check_leaders)
        return is_new

    async def committed_offsets(self, group: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Where a group resumes; partitions without a committed offset are left out."""
        committed = await self.committed(group, partitions)
        return {partition: found.offset for partition, found in committed.items()}

    async def committed(
        self, group: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a group has committed; partitions without a committed offset are left out."""
        requested = list(partitions)

        async def fetch() -> Mapping[TopicPartition, OffsetAndMetadata]:
            found: Mapping[TopicPartition, OffsetAndMetadata] = await self._client.list_consumer_group_offsets(
                group, partitions=requested
            )
            if found.keys() < set(requested):  # the library does not look at the error of the response as a whole
                raise errors.GroupLoadInProgressError(group)
            return found

        found = await self._retry(fetch) if requested else {}
        return {partition: committed for partition, committed in found.items() if committed.offset >= 0}

    async def committed_identities(self, group: str, topics: Sequence[str]) -> frozenset[str]:
        """Of the indexes under which a group has committed offsets of these topics."""
        partitions = [
            TopicPartition(topic, number)
            for topic, info in (await self.describe_topics(topics)).items()
            for number in range(info.partitions)
        ]
        committed = await self.committed(group, partitions)
        return frozenset().union(*(decode_metadata(found.metadata) for found in committed.values()))

    async def _retry(self, call: Callable[[], Awaitable[T]]) -> T:
        return await retry_call(self._kafka, call)


@asynccontextmanager
async def open_admin(kafka: KafkaSettings) -> AsyncIterator[Admin]:
    """A connected admin client, closed at the end."""
    client = AIOKafkaAdminClient(**client_options(kafka))
    try:
        await start_client(kafka, client)
        yield Admin(kafka, client)
    finally:
        await stop_client(kafka, client.close)
