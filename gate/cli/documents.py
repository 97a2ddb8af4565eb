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
from gate.archive.files import FileSelection, FoundFile, FoundFiles, find_files, modified_at
from gate.archive.text_files import read_text_file
from gate.cli import show, tables
from gate.cli.common import SOME_FAILED, SOME_SIMILAR, Options, ReportFiles, emit, printable, set_resume_hint
from gate.cli.own_files import own_files
from gate.cli.progress import ProblemLog, hidden, progress
from gate.cli.reports import ReportSubject, RunReport, families, open_report, title_of
from gate.cli.session import index_name, load, open_gate, open_index, verdict_line
from gate.cli.text_argument import STDIN, read_text_argument
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.core.method_parameters import SimilarityIndex
from gate.core.profile import Profile
from gate.errors import BadDocument, ConfigError, UnknownDocument
from gate.model import CheckIn, Match, Relation, Verdict
from gate.numbers import counted, number
from gate.pipeline import batches
from gate.report.pairs import TextOf

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
    strict: bool,
    verbose: bool,
    options: Options,
) -> None:
    """Check files in batch by batch; the rows of the table appear when their batch is judged."""
    settings = load(options)
    found = find_files(paths, selection)
    own = own_files(settings, (report_files.html, report_files.csv))
    files = [file for file in found.files if file.path.absolute() not in own]
    if settings.index == MEMORY or dry_run:
        set_resume_hint("nothing was kept; start again with")
    else:
        set_resume_hint("what was judged is in the index, and gets the same verdict again; continue with")
    shown = ShownVerdicts(only_similar=only_similar, show_all=show_all or options.json, expected=len(files))
    bar = progress(quiet=options.json)
    with (
        open_report(report_files, records=by_group) as report,
        open_index(settings) if dry_run else open_gate(settings, index=settings.index) as gate,
    ):
        with ProblemLog("skipped", verbose=verbose, bar=bar, quiet=options.json) as skipped, bar:
            task = bar.add_task("checking", total=len(files), documents=0)
            for batch in batches(_readable(files, settings, skipped, report, json=options.json), settings.limits):
                verdicts = gate.preview(batch) if dry_run else gate.check_in(batch)
                if report is not None:
                    report.add(batch, verdicts)
                selected = shown.select(verdicts)
                if not by_group:
                    with hidden(bar) if selected else nullcontext():
                        shown.write(selected, json=options.json)
                bar.update(task, completed=shown.judged + skipped.total(), documents=shown.judged)
        if report is not None:
            if by_group:
                families(report.results, json=options.json)
            if report_files:
                report.write(_subject(paths, found, settings, dry_run=dry_run), _texts_of(files, settings))
    _conclude(found, shown, skipped.total(), only_similar=only_similar or by_group, json=options.json)
    if strict and skipped.total():
        sys.exit(SOME_FAILED)
    if fail_on_similar and shown.similar:
        sys.exit(SOME_SIMILAR)


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


def _texts_of(files: list[FoundFile], settings: Settings) -> TextOf:
    """Reads the text of a file again, by its document id."""
    paths = {file.document_id: file.path for file in files}

    def text_of(document_id: str) -> str | None:
        if document_id not in paths:
            return None  # it was judged before
        with suppress(BadDocument):
            return read_text_file(paths[document_id], max_chars=settings.limits.max_document_chars)
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


def _readable(
    files: list[FoundFile], settings: Settings, skipped: ProblemLog, report: RunReport | None, *, json: bool
) -> Iterator[CheckIn]:
    """The files as documents; one that cannot be read is reported and left out."""
    for file in files:
        document_id = file.document_id
        try:
            text = read_text_file(file.path, max_chars=settings.limits.max_document_chars)
        except BadDocument as exc:
            if json:
                emit({"document_id": document_id, "reason": exc.code, "message": str(exc)}, err=True)
            if report is not None:
                report.add_unreadable(document_id, exc.code, f"{document_id}: {exc}")
            skipped.add(exc.code, f"{document_id}: {exc}")
        else:
            yield CheckIn(
                document_id=document_id,
                text=text,
                size_bytes=file.size_bytes,
                checked_in_at=modified_at(file),
            )


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
    text = read_text_argument(what, max_chars=settings.limits.max_document_chars)
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
