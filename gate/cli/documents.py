"""Commands about documents of an index: find what is alike, explain a verdict, delete."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Literal

import click
from msgspec import structs
from rich.text import Text

from gate.api import Gate
from gate.cli import show, tables
from gate.cli.common import Options, emit, printable
from gate.cli.session import index_name, load, open_index, read_options, verdict_line
from gate.cli.text_argument import STDIN, read_text_argument
from gate.config.settings import Settings
from gate.core.document_details import decode_details
from gate.core.method_parameters import Fingerprinted
from gate.errors import BadDocument, ConfigError, UnknownDocument
from gate.index.tools.stored_documents import read_contents, read_stored
from gate.model import LookUpResult, Match

ABOUT_AT_ONCE = 256  # documents


def similar(
    what: str | None,
    *,
    fingerprint: str | None,
    threshold: float | None,
    kind: Literal["id", "file"] | None,
    options: Options,
) -> None:
    """Show the matches of a known document, of a file or of a fingerprint."""
    if (what is None) == (fingerprint is None):
        raise click.UsageError("give an id or a file, or --fingerprint" + ("" if what is None else ", not both"))
    settings = load(options)
    with open_index(settings) as gate:
        if fingerprint is not None:
            found = gate.look_up(fingerprint=fingerprint, threshold=threshold)
        else:
            found = _look_up(gate, what or "", kind, threshold, settings)
        about = _about(gate, found.matches)
    profile = settings.profile
    if fingerprint is not None and isinstance(profile.method, Fingerprinted):
        profile = structs.replace(profile, resemblance=None, containment=None)  # a fingerprint has nothing but its bits
    if options.json:
        for match in found.matches:
            one = about.get(match.document_id, show.About())
            emit({**structs.asdict(match), **dataclasses.asdict(one)})
        if found.scanned or found.degraded:
            emit({"scanned": found.scanned, "complete": found.complete, "degraded": found.degraded}, err=True)
        return
    out = tables.console()
    if found.matches:
        show.matches(out, found.matches, profile, about)
    else:
        out.print(Text(f"Nothing in the index is like {printable(what or fingerprint or '')}."))
        if profile.index == "originals":
            out.print(Text("Refused copies are not in it; give the id of a copy, and its original is found."))
    for sentence in show.how_found(found):
        out.print(Text(sentence, style="dim"))


def _look_up(gate: Gate, what: str, kind: str | None, threshold: float | None, settings: Settings) -> LookUpResult:
    if kind != "file" and what != STDIN:
        try:
            return gate.look_up(document_id=what, threshold=threshold)
        except UnknownDocument:
            if kind == "id" or not Path(what).is_file():
                remedy = "give the id of a document that was checked in" + ("" if kind else ", or a file")
                raise ConfigError(f"{what}: not known to {index_name(settings)}; {remedy}") from None
    text = read_text_argument(what, read_options(settings))
    return gate.look_up(text=text, threshold=threshold)


def _about(gate: Gate, matches: Sequence[Match]) -> dict[str, show.About]:
    """What is known about the documents of matches."""
    about: dict[str, show.About] = {}
    for first in range(0, len(matches), ABOUT_AT_ONCE):
        ids = [match.document_id for match in matches[first : first + ABOUT_AT_ONCE]]
        stored = gate.with_store(partial(read_stored, document_ids=ids))
        about |= {one.document_id: show.about(one, gate.method) for one in stored if one is not None}
    return about


def explain(document_id: str, *, details: bool, options: Options) -> None:
    """Show the kept verdicts on a document, with the reasons, and what is kept to recognise it by."""
    settings = load(options)
    with open_index(settings) as gate:
        [verdicts] = gate.explain([document_id])
        about = _about(gate, [match for verdict in verdicts for match in verdict.matches])
        held = gate.with_store(partial(read_contents, document_id=document_id)) if details else ()
    kept = {one.content.hex(): decode_details(one.details) for one in held}
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
            show.matches(out, verdict.matches, settings.profile, about)
        if known := kept.get(verdict.content_id):
            tables.print_indented(out, show.details_line(known), style="dim")
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
