"""PDF."""

from __future__ import annotations

import pytest

from gate.errors import BadDocument
from gate.extract.formats import extract_text
from tests.extract.extracting import OPTIONS, words
from tests.extract.office_samples import (
    pdf,
    pdf_with_password,
)


def test_pages_come_in_order() -> None:
    assert words(extract_text(pdf(["one\ntwo", "three"]), OPTIONS)) == ["one", "two", "three"]


def test_a_pdf_without_text_is_not_empty_but_without_text() -> None:
    with pytest.raises(BadDocument) as caught:
        extract_text(pdf([""]), OPTIONS)
    assert caught.value.code == "no_text"


def test_a_password_is_said_to_be_one() -> None:
    with pytest.raises(BadDocument) as caught:
        extract_text(pdf_with_password(), OPTIONS)
    assert caught.value.code == "encrypted"


def test_a_cut_off_pdf_is_damaged() -> None:
    with pytest.raises(BadDocument) as caught:
        extract_text(b"%PDF-1.4\n1 0 obj\n<<", OPTIONS)
    assert caught.value.code == "damaged"
