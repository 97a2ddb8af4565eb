"""Commands about an index as a whole: what it holds, whether it is consistent, and how it is moved elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gate.cli.commands.shared import content_root, field_names, threshold, verbose
from gate.cli.common import F, brokers, common

# Those of `gate.model.Relation`, which completion does without.
RELATIONS = (
    "new", "exact", "near", "contained", "contains", "revision", "too_short", "empty", "unreadable", "undecided"
)  # fmt: skip


@click.group()
def index() -> None:
    """Inspect an index, repair it, move it elsewhere.

    \b
      gate index info --index notes.sqlite
      gate index documents --index notes.sqlite --title report
      gate index pairs --index notes.sqlite
      gate index groups --index notes.sqlite
      gate index verify --index redis://localhost:6379/0 --fix
      gate index export --index notes.sqlite -o notes.jsonl
      gate index import notes.jsonl --index redis://localhost:6379/0
      gate index rebuild events.jsonl --index new.sqlite
    """


@index.command(short_help="Show how much an index holds.")
@common()
def info(**arguments: Any) -> None:
    """Show how many documents, entries and postings an index holds, and how many bytes.

    \b
      gate index info --index notes.sqlite
      gate index info --index redis://localhost:6379/0 --json

    The whole index is read. In Redis, bytes are estimated from a sample of the keys.
    """
    from gate.cli.index import info

    info(**arguments)


def _listed(what: str) -> Callable[[F], F]:
    """Add the options of a list."""

    def decorate(command: F) -> F:
        decorated: Any = command
        for option in (
            click.option(
                "--format",
                "form",
                type=click.Choice(["table", "csv", "jsonl"]),
                help="A table, or for programs CSV or JSON Lines; --json is jsonl.",
            ),
            click.option("--limit", metavar="N", type=click.IntRange(1), help=f"List at most so many {what}."),
        ):
            decorated = option(decorated)
        typed: F = decorated
        return typed

    return decorate


@index.command(short_help="List the documents of an index.")
@click.option("--id-prefix", metavar="TEXT", default="", help="Only documents whose id begins so.")
@click.option(
    "--title", metavar="TEXT", default="", help="Only documents whose title contains this, whatever the case."
)
@click.option("--relation", type=click.Choice(RELATIONS), help="Only documents with this verdict.")
@click.option("--group", metavar="ID", help="Only the family of this document.")
@_listed("documents")
@common()
def documents(*, id_prefix: str, title: str, relation: str | None, group: str | None, **arguments: Any) -> None:
    """List the documents that an index holds, each by its latest content.

    \b
      gate index documents --index notes.sqlite
      gate index documents --index notes.sqlite --relation near --format csv
      gate index documents --index redis://localhost:6379/0 --id-prefix reports/ --json

    The relation is that of the verdict on a document, the group the id of the first of its family. CSV and JSON have
    the details of each document too. The order is that of the ids; in Redis there is none, and a document may come
    twice.
    """
    from gate.cli.listings import documents
    from gate.index.tools.listing import DocumentFilter
    from gate.model import Relation

    kind = None if relation is None else Relation(relation)
    documents(matching=DocumentFilter(id_prefix=id_prefix, title=title, relation=kind, group=group), **arguments)


@index.command(short_help="List all pairs of documents that are alike.")
@threshold
@_listed("pairs")
@common()
def pairs(**arguments: Any) -> None:
    """List all pairs of documents in an index that are alike.

    \b
      gate index pairs --index notes.sqlite
      gate index pairs --index archive.sqlite --profile simhash --threshold 0.9 --format csv

    Every document is looked up as by `gate similar`, with the same thresholds. Under a profile that keeps all
    documents (index = "all") each pair is listed once. Where the originals are kept, a pair is a refused copy and what
    it is like, or with a lower threshold two originals.
    """
    from gate.cli.listings import pairs

    pairs(**arguments)


@index.command(short_help="List all families: each original with its copies.")
@_listed("families")
@common()
def groups(**arguments: Any) -> None:
    """List all families of an index with their members, the largest first: a line for each member, the original first.

    \b
      gate index groups --index notes.sqlite
      gate index groups --index redis://localhost:6379/0 --format csv

    A document belongs to the family of the first document that it was like when it came.
    """
    from gate.cli.listings import groups

    groups(**arguments)


@index.command(short_help="Check that an index is consistent, and repair it.")
@click.option("--fix", is_flag=True, help="Repair what is wrong.")
@click.option(
    "--pause",
    metavar="SECONDS",
    type=click.FloatRange(0.0),
    default=1.0,
    show_default=True,
    help="How long to wait before a suspected fault is looked at again.",
)
@common()
def verify(**arguments: Any) -> None:
    """Check that everything in an index is where it belongs, and repair it with --fix.

    \b
      gate index verify --index notes.sqlite
      gate index verify --index redis://localhost:6379/0 --fix

    Workers may go on meanwhile: a suspected fault is looked at again after a pause, since it may be a check-in that is
    just being written. Repairs are safe beside them too, and may be repeated. The exit code is 1 if faults are left.
    """
    from gate.cli.index import verify

    verify(**arguments)


@index.command(short_help="Write an index to a file.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file, which appears when it is complete, and not to stdout.",
)
@common()
def export(**arguments: Any) -> None:
    """Write everything that an index holds to a file of JSON Lines, which any other index can import.

    \b
      gate index export --index notes.sqlite -o notes.jsonl
      gate index export --index redis://localhost:6379/0 | zstd > index.jsonl.zst

    The file holds document ids, signatures and answers, but no text. What workers change meanwhile may be in it in
    part: `gate index verify --fix` repairs that after the import.
    """
    from gate.cli.index import export

    export(**arguments)


@index.command(name="import", short_help="Fill a new index from a file that was exported.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--resume", is_flag=True, help="Continue an import that was interrupted.")
@common()
def import_(**arguments: Any) -> None:
    """Fill a new index from a file that `gate index export` wrote, whatever kind of index that was.

    \b
      gate index import notes.jsonl --index redis://localhost:6379/0
      gate index import notes.jsonl --index redis://localhost:6379/0 --resume

    Every document gets the same verdict again as before. The profile has to sign as the exported one did, with the
    same secret; its name and its thresholds may differ. Start no worker on the index before the import is complete.
    """
    from gate.cli.index import import_

    import_(**arguments)


@index.command(short_help="Begin a new generation of an index in Redis.")
@common()
def rotate(**arguments: Any) -> None:
    """Begin a new generation of an index in Redis, and drop the one before the last.

    \b
      gate index rotate --index redis://localhost:6379/0

    This deletes the documents that came before the last rotation. With redis_window_days the workers rotate by
    themselves; they may go on working meanwhile.
    """
    from gate.cli.index import rotate

    rotate(**arguments)


@index.command(short_help="Make a generation live that was filled aside.")
@click.argument("name", metavar="NAME")
@click.option("--drop-older", is_flag=True, help="Drop the older of two live generations, to make room.")
@common()
def promote(**arguments: Any) -> None:
    """Make a generation live that `gate replay --into-generation NAME` has filled, beside the one that is written to.

    \b
      gate index promote 2019 --index redis://localhost:6379/0

    Workers may go on meanwhile. A check-in is judged wholly before the promotion or wholly after it: from then on
    copies of the promoted documents are found. Documents that passed before, here and there, all stay. The promoted
    generation is the older one, which the next rotation drops. An interrupted promotion is completed by the same
    command.
    """
    from gate.cli.staging import promote

    promote(**arguments)


@index.command(short_help="Give up a generation that was filled aside.")
@click.argument("name", metavar="NAME")
@common()
def drop(**arguments: Any) -> None:
    """Remove a generation that `gate replay --into-generation NAME` has filled and that was not promoted.

    \b
      gate index drop 2019 --index redis://localhost:6379/0

    Live documents stay. A replay that still fills the generation stops with an error.
    """
    from gate.cli.staging import drop

    drop(**arguments)


@index.command(short_help="Fill a new index from check-ins or verdicts.")
@click.argument(
    "inputs",
    metavar="[FILES...]",
    nargs=-1,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
)
@click.option("--from-topic", is_flag=True, help="Read the check-ins from their topics, not from files.")
@brokers
@click.option("--resume", is_flag=True, help="Continue a rebuild that was interrupted.")
@click.option(
    "--recover",
    is_flag=True,
    help="Of an index that was lost or lost a part: keep and repair what is left, and fill in the rest.",
)
@click.option("--dead-letters", metavar="FILE", type=click.Path(path_type=Path), help="As in gate run.")
@content_root
@field_names
@verbose
@common()
def rebuild(**arguments: Any) -> None:
    """Fill a new index from JSON Lines of check-ins, or of the verdicts on them, or from the topic of check-ins.

    \b
      gate index rebuild events.jsonl --index redis://localhost:6379/0
      gate index rebuild verdicts.jsonl --profile simhash --index new.sqlite
      gate index rebuild --from-topic --kafka localhost:9092 --index redis://localhost:6379/0

    Check-ins and deletes are judged again, in the order of the files, so the same documents pass as before. A message
    that cannot be judged is dead-lettered, as `gate run` does it, and the exit code is 1.

    Verdicts hold no text, but a fingerprint, which is enough for a profile that stores nothing else, such as simhash.
    The lines have to be in the order of the check-ins, and deletes are not among them; a verdict that comes out
    otherwise is counted, and the exit code is 1. Other profiles are rebuilt from their check-ins, or moved by `gate
    index export` and `import`.

    A topic is read from its beginning to its present end, deletes included, in the order of time over all partitions.
    Start the workers once this is done: at their committed offsets, or at the beginning, which changes nothing.

    \b
      gate index rebuild --from-topic --recover --kafka localhost:9092 --index redis://localhost:6379/0

    After Redis lost an index or a part of it, that is all there is to do: workers that wait go on by themselves when it
    is done, since the index then says which one it replaces. It may be repeated. What the topic no longer holds cannot
    be filled in.
    """
    from gate.cli.rebuild import rebuild

    rebuild(**arguments)
