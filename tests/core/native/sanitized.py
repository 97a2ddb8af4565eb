"""The kernel under the address and undefined-behaviour sanitizers: `python -m tests.core.native.sanitized [ROUNDS]`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from gate.core.native import loader
from tests.support.compiled_kernel import compile_source

FLAGS = ("-std=c11", "-O1", "-g", "-fPIC", "-shared", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
ROOT = Path(__file__).parents[3]


def run_sanitized(folder: Path, rounds: int) -> subprocess.CompletedProcess[str]:
    """Compare so many batches, in a process that the sanitizer's library is loaded into before all others."""
    library = compile_source(loader.SOURCE, folder / "libkernel.so", FLAGS)
    name = ["cc", "-print-file-name=libasan.so"]
    sanitizer = subprocess.run(name, capture_output=True, text=True, check=True).stdout.strip()
    environment = os.environ | {"LD_PRELOAD": sanitizer, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
    command = [sys.executable, "-m", "tests.core.native.equality", str(library), str(rounds)]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        done = run_sanitized(Path(folder), int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
