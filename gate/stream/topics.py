"""How the topics of the gate are to be set, and where one that is there already differs from that. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gate.stream.admin import Known
from gate.stream.settings import KafkaSettings

DAY_MS = 86_400_000
FOREVER = "-1"
DEAD_LETTER_DAYS = 30.0  # a letter waits for a person, who may be on holiday
VERDICT_BYTES = 2**20  # a verdict names a few documents, and holds none
BATCH_BYTES = 64 * 1024  # what the broker counts beside the record: the batch around it, and its headers
MOST_COPIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A topic as it should be."""

    name: str
    what: str
    partitions: int
    copies: int
    settings: Mapping[str, str]


def wanted(
    kafka: KafkaSettings, *, partitions: int, copies: int, retention_days: float | None, compact: bool = False
) -> Iterator[Wanted]:
    """All topics of the gate.

    What the gate writes is compressed by it already, so the broker keeps it as it comes; so does it with check-ins,
    whose producers know best. Where check-ins are compacted, the last word on each document stays for ever, and with it
    all that a new index has to be filled from.
    """
    topics = kafka.topics
    kept = FOREVER if retention_days is None else str(int(retention_days * DAY_MS))
    letters = kept if retention_days is None else str(int(max(retention_days, DEAD_LETTER_DAYS) * DAY_MS))
    documents = str(kafka.max_record_bytes + BATCH_BYTES)
    shared = {"compression.type": "producer", "min.insync.replicas": str(max(1, copies - 1))}

    def topic(name: str, what: str, *, largest: str, retention: str = kept, policy: str = "delete") -> Wanted:
        settings = {"cleanup.policy": policy, "retention.ms": retention, "max.message.bytes": largest}
        count = 1 if what == "dead letters" else partitions
        return Wanted(name=name, what=what, partitions=count, copies=copies, settings=settings | shared)

    for name in topics.check_ins:
        if compact:
            yield topic(name, "check-ins", largest=documents, retention=FOREVER, policy="compact")
        else:
            yield topic(name, "check-ins", largest=documents)
    yield topic(topics.verdicts, "verdicts", largest=str(VERDICT_BYTES))
    yield topic(topics.dead_letters, "dead letters", largest=documents, retention=letters)
    if topics.accepted is not None:
        yield topic(topics.accepted, "accepted", largest=documents)
    if topics.quarantine is not None:
        yield topic(topics.quarantine, "quarantine", largest=documents)


def differences(topic: Wanted, known: Known, settings: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What of a topic that is there is otherwise: what it is, and what it should be."""
    found = {"partitions": (str(known.partitions), str(topic.partitions))}
    found["replication"] = (str(known.copies), str(topic.copies))
    found |= {name: (settings.get(name, ""), value) for name, value in topic.settings.items()}
    return {name: pair for name, pair in found.items() if pair[0] != pair[1]}
