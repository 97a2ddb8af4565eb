"""The tree of errors is what its docstring draws, and its messages say what to do."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import gate
from gate import errors
from gate.errors import (
    REASONS,
    BadDocument,
    ConfigError,
    GateError,
    IndexLost,
    NotReplicated,
    Stale,
    Unavailable,
    UnknownDocument,
    UsageError,
)

SOURCES = Path(errors.__file__).parent


def classes() -> list[type[GateError]]:
    return [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, GateError)]


def test_every_error_of_the_tree_is_drawn_at_its_depth() -> None:
    drawn = re.findall(r"^    ([│├└─ ]*)([A-Z]\w+)", errors.__doc__ or "", flags=re.MULTILINE)
    assert {name: len(indent) // 4 for indent, name in drawn} == {
        c.__name__: c.mro().index(GateError) for c in classes()
    }


def test_only_what_a_retry_may_help_is_retriable() -> None:
    assert {c for c in classes() if c.retriable} == {Unavailable, Stale, NotReplicated, IndexLost}


def test_every_class_but_the_one_of_documents_has_a_code_of_its_own() -> None:
    codes = [c.code for c in classes() if c is not BadDocument]
    assert len(set(codes)) == len(codes)


def test_every_error_but_the_internal_one_can_be_imported_from_the_package() -> None:
    assert {c.__name__ for c in classes()} - {"Stale"} <= set(gate.__all__)


def test_an_error_of_settings_holds_every_problem() -> None:
    error = ConfigError("first", "second")
    assert error.problems == ("first", "second")
    assert str(error) == "first\nsecond"


def test_python_may_catch_wrong_calls_and_unknown_documents_by_its_own_names() -> None:
    with pytest.raises(ValueError, match="limit"):
        raise UsageError("limit: is 0")
    with pytest.raises(LookupError, match="'a' is not known; give the id"):
        raise UnknownDocument("a")


def test_the_reasons_of_bad_documents_are_the_ones_that_are_raised() -> None:
    """The type checker refuses one that is not in the set; this finds one that nothing raises any more."""
    sources = {path: path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py") if path.name != "errors.py"}
    unused = [reason for reason in REASONS if not any(f'"{reason}"' in text for text in sources.values())]
    assert unused == []
