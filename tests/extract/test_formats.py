"""Each format gives the text that its reader would see, recognised by content alone."""

from __future__ import annotations

import pytest

from gate.errors import BadDocument
from gate.extract.formats import detect, extract_text, is_plain_text
from tests.extract.extracting import LINES, OPTIONS, TEXT, words
from tests.extract.office_samples import (
    docx_of,
    epub,
    mail,
    odt,
    pdf,
    pptx,
    rtf,
    xlsx,
    zipped,
)

SAME_TEXT = {
    "DOCX": docx_of(TEXT),
    "PPTX": pptx(LINES),
    "OpenDocument": odt("".join(f"<text:p>{line}</text:p>" for line in LINES)),
    "EPUB": epub([f"<p>{line}</p>" for line in LINES]),
    "HTML": f"<html><body>{''.join(f'<p>{line}</p>' for line in LINES)}</body></html>".encode(),
    "RTF": rtf(TEXT),
    "mail": mail(TEXT),
    "PDF": pdf(LINES),
    "workbook": xlsx({"one": "".join(f'<row><c t="inlineStr"><is><t>{line}</t></is></c></row>' for line in LINES)}),
    "text": TEXT.encode(),
}


@pytest.mark.parametrize("name", SAME_TEXT)
def test_the_same_text_comes_out_of_every_format(name: str) -> None:
    extracted = extract_text(SAME_TEXT[name], OPTIONS)
    assert (extracted.format, words(extracted)) == (name, TEXT.split())


@pytest.mark.parametrize("name", sorted(SAME_TEXT.keys() - {"text"}))
def test_only_texts_count_as_plain(name: str) -> None:
    assert not is_plain_text(SAME_TEXT[name])
    assert detect(SAME_TEXT[name]).name == name


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"From: a letter\n\nthat quotes one field of a mail",
        b"Note: this\nTo: whom it may concern\n\nis no mail",
        b"we write <html> in the middle",
        b"PK is what they call him",
    ],
)
def test_texts_that_resemble_other_formats_are_texts(text: bytes) -> None:
    assert is_plain_text(text)
    assert detect(text).name == "text"


@pytest.mark.parametrize(
    "data",
    [b"\x89PNG\r\n\x1a\n\0\0\0", zipped({"a.txt": "text"}), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)],
)
def test_files_of_no_known_kind_are_binary(data: bytes) -> None:
    with pytest.raises(BadDocument) as caught:
        extract_text(data, OPTIONS)
    assert caught.value.code == "binary"
