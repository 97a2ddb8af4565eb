"""What each Kafka error asks for.

RETRY      the broker is unavailable or the leader moves: replace the client, resume at the committed offset
FENCED     a newer producer writes for this partition: leave it to that one
LOST       the group assigned the partition to another member: drop what is in flight
TOO_LARGE  this record will never be accepted: send a smaller one instead
FATAL      a bug, or a matter of configuration: stop, with nothing committed
"""

from __future__ import annotations

import ssl
from enum import Enum

from aiokafka import errors

from gate.errors import ConfigError, Unavailable
from gate.stream.settings import KafkaSettings


class Action(Enum):
    """How a worker reacts to an error."""

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
DENIED = (
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
# Not marked as retriable by the library, but transient for a new client.
TRANSIENT = (
    TimeoutError,
    OSError,
    errors.KafkaTimeoutError,
    errors.KafkaUnavailableError,
    errors.ProducerClosed,
    errors.UnknownError,
    errors.CorruptRecordException,  # what was sent was damaged in transit
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
    errors.InvalidTimestampError,  # until the clock is right
)


def action_for(error: BaseException) -> Action:
    """The reaction to an error of a send or a commit."""
    if isinstance(error, FENCED):
        return Action.FENCED
    if isinstance(error, LOST):
        return Action.LOST
    if isinstance(error, TOO_LARGE):
        return Action.TOO_LARGE
    if isinstance(error, DENIED):
        return Action.FATAL
    if isinstance(error, TRANSIENT) or (isinstance(error, errors.KafkaError) and error.retriable):
        return Action.RETRY
    if type(error) is errors.KafkaError:  # how the library wraps an unexpected error
        return Action.RETRY
    return Action.FATAL


def error_name(error: BaseException) -> str:
    """The class name, for logs and metrics: the message of an error may quote a record."""
    return type(error).__name__


def remedy_for(error: BaseException) -> str | None:
    """What an operator has to do before a retry can help; None: nothing."""
    if isinstance(error, errors.InvalidTimestampError):
        return "the broker refuses the time of this machine: check the clock here and there"
    return None


def translate_error(error: BaseException, kafka: KafkaSettings) -> Exception:
    """The gate's own error: ConfigError where access is denied, Unavailable where a retry may help."""
    if isinstance(error, DENIED):
        return ConfigError(
            f"kafka: {kafka.brokers} denies this user access ({error_name(error)}): "
            "see kafka_security, kafka_username, kafka_password, and the ACLs of the topics, the group and the "
            "transactional ids"
        )
    if isinstance(error, ssl.SSLError):
        return ConfigError("kafka: the broker's certificate cannot be trusted, or it speaks no TLS: see kafka_ca_file")
    if action_for(error) is Action.RETRY:
        return Unavailable(f"kafka: {kafka.brokers} does not answer ({error_name(error)})")
    return error if isinstance(error, Exception) else RuntimeError(error_name(error))
