"""Tables of text: CSV and TSV, with the names of their columns in the first row. Each other row is a document."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from gate.archive.parts import OpenFile, Part, SourceOptions
from gate.archive.records import event_of_row
from gate.archive.streams import RejoinedStream
from gate.errors import BadDocument
from gate.stream.field_names import ID_FIELD, TEXT_FIELD

SUFFIXES = (".csv", ".tsv", ".tab")
_DELIMITERS = (",", "\t", ";", "|")
_MAX_COLUMNS = 10_000
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def is_csv(head: bytes, name: str, options: SourceOptions) -> bool:
    """A first row that names the column of texts; without a suffix of such tables, that of ids too."""
    names = options.field_names
    text = names.text or TEXT_FIELD
    line = head.replace(b"\0", b"").lstrip(b"\r\n").partition(b"\n")[0]  # UTF-16 of Latin letters has zeros between
    if text.isascii() and text.isidentifier() and text.encode() not in line:
        return False  # as of nearly every file, in no time
    columns = _columns(head.decode(_encoding(head, options), "replace"))
    wanted = {text}
    if not name.lower().endswith(SUFFIXES):
        wanted.add(names.document_id or ID_FIELD)
    return len(columns) > len(wanted) - 1 and wanted <= set(columns)


def read_csv(opened: OpenFile) -> Iterator[Part]:
    """BadDocument ends the table: behind a quotation mark that is never closed there are no rows."""
    options = opened.options
    most = options.limits.max_document_chars
    csv.field_size_limit(max(csv.field_size_limit(), most + 1))
    encoding = _encoding(opened.head, options)
    text = io.TextIOWrapper(_as_buffered(opened), encoding=encoding, newline="")
    delimiter = _delimiter(opened.head.decode(encoding, "replace").splitlines()[0] if opened.head else "")
    rows = csv.reader(_lines(text, most), delimiter=delimiter)
    try:
        columns = next(rows, None)
        if columns is None:
            return
        text_column = options.field_names.text or TEXT_FIELD
        if text_column not in columns:
            raise BadDocument("missing_field", f"has no column {text_column!r} in its first row; name it: --text-field")
        number = 0
        for number, row in enumerate(rows, 1):
            if row:
                yield event_of_row(dict(zip(columns, row)), number, opened)
    except csv.Error as exc:
        raise BadDocument(
            "damaged",
            f"has a row near line {rows.line_num:,} that is no CSV, or a field of more than {most:,} characters; is a "
            "quotation mark not closed?",
        ) from exc
    except UnicodeDecodeError as exc:
        problem = f"is not {encoding} near line {rows.line_num:,}; name it: --encoding"
        raise BadDocument("bad_encoding", problem) from exc


def _as_buffered(opened: OpenFile) -> io.BufferedReader:
    """A reader of its own, which may be closed: the file is closed where it was opened."""
    return io.BufferedReader(RejoinedStream(b"", opened.stream))


def _lines(text: io.TextIOWrapper, most: int) -> Iterator[str]:
    """The lines, none longer than a row may be."""
    longest = 4 * most
    while line := text.readline(longest):
        if len(line) == longest and not line.endswith("\n"):
            raise BadDocument("too_large", f"has a line of more than {longest:,} characters")
        yield line


def _encoding(head: bytes, options: SourceOptions) -> str:
    if options.read.encoding is not None:
        return options.read.encoding
    return next((encoding for bom, encoding in _BOMS if head.startswith(bom)), "utf-8")


def _columns(head: str) -> list[str]:
    line = head.lstrip("\ufeff").splitlines()[0] if head.strip() else ""
    if line.count(_delimiter(line)) > _MAX_COLUMNS:
        return []
    try:
        return next(csv.reader([line], delimiter=_delimiter(line)), [])
    except csv.Error:
        return []


def _delimiter(line: str) -> str:
    """The one that divides the first row in most columns."""
    return max(_DELIMITERS, key=line.count)
