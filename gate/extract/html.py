"""HTML: what a page is about, without its navigation and frame; or everything that can be seen on it."""

from __future__ import annotations

import re

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
from resiliparse.parse.html import HTMLTree

from gate.extract.text_of import ExtractedText, HtmlPart, ReadOptions, TextParts

# A main text of less than this part of all that can be seen was not recognised as such: a list, a table, a short note.
_MIN_MAIN_PART = 0.1
_SPACES = re.compile(r"\s+")


def read_html(data: bytes, options: ReadOptions) -> ExtractedText:
    encoding = options.encoding or detect_encoding(data, from_html_meta=True) or "utf-8"
    text, title = text_of_page(bytes_to_str(data, encoding), options.html)
    parts = TextParts(options.limits.max_chars)
    parts.add(text)
    return ExtractedText(text=str(parts), format="HTML", title=title)


def text_of_page(page: str, part: HtmlPart) -> tuple[str, str | None]:
    """The text and the title of a page."""
    tree = HTMLTree.parse(page)
    title = _SPACES.sub(" ", tree.title or "").strip() or None
    full = extract_plain_text(tree)
    if part == "full":
        return full, title
    main = extract_plain_text(tree, main_content=True)
    return (main if len(main) >= _MIN_MAIN_PART * len(full) else full), title
