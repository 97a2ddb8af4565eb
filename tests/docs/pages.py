"""The Markdown pages of the project, and the fenced blocks in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "deploy").glob("*.md")))

# A block, with the comment before it, where it has one. An indented fence (in a list, in a quotation) is no block here;
# a test fails at one.
_BLOCK = re.compile(
    r"^(?P<before>(?:<!-- not run: (?P<reason>.*?) -->\n+)?)(?P<open>```(?P<language>\w+)[^\n]*\n)(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    language: str
    body: str
    line: int  # of the first line of the body
    reason: str | None  # why a console block is not run, if it is not


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(text: str, language: str) -> Iterator[Block]:
    for match in _BLOCK.finditer(text):
        if match["language"] == language:
            yield _block(match)


def with_blocks_replaced(text: str, language: str, new_body: Callable[[Block], str]) -> str:
    """The text, with another body in each block of a language."""

    def replaced(match: re.Match[str]) -> str:
        if match["language"] != language:
            return match[0]
        return f"{match['before']}{match['open']}{new_body(_block(match))}```"

    return _BLOCK.sub(replaced, text)


def _block(match: re.Match[str]) -> Block:
    line = match.string.count("\n", 0, match.start("body")) + 1
    return Block(match["language"], match["body"], line, match["reason"])
