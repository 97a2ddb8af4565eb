"""The formats of archives: one row of `FORMATS` for each, the first that fits.

A format's function turns an open file into documents, files within it, or rejections that say what is wrong; of what a
file holds it raises `BadDocument` only. Another format is a module and a row.
"""

from __future__ import annotations

from gate.archive.documents import read_document
from gate.archive.json_lines import is_json_lines, read_json_lines
from gate.archive.parts import FileFormat, SourceOptions


def _any(head: bytes, name: str, options: SourceOptions) -> bool:
    return True


DOCUMENT = FileFormat("document", _any, read_document)
JSON_LINES = FileFormat("jsonl", is_json_lines, read_json_lines)
FORMATS = (JSON_LINES, DOCUMENT)
NAMES = tuple(one.name for one in FORMATS)


def detect(head: bytes, name: str, options: SourceOptions) -> FileFormat:
    return next(one for one in FORMATS if one.fits(head, name, options))


def named(name: str) -> FileFormat:
    return next(one for one in FORMATS if one.name == name)
