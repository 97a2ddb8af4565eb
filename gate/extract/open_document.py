"""OpenDocument texts, presentations and spreadsheets: what a reader of the document sees, in its order.

Tables, notes, text boxes, headers and footers are read; comments, deleted text and the numbers of notes are left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from gate.extract.limits import ExtractLimits
from gate.extract.text_of import ExtractedText, ReadOptions, TextParts
from gate.extract.xml_events import ElementText, attribute, parse_xml
from gate.extract.zipped import ZippedFiles

_MAX_SPACES = 1000  # of one <text:s>: a number that a file declares
_LEFT_OUT = frozenset({"annotation", "tracked-changes", "note-citation", "scripts", "font-face-decls", "styles"})
_PARAGRAPHS = frozenset({"p", "h"})
_BLOCKS = {"p": "\n", "h": "\n", "table-cell": "\t", "table-row": "\n"}
_WHAT = "OpenDocument file"


class _OpenDocumentText:
    """The text of one file of a document: what is within paragraphs."""

    def __init__(self, parts: TextParts) -> None:
        self._parts = parts
        self._left_out = 0
        self._in_paragraphs = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._left_out or name in _LEFT_OUT:
            self._left_out += 1
        elif name in _PARAGRAPHS:
            self._in_paragraphs += 1
        elif name == "s":
            count = attribute(attributes, "c") or "1"
            self._parts.add(" " * min(int(count), _MAX_SPACES) if count.isdecimal() else " ")
        elif name == "tab":
            self._parts.add("\t")
        elif name == "line-break":
            self._parts.add("\n")
        elif name == "note":
            self._parts.add(" ")

    def end(self, name: str) -> None:
        if self._left_out:
            self._left_out -= 1
            return
        if name in _PARAGRAPHS:
            self._in_paragraphs -= 1
        if name in _BLOCKS:
            self._parts.add(_BLOCKS[name])

    def characters(self, data: str) -> None:
        if self._in_paragraphs and not self._left_out:
            self._parts.add(data)


def read_open_document(files: ZippedFiles, options: ReadOptions) -> ExtractedText:
    limits = options.limits
    text = TextParts(limits.max_chars)
    _read(files, "content.xml", _OpenDocumentText(text), limits)
    if "styles.xml" in files:  # headers and footers are parts of the page styles
        _read(files, "styles.xml", _OpenDocumentText(text), limits)
    title = ElementText("title")
    if "meta.xml" in files:
        _read(files, "meta.xml", title, limits)
    return ExtractedText(text=str(text), format="OpenDocument", title=title.text.strip() or None)


def _read(files: ZippedFiles, name: str, handler: _OpenDocumentText | ElementText, limits: ExtractLimits) -> None:
    with files.open(name) as file:
        parse_xml(file, handler, limits, what=_WHAT)
