"""The metrics and log events of the service."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from gate.errors import ConfigError
from gate.http.service_metrics import ServiceMetrics


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def test_requests_are_counted_and_timed_by_operation(registry: CollectorRegistry) -> None:
    metrics = ServiceMetrics(registry)
    metrics.record_request("check_in", 200, 0.003)
    metrics.record_request("check_in", 200, 0.3)
    metrics.record_request("check_in", 503, 0.0)
    value = registry.get_sample_value
    assert value("gate_http_requests_total", {"operation": "check_in", "status": "200"}) == 2
    assert value("gate_http_requests_total", {"operation": "check_in", "status": "503"}) == 1
    assert value("gate_http_request_duration_seconds_bucket", {"operation": "check_in", "le": "0.005"}) == 2
    assert value("gate_http_request_duration_seconds_sum", {"operation": "check_in"}) == pytest.approx(0.303)


def test_the_load_is_what_it_was_set_to_last(registry: CollectorRegistry) -> None:
    metrics = ServiceMetrics(registry)
    metrics.set_load(3, 1000)
    metrics.set_load(2, 500)
    assert registry.get_sample_value("gate_http_requests_in_progress") == 2
    assert registry.get_sample_value("gate_http_pending_bytes") == 500
    assert b"gate_http_pending_bytes 500.0" in generate_latest(registry)


def test_a_failed_request_is_logged_without_the_message_of_its_error(
    registry: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    ServiceMetrics(registry).log_request_failed("compare", ValueError("a private text"))
    [record] = caplog.records
    assert "request.failed" in str(record.msg)
    assert "compare" in str(record.msg)
    assert "private" not in str(record.msg)


def test_a_wrong_tokens_file_is_logged_with_its_problem(
    registry: CollectorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    ServiceMetrics(registry).log_tokens_invalid(ConfigError("api_tokens_file: t.toml is not TOML"))
    [record] = caplog.records
    assert "tokens.invalid" in str(record.msg)
    assert "t.toml is not TOML" in str(record.msg)
