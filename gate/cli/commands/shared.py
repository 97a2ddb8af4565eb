"""Options that several commands have, but not all."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gate.archive.files import FileSelection, Order
from gate.cli.common import F, ReportFiles

FORMAT_NAMES = ("tar", "zip", "parquet", "warc", "mbox", "jsonl", "csv", "document")  # of gate.archive.formats

_FINGERPRINT = re.compile("[0-9a-fA-F]{16}")


def verbose(command: F) -> F:
    """Add the option that reports every problem by itself."""
    option = click.option(
        "-v", "--verbose", is_flag=True, help="Report every problem as it occurs, not a summary by reason at the end."
    )
    return option(command)


def content_root(command: F) -> F:
    """Add the option that lets events refer to files."""
    option = click.option(
        "--content-root",
        metavar="FOLDER",
        type=click.Path(path_type=Path),
        help="The only folder that content_uri may point into. Without one, events with a content_uri are refused.",
    )
    return option(command)


def field_names(command: F) -> F:
    """Add the options that map the fields of JSON Lines and the columns of tables; the command gets them as
    `field_names`."""

    @functools.wraps(command)
    def with_names(
        *args: Any, id_field: str | None, text_field: str | None, date_field: str | None, **kwargs: Any
    ) -> Any:
        from gate.stream.field_names import FieldNames  # here, as it imports what completion does without

        names = FieldNames(document_id=id_field, text=text_field, date=date_field)
        return command(*args, field_names=names, **kwargs)

    decorated: Any = with_names
    for option in (
        click.option(
            "--date-field",
            metavar="NAME",
            help="The field or column that holds the date, in any usual form. Default: checked_in_at.",
        ),
        click.option("--text-field", metavar="NAME", help="The field or column that holds the text. Default: text."),
        click.option("--id-field", metavar="NAME", help="The field or column that holds the id. Default: document_id."),
    ):
        decorated = option(decorated)
    typed: F = decorated
    return typed


def reading(command: F) -> F:
    """Add the options that say how files are read."""
    decorated: Any = command
    for option in (
        click.option(
            "--format",
            "file_format",
            type=click.Choice(FORMAT_NAMES),
            help="The format of all files that are given. Default: what each looks like.",
        ),
        click.option(
            "--encoding", metavar="NAME", help="The encoding of plain texts. Default: what each says, or looks like."
        ),
        click.option(
            "--html-text",
            type=click.Choice(["main", "full"]),
            default="main",
            show_default=True,
            help="Of HTML pages, the text without navigation and frame, or all that can be seen.",
        ),
    ):
        decorated = option(decorated)
    typed: F = decorated
    return typed


def file_selection(command: F) -> F:
    """Add the options that choose files of folders and their order; the command gets them as `selection`."""

    @functools.wraps(command)
    def with_selection(
        *args: Any,
        order: str,
        hidden: bool,
        follow_links: bool,
        include: tuple[str, ...],
        exclude: tuple[str, ...],
        **kwargs: Any,
    ) -> Any:
        selection = FileSelection(
            order=Order(order), hidden=hidden, follow_links=follow_links, include=include, exclude=exclude
        )
        return command(*args, selection=selection, **kwargs)

    decorated: Any = with_selection
    for option in (
        click.option("--strict", is_flag=True, help="Exit with 1 if a file, or its text, cannot be read."),
        click.option("--follow-links", is_flag=True, help="Read files outside of the folder that it has links to."),
        click.option("--hidden", is_flag=True, help="Read hidden files and folders too."),
        click.option(
            "--exclude",
            metavar="GLOB",
            multiple=True,
            help="Leave out files and folders whose name, or path in the folder if there is a / in GLOB, fits.",
        ),
        click.option(
            "--include", metavar="GLOB", multiple=True, help="Read only files of folders that fit, as of --exclude."
        ),
        click.option(
            "--order",
            type=click.Choice([order.value for order in Order]),
            default=Order.DATE.value,
            show_default=True,
            help="Oldest first, by name, or the paths as they are given. It decides which document was first.",
        ),
    ):
        decorated = option(decorated)
    typed: F = decorated
    return typed


def report_files(command: F) -> F:
    """Add the options that write results to files; the command gets them as `report_files`."""

    @functools.wraps(command)
    def with_files(*args: Any, html: Path | None, csv: Path | None, **kwargs: Any) -> Any:
        return command(*args, report_files=ReportFiles(html=html, csv=csv), **kwargs)

    decorated: Any = with_files
    for option in (
        click.option(
            "--csv",
            metavar="FILE",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Write a line for each document to this file, for spreadsheets and programs.",
        ),
        click.option(
            "--html",
            metavar="FILE",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Write a report to this file: one page to look at, sort, search and pass on.",
        ),
    ):
        decorated = option(decorated)
    typed: F = decorated
    return typed


def threshold(command: F) -> F:
    """Add the option of another threshold than the profile's."""
    option = click.option(
        "--threshold",
        metavar="0..1",
        type=click.FloatRange(0.0, 1.0, min_open=True),
        help="Another resemblance than the profile's, or share of equal bits where fingerprints decide.",
    )
    return option(command)


def fingerprint_option(help_text: str, name: str = "fingerprint") -> Callable[[F], F]:
    """The option that gives a fingerprint by its value; as `fingerprints`, several of them."""
    several = name == "fingerprints"
    return click.option("--fingerprint", name, metavar="HEX", multiple=several, callback=_fingerprints, help=help_text)


def _fingerprints(context: click.Context, parameter: click.Parameter, value: str | tuple[str, ...] | None) -> Any:
    for digits in (value,) if isinstance(value, str) else value or ():
        if not _FINGERPRINT.fullmatch(digits):
            raise click.BadParameter(f"{digits!r} is not one; give 16 hexadecimal digits, as `gate explain` shows them")
    return value
