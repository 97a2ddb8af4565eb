"""DOCX and PPTX (Office Open XML): what a reader of the document sees, in its order.

Tables, text boxes, headers, footers, foot- and endnotes and the notes of slides are read. Deleted and moved text of
tracked changes, comments, codes of fields and the second form of a drawing are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gate.errors import BadDocument
from gate.extract.limits import ExtractLimits
from gate.extract.text_of import ExtractedText, ReadOptions, TextParts
from gate.extract.xml_events import ElementText, attribute, parse_xml
from gate.extract.zipped import ZippedFiles

_LEFT_OUT = frozenset(
    {
        "del",  # tracked: deleted
        "moveFrom",  # tracked: moved, and read where it went
        "Fallback",  # of a drawing that is there in a newer form
        "instrText",  # the code of a field, whose result follows
        "delInstrText",
        "rPrChange",
        "pPrChange",
        "sectPrChange",
        "tblPrChange",
    }
)
_SPACES = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_BLOCKS = {"p": "\n", "tc": "\t", "tr": "\n"}  # what ends with them
_RELATIONSHIP_TYPE = re.compile(r"/([A-Za-z-]+)$")


class _OfficeText:
    """The text of one part of a document."""

    def __init__(self, parts: TextParts) -> None:
        self._parts = parts
        self._left_out = 0  # how many elements deep in what is left out
        self._in_text = 0

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._left_out or name in _LEFT_OUT:
            self._left_out += 1
        elif name == "t":
            self._in_text += 1
        elif name in _SPACES:
            self._parts.add(_SPACES[name])
        elif name == "sym" and (code := attribute(attributes, "char")) is not None:
            self._parts.add(_symbol(code))

    def end(self, name: str) -> None:
        if self._left_out:
            self._left_out -= 1
        elif name == "t":
            self._in_text -= 1
        elif name in _BLOCKS:
            self._parts.add(_BLOCKS[name])

    def characters(self, data: str) -> None:
        if self._in_text and not self._left_out:
            self._parts.add(data)


def _symbol(code: str) -> str:
    """A character of a symbol font, which Word stores in the private area."""
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    return chr(number) if 0x20 <= number < 0xE000 and not 0xD800 <= number < 0xE000 else ""


class _Relationships:
    """Which parts a part refers to, in the order of the file: identifier, kind and name."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str, str]] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "Relationship" and attributes.get("TargetMode") != "External":
            kind = _RELATIONSHIP_TYPE.search(attributes.get("Type", ""))
            self.found.append((attributes.get("Id", ""), kind[1] if kind else "", attributes.get("Target", "")))

    def end(self, name: str) -> None: ...

    def characters(self, data: str) -> None: ...


class _SlideOrder:
    def __init__(self) -> None:
        self.identifiers: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "sldId":
            self.identifiers += [value for key, value in attributes.items() if key.endswith(" id")]

    def end(self, name: str) -> None: ...

    def characters(self, data: str) -> None: ...


class _OfficePackage:
    """The parts of an office document, and how they refer to each other."""

    def __init__(self, files: ZippedFiles, limits: ExtractLimits, what: str) -> None:
        self._files, self._limits, self._what = files, limits, what
        self.text = TextParts(limits.max_chars)

    def read(self, name: str) -> None:
        with self._files.open(name) as file:
            parse_xml(file, _OfficeText(self.text), self._limits, what=self._what)
        self.text.add("\n")

    def related(self, name: str, *kinds: str) -> list[tuple[str, str]]:
        """Identifier and name of the parts of these kinds that a part refers to, kind by kind."""
        folder, _, last = name.rpartition("/")
        listing = f"{folder}/_rels/{last}.rels".lstrip("/")
        if listing not in self._files:
            return []
        relationships = _Relationships()
        with self._files.open(listing) as file:
            parse_xml(file, relationships, self._limits, what=self._what)
        names = [(key, kind, self._files.resolve(name, target)) for key, kind, target in relationships.found]
        return [(key, part) for wanted in kinds for key, kind, part in names if kind == wanted and part in self._files]

    def main_part(self) -> str:
        parts = self.related("", "officeDocument")
        if not parts:
            raise BadDocument("damaged", f"is a {self._what} without its main part; save it again")
        return parts[0][1]

    def title(self) -> str | None:
        properties = self.related("", "core-properties") or self.related("", "coreProperties")
        if not properties:
            return None
        title = ElementText("title")
        with self._files.open(properties[0][1]) as file:
            parse_xml(file, title, self._limits, what=self._what)
        return title.text.strip() or None

    def slides(self, presentation: str) -> list[str]:
        order = _SlideOrder()
        with self._files.open(presentation) as file:
            parse_xml(file, order, self._limits, what=self._what)
        by_identifier = dict(self.related(presentation, "slide"))
        return [by_identifier[one] for one in order.identifiers if one in by_identifier]


def read_docx(files: ZippedFiles, options: ReadOptions) -> ExtractedText:
    package = _OfficePackage(files, options.limits, "DOCX file")
    main = package.main_part()
    package.read(main)
    seen = {main}
    for _, part in package.related(main, "footnotes", "endnotes", "header", "footer"):
        if part not in seen:
            seen.add(part)
            package.read(part)
    return ExtractedText(text=str(package.text), format="DOCX", title=package.title())


def read_pptx(files: ZippedFiles, options: ReadOptions) -> ExtractedText:
    package = _OfficePackage(files, options.limits, "PPTX file")
    slides = package.slides(package.main_part())
    if len(slides) > options.limits.max_pages:
        raise BadDocument("too_large", f"has {len(slides):,} slides; raise extract.max_pages if it should be read")
    for slide in slides:
        package.read(slide)
        for _, part in package.related(slide, "diagramData", "notesSlide"):
            package.read(part)
    return ExtractedText(text=str(package.text), format="PPTX", title=package.title())
