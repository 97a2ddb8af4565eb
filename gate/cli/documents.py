"""Commands about documents of an index: find what is alike, explain a verdict, delete."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Literal

import click
from rich.text import Text

from gate.api import Gate
from gate.cli import show, tables
from gate.cli.common import Options, emit, printable
from gate.cli.session import index_name, load, open_index, read_options, verdict_line
from gate.cli.text_argument import STDIN, read_text_argument
from gate.config.settings import Settings
from gate.core.method_parameters import SimilarityIndex
from gate.core.profile import Profile
from gate.errors import BadDocument, ConfigError, UnknownDocument
from gate.model import Match


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
