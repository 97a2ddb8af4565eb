"""Options of the Kafka clients: how to connect, and the safe choice wherever the library's default is not one."""

from __future__ import annotations

import ssl
from typing import Any

from aiokafka.helpers import create_ssl_context

from gate.errors import ConfigError
from gate.stream.membership import heartbeat_seconds
from gate.stream.settings import KafkaSettings


def client_options(kafka: KafkaSettings) -> dict[str, Any]:
    """Connection options of every client. ConfigError: a key or certificate file cannot be used."""
    options: dict[str, Any] = {
        "bootstrap_servers": [broker.strip() for broker in kafka.brokers.split(",")],
        "client_id": kafka.client_id,
        "request_timeout_ms": int(kafka.request_timeout_seconds * 1000),
        "security_protocol": kafka.security,
    }
    if kafka.security.startswith("SASL"):
        options |= {
            "sasl_mechanism": kafka.sasl_mechanism,
            "sasl_plain_username": kafka.username,
            "sasl_plain_password": kafka.password,
        }
    if kafka.security.endswith("SSL"):
        try:
            options["ssl_context"] = create_ssl_context(
                cafile=kafka.ca_file,
                certfile=kafka.cert_file,
                keyfile=kafka.key_file,
                password=kafka.key_password,
            )
        except (OSError, ssl.SSLError, ValueError) as exc:
            raise ConfigError(
                f"kafka_ca_file, kafka_cert_file, kafka_key_file: cannot be used together ({type(exc).__name__}): "
                "name PEM files, and the key that belongs to the certificate"
            ) from exc
    return options


def consumer_options(kafka: KafkaSettings, *, rebalance_seconds: float, instance_id: str | None) -> dict[str, Any]:
    """A group member that commits explicitly, skips nothing, and reads committed records only."""
    session = kafka.session_timeout_seconds
    return client_options(kafka) | {
        "group_id": kafka.group,
        "group_instance_id": instance_id,
        "enable_auto_commit": False,
        "auto_offset_reset": "none",  # gate.stream.positions decides, and reports what was lost
        "isolation_level": "read_committed",
        "fetch_max_bytes": kafka.fetch_bytes,
        "max_partition_fetch_bytes": max(kafka.fetch_bytes // 4, 2**20),
        "session_timeout_ms": int(session * 1000),
        "heartbeat_interval_ms": int(heartbeat_seconds(session) * 1000),
        "rebalance_timeout_ms": int(rebalance_seconds * 1000),
        "max_poll_interval_ms": int(max(10 * session, 300.0) * 1000),
        "retry_backoff_ms": 100,
    }


def producer_options(kafka: KafkaSettings) -> dict[str, Any]:
    """An idempotent producer; a send is acknowledged when all in-sync replicas have it."""
    return client_options(kafka) | {
        "acks": "all",
        "enable_idempotence": True,
        "max_request_size": kafka.max_record_bytes,
        "max_batch_size": kafka.max_record_bytes,  # the sender cuts batches itself
        "linger_ms": 0,
        "compression_type": "lz4",
    }
