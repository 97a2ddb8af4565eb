"""How to talk to Kafka: the options of its clients, and what each of its errors asks for.

RETRY    the broker is away, or moves: make the client anew, go back to what was committed, try again
FENCED   somebody else writes for this partition: leave it to them
LOST     the group gave this partition to somebody else: drop what was begun
TOO_LARGE  this record will never be taken: send something smaller instead
FATAL    a bug, or a matter of configuration: stop, with nothing committed
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine
from enum import Enum
from typing import Any, TypeVar

from aiokafka import errors
from aiokafka.helpers import create_ssl_context

from gate.errors import ConfigError, Unavailable
from gate.stream.settings import KafkaSettings

T = TypeVar("T")


class Action(Enum):
    RETRY = "retry"
    FENCED = "fenced"
    LOST = "lost"
    TOO_LARGE = "too_large"
    FATAL = "fatal"


FENCED = (errors.ProducerFenced, errors.InvalidProducerEpoch, errors.TransactionCoordinatorFenced)
LOST = (
    errors.CommitFailedError,
    errors.IllegalGenerationError,
    errors.UnknownMemberIdError,
    errors.RebalanceInProgressError,
    errors.IllegalStateError,  # the partition is no longer assigned
)
TOO_LARGE = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError)
REFUSED = (
    errors.AuthenticationFailedError,
    errors.AuthenticationMethodNotSupported,
    errors.SaslAuthenticationFailed,
    errors.UnsupportedSaslMechanismError,
    errors.IllegalSaslStateError,
    errors.TopicAuthorizationFailedError,
    errors.GroupAuthorizationFailedError,
    errors.ClusterAuthorizationFailedError,
    errors.TransactionalIdAuthorizationFailed,
    errors.DelegationTokenAuthorizationFailed,
    errors.SecurityDisabled,
)
# What is not marked as retriable by the library, and yet passes: the client is made anew.
PASSING = (
    TimeoutError,
    OSError,
    errors.KafkaTimeoutError,
    errors.KafkaUnavailableError,
    errors.ProducerClosed,
    errors.UnknownError,
    errors.CorruptRecordException,  # of what was sent, on its way
    errors.BrokerNotAvailableError,
    errors.ReplicaNotAvailableError,
    errors.StaleControllerEpochError,
    errors.StaleLeaderEpochCodeError,
    errors.OutOfOrderSequenceNumber,
    errors.DuplicateSequenceNumber,
    errors.UnknownProducerId,
    errors.InvalidProducerIdMapping,
    errors.InvalidTxnState,
    errors.ConcurrentTransactions,
    errors.OperationNotAttempted,
    errors.LogDirNotFound,
    errors.ReassignmentInProgress,
    errors.FetchSessionIdNotFound,
    errors.InvalidFetchSessionEpoch,
    errors.ListenerNotFound,
    errors.MemberIdRequired,
    errors.OffsetOutOfRangeError,
    errors.QuotaViolationError,
    errors.PolicyViolationError,
)


def action_for(error: BaseException) -> Action:
    """What to do about an error of the library, of a send or a commit."""
    if isinstance(error, FENCED):
        return Action.FENCED
    if isinstance(error, LOST):
        return Action.LOST
    if isinstance(error, TOO_LARGE):
        return Action.TOO_LARGE
    if isinstance(error, REFUSED):
        return Action.FATAL
    if isinstance(error, PASSING) or (isinstance(error, errors.KafkaError) and error.retriable):
        return Action.RETRY
    if type(error) is errors.KafkaError:  # the library's own wrapping of what it did not expect
        return Action.RETRY
    return Action.FATAL


def code_of(error: BaseException) -> str:
    """A short word for logs and metrics: an error's text may quote what was sent."""
    return type(error).__name__


def translated(error: BaseException, kafka: KafkaSettings) -> Exception:
    """A library's error as the gate's, for commands that do one thing and then end."""
    if isinstance(error, REFUSED):
        return ConfigError(
            f"kafka: {kafka.brokers} refuses this user what it needs ({code_of(error)}): "
            "see kafka_security, kafka_username, kafka_password, and the ACLs of the topics and the group"
        )
    if isinstance(error, ssl.SSLError):
        return ConfigError("kafka: the broker's certificate cannot be trusted, or it speaks no TLS: see kafka_ca_file")
    if action_for(error) is Action.RETRY:
        return Unavailable(f"kafka: {kafka.brokers} does not answer ({code_of(error)})")
    return error if isinstance(error, Exception) else RuntimeError(code_of(error))


def client_options(kafka: KafkaSettings) -> dict[str, Any]:
    """What every client of the library is told alike. ConfigError: a file of keys cannot be used."""
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


def consumer_options(kafka: KafkaSettings, *, rebalance_seconds: float) -> dict[str, Any]:
    """Nothing is committed by itself, nothing is skipped, and only what was committed is read."""
    session = kafka.session_timeout_seconds
    return client_options(kafka) | {
        "group_id": kafka.group,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "isolation_level": "read_committed",
        "fetch_max_bytes": kafka.fetch_bytes,
        "max_partition_fetch_bytes": max(kafka.fetch_bytes // 4, 2**20),
        "session_timeout_ms": int(session * 1000),
        "heartbeat_interval_ms": int(session * 1000 / 5),
        "rebalance_timeout_ms": int(rebalance_seconds * 1000),
        "max_poll_interval_ms": int(max(10 * session, 300.0) * 1000),
        "retry_backoff_ms": 100,
    }


def producer_options(kafka: KafkaSettings) -> dict[str, Any]:
    return client_options(kafka) | {
        "acks": "all",
        "enable_idempotence": True,
        "max_request_size": kafka.max_record_bytes,
        "max_batch_size": kafka.max_record_bytes,  # batches are made by the outbox
        "linger_ms": 0,
        "compression_type": "lz4",
    }


async def bounded(call: Coroutine[Any, Any, T], seconds: float) -> T:
    """No call to a broker is waited for without end: some of the library's are, when the broker is away."""
    async with asyncio.timeout(seconds):
        return await call
