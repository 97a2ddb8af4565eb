"""Settings of a worker: how to connect to Kafka, how batches are processed, and how its processes are run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

DeliveryGuarantee = Literal["at_least_once", "exactly_once"]
OnIndexUnavailable = Literal["wait", "pass_unchecked"]
OnLostRecords = Literal["continue", "stop"]
Security = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["auto", "json", "console"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """Names of topics. Where `accepted` or `quarantine` is None, nothing is routed there."""

    check_ins: tuple[str, ...] = ("gate.check-ins",)
    verdicts: str = "gate.verdicts"
    dead_letters: str = "gate.dead-letters"
    accepted: str | None = None
    quarantine: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSettings:
    """How to connect to the brokers, and with which credentials."""

    brokers: str = "localhost:9092"  # host:port, separated by commas
    group: str = "gate"
    client_id: str = "gate"
    topics: Topics = field(default_factory=Topics)
    security: Security = "PLAINTEXT"
    sasl_mechanism: SaslMechanism = "PLAIN"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)
    group_instance_id: str | None = None  # of static members; workers append their number
    session_timeout_seconds: float = 10.0  # a worker that sends no heartbeat for so long loses its partitions
    request_timeout_seconds: float = 20.0  # of one call to a broker
    max_record_bytes: int = 32 * 2**20  # a check-in of 5 million characters fits, however JSON escapes them
    fetch_bytes: int = 16 * 2**20  # of one response of a broker; compressed records may decompress to more
    unpacked_bytes: int = 64 * 2**20  # of one batch of records, decompressed; a larger one is dead-lettered undecoded


TRACE_HEADER_BYTES = 8192  # what the specification of baggage asks every system to carry


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How a worker processes batches. Their size is also bounded by the limits."""

    delivery: DeliveryGuarantee = "at_least_once"
    on_index_unavailable: OnIndexUnavailable = "wait"
    on_lost_records: OnLostRecords = "continue"  # after check-ins were deleted before they were read
    batch_bytes: int = 8 * 2**20  # of records in one batch; a larger record is a batch of its own
    trace_header_bytes: int = TRACE_HEADER_BYTES  # that a verdict carries on from its check-in
    in_flight_batches: int = 4  # between poll and commit; each stage works on another one
    drain_seconds: float = 20.0  # to finish the batches in flight when the worker stops or a partition is revoked


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The processes of `gate run`, the address of its health and metrics endpoints, and its log."""

    workers: int = 1
    http_host: str = "127.0.0.1"
    http_port: int | None = None  # None: no endpoints; 0: any free port
    http_max_connections: int = 64
    log_level: LogLevel = "info"
    log_format: LogFormat = "auto"
