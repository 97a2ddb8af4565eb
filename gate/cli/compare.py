"""`gate compare`: two texts side by side."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from gate.cli import show, tables
from gate.cli.common import Options, emit, printable
from gate.cli.session import load, open_gate, read_options
from gate.cli.text_argument import read_text_argument
from gate.config.index import MEMORY
from gate.core.compare import Comparison
from gate.core.exact_measures import are_multisets
from gate.core.explanation import LENGTHS
from gate.core.method_parameters import MinHash, SimilarityIndex
from gate.core.profile import Profile
from gate.model import Relation, Subject

SIDE_BY_SIDE = 140  # columns: with fewer, lines of usual length would be folded


def compare(
    files: tuple[Path, ...],
    *,
    fingerprints: tuple[str, ...],
    threshold: float | None,
    passages: bool,
    full: bool,
    options: Options,
) -> None:
    """Show how alike two texts are, and the passages that they share; or how near fingerprints are."""
    if len(files) + len(fingerprints) != 2:
        raise click.UsageError("give two files, a file and a --fingerprint, or two of those")
    names = [*map(str, files), *fingerprints]
    if names == ["-", "-"]:
        raise click.UsageError("only one of the two can be read from standard input")
    settings = load(options)
    subjects = [Subject(text=read_text_argument(path, read_options(settings))) for path in files]
    subjects += [Subject(fingerprint=digits) for digits in fingerprints]
    with open_gate(settings, index=MEMORY) as gate:
        if fingerprints:
            comparison = gate.measure(subjects[0], subjects[1], threshold=threshold)
        else:
            pair = (subjects[0].text or "", subjects[1].text or "")
            [comparison] = gate.compare([pair], show_passages=passages, threshold=threshold)
    if options.json:
        fields = comparison.to_dict()
        if not passages or fingerprints:
            del fields["passages"]
        emit(fields)
        return
    out = tables.console()
    _measures(out, comparison, names=(names[0], names[1]), profile=settings.profile)
    if passages and not fingerprints:
        out.print(_both(out, comparison, names=(names[0], names[1]), full=full))


def _measures(out: Console, comparison: Comparison, *, names: tuple[str, str], profile: Profile) -> None:
    verdict = Text("alike" if comparison.alike else "not alike", style="bold red" if comparison.alike else "bold green")
    if comparison.relation is not Relation.NEW:
        verdict.append(f" ({comparison.relation.value})", style=show.STYLES[comparison.relation])
    left, right = comparison.fingerprints
    (a_in_b, b_in_a), (near_a_in_b, near_b_in_a) = comparison.containment, comparison.estimated_containment
    repeated = ", each as often as it occurs" if are_multisets(profile) else ""
    estimated = comparison.estimated_resemblance
    quotient, ratio = None, comparison.length_ratio
    kind, prints = "fingerprint", [tables.cell(left), tables.cell(right)]
    if isinstance(profile.method, SimilarityIndex):
        quotient, estimated = estimated, None  # of numbers, which estimates no share of features
        kind, prints = "number", [Text(show.similarity_index(left)), Text(show.similarity_index(right))]
    thresholds = "under this profile's thresholds" + ("" if estimated is None else ", by the estimates")
    rows = tables.table(out, "measure", "value", "estimate", "meaning")
    nothing = Text()
    for name, value, estimate, meaning in (
        ("verdict", verdict, nothing, thresholds),
        (
            "resemblance",
            show.fraction(comparison.resemblance),
            show.fraction(estimated),
            f"features that both have, of all that either has{repeated}",
        ),
        ("A in B", show.fraction(a_in_b), show.fraction(near_a_in_b), "features of A that B has too"),
        ("B in A", show.fraction(b_in_a), show.fraction(near_b_in_a), "features of B that A has too"),
        *([] if quotient is None else [("quotient", show.fraction(quotient), nothing, show.resemblance_of(profile))]),
        *([] if ratio is None else [("lengths", show.fraction(ratio), nothing, _about_lengths(profile, ratio))]),
        ("distance", show.bits(comparison.distance), nothing, "bits of 64 in which the fingerprints differ"),
        ("equal bits", show.fraction(comparison.bit_agreement), nothing, "of unrelated texts half are: no resemblance"),
        (f"{kind} A", prints[0], nothing, names[0]),
        (f"{kind} B", prints[1], nothing, names[1]),
    ):
        rows.add_row(name, value, estimate, Text(printable(meaning), style="dim"))
    out.print(rows)


def _about_lengths(profile: Profile, ratio: float) -> str:
    """What the length filter of the profile says of two documents."""
    kind = LENGTHS[profile.method.length_filter] if isinstance(profile.method, MinHash) else "length"
    outcome = "" if ratio >= (profile.resemblance or 0.0) else "; too unequal to be compared under this profile"
    return f"the smaller of the larger, by {kind}{outcome}"


def _both(out: Console, comparison: Comparison, *, names: tuple[str, str], full: bool) -> RenderableType:
    """Both texts, each under its name: side by side where there is room."""
    colour = out.is_terminal
    texts = [show.passages(side, colour=colour, full=full) for side in comparison.passages]
    labels = [f"{letter}: {printable(name)}" for letter, name in zip("AB", names)]
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
