"""Which implementation runs, and what is not loaded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hatch_build
from gate.core.native import loader
from gate.core.native.kernel import Kernel
from gate.errors import ConfigError
from tests.support.compiled_kernel import compile_source


@pytest.fixture
def built(kernel: Kernel, tmp_path: Path) -> Path:
    return Path(shutil.copy(kernel.path, tmp_path / "libkernel.so"))


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)


def test_the_installation_has_a_current_kernel() -> None:
    assert hatch_build.find_compiler()
    assert loader.LIBRARY.is_file(), "run make venv"
    kernel, problem = loader.load(loader.LIBRARY, loader.SOURCE)
    assert kernel is not None, f"{problem}; run make venv"


def test_a_current_library_is_used(built: Path) -> None:
    for wanted in ("", "auto", "required"):
        kernel = loader.choose(wanted, built, loader.SOURCE)
        assert kernel is not None
        assert kernel.path == built


def test_none_means_numpy_though_there_is_a_kernel(built: Path) -> None:
    assert loader.choose("none", built, loader.SOURCE) is None


def test_without_a_library_numpy_runs_and_nothing_is_said(tmp_path: Path) -> None:
    assert loader.choose("", tmp_path / "libkernel.so", loader.SOURCE) is None


def test_a_missing_kernel_that_is_required_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"GATE_KERNEL \(environment\): .*libkernel.so is missing; reinstall"):
        loader.choose("required", tmp_path / "libkernel.so", loader.SOURCE)


def test_another_word_for_the_choice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'yes' is not allowed; give one of auto, none, required"):
        loader.choose("yes", tmp_path / "libkernel.so", loader.SOURCE)


def test_a_library_of_another_source_is_stale(built: Path, tmp_path: Path) -> None:
    source = tmp_path / "kernel.c"
    source.write_bytes(loader.SOURCE.read_bytes() + b"\n")
    with pytest.warns(RuntimeWarning, match=r"was compiled from another kernel.c, so numpy signs; reinstall"):
        assert loader.choose("", built, source) is None
    with pytest.raises(ConfigError, match=r"was compiled from another kernel.c"):
        loader.choose("required", built, source)


def test_a_library_of_other_calls_is_not_called(tmp_path: Path) -> None:
    source = tmp_path / "kernel.c"
    source.write_text("int gate_version(void) { return 2; }\nconst char *gate_source_digest(void) { return 0; }\n")
    library = compile_source(source, tmp_path / "libkernel.so", ("-fPIC", "-shared"))
    with pytest.warns(RuntimeWarning, match="has version 2 of the calls, not 1"):
        assert loader.choose("", library, source) is None


@pytest.mark.parametrize("content", [b"", b"no library", b"\x7fELF" + bytes(100)])
def test_a_file_that_is_no_library_is_not_used(tmp_path: Path, content: bytes) -> None:
    library = tmp_path / "libkernel.so"
    library.write_bytes(content)
    with pytest.warns(RuntimeWarning, match="cannot be loaded"):
        assert loader.choose("", library, loader.SOURCE) is None


def test_a_block_may_use_another_implementation(kernel: Kernel) -> None:
    with loader.using(kernel):
        assert loader.implementation() == "c"
        with loader.using(None):
            assert loader.implementation() == "numpy"
            assert loader.describe().startswith("numpy (")
        assert loader.describe() == f"compiled kernel ({kernel.path})"


def test_the_environment_forces_numpy_in_a_process() -> None:
    code = "from gate.core.native import loader; print(loader.describe())"
    assert run_python(code, GATE_KERNEL="none").stdout == "numpy (GATE_KERNEL)\n"


def test_the_command_refuses_a_wrong_choice_before_work_starts(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("some words")
    command = [sys.executable, "-m", "gate", "check", str(text), "--index", str(tmp_path / "index.sqlite")]
    environment = os.environ | {"GATE_KERNEL": "fast"}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "GATE_KERNEL (environment): 'fast' is not allowed" in done.stderr
    assert not (tmp_path / "index.sqlite").exists()
