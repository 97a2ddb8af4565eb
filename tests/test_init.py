"""The names that a program imports from the package."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gate


@pytest.mark.parametrize("name", gate.__all__)
def test_a_public_name_can_be_imported(name: str) -> None:
    assert getattr(gate, name) is not None
    assert name in dir(gate)


def test_a_name_that_is_not_public_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="'gate' has no attribute 'Pipeline'"):
        gate.Pipeline  # type: ignore[attr-defined]  # noqa: B018


def test_the_package_is_imported_without_numpy_until_a_name_needs_it() -> None:
    program = "import gate, sys; assert 'numpy' not in sys.modules; gate.Gate; assert 'numpy' in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
