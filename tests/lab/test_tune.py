"""`gate tune` chooses what reaches the aim at the least price, proves it, and warns of what it cannot judge."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from gate.core.method_parameters import Hybrid, MinHash, SimHash
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.errors import ConfigError
from gate.lab.cautions import cautions
from gate.lab.experiment import Proportion, no_progress
from gate.lab.planting import add_copies
from gate.lab.scores import firsts, judged
from gate.lab.truth import Corpus
from gate.lab.tune import TuneOptions, TuningResult, check, choose, prove, ranked, render_toml, tune
from gate.lab.tune_grid import RADII, GridEvaluator, ProfileTrial, TuningGoal, feature_profiles, measure, sure
from tests.lab.lab_samples import strangers

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
    assert ranked([tried(recall=91), good, tried(precise=98)], WANTED, "bytes") == [good]


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
    assert ranked(list(ways.values()), WANTED, budget)[0] is ways[first]  # type: ignore[arg-type]


def test_a_recall_of_few_cases_counts_for_less() -> None:
    assert sure(Proportion(0, 0)) == 0.0
    assert sure(Proportion(19, 20)) < sure(Proportion(190, 200)) < sure(Proportion(1900, 2000)) < 0.95
    assert sure(Proportion(20, 20)) < 1.0


@pytest.fixture(scope="module")
def documents() -> Corpus:
    return add_copies(strangers(40), 70, np.random.default_rng(1), (0.82, 0.85, 0.88, 0.4))


def test_what_the_grid_reads_off_is_what_the_gate_would_say(documents: Corpus) -> None:
    """Of every method: what meets, what is found and what is false are those of the profile run by itself."""
    found = list(measure(documents, Profile(name="tuned"), WANTED))
    kinds = {one.profile.method.name: one for one in found if one.recall.count}
    assert set(kinds) == {"simhash", "minhash", "hybrid"}
    for one in (*kinds.values(), found[0], found[len(RADII) + 2]):
        again, run = prove(documents, one.profile, WANTED), judged(documents, one.profile)
        assert (again.recall, again.precision) == (one.recall, one.precision), one.profile
        assert int(firsts(documents, run.left, run.right).sum()) == one.compared, one.profile


def test_the_threshold_is_the_highest_that_leaves_enough_recall(documents: Corpus) -> None:
    banded = [one for one in measure(documents, Profile(name="tuned"), WANTED) if one.profile.resemblance is not None]
    for one in banded[:6]:
        assert sure(one.recall) >= WANTED.recall
        higher = structs.replace(one.profile, resemblance=(one.profile.resemblance or 0.0) + 0.025)
        assert sure(prove(documents, higher, WANTED).recall) < WANTED.recall


def test_what_fingerprints_alone_bring_together_is_among_what_a_hybrid_compares(documents: Corpus) -> None:
    """With one band of many rows next to nothing meets but by its fingerprint."""
    profile = Profile(name="tuned", method=MinHash(bins=64, bands=1, rows=8))
    bench = GridEvaluator(documents, WANTED)
    bodies, seconds = bench.sign(profile)
    met = bench.candidates(profile, bodies, seconds)
    prints = bench.near_pairs(Profile(name="tuned"), SimHash(radius=12))
    both = bench.join(profile, bodies, met, prints)
    run = judged(documents, structs.replace(profile, method=Hybrid(bins=64, bands=1, rows=8, radius=12)))
    among = firsts(documents, run.left, run.right)
    assert len(both.measure) > len(met.measure)
    pairs = {(int(a), int(b)) for a, b in zip(both.pairs.left, both.pairs.right, strict=True)}
    assert pairs == set(zip(run.left[among].tolist(), run.right[among].tolist(), strict=True))


def test_one_that_was_lucky_is_passed_over_for_the_next_that_holds_on_other_edits(documents: Corpus) -> None:
    lucky = replace(tried(), profile=Profile(name="tuned", resemblance=0.85))
    solid = replace(tried(), profile=Profile(name="tuned", resemblance=0.6))
    best, again, reached = choose([lucky, solid], [lucky, solid], documents, WANTED, no_progress)
    assert (best, reached) == (solid, True)
    assert again == prove(documents, solid.profile, WANTED)
    assert not choose([lucky], [lucky], documents, WANTED, no_progress)[2]


def test_versions_of_one_work_are_no_strangers(documents: Corpus) -> None:
    loose = Profile(name="tuned", method=MinHash(bins=64, bands=32, rows=2))
    apart = replace(documents, clusters={})
    counts = []
    for some in (documents, apart):
        bench = GridEvaluator(some, WANTED)
        met = bench.candidates(loose, *bench.sign(loose))
        low = met.only(met.pairs.jaccard < 0.5)
        counts.append((bench.score(loose, low, 0.0).candidates, len(low.measure)))
    assert counts[0][1] == counts[1][1] > 0
    assert counts[0][0] < counts[1][0]


def test_every_way_of_looking_is_a_profile_that_works() -> None:
    for spaceless in (False, True):
        for features in feature_profiles(spaceless):
            method_of(features)
    assert {features.gram for features in feature_profiles(True) if features.tokenizer == "words"} >= {5, 8}


@pytest.fixture(scope="module")
def tuned() -> TuningResult:
    return tune(strangers(40, words=80), TuneOptions(at=0.8, recall=0.9, copies=100, documents=40), no_progress)


def test_the_chosen_profile_reaches_on_fresh_edits_what_was_asked_for(tuned: TuningResult) -> None:
    assert tuned.reached
    fresh = add_copies(strangers(40, seed=9), 200, np.random.default_rng(9), (0.82, 0.85, 0.88))
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


def test_the_same_seed_chooses_the_same_profile_where_time_does_not_decide() -> None:
    options = TuneOptions(recall=0.9, copies=100, documents=40, budget="bytes")
    first, again = (tune(strangers(40, words=60), options, no_progress).profile for _ in range(2))
    assert first == again


def test_what_nothing_reaches_is_said_and_the_best_is_told_all_the_same() -> None:
    best = tune(strangers(40), TuneOptions(at=0.5, recall=0.999, precision=1.0, copies=100), no_progress)
    assert not best.reached
    assert any("None of the" in reason for reason in best.reasons)


def test_too_few_texts_to_plant_anything_in_are_refused() -> None:
    with pytest.raises(ConfigError, match="only 0 copies with J from"):
        tune(Corpus("short", ["a", "b"], ["one two", "three four"]), TuneOptions(copies=50), no_progress)


def test_if_no_words_can_be_told_apart_the_reason_is_told_with_it() -> None:
    runs = Corpus("javanese", [*map(str, range(9))], ["ꦧꦱꦗꦮ" * (60 + n) for n in range(9)])
    with pytest.raises(ConfigError, match="cannot separate words") as caught:
        tune(runs, TuneOptions(copies=50), no_progress)
    assert len(caught.value.problems) > 1


def test_a_precision_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigError, match="--precision"):
        check(TuneOptions(precision=0.3))


# Cautions


def test_plain_documents_give_no_warning() -> None:
    assert not cautions(strangers(40)).warnings


def test_templates_are_warned_of() -> None:
    some = strangers(40)
    form = strangers(1, seed=5, words=120).texts[0]
    [warning] = cautions(replace(some, texts=[f"{form} {text}" for text in some.texts])).warnings
    assert warning.startswith("templates: half of the documents share")


def test_very_short_documents_are_warned_of() -> None:
    some = strangers(40)
    texts = [text[:40] if number % 2 else text for number, text in enumerate(some.texts)]
    assert any(warning.startswith("very short: 50%") for warning in cautions(replace(some, texts=texts)).warnings)


def test_scripts_whose_letters_are_words_are_told_and_longer_grams_tried() -> None:
    found = cautions(Corpus("thai", ["a"], ["ภาษาไทยไม่เว้นวรรคระหว่างคำ" * 10]))
    assert found.spaceless
    assert any("each letter counts as a word" in warning for warning in found.warnings)


def test_a_script_that_the_gate_cannot_cut_is_named() -> None:
    found = cautions(Corpus("javanese", ["a"], ["ꦧꦱꦗꦮ" * 60]))
    assert not found.spaceless
    assert any("cannot separate words" in warning and "Javanese" in warning for warning in found.warnings)
