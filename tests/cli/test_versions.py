"""What `gate --version -v` says."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from gate import __version__
from gate.cli import main
from gate.cli.versions import describe_platform
from gate.core.native import loader


@pytest.mark.parametrize("arguments", [("--version", "-v"), ("-v", "--version")])
def test_the_version_says_what_signs(arguments: tuple[str, str]) -> None:
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0
    version, platform, signing = done.stdout.splitlines()
    assert version == f"gate, version {__version__}"
    assert platform.startswith("Python 3.")
    assert signing == f"signing: {loader.describe()}"
    assert describe_platform() == f"{platform}\n{signing}"


def test_the_version_alone_is_one_line() -> None:
    assert CliRunner().invoke(main, ["--version"]).stdout == f"gate, version {__version__}\n"
