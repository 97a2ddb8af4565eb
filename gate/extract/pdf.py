"""PDF: the text of all pages, as pdfium finds it. Words that were divided at the end of a line are joined again."""

from __future__ import annotations

import re

import pypdfium2
import pypdfium2.raw

from gate.errors import BadDocument
from gate.extract.text_of import ExtractedText, ReadOptions, TextParts, damaged, encrypted

# What pdfium writes for a hyphen that ends a line, with the line break it may add.
_DIVIDED = re.compile("[\x02\ufffe\u00ad]\r?\n?")


def read_pdf(data: bytes, options: ReadOptions) -> ExtractedText:
    limits = options.limits
    text = TextParts(limits.max_chars)
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as exc:
        if exc.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise encrypted("a PDF") from exc
        raise damaged("PDF") from exc
    try:
        if len(document) > limits.max_pages:
            raise BadDocument("too_large", f"has {len(document):,} pages; raise extract.max_pages if it should be read")
        for number in range(len(document)):
            text.add(_page_text(document, number) + "\n")
        title = document.get_metadata_value("Title").strip() or None
    finally:
        document.close()
    return ExtractedText(text=str(text), format="PDF", title=title)


def _page_text(document: pypdfium2.PdfDocument, number: int) -> str:
    """A page that cannot be read is left out: the others are worth more than none."""
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return ""
    try:
        text_page = page.get_textpage()
        try:
            return _DIVIDED.sub("", text_page.get_text_range())
        finally:
            text_page.close()
    except pypdfium2.PdfiumError:
        return ""
    finally:
        page.close()
