"""Read XML as a stream of events: nothing of a file is held, entities and document types are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from xml.parsers import expat

from gate.errors import BadDocument
from gate.extract.limits import ExtractLimits
from gate.extract.text_of import damaged
from gate.extract.zipped import BoundedReader

_SEPARATOR = " "


class XmlHandler(Protocol):
    """Gets the elements of a file in order. Names are local: without the namespace, which formats never mix up."""

    def start(self, name: str, attributes: Mapping[str, str]) -> None: ...

    def end(self, name: str) -> None: ...

    def characters(self, data: str) -> None: ...


class ElementText:
    """The text of the elements of one name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._inside = False
        self.text = ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._inside = name == self._name

    def end(self, name: str) -> None:
        self._inside = False

    def characters(self, data: str) -> None:
        if self._inside:
            self.text += data


def local(name: str) -> str:
    return name.rpartition(_SEPARATOR)[2]


def parse_xml(file: BoundedReader, handler: XmlHandler, limits: ExtractLimits, *, what: str) -> None:
    """BadDocument: it is no XML, too deep, or declares entities, which no office program writes."""
    parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
    parser.buffer_text = True
    depth = 0
    names: dict[str, str] = {}

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > limits.max_depth:
            raise BadDocument("bomb", f"nests its elements deeper than {limits.max_depth} (extract.max_depth)")
        short = names.get(name)
        if short is None:
            short = names[name] = local(name)
        handler.start(short, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        handler.end(names[name])

    def refuse(*_: object) -> None:
        raise BadDocument("bomb", f"declares entities or a document type, which no {what} needs")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = handler.characters
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.ParseFile(file)
    except expat.ExpatError as exc:
        raise damaged(what) from exc


def attribute(attributes: Mapping[str, str], name: str) -> str | None:
    """The attribute of that local name."""
    for key, value in attributes.items():
        if local(key) == name:
            return value
    return None
