"""Shingle sizes, hash families and signature lengths as in Bergillos et al. 2018."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gate.errors import ConfigError
from gate.lab.bergillos import (
    EXPERIMENT,
    FAMILIES,
    BergillosOptions,
    estimated,
    paired,
    passage,
    permuted,
    run,
    shared,
)
from gate.lab.experiment import no_progress
from gate.lab.truth import Corpus

DRAW = random.Random(2)
VOCABULARY = ["".join(DRAW.choices("abcdefghijklmnoprstuvwy", k=DRAW.randint(2, 9))) for _ in range(2000)]
CORPUS = Corpus("made", [f"d{i}" for i in range(12)], [" ".join(DRAW.choices(VOCABULARY, k=300)) for _ in range(12)])
SMALL = BergillosOptions(grams=(3, 9), rounds=1, documents=3, lengths=(16, 256), pairs=20)


def test_shuffled_texts_resemble_each_other_the_less_the_longer_the_shingle() -> None:
    rng = np.random.default_rng(1)
    texts = permuted(passage(CORPUS, 50, rng), 20, rng)
    assert {tuple(sorted(text.split())) for text in texts} == {tuple(sorted(texts[0].split()))}
    found = {k: shared(texts, k) for k in (2, 5, 9, 20)}
    assert {len(one) for one in found.values()} == {190}
    medians = [float(np.median(one)) for one in found.values()]
    assert medians == sorted(medians, reverse=True)
    assert medians[2] < 0.1
    assert found[20].max() < 0.1


def test_a_passage_is_cut_from_a_document_that_is_long_enough_if_there_is_one() -> None:
    mixed = Corpus("mixed", ["a", "b"], ["one two three", " ".join(map(str, range(60)))])
    for seed in range(4):
        assert len(passage(mixed, 50, np.random.default_rng(seed))) == 50
    assert len(passage(mixed, 100, np.random.default_rng(0))) == 60


def test_pairs_have_about_the_resemblance_that_was_asked_for_and_every_family_finds_it() -> None:
    texts = paired(CORPUS, 0.6, 20, np.random.default_rng(3))
    exact, estimates = estimated(texts, SMALL, no_progress)
    assert exact.mean() == pytest.approx(0.6, abs=0.04)
    assert tuple(estimates) == FAMILIES
    for by_length in estimates.values():
        assert abs(float((by_length[256] - exact).mean())) < 0.03
        assert (by_length[256] - exact).std() < (by_length[16] - exact).std()


def test_the_report_has_the_three_figures_and_says_where_it_differs() -> None:
    report = run(CORPUS, SMALL, no_progress)
    assert [table.name for table in report.tables] == ["shingles", "times", "estimates", "multisets"]
    assert [plot.name for plot in report.plots] == ["shingles", "times", "estimate", "spread", "multisets", "bands"]
    assert len(report.tables[1].rows) == 2
    assert len(report.tables[2].rows) == 2 * len(FAMILIES)
    for figure in ("Figure 2", "Figure 3", "Figure 4"):
        assert any(note.startswith(figure) and "paper" in note for note in report.notes)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_figures_but_for_the_time() -> None:
    first, second = (run(CORPUS, SMALL, no_progress) for _ in range(2))
    assert first.tables[0] == second.tables[0]
    assert first.tables[2] == second.tables[2]


def test_what_cannot_be_measured_is_reported_before_any_work() -> None:
    with pytest.raises(ConfigError, match=r"^grams: "):
        EXPERIMENT.check(BergillosOptions(grams=()))
    with pytest.raises(ConfigError, match=r"^similarity, functions: "):
        EXPERIMENT.check(BergillosOptions(similarity=0.05, functions=16))
    with pytest.raises(ConfigError, match="nothing to shuffle"):
        run(Corpus("tiny", ["a", "b"], ["one", ""]), SMALL, no_progress)
