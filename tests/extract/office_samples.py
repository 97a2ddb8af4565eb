"""Office files, books, pages, mails and PDFs as programs write them, made by hand for the tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_CORE = f"{_PACKAGE}/metadata/core-properties"


def zipped(files: Mapping[str, str | bytes], *, stored: Sequence[str] = ()) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data, zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED)
    return out.getvalue()


def relationships(*targets: tuple[str, str, str]) -> str:
    rows = "".join(
        f'<Relationship Id="{key}" Type="{kind if "://" in kind else f"{_OFFICE}/{kind}"}" Target="{target}"/>'
        for key, kind, target in targets
    )
    return f'<Relationships xmlns="{_PACKAGE}">{rows}</Relationships>'


def paragraph(text: str) -> str:
    return f'<w:p><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def docx(body: str, *, title: str = "", parts: Mapping[str, tuple[str, str]] | None = None) -> bytes:
    """A document of paragraphs in XML. `parts`: further parts by name, each with its kind and its XML."""
    parts = parts or {}
    rows = [(f"r{number}", kind, name) for number, (name, (kind, _)) in enumerate(parts.items())]
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relationships(
                ("a", "officeDocument", "word/document.xml"), ("b", _CORE, "docProps/core.xml")
            ),
            "docProps/core.xml": f'<c xmlns:dc="d"><dc:title>{escape(title)}</dc:title></c>',
            "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": relationships(*rows),
            **{f"word/{name}": xml for name, (_, xml) in parts.items()},
        }
    )


def docx_of(text: str) -> bytes:
    return docx("".join(paragraph(line) for line in text.splitlines()))


def pptx(slides: Sequence[str], notes: Mapping[int, str] | None = None) -> bytes:
    """Slides in an order that is not that of their file names."""
    a = 'xmlns:a="a" xmlns:p="p"'
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relationships(("a", "officeDocument", "ppt/presentation.xml")),
    }
    rows, order = [], []
    for number, text in enumerate(slides):
        name = f"slides/slide{len(slides) - number}.xml"
        rows.append((f"r{number}", "slide", name))
        order.append(f'<p:sldId id="{number}" r:id="r{number}"/>')
        files[f"ppt/{name}"] = f"<p:sld {a}><a:p><a:r><a:t>{escape(text)}</a:t></a:r></a:p></p:sld>"
        if notes and number in notes:
            note = f"notesSlides/n{number}.xml"
            files[f"ppt/slides/_rels/slide{len(slides) - number}.xml.rels"] = relationships(
                ("n", "notesSlide", f"../{note}")
            )
            files[f"ppt/{note}"] = f"<p:notes {a}><a:p><a:r><a:t>{escape(notes[number])}</a:t></a:r></a:p></p:notes>"
    files["ppt/presentation.xml"] = (
        f'<p:presentation xmlns:p="p" xmlns:r="{_OFFICE}"><p:sldIdLst>{"".join(order)}</p:sldIdLst></p:presentation>'
    )
    files["ppt/_rels/presentation.xml.rels"] = relationships(*rows)
    return zipped(files)


def xlsx(sheets: Mapping[str, str]) -> bytes:
    """Sheets of rows in XML."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    names = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>' for number, name in enumerate(sheets, 1)
    )
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    return zipped(
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/></Types>',
            "_rels/.rels": relationships(("a", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{_OFFICE}"><sheets>{names}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relationships(
                *((f"r{number}", "worksheet", f"worksheets/s{number}.xml") for number, _ in enumerate(sheets, 1))
            ),
            **{
                f"xl/worksheets/s{number}.xml": f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
                for number, rows in enumerate(sheets.values(), 1)
            },
        }
    )


def odt(body: str, *, styles: str = "", title: str = "", kind: str = "text") -> bytes:
    space = 'xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:style="s" xmlns:dc="d" xmlns:draw="w"'
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"<office:document-content {space}>{body}</office:document-content>",
            "styles.xml": f"<office:document-styles {space}>{styles}</office:document-styles>",
            "meta.xml": f"<office:document-meta {space}><dc:title>{escape(title)}</dc:title></office:document-meta>",
        },
        stored=["mimetype"],
    )


def epub(chapters: Sequence[str], *, title: str = "") -> bytes:
    """Chapters of XHTML, whose order in the file is not that of reading."""
    items = "".join(f'<item id="c{number}" href="c{number}.xhtml"/>' for number in reversed(range(len(chapters))))
    order = "".join(f'<itemref idref="c{number}"/>' for number in range(len(chapters)))
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfile full-path="OEBPS/book.opf"/></container>',
            "OEBPS/book.opf": f'<package xmlns:dc="d"><metadata><dc:title>{escape(title)}</dc:title></metadata>'
            f"<manifest>{items}</manifest><spine>{order}</spine></package>",
            **{
                f"OEBPS/c{number}.xhtml": f"<html><head><title>x</title></head><body>{chapter}</body></html>"
                for number, chapter in reversed(list(enumerate(chapters)))
            },
        },
        stored=["mimetype"],
    )


def html(main: str, *, title: str = "A page") -> str:
    """A page with what surrounds its main text on most sites."""
    links = "".join(f'<li><a href="/{number}">Section {number} of the site</a></li>' for number in range(30))
    return (
        f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{escape(title)}</title><style>p {{}}</style></head>'
        f"<body><header><nav><ul>{links}</ul></nav></header><main><article><h1>{escape(title)}</h1>{main}</article></main>"
        f"<footer><ul>{links}</ul><p>All rights reserved by the owners of the site.</p></footer>"
        "<script>var tracking = 1;</script></body></html>"
    )


def rtf(text: str) -> bytes:
    body = "".join(
        rf"\u{ord(char) if ord(char) < 2**15 else ord(char) - 2**16}?" if ord(char) > 127 else char for char in text
    )
    return ("{\\rtf1\\ansi\\deff0{\\fonttbl{\\f0 Times;}}\\f0 " + body.replace("\n", "\\par\n") + "}").encode("ascii")


def mail(text: str, *, subject: str = "Minutes", headers: str = "") -> bytes:
    head = f"From: a@example.org\nTo: b@example.org\nSubject: {subject}\nDate: Thu, 01 Jan 2026 12:00:00 +0000\n"
    headers = headers or "Content-Type: text/plain; charset=utf-8\n"
    return f"{head}{headers}\n{text}".encode()


def pdf(pages: Sequence[str], *, extra_trailer: str = "") -> bytes:
    """A PDF of plain lines in Helvetica, each page from its lines."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, page in enumerate(pages):
        lines = "".join(f"({_pdf_string(line)}) Tj T*\n" for line in page.splitlines())
        content = f"BT /F1 10 Tf 12 TL 50 800 Td\n{lines}ET"
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 850] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * number} 0 R >>",
            f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        ]
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, item in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{item}\nendobj\n".encode("cp1252")
    start = len(out)
    rows = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}".encode()
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {extra_trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def _pdf_string(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def pdf_with_password() -> bytes:
    """A PDF whose trailer names the standard encryption, of a password that is not empty."""
    key = "41" * 32
    encryption = f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{key}> /U <{key}> >> /ID [<{key}> <{key}>]"
    return pdf(["locked"], extra_trailer=encryption)
