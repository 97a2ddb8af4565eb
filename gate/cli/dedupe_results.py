"""What `gate dedupe` writes once all documents are judged: records, copies of files, lists, a table, a summary."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import click
from rich.text import Text

from gate.archive.dedupe_output import JSON_LINES_SUFFIXES, PARQUET_SUFFIX, FileCopies, open_records, relative_path
from gate.archive.dedupe_state import Decision, DedupeState
from gate.archive.parts import ArchivedEvent
from gate.archive.replay_stats import ReplayStats
from gate.archive.source import Source
from gate.cli import show, tables
from gate.cli.common import emit, printable
from gate.cli.progress import progress
from gate.errors import ConfigError, Unavailable
from gate.numbers import number
from gate.private_files import open_replacement
from gate.report.csv_file import plain_text

COLUMNS = ("document", "kept", "verdict", "like", "survivor", "resemblance", "size_bytes", "time", "file")


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupeOutput:
    """What was asked for."""

    out: Path | None = None
    link: bool = False
    list_of: Literal["survivors", "copies"] | None = None
    print0: bool = False
    csv: Path | None = None

    @property
    def is_records(self) -> bool:
        return self.out is not None and self.out.name.endswith((*JSON_LINES_SUFFIXES, PARQUET_SUFFIX))

    def check(self) -> None:
        """Refuse what cannot be written, before any work."""
        if self.link and (self.out is None or self.is_records):
            raise click.UsageError("--link goes with --out FOLDER")
        if self.print0 and self.list_of is None:
            raise click.UsageError("--print0 goes with --list")
        for path in (self.out if self.is_records else None, self.csv):
            if path is not None and not path.absolute().parent.is_dir():
                raise ConfigError(f"{path}: cannot be written: there is no folder {path.absolute().parent}")


def write_results(
    state: DedupeState, output: DedupeOutput, copies: FileCopies | None, source: Source, *, is_shown: bool
) -> int:
    """Write all that was asked for. How many survivors are parts of files, and could not be copied as files?"""
    not_files = 0
    if output.is_records and output.out is not None:
        _write_records(state, output.out, source, is_shown=is_shown)
    elif copies is not None:
        not_files = _copy_files(state, copies)
    if output.csv is not None:
        _write_csv(state, output.csv)
    if output.list_of is not None:
        _list(state, survivors=output.list_of == "survivors", end="\0" if output.print0 else "\n")
    return not_files


def _write_records(state: DedupeState, path: Path, source: Source, *, is_shown: bool) -> None:
    """Read the sources again, and write the survivors with all that their records have."""
    options = replace(source.options, keep_records=True, records_only=True)
    with Source((), options) as again, open_records(path) as records, progress(quiet=not is_shown) as bar:
        again.files = source.files
        numbers = _Upcoming(state.survivors())
        again.only = lambda file, position: numbers.takes(state.number(file.key, position))
        written = 0
        task = bar.add_task("writing", total=source.total_bytes, documents=0)
        for item in again:
            if item is not None and isinstance(item.result, ArchivedEvent):
                records.write(item.result)
                written += 1
                if not written % 256:
                    bar.update(task, completed=again.read_bytes(), documents=written)
        if not numbers.is_done:
            raise Unavailable("the sources have changed while they were read; run the command again")


class _Upcoming:
    """Numbers in ascending order, compared with those that are read, which ascend too."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._next = next(numbers, None)

    def takes(self, number: int) -> bool:
        if number != self._next:
            return False
        self._next = next(self._numbers, None)
        return True

    @property
    def is_done(self) -> bool:
        return self._next is None


def _copy_files(state: DedupeState, copies: FileCopies) -> int:
    not_files = 0
    for decision in state.decisions():
        if decision.is_kept and decision.path is None:
            not_files += 1
        elif decision.is_kept and decision.path is not None:
            relative = state.reserve_path(relative_path(decision.document.id), decision.document.number)
            copies.add(Path(decision.path), relative)
    return not_files


def _list(state: DedupeState, *, survivors: bool, end: str) -> None:
    """Paths of files, which other commands take, and ids of what is a part of one."""
    for decision in state.decisions():
        if decision.is_kept is survivors:
            name = decision.path or decision.document.id
            click.echo((name if end == "\0" else printable(name)).encode("utf-8", "surrogateescape"), nl=False)
            click.echo(end, nl=False)


def _write_csv(state: DedupeState, path: Path) -> None:
    try:
        with open_replacement(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(map(_csv_row, state.decisions()))
            text.detach()
    except OSError as exc:
        raise Unavailable(f"{path}: cannot be written: {exc.strerror}") from exc


def _csv_row(decision: Decision) -> tuple[object, ...]:
    document = decision.document
    dated = "" if document.dated is None else f"{datetime.fromtimestamp(document.dated, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return (
        plain_text(document.id),
        "yes" if decision.is_kept else "no",
        document.relation.value,
        plain_text(document.like or ""),
        plain_text(decision.survivor or ""),
        "" if document.resemblance is None else round(document.resemblance, 4),
        document.size,
        dated,
        plain_text(decision.path or ""),
    )


def summarise(state: DedupeState, stats: ReplayStats, not_files: int, *, json: bool, is_list: bool) -> None:
    """What was found, on stderr where stdout has a list."""
    documents, kept, bytes_of_copies = state.totals()
    relations = state.relations()
    if json:
        fields = ("unreadable", "without_text", "links", "hidden")
        counts = stats.as_json()
        emit(
            {
                "documents": documents,
                "survivors": kept,
                "copies": documents - kept,
                "bytes_of_copies": bytes_of_copies,
                "relations": {relation.value: count for relation, count in relations.items()},
                "not_files": not_files,
                **{name: counts[name] for name in fields},
            },
            err=is_list,
        )
        return
    out = tables.console(stderr=is_list)
    rows = tables.table(out, "what", "documents", "meaning", right=("documents",))
    rows.add_row(Text("read"), number(documents), tables.cell("documents that were judged", style="dim"))
    for relation, count in relations.items():
        rows.add_row(show.relation(relation), number(count), tables.cell(show.MEANINGS[relation], style="dim"))
    rows.add_row(Text("survivors"), number(kept), tables.cell("one of each family", style="dim"))
    meaning = f"left out; they have {number(bytes_of_copies)} bytes"
    rows.add_row(Text("copies"), number(documents - kept), tables.cell(meaning, style="dim"))
    if not_files:
        rows.add_row(
            Text("no files", style="yellow"),
            number(not_files),
            tables.cell("survivors within files, which were not copied; --out NAME.jsonl writes those", style="dim"),
        )
    for reason, problem in sorted(stats.unreadable.items()):
        rows.add_row(Text("unreadable", style="red"), number(problem), tables.cell(reason, style="dim"))
    out.print(rows)
