"""The sources of the page: nothing in them reads a value as HTML or code, and each module that is imported is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "gate" / "http" / "page"
SCRIPTS = sorted(PAGE.rglob("*.js"))
UNSAFE = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|"
    r"\beval\(|new Function|setTimeout\(\s*[\"'`]"
)


def name_of(path: Path) -> str:
    return path.relative_to(PAGE).as_posix()


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_no_script_makes_html_or_code_of_a_text(script: Path) -> None:
    assert UNSAFE.search(script.read_text(encoding="utf-8")) is None


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_a_script_says_what_it_is_and_imports_what_is_there(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert text.startswith("/* ")
    assert len(text.splitlines()) <= 300
    for imported in re.findall(r'from "([^"]+)"', text):
        assert imported.startswith("."), imported
        assert (script.parent / imported).is_file(), imported


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_a_script_uses_each_name_that_it_imports(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    for names in re.findall(r"import \{([^}]+)\} from", text):
        for name in names.split(","):
            used = re.findall(rf"\b{re.escape(name.strip())}\b", text)
            assert len(used) > 1, name.strip()


def test_the_page_has_no_style_and_no_script_of_its_own_and_fetches_nothing_from_elsewhere() -> None:
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    assert re.search(r"<style|style=|<script>|\son\w+=", text) is None
    for path in PAGE.rglob("*"):
        if path.suffix in {".html", ".css", ".js"}:
            found = re.findall(r"https?://[^\s\"'`]+", path.read_text(encoding="utf-8"))
            assert set(found) <= {"http://www.w3.org/2000/svg"}, path
