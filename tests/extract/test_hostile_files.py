"""Files that cost more than they should: each is one rejected document, and the next file is read as ever."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator

import pytest

from gate.errors import BadDocument
from gate.extract.limits import ExtractLimits
from gate.extract.pool import ExtractorPool
from gate.extract.text_of import ExtractedText, ReadOptions
from tests.extract.office_samples import docx, docx_of, epub, mail, odt, paragraph, pdf, xlsx, zipped

LIMITS = ExtractLimits(cpu_seconds=2, wall_seconds=20, memory_bytes=512 * 2**20)
GOOD = docx_of("The lamp of the east gate burns all night.")


@pytest.fixture(scope="module")
def pool() -> Iterator[ExtractorPool]:
    with ExtractorPool(options=ReadOptions(limits=LIMITS), processes=1) as pool:
        yield pool


def nested_mail(depth: int) -> bytes:
    """Each part holds nothing but the next."""
    levels = "".join(f"--b{level}\nContent-Type: multipart/mixed; boundary=b{level + 1}\n\n" for level in range(depth))
    return mail(levels, headers="Content-Type: multipart/mixed; boundary=b0\n")


def lying_docx() -> bytes:
    """A DOCX that declares its text to be 100 bytes long."""
    file = bytearray(docx(paragraph("x" * 40_000_000)))
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        size = archive.getinfo("word/document.xml").file_size
    return bytes(file.replace(size.to_bytes(4, "little"), (100).to_bytes(4, "little")))


def pdf_with_bomb() -> bytes:
    """A PDF whose page unpacks to much more than it is."""
    page = zlib.compress(b"BT /F1 10 Tf " + b"(x) Tj T* " * 40_000_000 + b"ET", 9)
    plain = pdf(["x"])
    start, end = plain.index(b"<< /Length"), plain.index(b"endstream")
    stream = b"<< /Filter /FlateDecode /Length %d >>\nstream\n" % len(page) + page + b"\n"
    return plain[:start] + stream + plain[end:]


def many_members() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", "")
        for number in range(LIMITS.max_members):
            archive.writestr(f"word/{number}", "")
    return out.getvalue()


HOSTILE: dict[str, tuple[Callable[[], bytes], set[str]]] = {
    "DOCX that unpacks to 343 times its size": (lambda: docx(paragraph("a b " * 30_000_000)), {"bomb", "too_large"}),
    "DOCX that lies about its size": (lying_docx, {"damaged", "bomb", "too_large"}),
    "DOCX of 20,000 files": (many_members, {"bomb"}),
    "DOCX of elements 100,000 deep": (lambda: docx("<w:p>" * 100_000 + "</w:p>" * 100_000), {"bomb"}),
    "DOCX of entities": (
        lambda: zipped({**unzipped(GOOD), "word/document.xml": '<!DOCTYPE a [<!ENTITY b "cc">]><a>&b;</a>'}),
        {"bomb"},
    ),
    "page of 200,000 nested elements": (
        lambda: ("<html><body>" + "<div>" * 200_000 + "text" + "</div>" * 200_000).encode(),
        {"too_costly", "no_text", "damaged"},
    ),
    "PDF of 10,000 pages": (lambda: pdf(["page"] * 10_000), {"too_large"}),
    "PDF that unpacks to 400 MB": (pdf_with_bomb, {"too_costly", "too_large", "no_text"}),
    "workbook with a cell at the far end": (
        lambda: xlsx(
            {"a": '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'}
        ),
        {"too_costly", "damaged"},
    ),
    "OpenDocument that is a bomb": (lambda: odt("<text:p>" + "a b " * 30_000_000 + "</text:p>"), {"bomb", "too_large"}),
    "EPUB that is a bomb": (lambda: epub(["<p>" + "a b " * 30_000_000 + "</p>"]), {"bomb", "too_large"}),
    "mail of 2,000 nested parts": (lambda: nested_mail(2000), {"bomb"}),
    "RTF of 1,000,000 groups": (
        lambda: b"{\\rtf1 " + b"{" * 1_000_000 + b"}" * 1_000_000 + b"}",
        {"no_text", "too_costly"},
    ),
}


def unzipped(data: bytes) -> dict[str, str | bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_costs_one_rejected_document(name: str, pool: ExtractorPool) -> None:
    make, codes = HOSTILE[name]
    result = pool.extract(make())
    assert isinstance(result, BadDocument), name
    assert result.code in codes, str(result)
    after = pool.extract(GOOD)
    assert isinstance(after, ExtractedText)
    assert after.text.strip() == "The lamp of the east gate burns all night."
