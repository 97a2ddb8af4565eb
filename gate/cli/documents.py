"""Commands about documents: check files, find what is alike, explain a verdict, delete."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Literal

import click
from rich.text import Text

from gate.api import Gate
from gate.archive.files import FileSelection, FoundFiles
from gate.archive.parts import SourceOptions
from gate.archive.source import Source
from gate.cli import show, tables
from gate.cli.common import SOME_FAILED, SOME_SIMILAR, Options, ReportFiles, emit, printable, set_resume_hint
from gate.cli.own_files import own_files
from gate.cli.progress import hidden, progress
from gate.cli.reports import ReportSubject, RunReport, families, open_report, title_of
from gate.cli.session import index_name, load, open_gate, open_index, read_options, verdict_line
from gate.cli.sources import DocumentReader, SourceDocument
from gate.cli.text_argument import STDIN, read_text_argument
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.core.method_parameters import SimilarityIndex
from gate.core.profile import Profile
from gate.errors import BadDocument, ConfigError, UnknownDocument
from gate.extract.text_of import HtmlPart
from gate.model import Match, Relation, Verdict
from gate.numbers import counted, number
from gate.report.pairs import TextOf
from gate.stream.field_names import FieldNames

SHOWN_DOCUMENTS = 200  # of more, the table has the similar ones only: nobody looks for those in thousands of lines


def check(
    paths: tuple[Path, ...],
    *,
    fail_on_similar: bool,
    only_similar: bool,
    show_all: bool,
    by_group: bool,
    dry_run: bool,
    report_files: ReportFiles,
    selection: FileSelection,
    html_text: HtmlPart,
    encoding: str | None,
    id_field: str | None,
    text_field: str | None,
    strict: bool,
    verbose: bool,
    options: Options,
) -> None:
    """Check documents in batch by batch; the rows of the table appear when their batch is judged."""
    settings = load(options)
    source_options = SourceOptions(
        limits=settings.limits,
        read=read_options(settings, html=html_text, encoding=encoding),
        selection=selection,
        field_names=FieldNames(document_id=id_field, text=text_field),
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
            bar=bar,
            report=report,
            verbose=verbose,
            json=options.json,
        ) as reader,
    ):
        source = reader.source
        shown = ShownVerdicts(only_similar=only_similar, show_all=show_all or options.json, expected=len(source.files))
        with bar:
            task = bar.add_task("checking", total=source.total_bytes, documents=0)
            for batch in reader.batches():
                verdicts = _judge(gate, batch, reader, report, dry_run=dry_run)
                selected = shown.select(verdicts)
                if not by_group:
                    with hidden(bar) if selected else nullcontext():
                        shown.write(selected, json=options.json)
                bar.update(task, completed=source.read_bytes(), documents=shown.judged)
        if report is not None:
            if by_group:
                families(report.results, json=options.json)
            if report_files:
                report.write(_subject(paths, source.found, settings, dry_run=dry_run), _texts_of(source))
    skipped = reader.unreadable.total()
    _conclude(source.found, shown, skipped, only_similar=only_similar or by_group, json=options.json)
    if strict and (skipped or reader.without_text.total()):
        sys.exit(SOME_FAILED)
    if fail_on_similar and shown.similar:
        sys.exit(SOME_SIMILAR)


def _judge(
    gate: Gate, batch: list[SourceDocument], reader: DocumentReader, report: RunReport | None, *, dry_run: bool
) -> list[Verdict]:
    places = {id(one.document): one.place for one in batch}
    valid, refused = gate.validate([one.document for one in batch])
    for document, error in refused:
        reader.reject(document.document_id, BadDocument(error.code, f"{document.document_id}: {error}"))
    verdicts = gate.preview(valid) if dry_run else gate.check_in(valid)
    if report is not None:
        report.add(valid, verdicts, places=[places[id(document)] for document in valid])
    return verdicts


class ShownVerdicts:
    """Counts the verdicts of a run, and selects those that its table has: of many documents only the similar ones."""

    def __init__(self, *, only_similar: bool, show_all: bool, expected: int) -> None:
        self.table = show.verdict_table(tables.console())
        self.counts: Counter[Relation] = Counter()
        self.similar = 0
        self._only_similar = only_similar
        self._most = sys.maxsize if show_all else SHOWN_DOCUMENTS
        self._too_many = expected > self._most
        self.left_out = 0

    @property
    def judged(self) -> int:
        return self.counts.total()

    def select(self, verdicts: list[Verdict]) -> list[Verdict]:
        self.counts.update(verdict.relation for verdict in verdicts)
        self.similar += sum(verdict.similar for verdict in verdicts)
        self._too_many |= self.judged > self._most
        if not (self._only_similar or self._too_many):
            return verdicts
        selected = [verdict for verdict in verdicts if verdict.similar]
        if not self._only_similar:
            self.left_out += len(verdicts) - len(selected)
        return selected

    def write(self, verdicts: list[Verdict], *, json: bool) -> None:
        if json:
            for verdict in verdicts:
                emit(verdict_line(verdict))
        else:
            self.table.add(map(show.verdict_row, verdicts))


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


def _subject(paths: tuple[Path, ...], found: FoundFiles, settings: Settings, *, dry_run: bool) -> ReportSubject:
    notes = []
    if settings.index != MEMORY:
        notes.append(f"Judged against {index_name(settings)}{', which was left as it is' if dry_run else ''}.")
    if left_out := _left_out(found, 0).removeprefix("; "):
        notes.append(f"Left out: {left_out}.")
    return ReportSubject(title=title_of(paths), profile=settings.profile.ref, notes=tuple(notes))


def _texts_of(source: Source) -> TextOf:
    """Reads the text of a file again, by its document id."""
    paths = {file.name: file.path for file in source.files}

    def text_of(document_id: str) -> str | None:
        path = paths.get(document_id)  # of no other document: it was judged before, or is a part of a file
        with suppress(ConfigError):
            return None if path is None else read_text_argument(path, source.options.read)
        return None

    return text_of


def _left_out(found: FoundFiles, unreadable: int) -> str:
    """What was found and not judged: "; 2 links, 1 hidden, 3 could not be read"."""
    counts = {
        counted(len(found.links), "link"): len(found.links),
        f"{number(found.hidden)} hidden": found.hidden,
        f"{number(unreadable)} could not be read": unreadable,
    }
    parts = [part for part, count in counts.items() if count]
    return f"; {', '.join(parts)}" if parts else ""


def similar(what: str, *, threshold: float | None, kind: Literal["id", "file"] | None, options: Options) -> None:
    """Show the matches of a known document or of a file."""
    settings = load(options)
    with open_index(settings) as gate:
        matches = _find_similar(gate, what, kind, threshold, settings)
        numbers = None if options.json else _numbers(gate, matches, settings.profile)
    if options.json:
        for match in matches:
            emit(match)
        return
    out = tables.console()
    if matches:
        show.matches(out, matches, numbers)
    else:
        out.print(Text(f"Nothing in the index is like {printable(what)}."))
        if settings.profile.index == "originals":
            out.print(Text("Refused copies are not in it; give the id of a copy, and its original is found."))


def _find_similar(gate: Gate, what: str, kind: str | None, threshold: float | None, settings: Settings) -> list[Match]:
    if kind != "file" and what != STDIN:
        try:
            return gate.find_similar(document_id=what, threshold=threshold)
        except UnknownDocument:
            if kind == "id" or not Path(what).is_file():
                remedy = "give the id of a document that was checked in" + ("" if kind else ", or a file")
                raise ConfigError(f"{what}: not known to {index_name(settings)}; {remedy}") from None
    text = read_text_argument(what, read_options(settings))
    return gate.find_similar(text=text, threshold=threshold)


def _numbers(gate: Gate, matches: list[Match], profile: Profile) -> dict[str, str] | None:
    """The similarity index of each match, under a profile that has them."""
    if not isinstance(profile.method, SimilarityIndex):
        return None
    ids = [match.document_id for match in matches]
    known = zip(ids, gate.explain(ids), strict=True)
    return {name: show.similarity_index(verdicts[-1].fingerprint) for name, verdicts in known if verdicts}


def explain(document_id: str, *, options: Options) -> None:
    """Show the kept verdicts on a document, with the reasons."""
    settings = load(options)
    with open_index(settings) as gate:
        [verdicts] = gate.explain([document_id])
    if not verdicts:
        raise _unknown(document_id, settings)
    if options.json:
        for verdict in verdicts:
            emit(verdict_line(verdict))
        return
    out = tables.console()
    for verdict in verdicts:
        out.print(Text(printable(show.versioned(verdict.document_id, verdict.version)), style="bold"))
        for sentence in show.reasons(verdict, settings.profile):
            tables.print_indented(out, sentence)
        if verdict.matches:
            show.matches(out, verdict.matches)
        tables.print_indented(out, show.fingerprint_line(verdict, settings.profile), style="dim")


def _unknown(document_id: str, settings: Settings) -> ConfigError:
    return ConfigError(
        f"{document_id}: not known to {index_name(settings)}; "
        "give the id of a document that was checked in, exactly as it was written then"
    )


def delete(document_ids: tuple[str, ...], *, from_file: BinaryIO | None, options: Options) -> None:
    """Delete documents in batches, and report each."""
    settings = load(options)
    if not document_ids and from_file is None:
        raise click.UsageError("give the id of a document, or --from-file")
    ids = chain(document_ids, _ids(from_file) if from_file is not None else ())
    with open_index(settings) as gate:
        while batch := list(islice(ids, settings.limits.batch_documents)):
            for document_id, was_known in zip(batch, gate.delete(batch)):
                if options.json:
                    emit({"document_id": document_id, "deleted": was_known})
                else:
                    click.echo(f"{printable(document_id)}: {'deleted' if was_known else 'is unknown'}")


def _ids(file: BinaryIO) -> Iterator[str]:
    """One id per line, without the end of the line and otherwise as it is."""
    for line_number, line in enumerate(file, 1):
        try:
            document_id = line.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            raise BadDocument(
                "bad_utf8", f"{file.name}:{line_number}: is not UTF-8; what came before it was deleted"
            ) from None
        if document_id:
            yield document_id
