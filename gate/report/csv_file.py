"""The results of a run as a table for spreadsheets and programs: a line for each document, then what could not be read.

A spreadsheet takes a text that begins with = + - @ for a formula, and a name of a file may be made to be one. Such a
text gets a ' before it, as a spreadsheet itself writes it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import TextIO

from gate.report.results import Results

COLUMNS = (
    "document",
    "verdict",
    "like",
    "original",
    "resemblance",
    "contained",
    "bits",
    "size_bytes",
    "time",
    "folder",
    "reason",
    "like_is_gone",
    "original_is_gone",
)
NOT_JUDGED = "not judged"  # in the place of the verdict
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv(results: Results, file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows(results))


def plain_text(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _rows(results: Results) -> Iterator[tuple[object, ...]]:
    for result in results:
        yield (
            plain_text(result.document),
            result.relation.value,
            plain_text(result.best or ""),
            plain_text(result.original or ""),
            _measure(result.resemblance),
            _measure(result.containment),
            "" if result.distance is None else result.distance,
            "" if result.size_bytes is None else result.size_bytes,
            "" if result.dated is None else f"{result.dated:%Y-%m-%dT%H:%M:%SZ}",
            plain_text(result.folder),
            result.unreadable or "",
            _flag(result.best_gone),
            _flag(result.original_gone),
        )
    for file in results.unreadable():
        yield (plain_text(file.name), NOT_JUDGED, *[""] * 8, file.reason, "", "")


def _flag(is_set: bool) -> str:
    return "yes" if is_set else ""


def _measure(value: float | None) -> object:
    return "" if value is None else round(value, 4)
