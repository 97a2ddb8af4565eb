"""The plots of the experiment `cherkasova`, each named for the paper's figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gate.core.profile import Profile
from gate.lab.experiment import Plot, Series
from gate.lab.planting import Edit
from gate.lab.sampling import SimilarityCurves, SimilarPairs, label, mean, window_of

DONE = {Edit.INSERT: "inserted", Edit.DELETE: "removed"}
THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def window_plot(method: str, by_window: Sequence[Profile], found: SimilarityCurves) -> Plot:
    own = [profile for profile in by_window if profile.method.name == method]
    return Plot(
        name=f"figure-2-{method}",
        title=f"Figure 2: average similarity under {label(own[0])} by window",
        x_label="words inserted",
        y_label="average similarity",
        series=[
            Series(label=f"{window_of(p)} bytes", x=list(map(float, found[p])), y=[mean(v) for v in found[p].values()])
            for p in own
        ],
    )


def overlap_plot(name: str, profiles: Sequence[Profile], strange: Mapping[Profile, SimilarPairs]) -> Plot:
    one_window = len({window_of(profile) for profile in profiles}) == 1
    series: list[Series] = []
    for profile in profiles:
        values = np.sort(strange[profile].similarity)
        shares = 1.0 - (values.size - np.arange(1, values.size + 1)) / max(strange[profile].total, 1)
        called = label(profile) if one_window else f"{window_of(profile)} bytes"
        series.append(Series(label=called, x=values.tolist(), y=shares.tolist()))
    shown = "Figure 4: different documents, window 20" if one_window else f"Figure 3: {label(profiles[0])} by window"
    return Plot(
        name=name,
        title=f"{shown}: share of pairs that are no more alike",
        x_label="similarity of two different documents",
        y_label="share of pairs",
        kind="steps",
        series=series,
        note="Pairs with nothing in common are below each curve's beginning.",
    )


def curve_plot(name: str, title: str, profiles: Sequence[Profile], found: SimilarityCurves, edit: Edit) -> Plot:
    return Plot(
        name=name,
        title=title,
        x_label=f"words {DONE[edit]}",
        y_label="average similarity",
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


def pair_plot(pairs: Mapping[Profile, SimilarPairs]) -> Plot:
    return Plot(
        name="figure-9",
        title="Figure 9: pairs of the corpus from a similarity on",
        x_label="similarity",
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
