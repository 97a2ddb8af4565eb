"""The settings of a worker are consistent by default, and show no secret."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from gate.limits import Limits
from gate.stream.client_options import consumer_options
from gate.stream.settings import KafkaSettings, ServerSettings, Topics, WorkerSettings
from gate.wire import max_event_bytes


def test_by_default_a_record_holds_the_longest_document_however_json_escapes_it() -> None:
    assert KafkaSettings().max_record_bytes >= max_event_bytes(Limits())


def test_by_default_a_record_of_the_largest_size_is_decompressed() -> None:
    assert KafkaSettings().unpacked_bytes > KafkaSettings().max_record_bytes


def test_by_default_a_worker_may_drain_before_its_partitions_are_taken_away() -> None:
    settings, kafka = WorkerSettings(), KafkaSettings()
    rebalance_seconds = settings.drain_seconds + kafka.session_timeout_seconds
    options = consumer_options(kafka, rebalance_seconds=rebalance_seconds, instance_id=None)
    assert settings.drain_seconds * 1000 < options["rebalance_timeout_ms"]


def test_by_default_nothing_is_routed_and_no_port_is_opened() -> None:
    topics = Topics()
    assert (topics.accepted, topics.quarantine, ServerSettings().http_port) == (None, None, None)


def test_neither_the_password_nor_that_of_the_key_is_in_a_repr() -> None:
    shown = repr(KafkaSettings(username="u", password="hidden", key_password="secret too"))
    assert "'u'" in shown
    assert "hidden" not in shown
    assert "secret" not in shown


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        KafkaSettings().group = "other"  # type: ignore[misc]
