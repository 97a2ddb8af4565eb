"""What `pip install` does besides copying files: compile gate/core/native/kernel.c with the system's C compiler.

The wheel is tagged for the platform then. Without a compiler, or where it fails, the wheel is pure and the gate runs
on numpy alone: the same verdicts, more slowly. GATE_KERNEL=none in the environment leaves the kernel out, and
GATE_KERNEL=required makes a failure an error.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = Path("gate", "core", "native")
SOURCE, LIBRARY = NATIVE / "kernel.c", NATIVE / "libkernel.so"
# For any processor of the platform: no -march. What a compiler warns of is an error where it is tested, not here.
FLAGS = ("-std=c11", "-O3", "-fPIC", "-shared", "-fvisibility=hidden")
COMPILE_SECONDS = 300


def find_compiler() -> str | None:
    """The command of the C compiler: CC, or cc."""
    return shutil.which(os.environ.get("CC") or "cc")


def compile_kernel(compiler: str, source: Path, library: Path, flags: tuple[str, ...] = FLAGS) -> str:
    """Compile the kernel; what went wrong, or nothing. A library that is in use is replaced, not written over."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    temporary = library.with_suffix(".new")
    command = [compiler, *flags, f'-DSOURCE_DIGEST="{digest}"', "-o", str(temporary), str(source)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as exc:
        return str(exc)
    if done.returncode:
        return done.stderr.strip() or f"{compiler} failed with exit code {done.returncode}"
    temporary.replace(library)
    return ""


class KernelBuildHook(BuildHookInterface[Any]):
    """Compiles before a wheel is put together, of a release or of an editable installation."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wanted = os.environ.get("GATE_KERNEL", "")
        library = Path(self.root) / LIBRARY
        if wanted == "none":
            library.unlink(missing_ok=True)
            return
        compiler = find_compiler()
        problem = (
            compile_kernel(compiler, Path(self.root) / SOURCE, library) if compiler else "there is no C compiler (cc)"
        )
        if problem:
            library.unlink(missing_ok=True)  # of another version, perhaps
            if wanted == "required":
                raise RuntimeError(f"gate/core/native/kernel.c: {problem}")
            self.app.display_warning(f"Without the compiled kernel, the gate signs on numpy: {problem}")
            return
        build_data["pure_python"] = False
        build_data["artifacts"].append(LIBRARY.as_posix())
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"  # one library for every Python: it knows nothing of Python
