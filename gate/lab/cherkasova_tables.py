"""The tables of the experiment `cherkasova`: curves, what is common by chance, pairs, clusters and times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gate.core.profile import Profile
from gate.lab.cherkasova_plots import PAPER_CURVES, THRESHOLDS
from gate.lab.experiment import Proportion, Row, Table, per_cent
from gate.lab.sampling import (
    Change,
    EditedVersions,
    Measure,
    SimilarityCurves,
    SimilarPairs,
    clusters,
    expected,
    label,
    mean,
    window_of,
)
from gate.lab.truth import LEAST, Corpus, Floats, Ints

SIMILAR = 0.7  # pairs from here on the paper calls near-duplicates
FEW_EDITS = 10
LISTED = 20
# Table 2, Collection 1: 5,040 short documents; pairs that are reported, and how many of them are right.
PAPER_PAIRS = {"Mod_100": "61, 48 right", "any of them": "65", "all of them": "12"}
PAPER_FALSE = {"Mod_100": 13, "Min_100": 1, "Sketch_100": 0, "BSW_100": 1}

CurvesByMeasure = Mapping[Profile, Mapping[Measure, Mapping[int, Floats]]]
Judge = Callable[[Ints, Ints], NDArray[np.bool_]]


def ends(edits: Sequence[int]) -> tuple[int, ...]:
    """A few edits and many: the two numbers that are shown document by document."""
    return tuple(dict.fromkeys((min(edits, key=lambda n: abs(n - FEW_EDITS)), max(edits))))


def curve_table(
    name: str,
    title: str,
    found: Mapping[Change, CurvesByMeasure],
    of: EditedVersions,
    measures: Sequence[Measure],
) -> Table:
    """A row for each profile, change and measure; where measures agree, one for both."""
    rows: list[Row] = []
    for change, by_profile in found.items():
        for profile, by_measure in by_profile.items():
            rows += _curve_rows(profile, change, by_measure, of, measures, many_changes=len(found) > 1)
    note = "All windows: what their whole sets would show if no two of the inserted words were near each other."
    if len(measures) > 1:
        note += " Entries: what two signatures share of all their entries. Estimate: unbiased, as the profiles decide."
    return Table(name=name, title=title, rows=rows, note=note)


def _curve_rows(
    profile: Profile,
    change: Change,
    by_measure: Mapping[Measure, Mapping[int, Floats]],
    of: EditedVersions,
    measures: Sequence[Measure],
    *,
    many_changes: bool,
) -> list[Row]:
    rows: dict[tuple[float, ...], dict[str, object]] = {}
    for measure in measures:
        means = {n: mean(values) for n, values in by_measure[measure].items()}
        most = max(means)
        same = rows.get(tuple(means.values()))
        if same is not None:
            same["measure"] = "both"
            continue
        rows[tuple(means.values())] = (
            {"algorithm": label(profile), "window": window_of(profile)}
            | ({"change": change.removeprefix("words ")} if many_changes else {})
            | ({"measure": measure} if len(measures) > 1 else {})
            | {f"{n} words": value for n, value in means.items()}
            | {"all windows, at the last": expected(of, most, window_of(profile))}
            | {"paper": PAPER_CURVES.get((label(profile), window_of(profile), most))}
        )
    return list(rows.values())


def overlap_table(strange: Mapping[Profile, SimilarPairs]) -> Table:
    rows: list[Row] = []
    for profile, pairs in strange.items():
        above = {
            f"from {per_cent(least, 0)}": Proportion(len(pairs.from_(least).left), pairs.total)
            for least in (0.04, 0.1, 0.2)
        }
        highest = float(pairs.similarity.max()) if len(pairs.left) else 0.0
        rows.append(
            {"algorithm": label(profile), "window": window_of(profile)}
            | {"anything": Proportion(len(pairs.left), pairs.total)}
            | above
            | {"highest": highest}
        )
    title = "Figures 3 and 4: what different documents have in common"
    note = (
        "Share of all pairs. The paper: Mod_100 with a window of 5 finds 20 % and more in over 5 % of its pairs; with "
        "one of 20 it finds anything in 28 %, and BSW_100 in 10 %, all below 4 %."
    )
    return Table(name="overlap", title=title, rows=rows, note=note)


def spread_table(found: SimilarityCurves) -> Table:
    rows: list[Row] = []
    for profile, by_edits in found.items():
        for n in ends(list(by_edits)):
            values = by_edits[n][np.isfinite(by_edits[n])]
            low, middle, high = np.quantile(values, (0.05, 0.5, 0.95)).tolist() if values.size else (None, None, None)
            rows.append(
                {
                    "algorithm": label(profile),
                    "words": n,
                    "5 % below": low,
                    "median": middle,
                    "5 % above": high,
                    "no change seen": Proportion(int((values == 1.0).sum()), len(values)),
                }
            )
    title = "Figures 6 and 8: how far documents spread about the average"
    note = "Words inserted. Few samples miss all changes in many documents, and see too many in others."
    return Table(name="spread", title=title, rows=rows, note=note)


def pair_table(name: str, title: str, pairs: Mapping[Profile, SimilarPairs]) -> Table:
    rows: list[Row] = [
        {"algorithm": label(profile)} | {f"from {per_cent(t, 0)}": len(found.from_(t).left) for t in THRESHOLDS}
        for profile, found in pairs.items()
    ]
    return Table(name=name, title=title, rows=rows)


def by_shingles(corpus: Corpus) -> Judge:
    """A pair is right if so much of its 3-word shingles is in common."""
    return lambda left, right: corpus.jaccard(left, right) >= LEAST


def by_origin(corpus: Corpus) -> Judge:
    """A pair is right if it was made of one document."""
    works = np.unique([corpus.clusters[name] for name in corpus.ids], return_inverse=True)[1]
    return lambda left, right: works[left] == works[right]


def report_table(
    name: str, title: str, pairs: Mapping[Profile, SimilarPairs], judge: Judge, note: str, *, paper: bool = False
) -> Table:
    """Table 2: what each algorithm reports from 70 % on, and how much of it is right."""
    reported = {label(profile): found.from_(SIMILAR).names for profile, found in pairs.items()}
    reported["any of them"] = set().union(*reported.values())
    reported["all of them"] = set.intersection(*reported.values())
    rows: list[Row] = []
    for who, some in reported.items():
        left, right = (
            (np.array(side, np.int64) for side in zip(*sorted(some))) if some else (np.empty(0, np.int64),) * 2
        )
        true = judge(left, right)
        row: dict[str, object] = {
            "reported by": who,
            "pairs": len(some),
            "right": Proportion(int(true.sum()), len(some)),
        }
        row |= {"false": len(some) - int(true.sum())}
        if paper:
            row |= {"paper: pairs": PAPER_PAIRS.get(who), "paper: false": PAPER_FALSE.get(who)}
        rows.append(row)
    return Table(name=name, title=title, rows=rows, note=note)


def pair_list(name: str, corpus: Corpus, pairs: Mapping[Profile, SimilarPairs]) -> Table:
    """Each pair that any algorithm reports, and how similar all of them say it is."""
    similar = {
        label(profile): dict(
            zip(zip(found.left.tolist(), found.right.tolist()), found.similarity.tolist(), strict=True)
        )
        for profile, found in pairs.items()
    }
    named = sorted({pair for found in similar.values() for pair, value in found.items() if value >= SIMILAR})
    left, right = (np.array([pair[side] for pair in named], np.int64) for side in (0, 1))
    exact = corpus.jaccard(left, right).tolist() if named else []
    rows: list[Row] = [
        {"document": corpus.ids[pair[0]], "other": corpus.ids[pair[1]]}
        | {algorithm: found.get(pair) for algorithm, found in similar.items()}
        | {"3-word shingles in common": jaccard}
        for pair, jaccard in zip(named, exact, strict=True)
    ]
    least = per_cent(THRESHOLDS[0], 0)
    note = f"Pairs that one of the algorithms reports from {per_cent(SIMILAR, 0)} on; a dash is below {least}."
    return Table(name=name, title="The pairs", rows=rows, note=note, shown=LISTED)


def cluster_table(name: str, pairs: Mapping[Profile, SimilarPairs]) -> Table:
    rows: list[Row] = []
    for profile, found in pairs.items():
        for least in THRESHOLDS:
            sizes = [len(group) for group in clusters(found.from_(least))]
            rows.append(
                {
                    "algorithm": label(profile),
                    "from": f"{per_cent(least, 0)}",
                    "clusters": len(sizes),
                    "documents in them": sum(sizes),
                    "largest": max(sizes, default=0),
                }
            )
    return Table(name=name, title="Clusters of documents that pairs from a similarity on connect", rows=rows)


def cluster_list(name: str, corpus: Corpus, pairs: Mapping[Profile, SimilarPairs]) -> Table:
    rows: list[Row] = [
        {
            "algorithm": label(profile),
            "cluster": number,
            "documents": len(group),
            "members": ", ".join(corpus.ids[i] for i in group),
        }
        for profile, found in pairs.items()
        for number, group in enumerate(clusters(found.from_(SIMILAR)), 1)
    ]
    return Table(name=name, title=f"The clusters from {per_cent(SIMILAR, 0)} on", rows=rows, shown=LISTED)


def time_table(timed: Sequence[Profile], spent: Sequence[float]) -> Table:
    least = min(spent)
    rows: list[Row] = [
        {"algorithm": label(profile), "window": window_of(profile), "ms": ms, "times the fastest": ms / least}
        for profile, ms in zip(timed, spent, strict=True)
    ]
    title = "Figure 11: processing time of a file of 500 KB"
    return Table(name="times", title=title, rows=rows, note="Time of the processor, the text normalised beforehand.")
