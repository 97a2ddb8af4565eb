"""Commands about documents: check, compare, find similar ones, explain a verdict, delete; and the demonstration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gate.cli.commands.shared import (
    field_names,
    file_selection,
    fingerprint_option,
    reading,
    report_files,
    threshold,
    verbose,
)
from gate.cli.common import common


@click.command()
@click.argument(
    "paths",
    metavar="FILES|FOLDER...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, readable=False),  # a file that cannot be read is reported by itself
)
@click.option("--fail-on-similar", is_flag=True, help="Exit with 1 if any document is similar to a known one.")
@click.option("--only-similar", is_flag=True, help="Show only the documents that are similar.")
@click.option("--all", "show_all", is_flag=True, help="Show every document, even of many.")
@click.option("--by-group", is_flag=True, help="Show each original with its copies, when all are judged.")
@click.option("--dry-run", is_flag=True, help="Judge each file against the index by itself, and add nothing to it.")
@click.option(
    "--sync",
    is_flag=True,
    help="First delete from the index the documents of these folders whose files are gone from disk.",
)
@report_files
@field_names
@reading
@file_selection
@verbose
@common()
def check(**arguments: Any) -> None:
    """Check files in, one after another, and show the verdict on each.

    \b
      gate check notes/
      gate check notes/ --index notes.sqlite        keep the index for the next time
      gate check notes/ --html report.html          a page to look at, sort, search and pass on
      gate check *.md --fail-on-similar             for a script or a commit hook
      gate check new/ --index notes.sqlite --dry-run
      gate check notes/ --index notes.sqlite --sync

    Every file is a document, and so is everything in an archive. Its id is its path relative to the folder, or the path
    as given where files or several folders are named. The files are compared with each other and, with --index, with
    everything that was checked in before; a file whose content has changed since is a revision of itself. Files that
    cannot be read are skipped and summarised by reason; with --strict the exit code is then 1. Hidden files are left
    out, and counted.

    A match that is a file which is gone from disk is marked as gone. With --sync such documents of the folders that are
    checked are shown and deleted first, so that what was refused because of them is judged anew; those of other folders
    stay. With --dry-run they are only shown.

    Of more than 200 documents the table has the similar ones only (--all: each); --json, --csv and --html have all.

    The oldest file is judged first, by the time of its last change, so that the original is the oldest of its copies.
    A symbolic link, and any further hard link of a file, is shown as a link and is no document.
    """
    from gate.cli.check import check

    check(**arguments)


@click.command()
@click.argument(
    "files", metavar="A B", nargs=-1, type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True)
)
@fingerprint_option("Compare this fingerprint, 16 hexadecimal digits, in the place of a file.", "fingerprints")
@threshold
@click.option("--passages/--no-passages", default=True, help="Show the texts with the passages that they share marked.")
@click.option("--full", is_flag=True, help="Show long passages in full.")
@common(index=False)
def compare(**arguments: Any) -> None:
    """Compare two text files: how alike they are, and where.

    \b
      gate compare draft.txt final.txt
      gate compare --no-passages a.txt b.txt
      gate compare draft.txt --fingerprint 0123456789abcdef --threshold 0.8
      pdftotext report.pdf - | gate compare - report.txt

    Passages that both texts share are green, the others yellow; in a pipe the shared ones are put in [[brackets]].
    Of a long passage only the beginning and the end are shown. A file named - is read from standard input.
    """
    from gate.cli.compare import compare

    compare(**arguments)


@click.command()
@click.argument("what", metavar="[ID|FILE]", required=False)
@fingerprint_option("Look for this fingerprint instead: 16 hexadecimal digits.")
@threshold
@click.option(
    "--as", "kind", type=click.Choice(["id", "file"]), help="What the argument is; by default it may be either."
)
@common()
def similar(**arguments: Any) -> None:
    """Find documents in the index that are like one of them, like a file, or near a fingerprint.

    \b
      gate similar reports/2026.txt --index notes.sqlite
      gate similar draft.txt --as file --threshold 0.5 --index notes.sqlite
      gate similar --fingerprint 0123456789abcdef --threshold 0.8 --index notes.sqlite

    The argument is an id that the index knows, or else a file. A file named - is read from standard input.

    Where a profile decides by fingerprints, and of a fingerprint, the threshold is the share of equal bits, from 0.625
    on, and all that is as near is found: below 0.75 every fingerprint of the index is scanned, and the answer says so.
    Elsewhere it is a resemblance. Below the profile's, fewer of the similar documents are found the less alike they
    are: `gate plan` shows how many. Documents that were refused as copies are not in the index, unless the profile says
    index = "all": from a copy its original is found, but not the other way round.
    """
    from gate.cli.documents import similar

    similar(**arguments)


@click.command()
@click.argument("document_id", metavar="ID")
@click.option("--details", is_flag=True, help="Show title, path, size and time too, as they are kept.")
@common()
def explain(**arguments: Any) -> None:
    """Say why a document got its verdict: what matched, by which measure, under which profile.

    \b
      gate explain reports/2026.txt --index notes.sqlite
      gate explain reports/2026.txt --index notes.sqlite --details
      gate explain reports/2026.txt --index notes.sqlite --json
    """
    from gate.cli.documents import explain

    explain(**arguments)


@click.command()
@click.argument("document_ids", metavar="[ID...]", nargs=-1)
@click.option(
    "--from-file",
    metavar="FILE",
    type=click.File("rb"),
    help="Read ids from this file too, one per line; - is standard input.",
)
@common()
def delete(**arguments: Any) -> None:
    """Delete documents from the index: documents that were refused as their copies can be checked in again.

    \b
      gate delete reports/2026.txt drafts/a.txt --index notes.sqlite
      gate delete --from-file gone.txt --index redis://localhost:6379/0
      grep -l obsolete -r notes/ | gate delete --from-file - --index notes.sqlite

    An unknown id is reported and is no error, so a delete may be repeated.
    """
    from gate.cli.documents import delete

    delete(**arguments)


@click.command()
@click.option("--seed", default=7, show_default=True, help="Another seed draws other unrelated documents.")
@click.option(
    "--unrelated", default=40, show_default=True, type=click.IntRange(0, 100_000), help="Number of unrelated documents."
)
@click.option(
    "--write",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the documents to this folder too.",
)
@common(index=False)
def demo(**arguments: Any) -> None:
    """See the gate work: originals, copies, parts and unrelated documents, checked in one after another.

    \b
      gate demo
      gate demo --profile simhash
      gate demo --write demo/

    The index is in memory, and gone afterwards.
    """
    from gate.cli.demo import demo

    demo(**arguments)
