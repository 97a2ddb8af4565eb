"""The compiled kernel for tests, of the kernel.c that is there now."""

from __future__ import annotations

from pathlib import Path

import hatch_build
from gate.core.native import loader
from gate.core.native.kernel import Kernel


def current_kernel(folder: Path) -> Kernel:
    """The installed kernel if it is current; otherwise it is compiled into the folder."""
    if loader.LIBRARY.is_file():
        kernel, _ = loader.load(loader.LIBRARY, loader.SOURCE)
        if kernel is not None:
            return kernel
    return compiled_kernel(folder / loader.LIBRARY.name)


def compiled_kernel(library: Path, flags: tuple[str, ...] = hatch_build.FLAGS) -> Kernel:
    return Kernel(compile_source(loader.SOURCE, library, flags))


def compile_source(source: Path, library: Path, flags: tuple[str, ...] = hatch_build.FLAGS) -> Path:
    compiler = hatch_build.find_compiler()
    assert compiler, "there is no C compiler: install gcc, or set CC"
    problem = hatch_build.compile_kernel(compiler, source, library, flags)
    assert not problem, problem
    return library
