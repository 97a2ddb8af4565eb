"""The plots of the experiment `cherkasova`, each named for the paper's figure, with the paper's values beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gate.core.profile import Profile
from gate.lab.experiment import Plot, Series, per_cent
from gate.lab.sampling import Change, Measure, SimilarityCurves, SimilarPairs, label, mean, window_of
from gate.lab.truth import Ints

THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
MEASURED = {"entries": "similarity of the entries as sets", "estimate": "estimated resemblance"}
# What the paper says in words; its plots give no more than the eye can read.
PAPER_CURVES = {("Mod_100", 100, 50): 0.66, ("Mod_100", 5, 50): 0.97}
PAPER_OVERLAP = (0.2, 0.05)  # Mod_100, 5 bytes: more than 5 % of the pairs are above 20 %
PAPER_ANYTHING = {"Mod_100": 0.28, "BSW_100": 0.10}  # pairs with anything in common, 20 bytes
PAPER_BYTES = {"the paper's reports": (9_000, 540_000), "most of the paper's Collection 1": (600, 1_500)}


def size_plot(name: str, title: str, sizes: Mapping[str, Ints], paper: str) -> Plot:
    """Bytes of documents in the order of their length; level lines where the paper says between what its are."""
    low, high = PAPER_BYTES[paper]
    return Plot(
        name=name,
        title=title,
        x_label="share of the documents, the shortest first",
        y_label="bytes",
        y_scale="log",
        kind="steps",
        series=[
            Series(label=what, x=((np.arange(own.size) + 1) / own.size).tolist(), y=np.sort(own).astype(float).tolist())
            for what, own in sizes.items()
        ],
        levels={f"{paper}: from {low:,} bytes": float(low), f"to {high:,}": float(high)},
    )


def window_plot(method: str, by_window: Sequence[Profile], found: SimilarityCurves, change: Change) -> Plot:
    own = [profile for profile in by_window if profile.method.name == method]
    name = label(own[0])
    paper = [(n, value) for (algorithm, window, n), value in PAPER_CURVES.items() if algorithm == name]
    said = Series(
        label="paper: 5 and 100 bytes", x=[float(n) for n, _ in paper], y=[value for _, value in paper], line=False
    )
    return Plot(
        name=f"figure-2-{method}-{change.name.lower()}",
        title=f"Figure 2: average similarity under {name} by window, {change}",
        x_label=str(change),
        y_label="average similarity",
        series=[
            *(
                Series(
                    label=f"{window_of(p)} bytes", x=list(map(float, found[p])), y=[mean(v) for v in found[p].values()]
                )
                for p in own
            ),
            *([said] if paper and change is Change.INSERTED else []),
        ],
    )


def overlap_plot(name: str, profiles: Sequence[Profile], strange: Mapping[Profile, SimilarPairs]) -> Plot:
    """How many pairs of different documents are at least so similar. Both axes are logarithmic: most pairs have next to
    nothing in common, and what is dear are the few that have much."""
    one_window = len({window_of(profile) for profile in profiles}) == 1
    series: list[Series] = []
    for profile in profiles:
        values, counts = np.unique(strange[profile].similarity, return_counts=True)
        shares = np.cumsum(counts[::-1])[::-1] / max(strange[profile].total, 1)
        called = label(profile) if one_window else f"{window_of(profile)} bytes"
        series.append(Series(label=called, x=values.tolist(), y=shares.tolist()))
    if not one_window and label(profiles[0]) == "Mod_100":
        at, share = PAPER_OVERLAP
        series.append(Series(label="paper: 5 bytes, at least", x=[at], y=[share], line=False))
    shown = "Figure 4: different documents, window 20" if one_window else f"Figure 3: {label(profiles[0])} by window"
    return Plot(
        name=name,
        title=f"{shown}: share of pairs that are at least so similar",
        x_label="similarity of two different documents",
        y_label="share of pairs",
        x_scale="log",
        y_scale="log",
        kind="steps",
        series=series,
        levels={
            f"paper: {name} finds anything in {per_cent(share, 0)}": share for name, share in PAPER_ANYTHING.items()
        }
        if one_window
        else None,
        note="A curve begins on the left at the share of pairs with anything in common. The paper draws the other "
        "part, pairs that are no more similar, on linear axes.",
    )


def curve_plot(
    name: str, title: str, profiles: Sequence[Profile], found: SimilarityCurves, change: Change, measure: Measure
) -> Plot:
    return Plot(
        name=name,
        title=title,
        x_label=str(change),
        y_label=f"average {MEASURED[measure]}",
        series=[
            Series(label=label(p), x=list(map(float, found[p])), y=[mean(v) for v in found[p].values()])
            for p in profiles
        ],
    )


def spread_plot(name: str, profiles: Sequence[Profile], found: SimilarityCurves, *, edits: int | None = None) -> Plot:
    n = max(next(iter(found.values()))) if edits is None else edits
    return Plot(
        name=name,
        title=f"Figure {'6' if edits is None else '8'}: similarity document by document, {n} words inserted",
        x_label="document, the shortest first",
        y_label="similarity",
        kind="points",
        series=[
            Series(label=label(p), x=list(map(float, range(len(found[p][n])))), y=found[p][n].tolist(), line=False)
            for p in profiles
        ],
    )


def pair_plot(name: str, title: str, pairs: Mapping[Profile, SimilarPairs]) -> Plot:
    return Plot(
        name=name,
        title=title,
        x_label="similarity from which pairs are counted",
        y_label="pairs",
        series=[
            Series(label=label(p), x=list(THRESHOLDS), y=[float(len(f.from_(t).left)) for t in THRESHOLDS])
            for p, f in pairs.items()
        ],
    )


def time_plot(timed: Sequence[Profile], spent: Sequence[float]) -> Plot:
    ticks = list(dict.fromkeys(map(label, timed)))
    return Plot(
        name="figure-11",
        title="Figure 11: processing time of a file of 500 KB",
        x_label="",
        y_label="milliseconds",
        kind="bars",
        ticks=ticks,
        y_scale="log",
        series=[
            Series(
                label=f"window {window}",
                x=[float(ticks.index(label(p))) for p in timed if window_of(p) == window],
                y=[ms for p, ms in zip(timed, spent, strict=True) if window_of(p) == window],
            )
            for window in dict.fromkeys(window_of(p) for p in timed)
        ],
    )
