"""Pairs and clusters by name, and what of a report is right."""

from __future__ import annotations

import numpy as np

from gate.lab.cherkasova_tables import by_origin, cluster_list, pair_list, report_table
from gate.lab.experiment import Proportion
from gate.lab.sampling import SimilarPairs, profile_of
from gate.lab.truth import Corpus

CORPUS = Corpus("made", ["a", "b", "c"], ["x y z v"] * 2 + ["u"], clusters={"a": "w", "b": "w", "c": "c"})
MOD, MIN = profile_of("mod-n", 100), profile_of("min-n", 100)
PAIRS = {
    MOD: SimilarPairs(np.array([0, 1]), np.array([1, 2]), np.array([0.9, 0.75]), 3),
    MIN: SimilarPairs(np.array([0]), np.array([1]), np.array([0.6]), 3),
}


def test_a_pair_that_one_algorithm_reports_is_listed_with_what_all_say() -> None:
    rows = pair_list("pairs", CORPUS, PAIRS).rows
    assert [(row["document"], row["other"], row["Mod_100"], row["Min_100"]) for row in rows] == [
        ("a", "b", 0.9, 0.6),
        ("b", "c", 0.75, None),
    ]
    assert rows[0]["3-word shingles in common"] == 1.0


def test_clusters_are_listed_with_their_members() -> None:
    assert [dict(row) for row in cluster_list("clusters", CORPUS, PAIRS).rows] == [
        {"algorithm": "Mod_100", "cluster": 1, "documents": 3, "members": "a, b, c"}
    ]


def test_pairs_of_one_origin_are_right_and_all_others_false() -> None:
    table = report_table("reported", "Table 2", PAIRS, by_origin(CORPUS), "", paper=True)
    mod = next(row for row in table.rows if row["reported by"] == "Mod_100")
    assert (mod["pairs"], mod["right"], mod["false"], mod["paper: false"]) == (2, Proportion(1, 2), 1, 13)
