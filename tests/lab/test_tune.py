"""`gate tune` chooses what reaches the aim at the least price, proves it, and warns of what it cannot judge."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import numpy as np
import pytest
from msgspec.structs import replace as replaced

from gate.core.builtin_profiles import BUILT_IN
from gate.core.profile import Profile
from gate.errors import ConfigError
from gate.lab.experiment import Proportion, no_progress
from gate.lab.planting import add_copies
from gate.lab.truth import Corpus
from gate.lab.tune import TuneOptions, TuningResult, check, choose, prove, rank, render_toml, tune
from gate.lab.tune_grid import ProfileTrial, TuningGoal, feature_profiles
from tests.lab.lab_samples import unrelated_documents

WANTED = TuningGoal(recall=0.9, at=0.8, precision=0.99, size=1000)


def tried(
    *, recall: int = 100, precise: int = 100, candidates: float = 1.0, size: int = 100, ms: float = 1.0
) -> ProfileTrial:
    return ProfileTrial(
        profile=Profile(name="tuned"),
        recall=Proportion(recall, 100),
        precision=Proportion(precise, 100),
        compared=100,
        candidates=candidates,
        size=size,
        seconds=ms / 1000,
    )


def test_only_what_reaches_recall_and_precision_is_ranked() -> None:
    good = tried()
    assert rank([tried(recall=91), good, tried(precise=98)], WANTED, "bytes") == [good]


@pytest.mark.parametrize(
    ("budget", "first"), [("bytes", "small"), ("candidates", "lonely"), ("docs/s", "fast"), ("balanced", "middling")]
)
def test_the_budget_decides_what_is_cheapest(budget: str, first: str) -> None:
    ways = {
        "small": tried(size=10, candidates=99, ms=90),
        "lonely": tried(size=900, candidates=0, ms=90),
        "fast": tried(size=900, candidates=99, ms=1),
        "middling": tried(size=30, candidates=3, ms=9),
    }
    assert rank(list(ways.values()), WANTED, budget)[0] is ways[first]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def documents() -> Corpus:
    return add_copies(unrelated_documents(40), 70, np.random.default_rng(1), (0.82, 0.85, 0.88, 0.4))


def test_a_profile_that_fails_on_other_edits_is_passed_over_for_the_next(documents: Corpus) -> None:
    lucky = replace(tried(), profile=Profile(name="tuned", resemblance=0.85))
    solid = replace(tried(), profile=Profile(name="tuned", resemblance=0.6))
    best, again, reached = choose([lucky, solid], [lucky, solid], documents, WANTED, no_progress)
    assert (best, reached) == (solid, True)
    assert again == prove(documents, solid.profile, WANTED)
    assert not choose([lucky], [lucky], documents, WANTED, no_progress)[2]


@pytest.fixture(scope="module")
def tuned() -> TuningResult:
    return tune(
        unrelated_documents(40, words=80), TuneOptions(at=0.8, recall=0.9, copies=100, documents=40), no_progress
    )


@pytest.mark.slow
def test_the_chosen_profile_reaches_the_goal_on_fresh_edits(tuned: TuningResult) -> None:
    assert tuned.reached
    fresh = add_copies(unrelated_documents(40, seed=9), 200, np.random.default_rng(9), (0.82, 0.85, 0.88))
    again = prove(fresh, tuned.profile, WANTED)
    assert (again.recall.share or 0.0) >= 0.85  # other documents, fewer cases
    assert again.precision.share == 1.0


def test_the_file_holds_the_profile_its_reasons_and_the_curve(tuned: TuningResult) -> None:
    text = render_toml(tuned)
    values = tomllib.loads(text)
    assert values["gram"] == tuned.profile.gram
    assert values["resemblance"] == tuned.profile.resemblance
    assert values["containment"] is False
    comments = " ".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("#"))
    assert all(reason in comments for reason in tuned.reasons)
    assert "0.80 - 0.85" in comments


@pytest.mark.slow
def test_the_same_seed_chooses_the_same_profile_where_time_does_not_decide() -> None:
    options = TuneOptions(recall=0.9, copies=100, documents=40, budget="bytes")
    first, again = (tune(unrelated_documents(40, words=60), options, no_progress).profile for _ in range(2))
    assert first == again


@pytest.mark.slow
def test_if_nothing_reaches_the_goal_the_best_profile_is_given_with_a_note() -> None:
    best = tune(unrelated_documents(40), TuneOptions(at=0.5, recall=0.999, precision=1.0, copies=100), no_progress)
    assert not best.reached
    assert any("None of the" in reason for reason in best.reasons)


def test_copies_that_are_not_edited_get_a_built_in_profile_made_for_them() -> None:
    options = TuneOptions(recall=0.9, copies=100, documents=40, changes=("scans",))
    tuned = tune(unrelated_documents(60, words=300), options, no_progress)
    assert tuned.reached
    assert replaced(tuned.profile, name="scans") == BUILT_IN["scans"]
    assert any("recognised text" in reason for reason in tuned.reasons)


def test_what_no_built_in_profile_finds_leaves_the_best_and_says_so() -> None:
    options = TuneOptions(recall=0.99, copies=100, documents=40, changes=("scans", "parts"))
    tuned = tune(unrelated_documents(60, words=300), options, no_progress)
    assert not tuned.reached
    assert any("No built-in profile" in reason for reason in tuned.reasons)


@pytest.mark.parametrize("spaceless", [True, False])
def test_soundex_is_not_among_what_is_tried(spaceless: bool) -> None:
    assert all(profile.tokenizer != "soundex" for profile in feature_profiles(spaceless))


def test_too_few_texts_to_plant_anything_in_are_refused() -> None:
    with pytest.raises(ConfigError, match="only 0 copies with J from"):
        tune(Corpus("short", ["a", "b"], ["one two", "three four"]), TuneOptions(copies=50), no_progress)


def test_if_words_cannot_be_separated_the_error_gives_the_reason() -> None:
    runs = Corpus("javanese", [*map(str, range(9))], ["ꦧꦱꦗꦮ" * (60 + n) for n in range(9)])
    with pytest.raises(ConfigError, match="cannot separate words") as caught:
        tune(runs, TuneOptions(copies=50), no_progress)
    assert len(caught.value.problems) > 1


def test_a_precision_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigError, match="--precision"):
        check(TuneOptions(precision=0.3))
