"""Settings of the stream: brokers, topics, the workers, and the server around them.

No broker is contacted here. Combinations that cannot be meant are reported: a verdict topic that is also read for
check-ins would feed the gate its own output for ever, and a password that is set but never sent protects nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from gate.config.sources import Setting, convert_setting, quote
from gate.stream.settings import (
    DeliveryGuarantee,
    KafkaSettings,
    LogFormat,
    LogLevel,
    OnIndexUnavailable,
    OnLostRecords,
    SaslMechanism,
    Security,
    ServerSettings,
    Topics,
    WorkerSettings,
)

Seconds = Annotated[float, Meta(gt=0)]
Bytes = Annotated[int, Meta(ge=1)]
Name = Annotated[str, Meta(min_length=1, max_length=255)]
InstanceName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,240}$")]  # the brokers' own rule, less a number

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
    "kafka_group_instance_id": InstanceName,
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
    "on_lost_records": OnLostRecords,
    "batch_bytes": Bytes,
    "trace_header_bytes": Bytes,
    "drain_seconds": Seconds,
}
SERVER: dict[str, Any] = {
    "workers": Annotated[int, Meta(ge=1, le=1024)],
    "http_host": Name,
    "http_port": Annotated[int, Meta(ge=0, le=65535)],
    "http_max_connections": Annotated[int, Meta(ge=4, le=1024)],
    "log_level": LogLevel,
    "log_format": LogFormat,
}
STREAM = (*TOPICS, *KAFKA, *WORKER, *SERVER)
KAFKA_FILES = ("kafka_ca_file", "kafka_cert_file", "kafka_key_file")

_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")  # the brokers' own rule
_BROKER = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:/@\[\],]+)(:(?P<port>\d{1,5}))?")


class StreamSettings(NamedTuple):
    kafka: KafkaSettings
    worker: WorkerSettings
    server: ServerSettings


def load_stream_settings(
    raw: Mapping[str, Setting], paths: Mapping[str, Path | None], passwords: Mapping[str, bytes], problems: list[str]
) -> StreamSettings:
    values = _values(KAFKA, raw, problems)
    values |= {key: str(path) for key in KAFKA_FILES if (path := paths.get(key)) is not None}
    values |= {key: password.decode(errors="surrogateescape") for key, password in passwords.items() if password}
    if "kafka_brokers" in values:
        _check_brokers(raw["kafka_brokers"], str(values["kafka_brokers"]), problems)
    topics = _topics(raw, problems)
    kafka = KafkaSettings(topics=topics, **{key.removeprefix("kafka_"): value for key, value in values.items()})
    worker = WorkerSettings(**_values(WORKER, raw, problems))
    server = ServerSettings(**_values(SERVER, raw, problems))
    if "kafka_brokers" in raw and ("kafka_security" in values) == ("kafka_security" in raw):
        problems.extend(_contradictions(kafka, raw))
    return StreamSettings(kafka, worker, server)


def _values(kinds: Mapping[str, Any], raw: Mapping[str, Setting], problems: list[str]) -> dict[str, Any]:
    values = {key: convert_setting(key, raw[key], kind, problems) for key, kind in kinds.items() if key in raw}
    return {key: value for key, value in values.items() if value is not None}


def _check_brokers(setting: Setting, brokers: str, problems: list[str]) -> None:
    for broker in brokers.split(","):
        match = _BROKER.fullmatch(broker.strip())
        if match is None or not 0 < int(match["port"] or 1) < 65536:
            # A URL may hold a password, so it is not quoted.
            problems.append(f"kafka_brokers ({setting.source}): write host:port, several separated by commas, no URL")
            return


def _topics(raw: Mapping[str, Setting], problems: list[str]) -> Topics:
    fields: dict[str, Any] = {}
    for key, field in TOPICS.items():
        if key not in raw:
            continue
        value = raw[key].value
        if field == "check_ins":
            names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
            is_list = isinstance(names, list | tuple) and names and all(isinstance(name, str) for name in names)
            names = list(names) if is_list and isinstance(names, list | tuple) else [value]
        else:
            names = [value]
        wrong = [name for name in names if not isinstance(name, str) or not _TOPIC.fullmatch(name)]
        if wrong:
            problems.append(
                f"{key} ({raw[key].source}): {quote(wrong[0])} is not the name of a topic; "
                "use letters, digits, dots, dashes and underscores"
            )
        else:
            fields[field] = tuple(names) if field == "check_ins" else names[0]
    topics = Topics(**fields)
    for name, count in Counter(_names(topics)).items():
        if count > 1:
            keys = ", ".join(key for key, field in TOPICS.items() if name in _listed(getattr(topics, field)))
            problems.append(f"{keys}: {quote(name)} is named twice; each has to be another topic")
    return topics


def _names(topics: Topics) -> Iterator[str]:
    for field in TOPICS.values():
        yield from _listed(getattr(topics, field))


def _listed(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else value


def _contradictions(kafka: KafkaSettings, raw: Mapping[str, Setting]) -> Iterator[str]:
    """Settings that would have no effect, and settings that are needed and missing."""
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
            yield f"{key} ({raw[key].source}): is not used with kafka_security = {kafka.security}; {remedy}"
        elif not Path(path).is_file():
            yield f"{key} ({raw[key].source}): there is no file {path}; name one in PEM form"
    if kafka.key_file and not kafka.cert_file:
        yield f"kafka_key_file ({raw['kafka_key_file'].source}): is not used without a kafka_cert_file; name both"


def effective_stream_values(stream: StreamSettings) -> dict[str, object]:
    """The value in force of every key of `STREAM`."""
    values: dict[str, object] = {}
    for key in STREAM:
        if key in TOPICS:
            values[key] = getattr(stream.kafka.topics, TOPICS[key])
            continue
        part: object = stream.kafka if key in KAFKA else stream.worker if key in WORKER else stream.server
        values[key] = getattr(part, key.removeprefix("kafka_"))
    return values
