"""Settings of the service."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from gate.config.service import SERVICE, SERVICE_FILES
from gate.config.settings import load_settings
from gate.http.settings import ServiceSettings
from tests.config.settings_problems import problems


def test_without_settings_the_service_has_its_defaults() -> None:
    settings, origins = load_settings({}, {})
    assert settings.service == ServiceSettings()
    assert origins["api_host"] == ("127.0.0.1", "default")
    assert origins["api_allowed_hosts"] == (None, "default")


def test_every_field_has_a_setting() -> None:
    assert {f"api_{field.name}" for field in fields(ServiceSettings)} == {*SERVICE, *SERVICE_FILES}


def test_every_layer_sets_it() -> None:
    Path("gate.toml").write_text('api_host = "0.0.0.0"\napi_tokens_file = "tokens.toml"\napi_max_documents = 10\n')
    environ = {"GATE_API_PORT": "8443", "GATE_API_ALLOWED_HOSTS": "gate.example, [::1]"}
    settings, origins = load_settings({"api_answer_seconds": "2.5"}, environ)
    service = settings.service
    assert (service.host, service.tokens_file, service.max_documents) == ("0.0.0.0", "tokens.toml", 10)  # noqa: S104
    assert (service.port, service.allowed_hosts, service.answer_seconds) == (8443, ("gate.example", "[::1]"), 2.5)
    assert origins["api_allowed_hosts"] == ("gate.example,[::1]", "GATE_API_ALLOWED_HOSTS")
    assert origins["api_answer_seconds"] == (2.5, "--set api_answer_seconds")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("api_port", "65536", "at most 65535"),
        ("api_max_documents", "0", "at least 1"),
        ("api_receive_seconds", "0", "above 0"),
        ("api_allowed_hosts", "https://gate.example", "give names without ports"),
        ("api_allowed_hosts", "gate.example:443", "give names without ports"),
        ("api_allowed_hosts", "a,,b", "give names without ports"),
        ("api_key_file", "key.pem", "is not used without an api_cert_file"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_allowed(key: str, value: str, expected: str) -> None:
    [problem] = problems(flags={key: value})
    assert problem.startswith(key)
    assert expected in problem
