"""XLSX, XLS and ODS: the values of all cells, sheet by sheet, a line for each row."""

from __future__ import annotations

import io
from datetime import date, datetime, time, timedelta

import python_calamine

from gate.errors import BadDocument
from gate.extract.text_of import ExtractedText, ReadOptions, TextParts, damaged, encrypted

Cell = int | float | str | bool | time | date | datetime | timedelta


def read_workbook(data: bytes, options: ReadOptions) -> ExtractedText:
    limits = options.limits
    text = TextParts(limits.max_chars)
    try:
        workbook = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        names = workbook.sheet_names
        if len(names) > limits.max_pages:
            raise BadDocument("too_large", f"has {len(names):,} sheets; raise extract.max_pages if it should be read")
        for name in names:
            for row in workbook.get_sheet_by_name(name).iter_rows():
                cells = [_cell(value) for value in row]
                if any(cells):
                    text.add("\t".join(cells).rstrip("\t") + "\n")
    except python_calamine.PasswordError as exc:
        raise encrypted("a workbook") from exc
    except (python_calamine.CalamineError, ValueError, OSError) as exc:
        raise damaged("workbook") from exc
    return ExtractedText(text=str(text), format="workbook")


def _cell(value: Cell) -> str:
    """A value as a person would write it: programs store whole numbers as floats."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value)
