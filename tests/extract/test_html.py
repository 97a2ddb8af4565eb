"""Pages."""

from __future__ import annotations

from gate.extract.formats import extract_text
from gate.extract.text_of import ReadOptions
from tests.extract.extracting import LINES, OPTIONS
from tests.extract.office_samples import (
    html,
)

PAGE = html("".join(f"<p>{line} {line} {line}</p>" for line in LINES), title="Gate & keeper")


def test_the_main_text_leaves_out_what_surrounds_it() -> None:
    extracted = extract_text(PAGE.encode(), OPTIONS)
    assert "east gate" in extracted.text
    assert "Section" not in extracted.text
    assert "tracking" not in extracted.text
    assert extracted.title == "Gate & keeper"


def test_the_full_text_can_be_asked_for() -> None:
    extracted = extract_text(PAGE.encode(), ReadOptions(html="full"))
    assert "east gate" in extracted.text
    assert "Section 7 of the site" in extracted.text
    assert "tracking" not in extracted.text


def test_a_page_without_a_main_text_is_read_in_full() -> None:
    page = "<html><body><ul>" + "".join(f"<li><a href=x>Entry {n}</a></li>" for n in range(9)) + "</ul></body></html>"
    assert "Entry 8" in extract_text(page.encode(), OPTIONS).text


def test_the_encoding_is_the_one_it_declares() -> None:
    page = '<html><head><meta charset="koi8-r"></head><body><p>ворота</p></body></html>'
    assert extract_text(page.encode("koi8-r"), OPTIONS).text.strip() == "ворота"
