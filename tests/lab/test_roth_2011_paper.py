"""What Roth 2011 reports agrees with itself, and with the score that is computed here."""

from __future__ import annotations

import numpy as np
import pytest

from gate.lab import roth_2011_paper as paper
from gate.lab.roth_2011_scores import (
    score_hits,
    zones_of,
)
from gate.lab.truth import Corpus


def hits_of(result: paper.PublishedResult) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.bool_]], Corpus]:
    """The paper's fifteen documents, and who is similar to whom inside its zones."""
    names = [name for zone in paper.ZONES.values() for name in zone] + ["class", "java", "log", "Gettysburg"]
    clusters = {name: zone for zone, own in paper.ZONES.items() for name in own}
    hits = np.eye(len(names), dtype=np.bool_)
    for zone, rows in result.zones.items():
        places = [names.index(name) for name in paper.ZONES[zone]]
        for i, row in zip(places, rows):
            hits[i, places] = [cell == "1" for cell in row]
    return hits, Corpus("paper", names, [""] * len(names), clusters=clusters)


@pytest.mark.parametrize("result", paper.TOP, ids=lambda result: f"{result.method}{result.variation}-{result.gram}")
def test_the_papers_matrices_give_the_papers_counts(result: paper.PublishedResult) -> None:
    hits, documents = hits_of(result)
    found = score_hits(hits, zones_of(documents))
    assert (found.correct, found.false_negatives) == (result.correct, result.false_negatives)
    errors = result.false_negatives + result.false_positives
    assert result.score == pytest.approx(result.correct / errors, abs=0.005)


def test_the_papers_best_combination_is_what_it_expects() -> None:
    for zone, rows in paper.TOP[0].zones.items():
        for row, levels in zip(rows, paper.EXPECTED[zone], strict=True):
            assert [cell == "1" for cell in row] == [level in paper.SIMILAR for level in levels]
