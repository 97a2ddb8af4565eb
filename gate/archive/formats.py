"""The formats of archives: one row of `FORMATS` for each, the first that fits.

A format's function turns an open file into documents, files within it, or rejections that say what is wrong; of what a
file holds it raises `BadDocument` only. Another format is a module and a row.
"""

from __future__ import annotations

from gate.archive.csv_table import is_csv, read_csv
from gate.archive.documents import read_document
from gate.archive.json_lines import is_json_lines, read_json_lines
from gate.archive.mbox import is_mbox, read_mbox
from gate.archive.parquet import is_parquet, read_parquet
from gate.archive.parts import FileFormat, SourceOptions
from gate.archive.tar_file import is_tar, read_tar
from gate.archive.web_archive import is_web_archive, read_web_archive
from gate.archive.zip_file import is_zip, read_zip


def _any(head: bytes, name: str, options: SourceOptions) -> bool:
    return True


DOCUMENT = FileFormat("document", _any, read_document)
JSON_LINES = FileFormat("jsonl", is_json_lines, read_json_lines)
FORMATS = (
    FileFormat("tar", is_tar, read_tar),
    FileFormat("zip", is_zip, read_zip),
    FileFormat("parquet", is_parquet, read_parquet),
    FileFormat("warc", is_web_archive, read_web_archive),
    FileFormat("mbox", is_mbox, read_mbox),
    JSON_LINES,
    FileFormat("csv", is_csv, read_csv),
    DOCUMENT,
)
NAMES = tuple(one.name for one in FORMATS)


def detect(head: bytes, name: str, options: SourceOptions) -> FileFormat:
    return next(one for one in FORMATS if one.fits(head, name, options))


def named(name: str) -> FileFormat:
    return next(one for one in FORMATS if one.name == name)
