"""What the stream needs to know: where the broker is and how to talk to it, and how a worker goes about its work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

DeliveryGuarantee = Literal["at_least_once", "exactly_once"]
OnIndexUnavailable = Literal["wait", "pass_unchecked"]
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
    """How to reach the brokers, and as whom."""

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
    session_timeout_seconds: float = 30.0  # a worker that is not heard of for so long loses its partitions
    request_timeout_seconds: float = 20.0  # of one call to a broker; every one is bounded by it
    max_record_bytes: int = 32 * 2**20  # a check-in of 5 million characters fits, whichever way JSON writes them
    fetch_bytes: int = 16 * 2**20  # of one answer of a broker; its records may be compressed, and unpack to more
    unpacked_bytes: int = 64 * 2**20  # of one batch of records, unpacked; a larger one is dead-lettered unread


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How a worker goes about its work. The size of a batch is bounded by the limits."""

    delivery: DeliveryGuarantee = "at_least_once"
    on_index_unavailable: OnIndexUnavailable = "wait"
    batch_bytes: int = 8 * 2**20  # of records in one batch; a larger record is a batch of its own
    in_flight_batches: int = 4  # batches between poll and commit; each stage works on another one
    drain_seconds: float = 20.0  # how long a worker may take to finish what it has begun when it is told to stop


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How `gate run` stands in its machine: how many processes, where it can be asked, what it tells."""

    workers: int = 1
    http_host: str = "127.0.0.1"
    http_port: int | None = None  # None: nobody can ask; 0: any port that is free
    log_level: LogLevel = "info"
    log_format: LogFormat = "auto"
