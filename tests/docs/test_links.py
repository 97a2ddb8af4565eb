"""The links of the pages outside docs/ lead somewhere; those inside are checked when the site is built."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, name_of

OUTSIDE = [page for page in PAGES if not page.is_relative_to(ROOT / "docs")]
_LINK = re.compile(r"(?:\]\(|\b(?:href|src)=\")(?!https?:|mailto:)([^)\s\"#]*)(?:#([^)\s\"]+))?[)\"]")


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as the site and code hosts make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in titles)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", OUTSIDE, ids=name_of)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for path, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)}: {path}"
        if anchor:
            assert anchor in anchors(target), f"{name_of(page)}: {path}#{anchor}"
