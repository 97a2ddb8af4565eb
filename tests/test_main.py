"""`python -m gate`."""

from __future__ import annotations

import subprocess
import sys

from gate import __version__


def test_python_m_gate_is_the_command_gate() -> None:
    done = subprocess.run([sys.executable, "-m", "gate", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"gate, version {__version__}\n"


def test_a_wrong_command_of_python_m_gate_is_called_gate_in_its_message() -> None:
    done = subprocess.run([sys.executable, "-m", "gate", "nonsense"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: gate ")


def test_the_module_can_be_imported_without_running_the_command() -> None:
    done = subprocess.run([sys.executable, "-c", "import gate.__main__"], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
