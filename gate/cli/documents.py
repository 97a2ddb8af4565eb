"""Commands about documents: check files, find what is alike, explain a verdict, delete."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Literal

import click
import msgspec
from rich.text import Text

from gate.api import Gate
from gate.archive.files import find_files
from gate.archive.text_files import read_text_file
from gate.cli import files, show
from gate.cli.common import (
    SOME_FAILED,
    SOME_SIMILAR,
    Options,
    common,
    complain,
    emit,
    load,
    open_gate,
    open_index,
    shown_index,
    verdict_line,
)
from gate.config.settings import Settings
from gate.errors import BadDocument, ConfigError
from gate.model import CheckIn, Match, Verdict
from gate.pipeline import batches


@click.command(short_help="Check text files in, and show the verdict on each.")
@click.argument(
    "paths",
    metavar="FILES|FOLDER...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, readable=False),  # what cannot be read is told, and the rest goes on
)
@click.option("--fail-on-similar", is_flag=True, help="Exit with 1 if any document is similar to a known one.")
@click.option("--only-similar", is_flag=True, help="Show only the documents that are similar.")
@click.option("--dry-run", is_flag=True, help="Judge each file against the index by itself, and add nothing to it.")
@common()
def check(
    paths: tuple[Path, ...], *, fail_on_similar: bool, only_similar: bool, dry_run: bool, options: Options
) -> None:
    """Check text files in, one after another, and show the verdict on each.

    \b
      gate check notes/
      gate check notes/ --index notes.sqlite        keep what was seen for the next time
      gate check *.md --fail-on-similar             for a script or a commit hook
      gate check new/ --index notes.sqlite --dry-run

    Every file is a document. Its id is its path relative to the folder, or as it is given where files or several
    folders are named. The files are compared with each other and, with --index, with all that was checked in before; a
    file whose content has changed since is a revision of itself. Files that cannot be read are told and the rest goes
    on (exit code 1). Hidden files are left out.
    """
    settings = load(options)
    named = list(find_files(paths))
    unread: list[str] = []
    found: list[Verdict] = []
    opened = open_index(settings) if dry_run else open_gate(settings, index=settings.index)
    with opened as gate, show.progress(quiet=options.json) as bar:
        task = bar.add_task("checking", total=len(named), documents=0)
        for batch in batches(_readable(named, settings, unread, json=options.json), settings.limits):
            verdicts = gate.preview(batch) if dry_run else gate.check_in(batch)
            if options.json:
                for verdict in verdicts:
                    if verdict.similar or not only_similar:
                        emit(verdict_line(verdict))
            found += verdicts
            bar.update(task, completed=len(found) + len(unread), documents=len(found))
    if not options.json:
        _table(found, only_similar=only_similar, unread=len(unread))
    if unread:
        sys.exit(SOME_FAILED)
    if fail_on_similar and any(verdict.similar for verdict in found):
        sys.exit(SOME_SIMILAR)


def _readable(named: list[tuple[str, Path]], settings: Settings, unread: list[str], *, json: bool) -> Iterator[CheckIn]:
    """The files as documents; each that is none is told at once, and left out."""
    for document_id, path in named:
        try:
            text = read_text_file(path, max_chars=settings.limits.max_document_chars)
        except BadDocument as exc:
            unread.append(document_id)
            if json:
                told = {"document_id": document_id, "reason": exc.code, "message": str(exc)}
                click.echo(msgspec.json.encode(told), err=True)
            else:
                complain(f"{document_id}: {exc}", kind="skipped")
        else:
            yield CheckIn(document_id=document_id, text=text)


def _table(found: list[Verdict], *, only_similar: bool, unread: int) -> None:
    out = show.console()
    shown = [verdict for verdict in found if verdict.similar or not only_similar]
    if shown:
        show.verdicts(out, shown)
    skipped = f"; {unread} could not be read" if unread else ""
    out.print(Text(f"{show.tally(found)}{skipped}."))


@click.command(short_help="Find what in the index is like a document, or like a file.")
@click.argument("what", metavar="ID|FILE")
@click.option(
    "--threshold",
    metavar="0..1",
    type=click.FloatRange(0.0, 1.0, min_open=True),
    help="Ask for another resemblance than the profile's.",
)
@click.option("--as", "kind", type=click.Choice(["id", "file"]), help="Read the argument as this and nothing else.")
@common()
def similar(what: str, *, threshold: float | None, kind: Literal["id", "file"] | None, options: Options) -> None:
    """Find documents in the index that are like one of them, or like a file.

    \b
      gate similar reports/2026.txt --index notes.sqlite
      gate similar draft.txt --as file --threshold 0.5 --index notes.sqlite

    The argument is an id that the index knows, or else a file. A file named - is read from standard input.

    A threshold below the profile's finds what the index brings together, which is less the less alike it is: `gate
    plan` tells how much. Documents that were refused as copies are not in the index, unless the profile says
    index = "all": from a copy its original is found, but not the other way round.
    """
    settings = load(options)
    with open_index(settings) as gate:
        found = _similar(gate, what, kind, threshold, settings)
    if options.json:
        for match in found:
            emit(msgspec.to_builtins(match))
        return
    out = show.console()
    if found:
        show.matches(out, found)
    else:
        out.print(Text(f"Nothing in the index is like {show.printable(what)}."))
        if settings.profile.index == "originals":
            out.print(Text("Copies that were refused are not kept there; ask for a copy, and its original is found."))


def _similar(gate: Gate, what: str, kind: str | None, threshold: float | None, settings: Settings) -> list[Match]:
    if kind != "file" and what != files.STDIN:
        try:
            return gate.similar_to([what], threshold=threshold)[0]
        except KeyError:
            if kind == "id" or not Path(what).is_file():
                remedy = "give the id of a document that was checked in" + ("" if kind else ", or a file")
                raise ConfigError(f"{what}: not known to {shown_index(settings)}; {remedy}") from None
    text = files.read_named(what, max_chars=settings.limits.max_document_chars)
    return gate.similar([text], threshold=threshold)[0]


@click.command(short_help="Say why a document got its verdict.")
@click.argument("document_id", metavar="ID")
@common()
def explain(document_id: str, *, options: Options) -> None:
    """Say why a document got its verdict: what matched, by which measure, under which profile.

    \b
      gate explain reports/2026.txt --index notes.sqlite
    """
    settings = load(options)
    with open_index(settings) as gate:
        [verdicts] = gate.explain([document_id])
    if not verdicts:
        raise _unknown(document_id, settings)
    if options.json:
        for verdict in verdicts:
            emit(verdict_line(verdict))
        return
    out = show.console()
    for verdict in verdicts:
        out.print(Text(show.printable(show.named(verdict.document_id, verdict.version)), style="bold"))
        for sentence in show.reasons(verdict, settings.profile):
            show.say(out, sentence)
        if verdict.matches:
            show.matches(out, verdict.matches)
        show.say(out, f"Fingerprint {verdict.fingerprint or show.NOTHING}, content {verdict.content_id}.", style="dim")


def _unknown(document_id: str, settings: Settings) -> ConfigError:
    return ConfigError(
        f"{document_id}: not known to {shown_index(settings)}; "
        "give the id of a document that was checked in, exactly as it was written then"
    )


@click.command(short_help="Forget documents.")
@click.argument("document_ids", metavar="[ID...]", nargs=-1)
@click.option(
    "--from-file",
    metavar="FILE",
    type=click.File("rb"),
    help="Read ids from this file too, one a line; - is standard input.",
)
@common()
def delete(document_ids: tuple[str, ...], *, from_file: BinaryIO | None, options: Options) -> None:
    """Forget documents: what was refused for their sake may come in again.

    \b
      gate delete reports/2026.txt drafts/a.txt --index notes.sqlite
      gate delete --from-file gone.txt --index redis://localhost:6379/0
      grep -l obsolete -r notes/ | gate delete --from-file - --index notes.sqlite

    An id that is not known is told and is no error, so a delete may be repeated.
    """
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
                    click.echo(f"{show.printable(document_id)}: {'deleted' if was_known else 'was not known'}")


def _ids(file: BinaryIO) -> Iterator[str]:
    """One a line, as it stands there; nothing is cut off but the end of the line."""
    for number, line in enumerate(file, 1):
        try:
            document_id = line.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            raise BadDocument(
                "bad_utf8", f"{file.name}:{number}: is not UTF-8; what came before it was deleted"
            ) from None
        if document_id:
            yield document_id
