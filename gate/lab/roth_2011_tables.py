"""The tables and plots of Roth 2011 once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from gate.lab import roth_2011_paper as paper
from gate.lab.experiment import Plot, Proportion, Row, Series, Table
from gate.lab.roth_2011_scores import NAMES, OFFSETS, Combination, Flags, ZoneScore, work_of
from gate.lab.truth import Corpus

LARGEST_ZONE = 12  # documents; a larger matrix cannot be read


def zones_shown(documents: Corpus) -> list[list[int]]:
    """The three largest zones that can be printed, in the paper's order where it knows them."""
    order = {name: place for place, name in enumerate(name for zone in paper.ZONES.values() for name in zone)}
    works: dict[str, list[int]] = {}
    for i in range(len(documents)):
        works.setdefault(work_of(documents, i), []).append(i)
    fit = sorted((zone for zone in works.values() if 1 < len(zone) <= LARGEST_ZONE), key=len, reverse=True)[:3]
    return [sorted(zone, key=lambda i: order.get(documents.ids[i], i)) for zone in fit]


def top_table(
    best: Sequence[Combination], scores: Mapping[Combination, ZoneScore], symmetric: Mapping[Combination, ZoneScore]
) -> Table:
    rows = [one.row | scores[one].row | {"score, same from both sides": symmetric[one].value} for one in best]
    return Table(
        name="top",
        title="The combinations with the highest scores (Table 9)",
        rows=rows,
        note="The last column decides as the gate does: the smaller number is at least 70 % of the larger, whichever "
        "was first.",
    )


def paper_tables(
    documents: Corpus, hits: Mapping[Combination, Flags], scores: Mapping[Combination, ZoneScore]
) -> Iterator[Table]:
    """The paper's expectations and its five best beside ours, on its own documents."""
    place = {name: i for i, name in enumerate(documents.ids)}
    if not all(name in place for zone in paper.ZONES.values() for name in zone):
        return
    for number, (zone, names) in enumerate(paper.ZONES.items(), 6):
        rows: list[Row] = [
            {"document": name} | {other: paper.MEANINGS[level] for other, level in zip(names, levels)}
            for name, levels in zip(names, paper.EXPECTED[zone])
        ]
        yield Table(name=f"expected_{number}", title=f"What is expected: {zone} (Table {number})", rows=rows)
    rows = []
    for reported in paper.TOP:
        tokenizer = next(tokenizer for tokenizer, offset in OFFSETS.items() if 0 < reported.method - offset <= 14)
        one = Combination(
            reported.method - OFFSETS[tokenizer], tokenizer, reported.variation, reported.gram, reported.window
        )
        if one in scores:
            ours, cells = scores[one], list(_cells(hits[one], place))
            theirs = [c == "1" for lines in reported.zones.values() for line in lines for c in line]
            expected = [c in paper.SIMILAR for rows_ in paper.EXPECTED.values() for line in rows_ for c in line]
            rows.append(
                one.row
                | {"paper: false positives": reported.false_positives, "false negatives": reported.false_negatives}
                | {"score": reported.score, "ours: false positives": ours.false_positives}
                | {"ours: false negatives": ours.false_negatives, "ours: score": ours.value}
                | {"cells as in the paper": Proportion(sum(map(bool.__eq__, cells, theirs)), len(cells))}
                | {"cells as expected": Proportion(sum(map(bool.__eq__, cells, expected)), len(cells))}
                | {"paper, as expected": Proportion(sum(map(bool.__eq__, theirs, expected)), len(cells))}
            )
    yield Table(name="paper_top", title="The paper's five best combinations, and the same here", rows=rows)


def _cells(hit: Flags, place: Mapping[str, int]) -> Iterator[bool]:
    """The cells of the paper's three zones in its order."""
    for names in paper.ZONES.values():
        for name, other in product(names, names):
            yield bool(hit[place[name], place[other]])


def zone_table(documents: Corpus, one: Combination, hit: Flags, zone: Sequence[int]) -> Table:
    rows: list[Row] = [{"document": documents.ids[i]} | {documents.ids[j]: int(hit[i, j]) for j in zone} for i in zone]
    name = documents.clusters.get(documents.ids[zone[0]], documents.ids[zone[0]])
    safe = "".join(c if c.isalnum() else "_" for c in f"zone_{one.tracked}_{one.gram}_{name}")
    return Table(name=safe, title=f"Method {one.label}: {name} (Tables 10 to 24; 1 is similar)", rows=rows)


def frequency_table(above: Sequence[Combination]) -> Table:
    counts = Counter(one.method for one in above)
    rows: list[Row] = [
        {"method": n, "what": NAMES[n - 1], "combinations": counts[n], "paper": paper.FREQUENCIES.get(n)}
        for n in range(1, 15)
    ]
    return Table(
        name="frequencies",
        title=f"Methods among the {len(above)} combinations with a score above 1 (Figure 3)",
        rows=rows,
        note=f"The paper has {paper.ABOVE_ONE} of {paper.COMBINATIONS} above 1, and names the three most frequent.",
    )


def chance_table(hits: Mapping[Combination, Flags], zones: Flags) -> Table:
    """How much more often documents of one work are similar than documents of two."""
    others = ~np.eye(len(zones), dtype=np.bool_)
    rows: list[Row] = []
    for n in range(1, 15):
        of = [hit for one, hit in hits.items() if one.method == n]
        inside, outside = zones & others, ~zones
        rows.append(
            {
                "method": n,
                "what": NAMES[n - 1],
                "similar, of one work": Proportion(
                    sum(int((h & inside).sum()) for h in of), len(of) * int(inside.sum())
                ),
                "similar, of two works": Proportion(
                    sum(int((h & outside).sum()) for h in of), len(of) * int(outside.sum())
                ),
            }
        )
    return Table(
        name="chance",
        title="How often documents are similar, over all tokenizers, variations and runs",
        rows=rows,
        note="Each document with every other. A method that separates works has much in the first column and little "
        "in the second.",
    )


def frequency_plot(above: Sequence[Combination]) -> Plot:
    counts = Counter(one.method for one in above)
    reported = [float(paper.FREQUENCIES.get(n, 0)) for n in range(1, 15)]
    places = [float(n) for n in range(14)]
    return Plot(
        name="frequencies",
        title="Methods among the combinations with a score above 1 (Figure 3)",
        x_label="method of Roth 2011, tokenizers taken together",
        y_label="combinations",
        kind="bars",
        ticks=[str(n) for n in range(1, 15)],
        series=[
            Series(label="here", x=places, y=[float(counts[n]) for n in range(1, 15)]),
            Series(label="paper, as far as reported", x=places, y=reported),
        ],
    )


def score_plot(best: Sequence[Combination], scores: Mapping[Combination, ZoneScore]) -> Plot:
    values = [scores[one].value for one in best]
    return Plot(
        name="scores",
        title="Scores of all combinations, the best first",
        x_label="rank",
        y_label="score",
        kind="steps",
        series=[Series(label="here", x=[float(rank) for rank in range(1, len(values) + 1)], y=values)],
        marks={"paper: score 1": float(paper.ABOVE_ONE)},
        levels={"1": 1.0},
    )
