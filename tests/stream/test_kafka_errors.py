"""Each error of the library, and of the broker, asks for one action."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest
from aiokafka import errors

from gate.errors import ConfigError, Unavailable
from gate.stream.kafka_errors import Action, action_for, error_name, translate_error
from gate.stream.settings import KafkaSettings


def every_error() -> Iterator[type[BaseException]]:
    """All error classes of the library: those with a code of the brokers' protocol, and its own."""
    remaining: list[type[BaseException]] = [errors.KafkaError]
    while remaining:
        kind = remaining.pop()
        yield kind
        remaining += kind.__subclasses__()


EXPECTED: dict[Action, str] = {
    Action.FENCED: "ProducerFenced InvalidProducerEpoch TransactionCoordinatorFenced",
    Action.LOST: (
        "CommitFailedError IllegalGenerationError UnknownMemberIdError RebalanceInProgressError IllegalStateError"
    ),
    Action.TOO_LARGE: "MessageSizeTooLargeError RecordListTooLargeError",
    Action.FATAL: (
        "IllegalArgumentError UnrecognizedBrokerVersion IncompatibleBrokerVersion AuthenticationFailedError "
        "AuthenticationMethodNotSupported UnsupportedCodecError KafkaConfigurationError NoOffsetForPartitionError "
        "RecordTooLargeError BrokerResponseError NoError InvalidFetchRequestError OffsetMetadataTooLargeError "
        "InvalidTopicError InvalidRequiredAcksError InconsistentGroupProtocolError InvalidGroupIdError "
        "InvalidSessionTimeoutError InvalidCommitOffsetSizeError TopicAuthorizationFailedError "
        "GroupAuthorizationFailedError ClusterAuthorizationFailedError "
        "UnsupportedSaslMechanismError IllegalSaslStateError UnsupportedVersionError TopicAlreadyExistsError "
        "InvalidPartitionsError InvalidReplicationFactorError InvalidReplicationAssignmentError "
        "InvalidConfigurationError InvalidRequestError UnsupportedForMessageFormatError InvalidTransactionTimeout "
        "TransactionalIdAuthorizationFailed SecurityDisabled SaslAuthenticationFailed DelegationTokenAuthDisabled "
        "DelegationTokenNotFound DelegationTokenOwnerMismatch DelegationTokenRequestNotAllowed "
        "DelegationTokenAuthorizationFailed DelegationTokenExpired InvalidPrincipalType NonEmptyGroup GroupIdNotFound "
        "NewTopicError"
    ),
}


@pytest.mark.parametrize("kind", sorted(set(every_error()), key=str))
def test_every_error_of_the_library_asks_for_the_action_of_the_design(kind: type[BaseException]) -> None:
    expected = {name: action for action, names in EXPECTED.items() for name in names.split()}
    assert action_for(kind("x")) is expected.get(kind.__name__, Action.RETRY)


def test_an_unknown_error_is_fatal() -> None:
    assert action_for(ValueError("x")) is Action.FATAL


def test_a_translated_error_names_the_broker_and_quotes_nothing_that_was_sent() -> None:
    error = translate_error(errors.KafkaConnectionError("text"), KafkaSettings(brokers="here:1"))
    assert isinstance(error, Unavailable)
    assert "here:1" in str(error)
    assert "text" not in str(error)


@pytest.mark.parametrize(
    ("error", "setting"),
    [
        (errors.SaslAuthenticationFailed("x"), "kafka_password"),
        (errors.TopicAuthorizationFailedError("x"), "ACLs of the topics"),
        (errors.TransactionalIdAuthorizationFailed("x"), "transactional ids"),
        (ssl.SSLError("x"), "kafka_ca_file"),
    ],
)
def test_denied_access_is_a_configuration_error_that_names_the_settings(error: Exception, setting: str) -> None:
    translated = translate_error(error, KafkaSettings())
    assert isinstance(translated, ConfigError)
    assert setting in str(translated)


def test_a_fatal_error_is_not_translated() -> None:
    error = errors.InvalidTopicError("x")
    assert translate_error(error, KafkaSettings()) is error


def test_the_name_of_an_error_for_logs_quotes_nothing_of_its_message() -> None:
    assert error_name(errors.CorruptRecordException("a document")) == "CorruptRecordException"
