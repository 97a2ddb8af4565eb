"""The grid of profiles: what is read off it is what the gate would say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from gate.core.method_parameters import Hybrid, MinHash, SimHash
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.lab.experiment import Proportion
from gate.lab.planting import add_copies
from gate.lab.scores import among_first_documents, judge_all
from gate.lab.truth import Corpus
from gate.lab.tune import prove
from gate.lab.tune_grid import RADII, GridEvaluator, TuningGoal, feature_profiles, measure, sure
from tests.lab.lab_samples import unrelated_documents

WANTED = TuningGoal(recall=0.9, at=0.8, precision=0.99, size=1000)


def test_a_recall_of_few_cases_counts_for_less() -> None:
    assert sure(Proportion(0, 0)) == 0.0
    assert sure(Proportion(19, 20)) < sure(Proportion(190, 200)) < sure(Proportion(1900, 2000)) < 0.95
    assert sure(Proportion(20, 20)) < 1.0


@pytest.fixture(scope="module")
def documents() -> Corpus:
    return add_copies(unrelated_documents(40), 70, np.random.default_rng(1), (0.82, 0.85, 0.88, 0.4))


def test_what_the_grid_reads_off_is_what_the_gate_would_say(documents: Corpus) -> None:
    """Of every method: what meets, what is found and what is false are those of the profile run by itself."""
    found = list(measure(documents, Profile(name="tuned"), WANTED))
    kinds = {one.profile.method.name: one for one in found if one.recall.count}
    assert set(kinds) == {"simhash", "minhash", "hybrid"}
    for one in (*kinds.values(), found[0], found[len(RADII) + 2]):
        again, run = prove(documents, one.profile, WANTED), judge_all(documents, one.profile)
        assert (again.recall, again.precision) == (one.recall, one.precision), one.profile
        assert int(among_first_documents(documents, run.left, run.right).sum()) == one.compared, one.profile


def test_the_threshold_is_the_highest_that_leaves_enough_recall(documents: Corpus) -> None:
    banded = [one for one in measure(documents, Profile(name="tuned"), WANTED) if one.profile.resemblance is not None]
    for one in banded[:6]:
        assert sure(one.recall) >= WANTED.recall
        higher = structs.replace(one.profile, resemblance=(one.profile.resemblance or 0.0) + 0.025)
        assert sure(prove(documents, higher, WANTED).recall) < WANTED.recall


def test_candidates_by_fingerprint_alone_are_among_those_of_a_hybrid(documents: Corpus) -> None:
    """With one band of many rows next to nothing meets but by its fingerprint."""
    profile = Profile(name="tuned", method=MinHash(bins=64, bands=1, rows=8))
    bench = GridEvaluator(documents, WANTED)
    bodies, seconds = bench.sign(profile)
    met = bench.candidates(profile, bodies, seconds)
    prints = bench.near_pairs(Profile(name="tuned"), SimHash(radius=12))
    both = bench.join(profile, bodies, met, prints)
    run = judge_all(documents, structs.replace(profile, method=Hybrid(bins=64, bands=1, rows=8, radius=12)))
    among = among_first_documents(documents, run.left, run.right)
    assert len(both.measure) > len(met.measure)
    pairs = {(int(a), int(b)) for a, b in zip(both.pairs.left, both.pairs.right, strict=True)}
    assert pairs == set(zip(run.left[among].tolist(), run.right[among].tolist(), strict=True))


def test_versions_of_one_work_are_no_false_candidates(documents: Corpus) -> None:
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


def test_every_set_of_features_makes_a_profile_that_works() -> None:
    for spaceless in (False, True):
        for features in feature_profiles(spaceless):
            method_of(features)
    assert {features.gram for features in feature_profiles(True) if features.tokenizer == "words"} >= {5, 8}
