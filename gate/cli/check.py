"""The command that checks files in, batch by batch, and shows the verdicts."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from rich.text import Text

from gate.api import Gate
from gate.archive.files import FileSelection, FoundFiles
from gate.archive.parts import SourceOptions
from gate.cli import show, tables
from gate.cli.common import SOME_FAILED, SOME_SIMILAR, Options, ReportFiles, emit, set_resume_hint
from gate.cli.gone_files import FileUris, GoneDocument, GoneFiles
from gate.cli.own_files import own_files
from gate.cli.progress import hidden, progress
from gate.cli.reports import ReportSubject, families, open_report, texts_of, title_of
from gate.cli.session import index_name, load, open_gate, open_index, read_options, verdict_line
from gate.cli.sources import DocumentReader, SourceDocument
from gate.cli.tables import StreamedTable
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.core.profile import Profile
from gate.errors import BadDocument, ConfigError
from gate.extract.text_of import HtmlPart
from gate.model import CheckIn, Relation, Verdict
from gate.numbers import counted, number
from gate.stream.field_names import FieldNames

SHOWN_GONE = 20  # documents to delete that are named, unless all are asked for
DELETED_AT_ONCE = 256
SHOWN_DOCUMENTS = 200  # of more, the table has the similar ones only: nobody looks for those in thousands of lines


def check(
    paths: tuple[Path, ...],
    *,
    fail_on_similar: bool,
    only_similar: bool,
    show_all: bool,
    by_group: bool,
    dry_run: bool,
    sync: bool,
    report_files: ReportFiles,
    selection: FileSelection,
    html_text: HtmlPart,
    encoding: str | None,
    file_format: str | None,
    field_names: FieldNames,
    strict: bool,
    verbose: bool,
    options: Options,
) -> None:
    """Check documents in batch by batch; the rows of the table appear when their batch is judged."""
    settings = load(options)
    folders = [path for path in paths if path.is_dir()]
    if sync:
        _require_sync(settings, folders)
    uris = FileUris(settings.index) if settings.index != MEMORY else None
    source_options = SourceOptions(
        limits=settings.limits,
        read=read_options(settings, html=html_text, encoding=encoding),
        selection=selection,
        field_names=field_names,
        format=file_format,
        archive=settings.archive,
        content_root=settings.content_root,
    )
    if settings.index == MEMORY or dry_run:
        set_resume_hint("nothing was kept; start again with")
    else:
        set_resume_hint("what was judged is in the index, and gets the same verdict again; continue with")
    bar = progress(quiet=options.json)
    with (
        open_report(report_files, records=by_group) as report,
        open_index(settings) if dry_run else open_gate(settings, index=settings.index) as gate,
        DocumentReader(
            paths,
            source_options,
            own=own_files(settings, (report_files.html, report_files.csv)),
            uris=uris,
            bar=bar,
            report=report,
            verbose=verbose,
            json=options.json,
        ) as reader,
    ):
        source = reader.source
        present = frozenset(file.name for file in source.files)
        gone_files = GoneFiles(gate, uris, present) if uris is not None else None
        if sync and gone_files is not None:
            delete_gone(gate, gone_files.below(folders), dry_run=dry_run, show_all=show_all, json=options.json)
        shown = ShownVerdicts(
            settings.profile, only_similar=only_similar, show_all=show_all or options.json, expected=len(source.files)
        )
        with bar:
            task = bar.add_task("checking", total=source.total_bytes, documents=0)
            for batch in reader.batches():
                valid, verdicts = _judge(gate, batch, reader, dry_run=dry_run)
                gone = gone_files.among(verdicts) if gone_files is not None else frozenset()
                if report is not None:
                    places = {id(one.document): one.place for one in batch}
                    report.add(valid, verdicts, places=[places[id(one)] for one in valid], gone=gone)
                selected = shown.select(verdicts, gone)
                if not by_group:
                    with hidden(bar) if selected else nullcontext():
                        shown.write(selected, gone, json=options.json)
                bar.update(task, completed=source.read_bytes(), documents=shown.judged)
        if report is not None:
            if by_group:
                families(report.results, json=options.json)
            if report_files:
                report.write(_subject(paths, source.found, settings, dry_run=dry_run), texts_of(source))
    skipped = reader.unreadable.total()
    _conclude(source.found, shown, skipped, only_similar=only_similar or by_group, json=options.json)
    if strict and (skipped or reader.without_text.total()):
        sys.exit(SOME_FAILED)
    if fail_on_similar and shown.similar:
        sys.exit(SOME_SIMILAR)


def _judge(
    gate: Gate, batch: list[SourceDocument], reader: DocumentReader, *, dry_run: bool
) -> tuple[list[CheckIn], list[Verdict]]:
    """The documents that can be judged, and their verdicts."""
    valid, refused = gate.validate([one.document for one in batch])
    for document, error in refused:
        reader.reject(document.document_id, BadDocument(error.code, f"{document.document_id}: {error}"))
    return valid, gate.preview(valid) if dry_run else gate.check_in(valid)


def _require_sync(settings: Settings, folders: list[Path]) -> None:
    if settings.index == MEMORY:
        raise ConfigError("--sync: needs an index that is kept; name it with --index PATH|URL")
    if not settings.keep_details:
        raise ConfigError("--sync: finds files by what the index keeps of documents; set keep_details = true")
    if not folders:
        raise ConfigError("--sync: deletes what is gone from a folder; name a folder")


def delete_gone(gate: Gate, gone: Sequence[GoneDocument], *, dry_run: bool, show_all: bool, json: bool) -> None:
    """Show the documents whose files are gone, and delete them from the index."""
    if json:
        for one in gone:
            emit({"document_id": one.document_id, "gone": one.path, "deleted": not dry_run}, err=True)
    elif gone:
        out = tables.console()
        table = StreamedTable(out, "would be deleted" if dry_run else "deleted from the index", "gone from disk")
        most = len(gone) if show_all else SHOWN_GONE
        table.add((tables.cell(one.document_id), tables.cell(_shortest(one.path))) for one in gone[:most])
        if len(gone) > most:
            out.print(Text(f"and {number(len(gone) - most)} more; --all lists each.", style="dim"))
        tables.gap(out)
    if not dry_run:
        for first in range(0, len(gone), DELETED_AT_ONCE):
            gate.delete([one.document_id for one in gone[first : first + DELETED_AT_ONCE]])


def _shortest(path: str) -> str:
    """A path as people give it: relative where it is below the working folder."""
    here = Path.cwd()
    return os.path.relpath(path, here) if Path(path).is_relative_to(here) else path


class ShownVerdicts:
    """Counts the verdicts of a run, and selects those that its table has: of many documents only the similar ones."""

    def __init__(self, profile: Profile, *, only_similar: bool, show_all: bool, expected: int) -> None:
        self.table = show.verdict_table(tables.console(), profile)
        self._profile = profile
        self.counts: Counter[Relation] = Counter()
        self.similar = 0
        self._only_similar = only_similar
        self._most = sys.maxsize if show_all else SHOWN_DOCUMENTS
        self._too_many = expected > self._most
        self.left_out = 0
        self.gone: set[str] = set()

    @property
    def judged(self) -> int:
        return self.counts.total()

    def select(self, verdicts: list[Verdict], gone: frozenset[str]) -> list[Verdict]:
        self.gone |= gone
        self.counts.update(verdict.relation for verdict in verdicts)
        self.similar += sum(verdict.similar for verdict in verdicts)
        self._too_many |= self.judged > self._most
        if not (self._only_similar or self._too_many):
            return verdicts
        selected = [verdict for verdict in verdicts if verdict.similar]
        if not self._only_similar:
            self.left_out += len(verdicts) - len(selected)
        return selected

    def write(self, verdicts: list[Verdict], gone: frozenset[str], *, json: bool) -> None:
        if json:
            for verdict in verdicts:
                emit(verdict_line(verdict, gone))
        else:
            self.table.add(show.verdict_row(verdict, self._profile, gone) for verdict in verdicts)


def _conclude(found: FoundFiles, shown: ShownVerdicts, skipped: int, *, only_similar: bool, json: bool) -> None:
    """The links, and what it all adds up to."""
    if json:
        for link in found.links:
            emit({"document_id": link.document_id, "link": link.kind, "target": link.target}, err=True)
        return
    if not only_similar:
        shown.table.add(map(show.link_row, found.links))
    out = tables.console()
    out.print(Text(f"{show.tally(shown.counts)}{_left_out(found, skipped)}."))
    if shown.left_out and not only_similar:
        out.print(Text("Of so many documents only the similar ones are listed; --all lists each.", style="dim"))
    if shown.gone:
        named = counted(len(shown.gone), "document")
        out.print(Text(f"Gone from disk: {named} that others are like; --sync deletes what is gone.", style="dim"))


def _subject(paths: tuple[Path, ...], found: FoundFiles, settings: Settings, *, dry_run: bool) -> ReportSubject:
    notes = []
    if settings.index != MEMORY:
        notes.append(f"Judged against {index_name(settings)}{', which was left as it is' if dry_run else ''}.")
    if left_out := _left_out(found, 0).removeprefix("; "):
        notes.append(f"Left out: {left_out}.")
    return ReportSubject(title=title_of(paths), profile=settings.profile.ref, notes=tuple(notes))


def _left_out(found: FoundFiles, unreadable: int) -> str:
    """What was found and not judged: "; 2 links, 1 hidden, 3 could not be read"."""
    counts = {
        counted(len(found.links), "link"): len(found.links),
        f"{number(found.hidden)} hidden": found.hidden,
        f"{number(unreadable)} could not be read": unreadable,
    }
    parts = [part for part, count in counts.items() if count]
    return f"; {', '.join(parts)}" if parts else ""
