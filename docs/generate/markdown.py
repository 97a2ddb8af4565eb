"""Tables and notes in Markdown."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

GENERATED = "<!-- Written by `make reference` from the code; a test fails when the two differ. -->\n\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(_cell, cells)) + " |\n" for cells in lines)


def code(text: object) -> str:
    """Text as code; empty where there is none. A bar in a cell of a table has no spelling that all readers take."""
    if text in (None, ""):
        return ""
    return f"<code>{html.escape(str(text)).replace('|', '&#124;')}</code>" if "|" in str(text) else f"`{text}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "&#124;")
