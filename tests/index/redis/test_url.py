"""The library that talks to Redis is loaded by those who need it."""

from __future__ import annotations

import subprocess
import sys


def test_a_command_starts_without_the_library_of_redis() -> None:
    code = "import sys, gate.cli, gate.api; print([name for name in sys.modules if name.split('.')[0] == 'redis'])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"
