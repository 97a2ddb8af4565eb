"""Settings of the stream: where the brokers are, what the topics are called, how a worker works and is looked after.

Nothing is asked of a broker here. What cannot be meant is told: a verdict topic that is read as check-ins would never
end, and a password that is set where none is sent is not the protection that somebody thinks it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from gate.config.sources import Given, checked, shown
from gate.stream.settings import (
    DeliveryGuarantee,
    KafkaSettings,
    LogFormat,
    LogLevel,
    OnIndexUnavailable,
    SaslMechanism,
    Security,
    ServerSettings,
    Topics,
    WorkerSettings,
)

Seconds = Annotated[float, Meta(gt=0)]
Bytes = Annotated[int, Meta(ge=1)]
Name = Annotated[str, Meta(min_length=1, max_length=255)]

TOPICS: dict[str, str] = {  # the setting, and the field of `Topics`
    "kafka_topics": "check_ins",
    "kafka_verdict_topic": "verdicts",
    "kafka_dead_letter_topic": "dead_letters",
    "kafka_accepted_topic": "accepted",
    "kafka_quarantine_topic": "quarantine",
}
KAFKA: dict[str, Any] = {
    "kafka_brokers": str,
    "kafka_group": Name,
    "kafka_client_id": Name,
    "kafka_security": Security,
    "kafka_sasl_mechanism": SaslMechanism,
    "kafka_username": str,
    "kafka_session_timeout_seconds": Seconds,
    "kafka_request_timeout_seconds": Seconds,
    "kafka_max_record_bytes": Bytes,
    "kafka_fetch_bytes": Bytes,
    "kafka_unpacked_bytes": Bytes,
}
WORKER: dict[str, Any] = {
    "delivery": DeliveryGuarantee,
    "on_index_unavailable": OnIndexUnavailable,
    "batch_bytes": Bytes,
    "drain_seconds": Seconds,
}
SERVER: dict[str, Any] = {
    "workers": Annotated[int, Meta(ge=1, le=1024)],
    "http_host": Name,
    "http_port": Annotated[int, Meta(ge=0, le=65535)],
    "log_level": LogLevel,
    "log_format": LogFormat,
}
STREAM = (*TOPICS, *KAFKA, *WORKER, *SERVER)
KAFKA_FILES = ("kafka_ca_file", "kafka_cert_file", "kafka_key_file")

_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")  # the brokers' own rule
_BROKER = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:/@\[\],]+)(:(?P<port>\d{1,5}))?")


class Stream(NamedTuple):
    kafka: KafkaSettings
    worker: WorkerSettings
    server: ServerSettings


def find_stream(
    given: Mapping[str, Given], paths: Mapping[str, Path | None], passwords: Mapping[str, bytes], problems: list[str]
) -> Stream:
    values = _values(KAFKA, given, problems)
    values |= {key: str(path) for key in KAFKA_FILES if (path := paths.get(key)) is not None}
    values |= {key: word.decode(errors="surrogateescape") for key, word in passwords.items() if word}
    if "kafka_brokers" in values:
        _check_brokers(given["kafka_brokers"], str(values["kafka_brokers"]), problems)
    topics = _topics(given, problems)
    kafka = KafkaSettings(topics=topics, **{key.removeprefix("kafka_"): value for key, value in values.items()})
    worker = WorkerSettings(**_values(WORKER, given, problems))
    server = ServerSettings(**_values(SERVER, given, problems))
    if "kafka_brokers" in given and ("kafka_security" in values) == ("kafka_security" in given):
        problems.extend(_contradictions(kafka, given))
    return Stream(kafka, worker, server)


def _values(kinds: Mapping[str, Any], given: Mapping[str, Given], problems: list[str]) -> dict[str, Any]:
    found = {key: checked(key, given[key], kind, problems) for key, kind in kinds.items() if key in given}
    return {key: value for key, value in found.items() if value is not None}


def _check_brokers(given: Given, brokers: str, problems: list[str]) -> None:
    for broker in brokers.split(","):
        found = _BROKER.fullmatch(broker.strip())
        if found is None or not 0 < int(found["port"] or 1) < 65536:
            # A URL may hold a password, so it is not quoted.
            problems.append(f"kafka_brokers ({given.source}): write host:port, several separated by commas, no URL")
            return


def _topics(given: Mapping[str, Given], problems: list[str]) -> Topics:
    found: dict[str, Any] = {}
    for key, field in TOPICS.items():
        if key not in given:
            continue
        value = given[key].value
        if field == "check_ins":
            names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
            is_list = isinstance(names, list | tuple) and names and all(isinstance(name, str) for name in names)
            names = list(names) if is_list and isinstance(names, list | tuple) else [value]
        else:
            names = [value]
        wrong = [name for name in names if not isinstance(name, str) or not _TOPIC.fullmatch(name)]
        if wrong:
            problems.append(
                f"{key} ({given[key].source}): {shown(wrong[0])} is no name of a topic; "
                "take letters, digits, dots, dashes and underscores"
            )
        else:
            found[field] = tuple(names) if field == "check_ins" else names[0]
    topics = Topics(**found)
    for name, count in Counter(_names(topics)).items():
        if count > 1:
            told = ", ".join(key for key, field in TOPICS.items() if name in _listed(getattr(topics, field)))
            problems.append(f"{told}: {shown(name)} is named twice; each is a topic of its own")
    return topics


def _names(topics: Topics) -> Iterator[str]:
    for field in TOPICS.values():
        yield from _listed(getattr(topics, field))


def _listed(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else value


def _contradictions(kafka: KafkaSettings, given: Mapping[str, Given]) -> Iterator[str]:
    """What was set and would not be used, or is needed and was not set."""
    by_name, by_tls = kafka.security.startswith("SASL"), kafka.security.endswith("SSL")
    if by_name:
        for key, value in (("kafka_username", kafka.username), ("kafka_password", kafka.password)):
            if not value:
                remedy = "set GATE_KAFKA_PASSWORD, or name a kafka_password_file" if "pass" in key else "set it"
                yield f"{key}: kafka_security = {kafka.security} needs it; {remedy}"
    elif kafka.username or kafka.password:
        remedy = f"set kafka_security to {'SASL_SSL' if by_tls else 'SASL_PLAINTEXT or SASL_SSL'}"
        yield f"kafka_username, kafka_password: are not sent with kafka_security = {kafka.security}; {remedy}"
    for key in KAFKA_FILES:
        path = getattr(kafka, key.removeprefix("kafka_"))
        if path is None:
            continue
        if not by_tls:
            remedy = f"set it to {'SASL_SSL' if by_name else 'SSL'}"
            yield f"{key} ({given[key].source}): is not used with kafka_security = {kafka.security}; {remedy}"
        elif not Path(path).is_file():
            yield f"{key} ({given[key].source}): there is no file {path}; name one in PEM form"
    if kafka.key_file and not kafka.cert_file:
        yield f"kafka_key_file ({given['kafka_key_file'].source}): is not used without a kafka_cert_file; name both"


def in_force(stream: Stream) -> dict[str, object]:
    """The settings of `STREAM` that lead to this."""
    values: dict[str, object] = {}
    for key in STREAM:
        if key in TOPICS:
            values[key] = getattr(stream.kafka.topics, TOPICS[key])
            continue
        part: object = stream.kafka if key in KAFKA else stream.worker if key in WORKER else stream.server
        values[key] = getattr(part, key.removeprefix("kafka_"))
    return values
