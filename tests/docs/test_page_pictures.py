"""The pictures of the page: small enough to be loaded with a page, and their documents fit the demonstration."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from tests.docs.page_pictures import COMPARE, FIND, MAX_BYTES, SIZE, documents
from tests.docs.pages import ROOT


@pytest.mark.parametrize("path", [FIND, COMPARE], ids=lambda path: path.stem)
def test_a_picture_is_small_and_on_both_pages(path: Path) -> None:
    assert path.stat().st_size <= MAX_BYTES
    with Image.open(path) as picture:
        assert picture.size == SIZE
    for page in (ROOT / "README.md", ROOT / "docs" / "http.md"):
        assert f"assets/{path.name}" in page.read_text(encoding="utf-8")


def test_each_draft_differs_from_the_one_before() -> None:
    texts = [row["text"] for row in documents() if row.get("title", "").startswith("The lighthouse, draft")]
    assert len(texts) == len(set(texts)) > 5
