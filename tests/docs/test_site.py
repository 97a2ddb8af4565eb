"""The site of the documentation loads nothing from another host. That its links hold is what `make docs` checks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, blocks, name_of

# What a browser fetches by itself to show a page: scripts, images, frames, and links that name a style or an icon.
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio)\b[^>]*?\bsrc=["']?((?:https?:)?//[^\s"'>]+)"""
    r"""|<link\b[^>]*?\bhref=["']?((?:https?:)?//[^\s"'>]+)"""
)
_FETCHED_BY_STYLE = re.compile(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\s\"')]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout
    return folder


@pytest.mark.slow
def test_no_page_of_the_site_fetches_anything_from_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert pages
    assert {page.name: found for page in pages if (found := _FETCHED.findall(page.read_text(encoding="utf-8")))} == {}


@pytest.mark.slow
def test_no_style_of_the_site_fetches_anything_from_another_host(site: Path) -> None:
    styles = list(site.rglob("*.css"))
    assert styles
    assert {s.name: found for s in styles if (found := _FETCHED_BY_STYLE.findall(s.read_text(encoding="utf-8")))} == {}


def test_no_page_has_a_mermaid_diagram_whose_script_would_be_fetched() -> None:
    assert [name_of(page) for page in PAGES if any(blocks(page.read_text(encoding="utf-8"), "mermaid"))] == []
