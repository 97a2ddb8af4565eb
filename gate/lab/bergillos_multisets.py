"""Pairs of texts as sets and as multisets of shingles: exact, and as a sketch estimates them.

In a multiset a shingle counts as often as it occurs. A sketch of the numbered occurrences (`multisets = true` in a
profile) estimates that resemblance as one of the shingles estimates that of the sets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gate.core.length_filter import resemblances
from gate.core.minhash import numbered, resemblance, signatures
from gate.core.profile import Profile
from gate.lab.experiment import Plot, Row, Section, Series, Table
from gate.lab.scores import extract_features

TITLE = "As sets and as multisets: exact, and estimated"


def multiset_section(texts: Sequence[str], profile: Profile, functions: int) -> Section:
    """Pairs are texts side by side, the first with the second, the third with the fourth."""
    features = extract_features(texts, profile)
    order = np.arange(0, len(texts), 2)
    pairs = np.stack([order, order + 1], axis=1)
    series: list[Series] = []
    rows: list[Row] = []
    for name, multisets in (("sets", False), ("multisets", True)):
        exact = resemblances(features, pairs, multisets=multisets)
        signed = signatures(numbered(features) if multisets else features, functions)[0]
        estimates = resemblance(signed[::2], signed[1::2])
        errors = estimates - exact
        rows.append(
            {
                "compared as": name,
                "lowest": float(exact.min()),
                "mean": float(exact.mean()),
                "highest": float(exact.max()),
                "mean error": float(errors.mean()),
                "standard deviation": float(errors.std()),
                "expected": float(np.sqrt(np.mean(exact * (1.0 - exact)) / functions)),
            }
        )
        series.append(Series(label=name, x=exact.tolist(), y=estimates.tolist(), line=False))
    every = [x for one in series for x in one.x]
    ends = [min(every), max(every)]
    return Section(
        TITLE,
        [
            Plot(
                name="multisets",
                title=TITLE,
                x_label="exact resemblance",
                y_label=f"estimate by {functions} values",
                series=[*series, Series(label="exact", x=ends, y=ends)],
            ),
            Table(
                name="multisets",
                title=TITLE,
                rows=rows,
                note="Expected: the standard deviation of independent functions, sqrt(J (1 - J) / t).",
            ),
        ],
    )
