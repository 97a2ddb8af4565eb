"""The library that talks to Redis is loaded only where it is needed."""

from __future__ import annotations

import subprocess
import sys


def test_a_command_starts_without_the_library_of_redis() -> None:
    code = "import sys, gate.cli, gate.api; print([name for name in sys.modules if name.split('.')[0] == 'redis'])"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"
