"""The similarity index scored as Roth 2011 scores it."""

from __future__ import annotations

import numpy as np
import pytest

from gate.errors import ConfigError
from gate.lab import roth_2011_paper as paper
from gate.lab.experiment import no_progress
from gate.lab.roth_2011 import EXPERIMENT, Roth2011Options, draw_works, name_as_paper, run, with_works
from gate.lab.roth_2011_scores import (
    zones_of,
)
from gate.lab.truth import Corpus
from tests.lab.roth_2011_samples import PLAIN, SHORT


@pytest.mark.slow
def test_works_are_made_of_a_corpus_that_names_none() -> None:
    report = run(PLAIN, SHORT, no_progress)
    assert "paper_top" not in [one.name for one in report.tables]
    assert any("names no works" in note for note in report.notes)
    made = with_works(PLAIN, 20, np.random.default_rng(1))
    assert len(made) == 4 * 5
    assert zones_of(made).sum() == 4 * 25
    assert made.texts[0] == made.texts[1]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_report() -> None:
    first, second = (run(PLAIN, SHORT, no_progress) for _ in range(2))
    assert first == second


def test_whole_works_are_drawn_of_a_large_corpus() -> None:
    ids = [f"w{i // 4}-{i % 4}" for i in range(40)]
    many = Corpus("many", ids, ["a b c"] * 40, clusters={name: name.split("-")[0] for name in ids})
    some = draw_works(many, 14, np.random.default_rng(1))
    assert len(some) == 12
    assert zones_of(some).sum() == 3 * 16


def test_files_with_the_papers_names_are_its_corpus() -> None:
    names = [name for zone in paper.ZONES.values() for name in zone]
    files = [f"{name}.txt".replace("(copy)", " (copy)") for name in (*names, "Gettysburg")]
    known = name_as_paper(Corpus("folder", files, ["text"] * len(files)))
    assert list(known.ids) == [*names, "Gettysburg"]
    assert known.clusters["usDOI-1"] == known.clusters["usDOI"] == "Declaration of Independence"
    assert zones_of(known).sum() == 16 + 16 + 9 + 1
    other = Corpus("folder", files[1:], ["text"] * len(files[1:]))
    assert name_as_paper(other) is other


def test_runs_without_a_window_are_refused_before_any_work() -> None:
    with pytest.raises(ConfigError, match="grams, windows: 4 and 1 values"):
        EXPERIMENT.check(Roth2011Options(windows=(5,)))
    EXPERIMENT.check(Roth2011Options())


def test_a_corpus_of_a_word_or_two_cannot_be_varied() -> None:
    with pytest.raises(ConfigError, match="nothing to vary"):
        run(Corpus("tiny", ["a"], ["one"]), SHORT, no_progress)
