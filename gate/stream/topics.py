"""The topics of the gate: how each is to be configured, and where an existing topic differs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gate.stream.admin import TopicInfo
from gate.stream.settings import KafkaSettings

DAY_MS = 86_400_000
FOREVER = "-1"
DEAD_LETTER_DAYS = 30.0  # time for an operator to replay one, holidays included
VERDICT_BYTES = 2**20  # a verdict names a few documents and holds none
BATCH_OVERHEAD_BYTES = 64 * 1024  # the broker's limit is for a batch: its header and record headers count too
DEFAULT_REPLICATION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """The wanted configuration of a topic; `purpose` is what it carries, in words."""

    name: str
    purpose: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


def topic_specs(
    kafka: KafkaSettings,
    *,
    partitions: int,
    replication_factor: int,
    retention_days: float | None,
    compact: bool = False,
) -> Iterator[TopicSpec]:
    """Every topic of the gate.

    The broker stores batches as they were compressed by their producers. A compacted topic of check-ins keeps the last
    event of each document, which is enough to rebuild an index from.
    """
    topics = kafka.topics
    retention = FOREVER if retention_days is None else str(int(retention_days * DAY_MS))
    dead_letter_retention = (
        retention if retention_days is None else str(int(max(retention_days, DEAD_LETTER_DAYS) * DAY_MS))
    )
    document_bytes = str(kafka.max_record_bytes + BATCH_OVERHEAD_BYTES)
    shared = {"compression.type": "producer", "min.insync.replicas": str(max(1, replication_factor - 1))}

    def spec(
        name: str, purpose: str, *, max_bytes: str, retention_ms: str = retention, policy: str = "delete"
    ) -> TopicSpec:
        configs = {"cleanup.policy": policy, "retention.ms": retention_ms, "max.message.bytes": max_bytes}
        return TopicSpec(
            name=name,
            purpose=purpose,
            partitions=1 if purpose == "dead letters" else partitions,
            replication_factor=replication_factor,
            configs=configs | shared,
        )

    for name in topics.check_ins:
        if compact:
            yield spec(name, "check-ins", max_bytes=document_bytes, retention_ms=FOREVER, policy="compact")
        else:
            yield spec(name, "check-ins", max_bytes=document_bytes)
    yield spec(topics.verdicts, "verdicts", max_bytes=str(VERDICT_BYTES))
    yield spec(topics.dead_letters, "dead letters", max_bytes=document_bytes, retention_ms=dead_letter_retention)
    if topics.accepted is not None:
        yield spec(topics.accepted, "accepted", max_bytes=document_bytes)
    if topics.quarantine is not None:
        yield spec(topics.quarantine, "quarantine", max_bytes=document_bytes)


def differences(spec: TopicSpec, info: TopicInfo, configs: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Where an existing topic differs from its spec, by setting: the actual value and the wanted one."""
    pairs = {
        "partitions": (str(info.partitions), str(spec.partitions)),
        "replication": (str(info.replication_factor), str(spec.replication_factor)),
    }
    pairs |= {name: (configs.get(name, ""), value) for name, value in spec.configs.items()}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
