"""Which addresses only this machine can reach."""

from __future__ import annotations

import pytest

from gate.http.settings import ServiceSettings


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost"])
def test_an_address_of_loopback_is_reached_by_this_machine_alone(host: str) -> None:
    assert ServiceSettings(host=host).is_loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "gate.example", "localhost.example"])  # noqa: S104
def test_any_other_address_may_be_reached_by_others(host: str) -> None:
    assert not ServiceSettings(host=host).is_loopback
