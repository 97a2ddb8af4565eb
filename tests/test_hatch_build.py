"""What is built where there is a compiler, and where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import hatch_build

ROOT = Path(__file__).parent.parent
NEEDED = (
    "pyproject.toml",
    "hatch_build.py",
    "README.md",
    "LICENSE",
    ".gitignore",
    "gate",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the wheel is made of, without what was compiled before."""
    root = tmp_path / "checkout"
    for name in NEEDED:
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__", "libkernel.*"))
        else:
            shutil.copy(ROOT / name, target)
    return root


def build(root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(root / "dist")]
    return subprocess.run(command, cwd=root, env=os.environ | environment, capture_output=True, text=True, check=False)


def wheel_of(root: Path) -> Path:
    [wheel] = (root / "dist").glob("*.whl")
    return wheel


def names_in(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.slow
def test_a_wheel_holds_the_kernel_and_is_for_the_platform_and_any_python(checkout: Path) -> None:
    done = build(checkout, GATE_KERNEL="required")
    assert done.returncode == 0, done.stderr
    wheel = wheel_of(checkout)
    assert wheel.name.endswith("-py3-none-linux_x86_64.whl")
    assert {"gate/core/native/kernel.c", "gate/core/native/libkernel.so"} <= names_in(wheel)


def test_without_a_compiler_the_wheel_is_pure_with_a_warning(checkout: Path) -> None:
    (checkout / "gate/core/native/libkernel.so").write_bytes(b"of another version")
    done = build(checkout, CC="no-such-compiler")
    assert done.returncode == 0, done.stderr
    assert (
        "Without the compiled kernel, the gate signs on numpy: there is no C compiler (cc)" in done.stderr + done.stdout
    )
    wheel = wheel_of(checkout)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert "gate/core/native/libkernel.so" not in names_in(wheel)


def test_a_kernel_that_is_required_and_cannot_be_compiled_fails_the_build(checkout: Path) -> None:
    done = build(checkout, CC="false", GATE_KERNEL="required")
    assert done.returncode != 0
    assert "gate/core/native/kernel.c: " in done.stderr


def test_a_wheel_without_the_kernel_can_be_asked_for(checkout: Path) -> None:
    assert build(checkout, GATE_KERNEL="none").returncode == 0
    assert wheel_of(checkout).name.endswith("-py3-none-any.whl")


def test_what_the_compiler_says_is_what_went_wrong(tmp_path: Path) -> None:
    source, library = tmp_path / "kernel.c", tmp_path / "libkernel.so"
    source.write_text("int broken(void) { return nothing; }\n")
    compiler = hatch_build.find_compiler()
    assert compiler
    assert "nothing" in hatch_build.compile_kernel(compiler, source, library)
    assert not library.exists()
    assert not list(tmp_path.glob("*.new"))
