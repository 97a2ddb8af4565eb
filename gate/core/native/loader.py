"""Find the compiled kernel, check it, and say which implementation runs: it, or numpy.

A library that was compiled from another kernel.c than the one beside it, or does not give the known answers, is not
used: the gate would sign otherwise than it did. GATE_KERNEL in the environment: `none` never uses it, `required` makes
it an error that there is none to use.
"""

from __future__ import annotations

import hashlib
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gate.errors import ConfigError

if TYPE_CHECKING:
    from gate.core.native.kernel import Kernel

VARIABLE = "GATE_KERNEL"
CHOICES = ("auto", "none", "required")
FOLDER = Path(__file__).parent
LIBRARY, SOURCE = FOLDER / "libkernel.so", FOLDER / "kernel.c"

_REMEDY = "reinstall the gate where there is a C compiler (in a checkout: make venv)"


class _Choice:
    """What `active` answers, once it was asked."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.made = False
        self.kernel: Kernel | None = None


_choice = _Choice()


def active() -> Kernel | None:
    """The kernel that this process uses; None: numpy does it all. ConfigError: GATE_KERNEL cannot be had."""
    if not _choice.made:
        with _choice.lock:
            if not _choice.made:
                _choice.kernel = choose(os.environ.get(VARIABLE, ""), LIBRARY, SOURCE)
                _choice.made = True
    return _choice.kernel


def problems(wanted: str) -> list[str]:
    """What is wrong with the choice, before any work starts: a wrong word, or a kernel that is required and missing."""
    try:
        if wanted not in ("", *CHOICES) or wanted == "required":
            choose(wanted, LIBRARY, SOURCE)
    except ConfigError as exc:
        return list(exc.problems)
    return []


def implementation() -> str:
    """The name of what runs: `c` or `numpy`."""
    return "numpy" if active() is None else "c"


def origin() -> str:
    """Why that runs: the file of the kernel, GATE_KERNEL, or that there is none."""
    kernel = active()
    if kernel is not None:
        return str(kernel.path)
    return VARIABLE if os.environ.get(VARIABLE) == "none" else "no compiled kernel"


def describe() -> str:
    """What runs, for people."""
    name = "compiled kernel" if implementation() == "c" else "numpy"
    return f"{name} ({origin()})"


@contextmanager
def using(kernel: Kernel | None) -> Iterator[None]:
    """Use that kernel, or numpy, within the block: for comparing the two."""
    active()
    before = _choice.kernel
    _choice.kernel = kernel
    try:
        yield
    finally:
        _choice.kernel = before


def choose(wanted: str, library: Path, source: Path) -> Kernel | None:
    """The kernel in a library, if it is wanted, there and sound."""
    if wanted not in ("", *CHOICES):
        raise ConfigError(f"{VARIABLE} (environment): {wanted!r} is not allowed; give one of {', '.join(CHOICES)}")
    if wanted == "none":
        return None
    if not library.is_file():
        if wanted == "required":
            raise ConfigError(f"{VARIABLE} (environment): {library} is missing; {_REMEDY}")
        return None
    kernel, problem = load(library, source)
    if problem:
        if wanted == "required":
            raise ConfigError(f"{VARIABLE} (environment): {library} {problem}; {_REMEDY}")
        warnings.warn(f"{library} {problem}, so numpy signs; {_REMEDY}", RuntimeWarning, stacklevel=2)
        return None
    return kernel


def load(library: Path, source: Path) -> tuple[Kernel | None, str]:
    """The kernel in a library, or what is wrong with it."""
    from gate.core.native.kernel import VERSION, Kernel
    from gate.core.native.self_test import passes

    try:
        kernel = Kernel(library)
    except (OSError, AttributeError) as exc:
        return None, f"cannot be loaded ({exc})"
    if kernel.version != VERSION:
        return None, f"has version {kernel.version} of the calls, not {VERSION}"
    if kernel.source_digest != hashlib.sha256(source.read_bytes()).hexdigest():
        return None, f"was compiled from another {source.name}"
    if not passes(kernel):
        return None, "does not give the known answers"
    return kernel, ""
