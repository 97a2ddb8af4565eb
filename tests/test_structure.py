"""Where things are: a test file for every module, and one class for every name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted(path.relative_to(ROOT) for path in (ROOT / "gate").rglob("*.py") if path.name != "__init__.py")
SOURCES = sorted(path for folder in ("gate", "load", "tests/support") for path in (ROOT / folder).rglob("*.py"))


def mirrored(module: Path) -> Path:
    """gate/index/scan.py is tested by tests/index/test_scan.py, and gate/__main__.py by tests/test_main.py."""
    return Path("tests", *module.parts[1:-1], f"test_{module.stem.strip('_')}.py")


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_has_a_test_file_at_the_mirrored_path(module: Path) -> None:
    assert (ROOT / mirrored(module)).is_file(), f"{module} has no tests of its own in {mirrored(module)}"


def test_no_two_modules_share_a_test_file() -> None:
    assert len({mirrored(module) for module in MODULES}) == len(MODULES) > 100


def test_no_class_name_is_defined_twice() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
