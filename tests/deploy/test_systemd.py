"""The systemd unit, as systemd itself reads it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.deploy_files import DEPLOY

UNIT = DEPLOY / "systemd" / "gate.service"


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    assert shutil.which("systemd-analyze"), "systemd is missing: run the tests with `make test`, which installs it"
    command = ["systemd-analyze", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with the command of this environment: systemd looks whether it is there."""
    text = UNIT.read_text()
    command = Path(sys.executable).parent / "gate"
    assert "ExecStart=/opt/gate/bin/gate " in text
    path = tmp_path / UNIT.name
    path.write_text(text.replace("/opt/gate/bin/gate ", f"{command} "))
    return path


def test_systemd_accepts_the_unit(unit: Path) -> None:
    result = analyze("verify", "--man=no", unit)
    assert (result.returncode, result.stderr) == (0, "")


def test_systemd_would_refuse_a_misspelled_option(unit: Path) -> None:
    unit.write_text(unit.read_text().replace("KillMode=", "KilMode="))
    assert "KilMode" in analyze("verify", "--man=no", unit).stderr


def test_the_service_is_confined(unit: Path) -> None:
    result = analyze("security", "--offline=true", "--no-pager", "--threshold=15", unit)
    assert result.returncode == 0, result.stdout[-200:]  # of 100; 96 without any of the restrictions


def test_systemd_waits_longer_for_the_end_than_the_gate_drains() -> None:
    [seconds] = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), flags=re.MULTILINE)
    assert int(seconds) > 20 + 10  # drain_seconds and the margin of the supervisor
