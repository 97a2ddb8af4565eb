"""EPUB: the chapters in reading order."""

from __future__ import annotations

from collections.abc import Mapping

from resiliparse.parse.encoding import bytes_to_str, detect_encoding

from gate.errors import BadDocument
from gate.extract.html import text_of_page
from gate.extract.limits import ExtractLimits
from gate.extract.text_of import ExtractedText, ReadOptions, TextParts
from gate.extract.xml_events import XmlHandler, attribute, parse_xml
from gate.extract.zipped import ZippedFiles

_WHAT = "EPUB file"
_CONTAINER = "META-INF/container.xml"


class _BookContainer:
    def __init__(self) -> None:
        self.package: str | None = None

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "rootfile" and self.package is None:
            self.package = attribute(attributes, "full-path")

    def end(self, name: str) -> None: ...

    def characters(self, data: str) -> None: ...


class _BookPackage:
    """The list of all files of a book, and the order in which they are read."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.order: list[str] = []
        self.title = ""
        self._in_title = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "item":
            self.files[attributes.get("id", "")] = attributes.get("href", "")
        elif name == "itemref":
            self.order.append(attributes.get("idref", ""))
        self._in_title = name == "title" and not self.title

    def end(self, name: str) -> None:
        self._in_title = False

    def characters(self, data: str) -> None:
        if self._in_title:
            self.title += data


def read_book(files: ZippedFiles, options: ReadOptions) -> ExtractedText:
    limits = options.limits
    container, package = _BookContainer(), _BookPackage()
    _parse(files, _CONTAINER, container, limits)
    if container.package is None:
        raise BadDocument("damaged", f"is an {_WHAT} that does not say where its text is; save it again")
    _parse(files, container.package, package, limits)
    if len(package.order) > limits.max_pages:
        raise BadDocument(
            "too_large", f"has {len(package.order):,} chapters; raise extract.max_pages if it should be read"
        )
    text = TextParts(limits.max_chars)
    for key in package.order:
        name = files.resolve(container.package, package.files.get(key, ""))
        if name in files:
            data = files.read(name)
            page = bytes_to_str(data, options.encoding or detect_encoding(data) or "utf-8")
            text.add(text_of_page(page, "full")[0])
            text.add("\n")
    return ExtractedText(text=str(text), format="EPUB", title=package.title.strip() or None)


def _parse(files: ZippedFiles, name: str, handler: XmlHandler, limits: ExtractLimits) -> None:
    with files.open(name) as file:
        parse_xml(file, handler, limits, what=_WHAT)
