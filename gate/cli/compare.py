"""`gate compare`: two texts side by side."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from gate.api import Comparison
from gate.cli import files, show
from gate.cli.common import Options, common, emit, load, open_gate
from gate.config.index import MEMORY
from gate.model import Relation

SIDE_BY_SIDE = 140  # columns: with fewer, lines of usual length would be folded


@click.command()
@click.argument("left", metavar="A", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@click.argument("right", metavar="B", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@click.option("--passages/--no-passages", default=True, help="Show the texts with what they share marked.")
@click.option("--full", is_flag=True, help="Show long passages to the last word, too.")
@common(index=False)
def compare(left: Path, right: Path, *, passages: bool, full: bool, options: Options) -> None:
    """Compare two text files: how alike they are, and where.

    \b
      gate compare draft.txt final.txt
      gate compare --no-passages a.txt b.txt
      pdftotext report.pdf - | gate compare - report.txt

    Passages that both texts share are green, the others yellow; in a pipe the shared ones are put in [[brackets]].
    Of a long passage only the beginning and the end are shown. A file named - is read from standard input.
    """
    if str(left) == str(right) == "-":
        raise click.UsageError("only one of the two can be read from standard input")
    settings = load(options)
    first, second = (files.read_named(path, max_chars=settings.limits.max_document_chars) for path in (left, right))
    with open_gate(settings, index=MEMORY) as gate:
        [found] = gate.compare([(first, second)], show_passages=passages)
    if options.json:
        emit(_as_json(found, passages=passages))
        return
    out = show.console()
    _measures(out, found, names=(str(left), str(right)), resemblance=show.resemblance_of(settings.profile))
    if passages:
        out.print(_both(out, found, names=(str(left), str(right)), full=full))


def _as_json(found: Comparison, *, passages: bool) -> dict[str, object]:
    told: dict[str, object] = {
        "alike": found.alike,
        "relation": found.relation,
        "distance": found.distance,
        "resemblance": found.resemblance,
        "containment": found.containment,
        "fingerprints": found.fingerprints,
    }
    if passages:
        told["passages"] = [
            [{"text": passage.text, "shared": passage.shared} for passage in side] for side in found.passages
        ]
    return told


def _measures(out: Console, found: Comparison, *, names: tuple[str, str], resemblance: str) -> None:
    verdict = Text("alike" if found.alike else "not alike", style="bold red" if found.alike else "bold green")
    if found.relation is not Relation.NEW:
        verdict.append(f" ({found.relation.value})", style=show.STYLES[found.relation])
    shown = show.table(out, "measure", "value", "meaning")
    left, right = found.fingerprints
    a_in_b, b_in_a = found.containment
    for name, value, meaning in (
        ("verdict", verdict, "under this profile's thresholds"),
        ("resemblance", show.fraction(found.resemblance), resemblance),
        ("A in B", show.fraction(a_in_b), "features of A that B has too"),
        ("B in A", show.fraction(b_in_a), "features of B that A has too"),
        ("distance", show.bits(found.distance), "bits of 64 in which the fingerprints differ"),
        ("fingerprint A", show.cell(left), names[0]),
        ("fingerprint B", show.cell(right), names[1]),
    ):
        shown.add_row(name, value, Text(show.printable(meaning), style="dim"))
    out.print(shown)


def _both(out: Console, found: Comparison, *, names: tuple[str, str], full: bool) -> RenderableType:
    """Both texts, each under its name: side by side where there is room."""
    colour = out.is_terminal
    texts = [show.passages(side, colour=colour, full=full) for side in found.passages]
    labels = [f"{letter}: {show.printable(name)}" for letter, name in zip("AB", names)]
    if not colour:
        return Group(*(part for text, label in zip(texts, labels) for part in (Text(f"\n--- {label}"), text)))
    panels = [Panel(text, title=Text(label), title_align="left") for text, label in zip(texts, labels)]
    if out.width < SIDE_BY_SIDE:
        return Group(*panels)
    grid = Table.grid(expand=True)
    grid.add_column(ratio=1)
    grid.add_column(ratio=1)
    grid.add_row(*panels)
    return grid
