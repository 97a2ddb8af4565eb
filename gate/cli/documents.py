"""Commands about documents: check files, find what is alike, explain a verdict, delete."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Literal

import click
from rich.text import Text

from gate.api import Gate
from gate.archive.files import FileSelection, FoundFile, FoundFiles, find_files
from gate.archive.text_files import read_text_file
from gate.cli import show, tables
from gate.cli.common import SOME_FAILED, SOME_SIMILAR, Options, emit, printable, set_resume_hint
from gate.cli.progress import ProblemLog, hidden, progress
from gate.cli.session import index_name, load, open_gate, open_index, verdict_line
from gate.cli.text_argument import STDIN, read_text_argument
from gate.config.index import MEMORY
from gate.config.settings import Settings
from gate.core.method_parameters import SimilarityIndex
from gate.core.profile import Profile
from gate.errors import BadDocument, ConfigError, UnknownDocument
from gate.model import CheckIn, Match, Relation
from gate.numbers import counted, number
from gate.pipeline import batches


def check(
    paths: tuple[Path, ...],
    *,
    fail_on_similar: bool,
    only_similar: bool,
    dry_run: bool,
    selection: FileSelection,
    strict: bool,
    verbose: bool,
    options: Options,
) -> None:
    """Check files in batch by batch; the rows of the table appear when their batch is judged."""
    settings = load(options)
    found = find_files(paths, selection)
    if settings.index == MEMORY or dry_run:
        set_resume_hint("nothing was kept; start again with")
    else:
        set_resume_hint("what was judged is in the index, and gets the same verdict again; continue with")
    counts: Counter[Relation] = Counter()
    similar = 0
    table = show.verdict_table(tables.console())
    bar = progress(quiet=options.json)
    opened = open_index(settings) if dry_run else open_gate(settings, index=settings.index)
    with opened as gate, ProblemLog("skipped", verbose=verbose, bar=bar, quiet=options.json) as skipped, bar:
        task = bar.add_task("checking", total=len(found.files), documents=0)
        for batch in batches(_readable(found.files, settings, skipped, json=options.json), settings.limits):
            verdicts = gate.preview(batch) if dry_run else gate.check_in(batch)
            counts.update(verdict.relation for verdict in verdicts)
            similar += sum(verdict.similar for verdict in verdicts)
            selected = [verdict for verdict in verdicts if verdict.similar or not only_similar]
            if options.json:
                for verdict in selected:
                    emit(verdict_line(verdict))
            elif selected:
                with hidden(bar):
                    table.add(map(show.verdict_row, selected))
            bar.update(task, completed=counts.total() + skipped.total(), documents=counts.total())
    if options.json:
        for link in found.links:
            emit({"document_id": link.document_id, "link": link.kind, "target": link.target}, err=True)
    else:
        if not only_similar:
            table.add(map(show.link_row, found.links))
        tables.console().print(Text(f"{show.tally(counts)}{_left_out(found, skipped.total())}."))
    if strict and skipped.total():
        sys.exit(SOME_FAILED)
    if fail_on_similar and similar:
        sys.exit(SOME_SIMILAR)


def _left_out(found: FoundFiles, unreadable: int) -> str:
    """What was found and not judged: "; 2 links, 1 hidden, 3 could not be read"."""
    counts = {
        counted(len(found.links), "link"): len(found.links),
        f"{number(found.hidden)} hidden": found.hidden,
        f"{number(unreadable)} could not be read": unreadable,
    }
    parts = [part for part, count in counts.items() if count]
    return f"; {', '.join(parts)}" if parts else ""


def _readable(files: list[FoundFile], settings: Settings, skipped: ProblemLog, *, json: bool) -> Iterator[CheckIn]:
    """The files as documents; one that cannot be read is reported and left out."""
    for file in files:
        document_id = file.document_id
        try:
            text = read_text_file(file.path, max_chars=settings.limits.max_document_chars)
        except BadDocument as exc:
            if json:
                emit({"document_id": document_id, "reason": exc.code, "message": str(exc)}, err=True)
            skipped.add(exc.code, f"{document_id}: {exc}")
        else:
            yield CheckIn(document_id=document_id, text=text)


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
