"""Options of the Kafka clients: the safe choice is made wherever the library's default is not one."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from gate.errors import ConfigError
from gate.stream.client_options import client_options, consumer_options, producer_options
from gate.stream.settings import KafkaSettings


def test_a_consumer_commits_explicitly_moves_no_position_by_itself_and_reads_committed_records_only() -> None:
    options = consumer_options(KafkaSettings(), rebalance_seconds=30, instance_id=None)
    assert options["enable_auto_commit"] is False
    assert options["auto_offset_reset"] == "none"
    assert options["isolation_level"] == "read_committed"
    assert not {"key_deserializer", "value_deserializer"} & options.keys()


def test_a_consumer_sends_several_heartbeats_a_session_and_may_process_for_longer_than_one() -> None:
    options = consumer_options(KafkaSettings(session_timeout_seconds=60), rebalance_seconds=30, instance_id=None)
    assert options["session_timeout_ms"] == 60_000
    assert options["heartbeat_interval_ms"] == 1000
    assert options["max_poll_interval_ms"] > 60_000
    assert options["rebalance_timeout_ms"] == 30_000


def test_a_producer_is_idempotent_and_waits_for_all_in_sync_replicas() -> None:
    options = producer_options(KafkaSettings(max_record_bytes=1000))
    assert (options["acks"], options["enable_idempotence"]) == ("all", True)
    assert (options["max_request_size"], options["max_batch_size"]) == (1000, 1000)


def test_a_password_is_an_option_of_the_client_and_in_no_repr() -> None:
    kafka = KafkaSettings(security="SASL_PLAINTEXT", username="u", password="hidden")
    assert client_options(kafka)["sasl_plain_password"] == "hidden"
    assert "hidden" not in repr(kafka)


def test_without_sasl_and_tls_no_option_of_theirs_is_set() -> None:
    assert not {"sasl_mechanism", "sasl_plain_password", "ssl_context"} & client_options(KafkaSettings()).keys()


def test_every_broker_that_is_named_is_an_address_to_start_from() -> None:
    assert client_options(KafkaSettings(brokers="a:1, b:2"))["bootstrap_servers"] == ["a:1", "b:2"]


def test_with_tls_the_certificate_of_the_broker_is_verified() -> None:
    context = client_options(KafkaSettings(security="SSL"))["ssl_context"]
    assert context.verify_mode is ssl.CERT_REQUIRED


def test_a_certificate_file_that_cannot_be_used_is_a_configuration_error_that_names_the_settings(
    tmp_path: Path,
) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(ConfigError, match="kafka_ca_file, kafka_cert_file, kafka_key_file"):
        client_options(KafkaSettings(security="SSL", ca_file=str(tmp_path / "ca.pem")))
