"""The tables of the experiment `roth-2013`: fingerprints beside the paper's."""

from __future__ import annotations

import numpy as np

from gate.lab.roth_2013_paper import PRINTS
from gate.lab.roth_2013_tables import PASSAGE, SCATTERED, print_table, variant_plot
from gate.lab.truth import Corpus

MADE = [("dup", ""), ("i_5", SCATTERED), ("i_5", PASSAGE)]


def test_fingerprints_stand_beside_those_of_the_papers_file_of_that_name() -> None:
    corpus = Corpus("two", ["other", "gettysburg.txt"], ["b", "a"])
    prints, copied = np.array([9, 5], np.uint64), np.array([[9, 0, 9], [5, 0, 4]], np.uint64)
    rows = print_table(corpus, [0, 1], MADE, prints, copied).rows
    assert [row["file"] for row in rows] == [
        "gettysburg", "gettysburg_dup", "gettysburg_i_5", "other", "other_dup", "other_i_5",
    ]  # fmt: skip
    assert rows[2]["fingerprint"] == "4".rjust(16, "0")
    assert rows[2]["similarity"] == 1 - 1 / 64
    assert rows[2]["paper: fingerprint"] == f"{int(PRINTS['gettysburg', 'i_5'], 2):016x}"
    assert rows[2]["paper: similarity"] == 0.96875
    assert rows[5]["paper: fingerprint"] is None


def test_variants_of_two_ways_are_points_side_by_side() -> None:
    plot = variant_plot(MADE, np.array([[0, 6, 2]]), 0.8)
    ours = [one for one in plot.series if not one.label.startswith("paper")]
    assert all(not one.line for one in ours)
    places = [x for one in ours for x in one.x]
    assert len(set(places)) == len(places) == 3
