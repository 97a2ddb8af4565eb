"""The command that writes a corpus without its near-duplicates."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from gate.cli.commands.shared import content_root, field_names, file_selection, reading, verbose
from gate.cli.common import common

ORDERS = ("first", "oldest", "newest", "longest")


def _keep(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if value in ORDERS or value.removeprefix("path:") not in ("", value):
        return value
    raise click.BadParameter(f"give one of {', '.join(ORDERS)}, or path:GLOB such as path:archive/*")


@click.command()
@click.argument(
    "paths",
    metavar="SOURCE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, readable=False, allow_dash=True),
)
@click.option(
    "--out",
    metavar="DEST",
    type=click.Path(path_type=Path),
    help="Write the survivors: as records to NAME.jsonl (or .jsonl.gz) or NAME.parquet, or as copies of files to a "
    "folder.",
)
@click.option("--link", is_flag=True, help="Hard-link files into the folder instead of copying them.")
@click.option(
    "--list",
    "list_of",
    type=click.Choice(["survivors", "copies"]),
    help="Print the paths of files, and the ids of records, that survive or that do not.",
)
@click.option("--print0", is_flag=True, help="End each name of the list with a NUL, as xargs -0 wants it.")
@click.option(
    "--csv",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a line for each document: whether it is kept, what it is like, what is kept in its place.",
)
@click.option(
    "--keep",
    metavar="RULE",
    default="first",
    show_default=True,
    callback=_keep,
    help="The survivor of a family: first, oldest, newest, longest, or path:GLOB for the first whose id fits, as of "
    "--exclude.",
)
@click.option(
    "--against",
    metavar="PATH|URL",
    help="Leave out what is similar to something in this index too, and name it. The index stays as it is.",
)
@click.option(
    "--on-disk", is_flag=True, help="Keep the index of the run on disk: slower, for what does not fit in memory."
)
@click.option("--resume", is_flag=True, help="Continue a run that was interrupted.")
@click.option(
    "--state",
    "state_folder",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the run notes what is done, until it is complete. Default: DEST.dedupe, or one in the state folder.",
)
@content_root
@field_names
@reading
@file_selection
@click.option("--quiet", is_flag=True, help="No progress, and no summary at the end.")
@verbose
@common(index=False)
def dedupe(
    out: Path | None,
    link: bool,
    list_of: Literal["survivors", "copies"] | None,
    print0: bool,
    csv: Path | None,
    **arguments: Any,
) -> None:
    """Write a corpus without its near-duplicates: of each family of similar documents one survives.

    \b
      gate dedupe crawl/*.jsonl.gz --out clean.jsonl
      gate dedupe corpus.parquet --text-field content --out clean.parquet
      gate dedupe scans/ --out clean/ --link --keep oldest
      gate dedupe photos/ texts.tar --list copies --print0 | xargs -0 ls -l
      gate dedupe new/ --against records.sqlite --out new.jsonl --csv new.csv

    Sources are all that `gate replay` reads, in the same order. Records keep their columns: JSON Lines from JSON Lines
    are the same bytes. JSON Lines without an id are numbered. A document from a file is a record with its id and its
    text. Nothing is deleted, and nothing overwritten but DEST, which appears when it is complete.

    Documents are judged in the order of the sources, and a family is the first document with all that are similar to
    it; --keep chooses which of them survives. Empty texts, and texts too short to be compared, survive.

    A run may be stopped at any time, by force too: with --resume, the same sources and the same options it continues,
    and gives the same survivors. The exit code is 1 if a record cannot be read, and, with --strict, if a file cannot.
    """
    from gate.cli.dedupe import dedupe
    from gate.cli.dedupe_results import DedupeOutput

    output = DedupeOutput(out=out, link=link, list_of=list_of, print0=print0, csv=csv)
    dedupe(output=output, **arguments)
