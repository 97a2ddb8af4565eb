"""The tables and plots of the experiment `roth-2013`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor

import numpy as np
from numpy.typing import NDArray

from gate.core.simhash import distance
from gate.lab import roth_2013_paper as paper
from gate.lab.experiment import Plot, Proportion, Row, Series, Table, per_cent
from gate.lab.roth_2013_paper import BITS
from gate.lab.truth import LEAST, Corpus

SCATTERED, PASSAGE, ORDER = "words here and there", "one passage", "another order"
LISTED = 12  # control documents in the table that names them
SEEN = (100, 95, 90, 85, 80, 75, 70)  # per cent; the paper's view ends at 70
APART = 0.2  # between the points of one variant, so that none hides another

Variant = tuple[str, str]  # its name, and how words come in or go
Distances = NDArray[np.int64]


def similarity(apart: Distances) -> NDArray[np.float64]:
    agreeing: NDArray[np.float64] = 1.0 - apart / BITS
    return agreeing


def paper_values(variant: Variant) -> list[float]:
    """The values that the paper reports of a variant."""
    return [value for (_, name), value in paper.SIMILARITIES.items() if name == variant[0]]


def variant_table(made: Sequence[Variant], apart: Distances, radius: int) -> Table:
    rows: list[Row] = []
    for column, variant in enumerate(made):
        own = apart[:, column]
        rows.append(
            {
                "variant": variant[0],
                "changed": variant[1] or "nothing",
                "found": Proportion(int((own <= radius).sum()), len(own)),
                "mean similarity": float(similarity(own).mean()),
                "lowest": float(similarity(own).min()),
                "highest": float(similarity(own).max()),
                "paper, from": min(paper_values(variant), default=None),
                "paper, to": max(paper_values(variant), default=None),
            }
        )
    return Table(
        name="variants",
        title="Controlled variants and how many of them are found",
        rows=rows,
        note="i_N and d_N: N % of the words inserted or deleted. The paper's figures are single documents of Table 20.",
    )


def profile_table(made: Sequence[Variant], found: Mapping[str, NDArray[np.bool_]]) -> Table:
    rows: list[Row] = []
    for column, (variant, way) in enumerate(made):
        shares = {name: Proportion(int(yes[:, column].sum()), len(yes)) for name, yes in found.items()}
        rows.append({"variant": variant, "changed": way or "nothing", **shares})
    title = "The same variants under the gate's own profiles: share that is called alike"
    return Table(name="profiles", title=title, rows=rows)


def error_table(errors: Mapping[str, Proportion]) -> Table:
    rows: list[Row] = [
        {"profile": name, "pairs called alike": precise.total, "false": precise.total - precise.count, "true": precise}
        for name, precise in errors.items()
    ]
    return Table(
        name="errors",
        title="Pairs of the corpus itself that these profiles call alike",
        rows=rows,
        note=f"True: {per_cent(LEAST, 0)} or more of their 3-word shingles in common. What finds every variant "
        f"because it calls "
        "everything alike is of no use at a gate.",
    )


def control_table(
    corpus: Corpus,
    controls: Sequence[int],
    made: Sequence[Variant],
    apart: Distances,
    prints: NDArray[np.uint64],
    radius: int,
) -> Table:
    """As Table 20 lists them: each control document, the similarity of its variants, and what else is similar."""
    scattered = [(column, name) for column, (name, way) in enumerate(made) if way != PASSAGE]
    rows: list[Row] = []
    for row, control in enumerate(controls[:LISTED]):
        others = int((distance(prints, int(prints[control])) <= radius).sum()) - 1
        rows.append(
            {"document": corpus.ids[control]}
            | {name: float(similarity(apart[row, column])) for column, name in scattered}
            | {"other documents found": others}
        )
    title = f"Similarity of the variants by control document (the first {min(LISTED, len(controls))}; {SCATTERED})"
    return Table(name="controls", title=title, rows=rows)


def print_table(
    corpus: Corpus,
    controls: Sequence[int],
    made: Sequence[Variant],
    prints: NDArray[np.uint64],
    copied: NDArray[np.uint64],
) -> Table:
    """Table 20: the fingerprint of each controlled file and the share of bits in which it agrees with its control, and
    the paper's of a file of that name."""
    rows: list[Row] = []
    # Those that the paper has come first: of a long table a page has the beginning.
    known = sorted(enumerate(controls), key=lambda one: paper.fingerprint_of(corpus.ids[one[1]], "") is None)
    for row, control in known:
        name = corpus.ids[control].rpartition("/")[2].removesuffix(".txt")
        own = [("", int(prints[control]))]
        own += [(variant, int(copied[row, i])) for i, (variant, way) in enumerate(made) if way != SCATTERED]
        for variant, value in own:
            theirs = paper.fingerprint_of(corpus.ids[control], variant)
            beside = paper.fingerprint_of(corpus.ids[control], "")
            rows.append(
                {
                    "file": f"{name}_{variant}" if variant else name,
                    "fingerprint": f"{value:016x}",
                    "similarity": 1.0 - distance(value, own[0][1]) / BITS if variant else None,
                    "paper: fingerprint": f"{int(theirs, 2):016x}" if theirs else None,
                    "paper: similarity": paper.similarity_of(theirs, beside) if variant and theirs and beside else None,
                }
            )
    return Table(
        name="fingerprints",
        title="Fingerprints of the controlled files, beside the paper's (Table 20)",
        rows=rows,
        note="Insertions and deletions of one passage. Grams are hashed by another function here than in the paper, so "
        "fingerprints of one text differ; what compares is the similarity.",
        shown=36,
    )


def spread(prints: NDArray[np.uint64]) -> Distances:
    """How many pairs of the corpus are 0, 1, ... 64 bits apart."""
    counts = np.zeros(BITS + 1, np.int64)
    for i in range(1, len(prints)):
        counts += np.bincount(distance(prints[:i], int(prints[i])), minlength=BITS + 1)
    return counts


def view_table(prints: NDArray[np.uint64]) -> Table:
    counts = spread(prints)
    rows: list[Row] = []
    for percent in SEEN:
        bits = floor(BITS * (100 - percent) / 100 + 1e-9)
        pairs = Proportion(int(counts[: bits + 1].sum()), int(counts.sum()))
        theirs = paper.VIEW if percent == SEEN[-1] else None
        rows.append(
            {
                "similarity from": f"{percent} %",
                "bits": bits,
                "pairs": pairs.count,
                "of all": pairs,
                "paper, of all": theirs,
            }
        )
    return Table(
        name="pairs",
        title="Pairs of the corpus itself by threshold",
        rows=rows,
        note="Each pair once. The paper's view joins all documents with all others, so its 21,864 rows are half as "
        "many pairs.",
    )


def variant_plot(made: Sequence[Variant], apart: Distances, least: float) -> Plot:
    names = list(dict.fromkeys(name for name, _ in made))
    series: list[Series] = []
    for number, way in enumerate(
        ways := [way for way in ("", SCATTERED, PASSAGE, ORDER) if any(w == way for _, w in made)]
    ):
        columns = [column for column, (_, own) in enumerate(made) if own == way]
        offset = APART * (number - 0.5 * len(ways)) if way in (SCATTERED, PASSAGE) else 0.0
        places = [names.index(made[column][0]) + offset for column in columns]
        agreeing = similarity(apart[:, columns])
        series.append(
            Series(
                label=f"{way or 'a copy'}: mean, lowest to highest",
                x=places,
                y=agreeing.mean(axis=0).tolist(),
                low=agreeing.min(axis=0).tolist(),
                high=agreeing.max(axis=0).tolist(),
                line=False,
            )
        )
    theirs = [(names.index(name) + APART, value) for (_, name), value in paper.SIMILARITIES.items() if name in names]
    if theirs:
        series.append(Series(label="paper, Table 20", x=[x for x, _ in theirs], y=[y for _, y in theirs], line=False))
    return Plot(
        name="variants",
        title="Similarity of controlled variants with their originals",
        x_label="variant (i_N: N % of the words inserted, d_N: deleted)",
        y_label="equal bits / 64",
        ticks=names,
        series=series,
        levels={f"similar from {per_cent(least, 0)}": least},
    )


def view_plot(prints: NDArray[np.uint64], radius: int) -> Plot:
    counts = spread(prints)
    shares = (counts / max(int(counts.sum()), 1)).tolist()
    return Plot(
        name="distances",
        title="All pairs of the corpus by the distance of their fingerprints",
        x_label="differing bits",
        y_label="share of pairs",
        kind="steps",
        series=[Series(label="pairs of the corpus", x=[float(d) for d in range(BITS + 1)], y=shares)],
        marks={f"similar up to {radius} bits": float(radius)},
    )
