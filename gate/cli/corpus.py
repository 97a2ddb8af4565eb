"""`gate demo`: a small corpus with planted copies, judged before your eyes."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from gate import demo as planted
from gate.cli import show
from gate.cli.common import Options, common, emit, load, open_gate, verdict_line
from gate.config.index import MEMORY
from gate.errors import ConfigError
from gate.model import Relation

NEXT = """\
What to try next:
  gate demo --write demo/                                  the same documents as files
  gate check demo/ --index demo.sqlite                     judge them, and keep the index
  gate explain inbox/bread-part.txt --index demo.sqlite    why that verdict?
  gate compare demo/archive/lighthouse.txt demo/inbox/lighthouse-edited.txt
  gate plan --documents 10000000                           what a large index costs and finds"""


@click.command(short_help="See the gate work on a small corpus with planted copies.")
@click.option("--seed", default=7, show_default=True, help="Another seed draws other strangers.")
@click.option(
    "--strangers", default=40, show_default=True, type=click.IntRange(0, 100_000), help="Unrelated documents."
)
@click.option(
    "--write",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the documents to this folder too.",
)
@common(index=False)
def demo(*, seed: int, strangers: int, folder: Path | None, options: Options) -> None:
    """See the gate work: originals, copies, parts and strangers, checked in one after another.

    \b
      gate demo
      gate demo --profile simhash
      gate demo --write demo/

    Nothing is kept: the index is in memory.
    """
    settings = load(options)
    documents = planted.corpus(seed, strangers)
    if folder is not None:
        try:
            _write(folder, documents)
        except OSError as exc:
            raise ConfigError(f"{exc.filename or folder}: cannot be written: {exc.strerror}") from exc
    with open_gate(settings, index=MEMORY) as gate:
        verdicts = gate.check_in([plant.document for plant in documents])
    if options.json:
        for verdict in verdicts:
            emit(verdict_line(verdict))
        return
    out = show.console()
    shown = show.table(
        out, "checked in", "what it is", "verdict", "like", "resemblance", "bits", right=("resemblance", "bits")
    )
    quiet = 0
    for plant, verdict in zip(documents, verdicts):
        if plant.expected is Relation.NEW and plant.story == "unrelated" and verdict.relation is Relation.NEW:
            quiet += 1
            continue
        best = verdict.matches[0] if verdict.matches else None
        shown.add_row(
            show.cell(show.named(verdict.document_id, verdict.version)),
            Text(plant.story, style="dim"),
            show.relation(verdict.relation),
            show.cell(best.document_id if best else None),
            show.fraction(best.resemblance if best else None),
            show.bits(best.distance if best else None),
        )
    out.print(shown)
    out.print(Text(f"{show.tally(verdicts)}."))
    out.print(Text(f"{quiet} unrelated ones are not shown.", style="dim"))
    out.print()
    out.print(Text(NEXT))


def _write(folder: Path, documents: list[planted.Planted]) -> None:
    """The documents as files; of a document in two versions the last is kept."""
    for plant in documents:
        path = folder / plant.document.document_id
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(plant.document.text, encoding="utf-8")
