"""The reports of a run that judges documents, from its verdicts as they come: a page, a table in a file, families."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, repeat
from pathlib import Path
from typing import BinaryIO

from rich.text import Text

from gate.archive.source import Source
from gate.cli import show, tables
from gate.cli.common import ReportFiles, emit
from gate.cli.tables import StreamedTable, cell
from gate.cli.text_argument import read_text_argument
from gate.errors import ConfigError, Unavailable
from gate.model import CheckIn, Verdict
from gate.numbers import counted
from gate.private_files import open_replacement
from gate.report.csv_file import write_csv
from gate.report.page import RunHeader, render_page
from gate.report.pairs import TextOf, show_pairs
from gate.report.results import Result, Results, UnreadableFile
from gate.report.totals import copies_by_original

_ROWS = 1000  # of a table that are made at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSubject:
    """What a run was about, in the words of its report."""

    title: str
    profile: str
    notes: tuple[str, ...] = ()


class RunReport:
    """Records the verdicts of a run, and writes the files that were asked for at its end."""

    def __init__(self, results: Results, html: BinaryIO | None, csv: BinaryIO | None) -> None:
        self.results = results
        self._html = html
        self._csv = csv

    def add(
        self,
        documents: Sequence[CheckIn],
        verdicts: Sequence[Verdict],
        *,
        places: Sequence[str | None] | None = None,
        gone: frozenset[str] = frozenset(),
    ) -> None:
        """`places` are the files that hold the documents, and `gone` are documents whose files are gone from disk."""
        self.results.add(
            Result.of(verdict, size_bytes=_size(document), dated=document.checked_in_at, place=place, gone=gone)
            for document, verdict, place in zip(documents, verdicts, places or repeat(None))
        )

    def add_results(self, results: Iterable[Result]) -> None:
        self.results.add(results)

    def add_unreadable(self, name: str, reason: str, message: str) -> None:
        self.results.add_unreadable([UnreadableFile(name=name, reason=reason, message=message)])

    def write(self, subject: ReportSubject, text_of: TextOf, *, now: datetime | None = None) -> None:
        """Write the files. `text_of` reads the few texts again that are shown side by side."""
        try:
            self._write(subject, text_of, now or datetime.now(UTC))
        except OSError as exc:
            raise Unavailable(f"the report cannot be written: {exc.strerror}") from exc

    def _write(self, subject: ReportSubject, text_of: TextOf, now: datetime) -> None:
        if self._csv is not None:
            text = io.TextIOWrapper(self._csv, encoding="utf-8", newline="")
            write_csv(self.results, text)
            text.detach()  # flushes; the file is closed where it was opened
        if self._html is not None:
            header = RunHeader(
                title=subject.title,
                profile=subject.profile,
                made_at=now,
                notes=subject.notes,
                meanings=show.MEANINGS,
            )
            self._html.write(render_page(self.results, header, list(show_pairs(self.results, text_of))).encode())


@contextmanager
def open_report(files: ReportFiles, *, records: bool = False) -> Iterator[RunReport | None]:
    """A report with its files open, before any work: one that cannot be written is refused at once. What was there
    before stays until the new one is complete. None: no file was asked for, and `records` is False."""
    if not files and not records:
        yield None
        return
    with ExitStack() as stack:
        results = stack.enter_context(Results())
        html, csv = (_open(stack, path) for path in (files.html, files.csv))
        yield RunReport(results, html, csv)


def _open(stack: ExitStack, path: Path | None) -> BinaryIO | None:
    if path is None:
        return None
    try:
        return stack.enter_context(open_replacement(path))
    except OSError as exc:
        raise ConfigError(f"{path}: cannot be written: {exc.strerror}") from exc


def _size(document: CheckIn) -> int:
    if document.size_bytes is not None:
        return document.size_bytes
    return len(document.text) if document.text.isascii() else len(document.text.encode("utf-8", "replace"))


def title_of(paths: Sequence[Path]) -> str:
    """ "Near-duplicates in notes/ and 2 others"."""
    first = f"{paths[0]}/" if paths[0].is_dir() else str(paths[0])
    others = f" and {counted(len(paths) - 1, 'other')}" if len(paths) > 1 else ""
    return f"Near-duplicates in {first}{others}"


def texts_of(source: Source) -> TextOf:
    """Reads the text of a file again, by its document id."""
    paths = {file.name: file.path for file in source.files}

    def text_of(document_id: str) -> str | None:
        path = paths.get(document_id)  # of no other document: it was judged before, or is a part of a file
        with suppress(ConfigError):
            return None if path is None else read_text_argument(path, source.options.read)
        return None

    return text_of


def families(results: Results, *, json: bool) -> None:
    """Each original with its copies."""
    if json:
        for original, members in copies_by_original(results):
            copies = list(members)
            gone = {"original_gone": True} if any(one.original_gone for one in copies) else {}
            emit({"original": original, **gone, "copies": [_copy(one) for one in copies]})
        return
    out = tables.console()
    table = StreamedTable(out, "document", "verdict", "resemblance", "bits", "like", right=("resemblance", "bits"))
    rows = _family_rows(results)
    while page := list(islice(rows, _ROWS)):
        table.add(page)


def _family_rows(results: Results) -> Iterator[tuple[Text, ...]]:
    for original, copies in copies_by_original(results):
        for number, one in enumerate(copies):
            if not number:
                yield show.original_row(original, is_gone=one.original_gone)
            like = show.like(one.best, is_gone=one.best_gone) if one.best != original else cell(None)
            yield (
                cell(f"  {one.document}"),
                show.relation(one.relation),
                show.fraction(one.resemblance),
                show.bits(one.distance),
                like,
            )


def _copy(result: Result) -> dict[str, object]:
    return {
        "document_id": result.document,
        "relation": result.relation,
        "like": result.best,
        "resemblance": result.resemblance,
        "containment": result.containment,
        "distance": result.distance,
        **({"like_gone": True} if result.best_gone else {}),
    }
