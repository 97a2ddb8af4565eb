"""Recognise a file by its content, and read it.

Another format is a module, a row of `FORMATS` and a line of `detect`.
"""

from __future__ import annotations

import importlib
import io
import re
import zipfile
from typing import Any, Literal, NamedTuple

from msgspec import structs

from gate.errors import BadDocument
from gate.extract.text_of import ExtractedText, ReadOptions, encrypted
from gate.extract.zipped import ZippedFiles

HEAD_BYTES = 8192
INSTALL = "pip install 'checkin-gate[files]'"

_PDF_WITHIN = 1024  # bytes that may stand before the mark of a PDF
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HTML = re.compile(
    rb"\s*(<\?xml[^>]{0,200}>\s*)?(<!--.{0,2000}?-->\s*)*<(!doctype\s+html|html|head|body)[\s>]", re.I | re.S
)
_FIELD = re.compile(rb"^([A-Za-z][A-Za-z0-9-]{0,60}):[ \t\r\n]", re.M)
_MAIL_FIELDS = frozenset(
    {b"received", b"from", b"to", b"date", b"subject", b"message-id", b"mime-version", b"return-path", b"delivered-to"}
)
_MIN_MAIL_FIELDS = 3
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")


class Format(NamedTuple):
    name: str
    mime_type: str
    module: str  # below gate.extract
    function: str
    reads: Literal["bytes", "zip"]


_OOXML = "application/vnd.openxmlformats-officedocument"
TEXT = Format("text", "text/plain", "encodings", "read_plain_text", "bytes")
PDF = Format("PDF", "application/pdf", "pdf", "read_pdf", "bytes")
RTF = Format("RTF", "application/rtf", "rtf", "read_rtf", "bytes")
HTML = Format("HTML", "text/html", "html", "read_html", "bytes")
MAIL = Format("mail", "message/rfc822", "mail", "read_mail", "bytes")
DOCX = Format("DOCX", f"{_OOXML}.wordprocessingml.document", "office_xml", "read_docx", "zip")
PPTX = Format("PPTX", f"{_OOXML}.presentationml.presentation", "office_xml", "read_pptx", "zip")
OPEN_DOCUMENT = Format(
    "OpenDocument", "application/vnd.oasis.opendocument.text", "open_document", "read_open_document", "zip"
)
EPUB = Format("EPUB", "application/epub+zip", "book", "read_book", "zip")
WORKBOOK = Format("workbook", f"{_OOXML}.spreadsheetml.sheet", "workbook", "read_workbook", "bytes")
FORMATS = (TEXT, PDF, RTF, HTML, MAIL, DOCX, PPTX, OPEN_DOCUMENT, EPUB, WORKBOOK)


def is_plain_text(head: bytes) -> bool:
    """Whether a file with these first bytes is text that needs nothing but decoding."""
    return _simple_format(head) is None and not head.startswith((*_ZIP, _OLE)) and b"\0" not in head


def detect(data: bytes) -> Format:
    """BadDocument: a file of another kind, with what can be done about it."""
    if (simple := _simple_format(data[:HEAD_BYTES])) is not None:
        return simple
    if data.startswith(_ZIP):
        return _zipped_format(data)
    if data.startswith(_OLE):
        return _ole_format(data)
    return TEXT


def _simple_format(head: bytes) -> Format | None:
    if b"%PDF-" in head[:_PDF_WITHIN]:
        return PDF
    if head.startswith(b"{\\rtf"):
        return RTF
    if _HTML.match(head.removeprefix(b"\xef\xbb\xbf")):
        return HTML
    return MAIL if _is_mail(head) else None


def _is_mail(head: bytes) -> bool:
    if not _FIELD.match(head):
        return False
    fields = _BLANK_LINE.split(head, maxsplit=1)[0]
    return len(_MAIL_FIELDS & {name.lower() for name in _FIELD.findall(fields)}) >= _MIN_MAIL_FIELDS


def _zipped_format(data: bytes) -> Format:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = _document_in(archive)
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError, RuntimeError) as exc:
        raise BadDocument("damaged", "is a damaged ZIP file, or an office document in one; save it again") from exc
    if found is None:
        raise BadDocument("binary", "is a ZIP file of no known kind of document")
    return found


def is_zipped_document(archive: zipfile.ZipFile) -> bool:
    """Whether a ZIP file is one document, and not an archive of files."""
    try:
        return _document_in(archive) is not None
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError, RuntimeError):
        return True  # the reading of it says what is wrong


def _document_in(archive: zipfile.ZipFile) -> Format | None:
    names = archive.namelist()
    declared = b""
    if "mimetype" in names:
        with archive.open("mimetype") as file:
            declared = file.read(100)
    if declared.startswith(b"application/epub+zip"):
        return EPUB
    if declared.startswith(b"application/vnd.oasis.opendocument.spreadsheet"):
        return WORKBOOK
    if declared.startswith(b"application/vnd.oasis.opendocument"):
        return OPEN_DOCUMENT
    if "[Content_Types].xml" in names:
        for folder, found in (("word/", DOCX), ("ppt/", PPTX), ("xl/", WORKBOOK)):
            if any(name.startswith(folder) for name in names):
                return found
    return None


def _ole_format(data: bytes) -> Format:
    """Formats of before 2007 in one container, whose directory names what is inside."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise encrypted("an office document")
    if "Workbook".encode("utf-16-le") in data:
        return WORKBOOK
    raise BadDocument("binary", "is of an old office format (.doc, .ppt, .msg); save it as DOCX, PPTX or EML")


def extract_text(data: bytes, options: ReadOptions) -> ExtractedText:
    """The text of a file. BadDocument says why there is none, and quotes nothing of it.

    To be called in a child process: what a library does with a hostile file is bounded only there."""
    found = detect(data)
    module = _import(found)
    read: Any = getattr(module, found.function)
    if found.reads == "zip":
        extracted: ExtractedText = read(
            ZippedFiles(io.BytesIO(data), options.limits, what=f"{found.name} file"), options
        )
    else:
        extracted = read(data, options)
    if found is not TEXT and not extracted.text.strip():
        raise BadDocument("no_text", f"is a {found.name} file without text, for example scanned pages")
    return structs.replace(extracted, mime_type=found.mime_type)


def _import(found: Format) -> Any:
    try:
        return importlib.import_module(f"gate.extract.{found.module}")
    except ImportError as exc:
        raise BadDocument("not_installed", f"is a {found.name} file; to read those: {INSTALL}") from exc
