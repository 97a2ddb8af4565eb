"""What the commands about the service take."""

from __future__ import annotations

import pytest

from tests.cli.command import done, gate

pytestmark = pytest.mark.usefixtures("empty_folder")


def test_the_help_of_serve_shows_a_request() -> None:
    assert "curl -s localhost:8400/v1/check-ins" in done("serve", "--help").stdout


@pytest.mark.parametrize("port", ["-1", "65536", "many"])
def test_a_port_is_one(port: str) -> None:
    result = gate("serve", "--port", port)
    assert result.exit_code == 2
    assert "port" in result.stderr


def test_a_scope_that_does_not_exist_is_refused_with_those_that_do() -> None:
    result = gate("token", "a", "--scope", "admin")
    assert result.exit_code == 2
    assert all(scope in result.stderr for scope in ("read", "write", "delete"))
