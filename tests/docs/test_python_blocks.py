"""Examples in Python do what a page says, and those in other languages can be read."""

from __future__ import annotations

import ast
import doctest
import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, blocks, name_of

PARSERS: dict[str, Callable[[str], object]] = {"python": ast.parse, "toml": tomllib.loads, "json": json.loads}


def pages_with(language: str) -> list[object]:
    return [
        pytest.param(page, id=name_of(page))
        for page in PAGES
        if any(blocks(page.read_text(encoding="utf-8"), language))
    ]


@pytest.mark.parametrize("page", pages_with("pycon"))
def test_the_python_sessions_of_a_page_print_what_it_shows(page: Path, empty_folder: Path) -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    shared: dict[str, object] = {}  # a block goes on where the one before it ended
    for block in blocks(page.read_text(encoding="utf-8"), "pycon"):
        session = parser.get_doctest(block.body, shared, name_of(page), str(page), block.line - 1)
        assert session.examples, f"{name_of(page)}:{block.line} has no `>>>`"
        runner.run(session, clear_globs=False)
        shared = session.globs
    assert runner.failures == 0, "the report is above"
    assert runner.tries > 0


@pytest.mark.parametrize("language", PARSERS)
def test_the_blocks_of_a_language_can_be_read(language: str) -> None:
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8"), language):
            try:
                PARSERS[language](block.body)
            except (SyntaxError, ValueError) as error:
                pytest.fail(f"{name_of(page)}:{block.line}: {error}")
