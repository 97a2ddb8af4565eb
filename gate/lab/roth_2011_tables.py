"""The tables and plots of Roth 2011 once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from gate.lab import roth_2011_paper as paper
from gate.lab.experiment import Plot, Proportion, Row, Section, Series, Table
from gate.lab.roth_2011_scores import NAMES, OFFSETS, Combination, Flags, Ints, ZoneScore, work_of
from gate.lab.truth import Corpus

LISTED = 20
SCORES = "Scores of the combinations, the best first (Table 9)"
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
        title=f"The {len(rows)} highest scores here",
        rows=rows,
        note="The last column decides as the gate does: the smaller number is at least 70 % of the larger, whichever "
        "was first.",
    )


def combination_of(reported: paper.PublishedResult) -> Combination:
    tokenizer = next(tokenizer for tokenizer, offset in OFFSETS.items() if 0 < reported.method - offset <= 14)
    return Combination(
        reported.method - OFFSETS[tokenizer], tokenizer, reported.variation, reported.gram, reported.window
    )


def paper_sections(
    documents: Corpus, hits: Mapping[Combination, Flags], scores: Mapping[Combination, ZoneScore]
) -> Iterator[Section]:
    """The paper's expectations and its five best beside ours, on its own documents."""
    place = {name: i for i, name in enumerate(documents.ids)}
    if not all(name in place for zone in paper.ZONES.values() for name in zone):
        return
    yield Section("What the paper expects (Tables 6 to 8)", list(_expected_tables()))
    five = [(table, reported) for table, reported in enumerate(paper.TOP) if combination_of(reported) in scores]
    rows = [_beside_paper(reported, hits, scores, place) for _, reported in five]
    yield Section(
        "The paper's five best combinations, and the same here",
        [Table(name="paper_top", title="The paper's five best combinations, and the same here", rows=rows)],
    )
    if five:
        yield Section(
            "The paper's five best, document by document (Tables 10 to 24)",
            [one for table, reported in five for one in _paper_cells(10 + 3 * table, reported, hits, place)],
        )


def _expected_tables() -> Iterator[Table]:
    for number, (zone, names) in enumerate(paper.ZONES.items(), 6):
        rows: list[Row] = [
            {"document": name} | {other: paper.MEANINGS[level] for other, level in zip(names, levels)}
            for name, levels in zip(names, paper.EXPECTED[zone])
        ]
        yield Table(name=f"expected_{number}", title=f"Table {number}: what the paper expects of {zone}", rows=rows)


def _beside_paper(
    reported: paper.PublishedResult,
    hits: Mapping[Combination, Flags],
    scores: Mapping[Combination, ZoneScore],
    place: Mapping[str, int],
) -> Row:
    one = combination_of(reported)
    ours, cells = scores[one], list(_cells(hits[one], place))
    theirs = [c == "1" for lines in reported.zones.values() for line in lines for c in line]
    expected = [c in paper.SIMILAR for rows in paper.EXPECTED.values() for line in rows for c in line]
    return (
        one.row
        | {"paper: false positives": reported.false_positives, "here: false positives": ours.false_positives}
        | {"paper: false negatives": reported.false_negatives, "here: false negatives": ours.false_negatives}
        | {"paper: score": reported.score, "here: score": ours.value}
        | {"cells as in the paper": Proportion(sum(map(bool.__eq__, cells, theirs)), len(cells))}
        | {"paper: cells as expected": Proportion(sum(map(bool.__eq__, theirs, expected)), len(cells))}
        | {"here: cells as expected": Proportion(sum(map(bool.__eq__, cells, expected)), len(cells))}
    )


def _paper_cells(
    number: int, reported: paper.PublishedResult, hits: Mapping[Combination, Flags], place: Mapping[str, int]
) -> Iterator[Table]:
    """Three tables of the paper: 1 is similar; where ours differs, it stands beside."""
    one = combination_of(reported)
    for table, (zone, names) in enumerate(paper.ZONES.items(), number):
        rows: list[Row] = []
        for name, line in zip(names, reported.zones[zone], strict=True):
            ours = [str(int(hits[one][place[name], place[other]])) for other in names]
            shown = [their if their == our else f"{their}, here {our}" for their, our in zip(line, ours, strict=True)]
            rows.append({"document": name} | dict(zip(names, shown, strict=True)))
        title = f"Table {table}: the paper's {one.label}, {zone}"
        yield Table(
            name=f"paper_{table}", title=title, rows=rows, note="1 is similar. Where ours differs, it is given."
        )


def _cells(hit: Flags, place: Mapping[str, int]) -> Iterator[bool]:
    """The cells of the paper's three zones in its order."""
    for names in paper.ZONES.values():
        for name, other in product(names, names):
            yield bool(hit[place[name], place[other]])


def zone_table(documents: Corpus, one: Combination, hit: Flags, zone: Sequence[int]) -> Table:
    rows: list[Row] = [{"document": documents.ids[i]} | {documents.ids[j]: int(hit[i, j]) for j in zone} for i in zone]
    name = documents.clusters.get(documents.ids[zone[0]], documents.ids[zone[0]])
    safe = "".join(c if c.isalnum() else "_" for c in f"zone_{one.tracked}_{one.gram}_{name}")
    return Table(name=safe, title=f"Here, {one.label}: {name} (1 is similar)", rows=rows)


def document_table(documents: Corpus) -> Table:
    rows: list[Row] = []
    for name, text in zip(documents.ids, documents.texts, strict=True):
        row = {"document": name, "work": documents.clusters.get(name), "characters": len(text)}
        row |= {"words": len(text.split())}
        if not paper.SIZES.keys().isdisjoint(documents.ids):
            characters, words = paper.SIZES.get(name, (None, None))
            row |= {"paper: characters": characters, "paper: words": words}
        rows.append(row)
    return Table(name="documents", title="The documents and their sizes (Table 1)", rows=rows, shown=LISTED)


def number_table(documents: Corpus, numbers: Mapping[Combination, Ints]) -> Table:
    """Every similarity index: a row for each combination, a column for each document."""
    rows: list[Row] = []
    for one, values in numbers.items():
        own = dict(zip(documents.ids, values.tolist(), strict=True))
        rows.append(
            one.row
            | {name if name not in one.row else f"document {name}": number or None for name, number in own.items()}
        )
    title = "The similarity index of every document under every combination"
    return Table(name="numbers", title=title, rows=rows, shown=0)


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
    return Plot(
        name="frequencies",
        title=f"Methods among the {len(above)} combinations with a score above 1 (Figure 3)",
        x_label="method of Roth 2011, tokenizers taken together",
        y_label="combinations",
        kind="bars",
        ticks=[str(n) for n in range(1, 15)],
        series=[
            Series(label="here", x=[float(n - 1) for n in range(1, 15)], y=[float(counts[n]) for n in range(1, 15)]),
            Series(
                label="paper, the three it names",
                x=[float(n - 1) for n in paper.FREQUENCIES],
                y=list(map(float, paper.FREQUENCIES.values())),
            ),
        ],
    )


def score_plot(best: Sequence[Combination], scores: Mapping[Combination, ZoneScore]) -> Plot:
    values = [scores[one].value for one in best]
    theirs = [reported.score for reported in paper.TOP]
    return Plot(
        name="scores",
        title=SCORES,
        x_label="rank",
        x_scale="log",
        y_label="score",
        kind="steps",
        series=[
            Series(label="here", x=[float(rank) for rank in range(1, len(values) + 1)], y=values),
            Series(
                label="paper: its five best, and the last above 1",
                x=[*map(float, range(1, len(theirs) + 1)), float(paper.ABOVE_ONE)],
                y=[*theirs, 1.0],
                line=False,
            ),
        ],
        levels={"1": 1.0},
    )
