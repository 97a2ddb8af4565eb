"""The known answers of the kernel are those of numpy."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.core.native import loader, self_test
from gate.core.native.kernel import Kernel
from tests.support.compiled_kernel import compile_source


def test_the_kernel_gives_the_known_answer(kernel: Kernel) -> None:
    assert self_test.answer(kernel) == self_test.KNOWN_ANSWER


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("h ^= h >> 33;\n    h *= 0xC4", "h ^= h >> 32;\n    h *= 0xC4"),
        ("< 26) << 5", "< 25) << 5"),
        ("v2 ^= 0xFF;", "v2 ^= 0xFE;"),
        ("half = c->total / 2", "half = c->total / 3"),
    ],
)
def test_a_kernel_that_computes_otherwise_is_rejected(tmp_path: Path, before: str, after: str) -> None:
    source = tmp_path / "kernel.c"
    text = loader.SOURCE.read_text()
    assert before in text
    source.write_text(text.replace(before, after))
    library = compile_source(source, tmp_path / "libkernel.so", ("-std=c11", "-O0", "-fPIC", "-shared"))
    kernel, problem = loader.load(library, source)
    assert kernel is None
    assert problem == "does not give the known answers"
