"""Books."""

from __future__ import annotations

from gate.extract.formats import extract_text
from tests.extract.extracting import OPTIONS, words
from tests.extract.office_samples import (
    epub,
)


def test_chapters_come_in_reading_order() -> None:
    extracted = extract_text(epub(["<p>one</p>", "<p>two</p>", "<p>three</p>"], title="Book"), OPTIONS)
    assert (words(extracted), extracted.title) == (["one", "two", "three"], "Book")
