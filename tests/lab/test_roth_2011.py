"""The similarity index scored as Roth 2011 scores it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gate.errors import ConfigError
from gate.lab import roth_2011_paper as paper
from gate.lab.experiment import ExperimentReport, Table, no_progress
from gate.lab.roth_2011 import EXPERIMENT, Roth2011Options, drawn, run, with_works
from gate.lab.roth_2011_scores import (
    OFFSETS,
    Combination,
    scored,
    similar,
    similar_either_way,
    similarity_indexes,
    zones_of,
)
from gate.lab.scores import normalise_in_batches
from gate.lab.truth import Corpus

DRAW = random.Random(1)
VOCABULARY = ["".join(DRAW.choices("abcdefghijklmnoprstuvwy", k=DRAW.randint(2, 9))) for _ in range(500)]
SHORT = Roth2011Options(grams=(4,), windows=(5,))


def text(words: int) -> str:
    return " ".join(DRAW.choices(VOCABULARY, k=words))


PLAIN = Corpus("plain", [f"d{i}" for i in range(6)], [text(120) for _ in range(6)])


def classics() -> Corpus:
    """Documents with the names of the paper's, of three works, and one that stands alone."""
    texts: dict[str, str] = {}
    for names in paper.ZONES.values():
        own = text(400).split()
        texts |= {name: " ".join(own[i:]) for i, name in enumerate(names)}
    texts["Gettysburg"] = text(100)
    clusters = {name: zone for zone, names in paper.ZONES.items() for name in names}
    return Corpus("classics", list(texts), list(texts.values()), clusters=clusters)


def table(report: ExperimentReport, name: str) -> Table:
    [found] = [one for one in report.tables if one.name == name]
    return found


def hits_of(told: paper.PublishedResult) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.bool_]], Corpus]:
    """The paper's fifteen documents, and who is similar to whom inside its zones."""
    names = [name for zone in paper.ZONES.values() for name in zone] + ["class", "java", "log", "Gettysburg"]
    clusters = {name: zone for zone, own in paper.ZONES.items() for name in own}
    hits = np.eye(len(names), dtype=np.bool_)
    for zone, rows in told.zones.items():
        places = [names.index(name) for name in paper.ZONES[zone]]
        for i, row in zip(places, rows):
            hits[i, places] = [cell == "1" for cell in row]
    return hits, Corpus("paper", names, [""] * len(names), clusters=clusters)


@pytest.mark.parametrize("told", paper.TOP, ids=lambda told: f"{told.method}{told.variation}-{told.gram}")
def test_the_papers_matrices_give_the_papers_counts(told: paper.PublishedResult) -> None:
    hits, documents = hits_of(told)
    found = scored(hits, zones_of(documents))
    assert (found.correct, found.false_negatives) == (told.correct, told.false_negatives)
    errors = told.false_negatives + told.false_positives
    assert told.score == pytest.approx(told.correct / errors, abs=0.005)


def test_the_papers_best_combination_is_what_it_expects() -> None:
    for zone, rows in paper.TOP[0].zones.items():
        for row, levels in zip(rows, paper.EXPECTED[zone], strict=True):
            assert [cell == "1" for cell in row] == [level in paper.SIMILAR for level in levels]


def test_similar_is_what_lies_within_the_bounds_of_a_document() -> None:
    hits = similar(np.array([100, 71, 129, 131, -100, -80, 0]), 0.3)
    assert hits[0].tolist() == [True, True, True, False, False, False, False]
    assert hits[4].tolist() == [False, False, False, False, True, True, False]
    assert not hits[1, 0]  # 100 is more than 30 % above 71
    assert not hits[6].any()


def test_the_gates_own_rule_is_the_same_from_both_sides() -> None:
    hits = similar_either_way(np.array([100, 71, 129, 131, 150, -100]), 0.3)
    assert (hits == hits.T).all()
    assert hits[0].tolist() == [True, True, True, True, False, False]


def test_there_are_as_many_combinations_as_the_paper_has_but_for_words_of_characters() -> None:
    options = Roth2011Options()
    runs = list(zip(options.grams, options.windows))
    found = similarity_indexes(list(normalise_in_batches(PLAIN.texts[:1])), runs, no_progress)
    assert len(found) == paper.COMBINATIONS - 16
    assert {one.tracked[:-1] for one in found} == {
        str(n + offset) for offset in OFFSETS.values() for n in range(1, 15) if n + offset != 13
    }
    assert Combination(3, "soundex", "B", 40, 100) in found


def test_the_report_repeats_the_papers_tables_on_its_own_documents() -> None:
    report = run(classics(), SHORT, no_progress)
    names = [one.name for one in report.tables]
    assert names[:5] == ["top", "expected_6", "expected_7", "expected_8", "paper_top"]
    assert sum(name.startswith("zone_") for name in names) == 3 * SHORT.top
    assert len(table(report, "scores").rows) == 14 * 12 - 4
    assert [row["method"] for row in table(report, "paper_top").rows] == ["43B"]  # of the paper's five, this run's
    values = [row["score"] for row in table(report, "top").rows]
    assert values == sorted(values, reverse=True)  # type: ignore[type-var]
    assert [plot.name for plot in report.plots] == ["frequencies", "scores"]
    assert any("other editions" in note for note in report.notes)


def test_works_are_made_of_a_corpus_that_names_none() -> None:
    report = run(PLAIN, SHORT, no_progress)
    assert "paper_top" not in [one.name for one in report.tables]
    assert any("names no works" in note for note in report.notes)
    made = with_works(PLAIN, 20, np.random.default_rng(1))
    assert len(made) == 4 * 5
    assert zones_of(made).sum() == 4 * 25
    assert made.texts[0] == made.texts[1]


def test_the_same_seed_gives_the_same_report() -> None:
    first, second = (run(PLAIN, SHORT, no_progress) for _ in range(2))
    assert first == second


def test_whole_works_are_drawn_of_a_large_corpus() -> None:
    ids = [f"w{i // 4}-{i % 4}" for i in range(40)]
    many = Corpus("many", ids, ["a b c"] * 40, clusters={name: name.split("-")[0] for name in ids})
    some = drawn(many, 14, np.random.default_rng(1))
    assert len(some) == 12
    assert zones_of(some).sum() == 3 * 16


def test_runs_without_a_window_are_refused_before_any_work() -> None:
    with pytest.raises(ConfigError, match="grams, windows: 4 and 1 values"):
        EXPERIMENT.check(Roth2011Options(windows=(5,)))
    EXPERIMENT.check(Roth2011Options())


def test_a_corpus_of_a_word_or_two_cannot_be_varied() -> None:
    with pytest.raises(ConfigError, match="nothing to vary"):
        run(Corpus("tiny", ["a"], ["one"]), SHORT, no_progress)
