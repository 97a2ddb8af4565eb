"""DOCX and PPTX."""

from __future__ import annotations

import pytest

from gate.errors import BadDocument
from gate.extract.formats import extract_text
from tests.extract.extracting import OPTIONS, TEXT, words
from tests.extract.office_samples import (
    W,
    docx,
    docx_of,
    paragraph,
    pptx,
    zipped,
)


class TestDocx:
    def test_what_a_reader_sees_is_read_in_order(self) -> None:
        table = f"<w:tbl><w:tr><w:tc>{paragraph('cell 1')}</w:tc><w:tc>{paragraph('cell 2')}</w:tc></w:tr></w:tbl>"
        box = (
            '<w:p><w:r><mc:AlternateContent xmlns:mc="m"><mc:Choice>'
            f"<w:txbxContent>{paragraph('in the box')}</w:txbxContent></mc:Choice><mc:Fallback>"
            f"<w:txbxContent>{paragraph('in the box')}</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r></w:p>"
        )
        tracked = (
            "<w:p><w:ins><w:r><w:t>inserted </w:t></w:r></w:ins><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
            "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:moveTo><w:r><w:t>moved</w:t></w:r></w:moveTo></w:p>"
        )
        spaces = (
            "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r></w:p>"
        )
        field = "<w:p><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:t>7</w:t></w:r></w:p>"
        file = docx(
            paragraph("first") + table + box + tracked + spaces + field,
            title="A title",
            parts={
                "header1.xml": ("header", f"<w:hdr {W}>{paragraph('head')}</w:hdr>"),
                "footnotes.xml": ("footnotes", f"<w:footnotes {W}>{paragraph('note')}</w:footnotes>"),
                "comments.xml": ("comments", f"<w:comments {W}>{paragraph('comment')}</w:comments>"),
            },
        )
        extracted = extract_text(file, OPTIONS)
        assert extracted.title == "A title"
        assert " ".join(words(extracted)) == "first cell 1 cell 2 in the box inserted moved a b c-d 7 note head"

    @pytest.mark.parametrize(
        ("file", "code"),
        [
            (zipped({"[Content_Types].xml": "", "word/document.xml": "<a/>"}), "damaged"),
            (docx("<w:p>"), "damaged"),
            (docx_of(TEXT)[:-100], "damaged"),
            (docx(""), "no_text"),
        ],
    )
    def test_damaged_and_empty_files_are_told_apart(self, file: bytes, code: str) -> None:
        with pytest.raises(BadDocument) as caught:
            extract_text(file, OPTIONS)
        assert caught.value.code == code


class TestPptx:
    def test_slides_come_in_their_order_with_their_notes(self) -> None:
        extracted = extract_text(pptx(["one", "two", "three"], {1: "said"}), OPTIONS)
        assert words(extracted) == ["one", "two", "said", "three"]
