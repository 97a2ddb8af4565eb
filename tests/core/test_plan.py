"""What a plan promises of a profile."""

from __future__ import annotations

from math import isclose

import numpy as np
import pytest

from gate.core.bands import band_recall, fingerprint_postings, fingerprint_probes
from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_parameters import Hybrid, MinHash, SimHash, SimilarityIndex
from gate.core.method_registry import method_of
from gate.core.plan import bands_for, chance_within, plan, recall
from gate.core.profile import Profile
from gate.core.shingles import Features
from gate.core.similarity_index import likeness, numbers
from gate.core.text import normalise
from gate.errors import ConfigError


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_recall_rises_with_resemblance_and_identical_documents_are_always_found(name: str) -> None:
    curve = plan(BUILT_IN[name], 1000).recall
    assert [j for j, _ in curve] == sorted(j for j, _ in curve)
    assert [r for _, r in curve] == sorted(r for _, r in curve)
    assert curve[-1] == (1.0, 1.0)


@pytest.mark.parametrize("radius", [0, 3, 6, 12])
def test_the_probes_planned_are_the_probes_sent(radius: int) -> None:
    profile = Profile(name="p", method=SimHash(radius=radius), resemblance=None)
    rows, prints = np.zeros(1, np.int64), np.array([0x0123456789ABCDEF], np.uint64)
    planned = plan(profile, 10)
    assert planned.probes == len(fingerprint_probes(rows, prints, radius))
    assert planned.postings == len(fingerprint_postings(rows, prints))


def test_a_hybrid_reads_and_keeps_what_both_of_its_methods_do() -> None:
    both, blocks, bands = (plan(Profile(name="p", method=method), 10) for method in (Hybrid(), SimHash(), MinHash()))
    assert both.probes == blocks.probes + bands.probes
    assert both.postings == blocks.postings + bands.postings
    assert set(both.bytes_per_document) == set(blocks.bytes_per_document) | set(bands.bytes_per_document)


def test_a_hybrid_finds_at_least_what_each_of_its_methods_finds() -> None:
    for resemblance in (0.3, 0.6, 0.9):
        alone = [recall(Profile(name="p", method=method), resemblance) for method in (SimHash(), MinHash())]
        assert recall(Profile(name="p"), resemblance) >= max(alone)


def test_unrelated_documents_share_a_band_only_by_the_chance_of_their_bytes() -> None:
    profile = Profile(name="p", method=MinHash(bands=16, rows=2, bins=64))
    assert plan(profile, 65536).expected_candidates == pytest.approx(16.0)
    assert isclose(recall(profile, 0.0), 16 / 65536, rel_tol=1e-3)


def test_more_documents_mean_more_strangers_and_more_bytes() -> None:
    small, large = plan(BUILT_IN["standard"], 1_000), plan(BUILT_IN["standard"], 10_000)
    assert large.total_bytes == 10 * small.total_bytes
    assert large.expected_candidates == pytest.approx(10 * small.expected_candidates)
    assert large.bucket_size == pytest.approx(10 * small.bucket_size)


def test_bands_of_one_row_have_but_as_many_buckets_as_a_byte_has_values() -> None:
    sizes = [plan(Profile(name="p", method=Hybrid(rows=rows)), 65536).bucket_size for rows in (1, 2, 4)]
    assert sizes == [256.0, 1.0, 1.0]


def test_all_64_bits_differ_or_not_with_certainty() -> None:
    assert chance_within(64, 0.3) == pytest.approx(1.0)
    assert chance_within(0, 0.0) == 1.0


@pytest.mark.parametrize("name", ["mod-n", "min-n", "bsw-n", "containment"])
def test_a_plan_of_windows_is_that_of_a_document_of_8_kb(name: str) -> None:
    profile = BUILT_IN[name]
    text = " ".join(f"{i * 7919 % 10_007:x}" for i in range(2_000))[:8192]
    method = method_of(profile)
    bodies = method.sign(normalise([text])).bodies
    planned = plan(profile, 1000)
    assert len(method.postings(bodies)) == pytest.approx(planned.postings, rel=0.2)
    assert len(bodies[0]) == pytest.approx(planned.bytes_per_document["prints"], rel=0.2)


def test_a_sketch_takes_the_bytes_that_are_planned() -> None:
    profile = BUILT_IN["sketch-n"]
    assert plan(profile, 10).bytes_per_document["sketch"] == method_of(profile).layout.body_bytes


def test_parameters_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ConfigError, match="bins"):
        plan(Profile(name="p", method=Hybrid(bands=64, rows=8)), 10)


def test_a_negative_number_of_documents_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        plan(BUILT_IN["standard"], -1)


# Bands chosen for a resemblance


@pytest.mark.parametrize("resemblance", [0.3, 0.5, 0.7, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("wanted", [0.5, 0.95])
def test_the_bands_reach_the_recall_with_the_bins_there_are(resemblance: float, wanted: float) -> None:
    bands, rows = bands_for(resemblance, bins=256, recall=wanted)
    assert bands * rows <= 256
    assert band_recall(resemblance, bands=bands, band_rows=rows) >= wanted


def test_of_all_bands_that_find_enough_the_steepest_are_chosen() -> None:
    bands, rows = bands_for(0.8, bins=128, recall=0.95)
    below = band_recall(0.4, bands=bands, band_rows=rows)
    for other in range(1, 9):
        enough = [b for b in range(1, 128 // other + 1) if band_recall(0.8, bands=b, band_rows=other) >= 0.95]
        assert all(band_recall(0.4, bands=b, band_rows=other) >= below for b in enough)


def test_a_higher_resemblance_takes_fewer_bands_of_as_many_rows() -> None:
    assert bands_for(0.95, bins=128, recall=0.95) < bands_for(0.8, bins=128, recall=0.95)


def test_too_few_bins_for_the_recall_are_an_error() -> None:
    with pytest.raises(ConfigError, match="raise bins"):
        bands_for(0.1, bins=16, recall=0.99)


@pytest.mark.parametrize(
    ("at", "wanted", "what"), [(0.0, 0.9, "at"), (1.1, 0.9, "at"), (0.8, 1.0, "recall"), (0.8, 0.0, "recall")]
)
def test_shares_that_are_none_are_refused(at: float, wanted: float, what: str) -> None:
    with pytest.raises(ConfigError, match=f"^{what}: "):
        bands_for(at, bins=128, recall=wanted)


# The similarity index


def test_the_probes_of_a_range_are_those_sent() -> None:
    profile = Profile(name="p", method=SimilarityIndex(), resemblance=0.7)
    planned = plan(profile, 1000)
    assert planned.probes == len(method_of(profile).probes([(3 << 40).to_bytes(8, "little")]))
    assert planned.postings == 1


def test_sums_of_unrelated_documents_are_near_as_often_as_random_numbers() -> None:
    """Drawn: two independent normal numbers, one within 30 % of the other."""
    profile = Profile(name="p", method=SimilarityIndex(), resemblance=0.7)
    drawn = np.random.default_rng(1).normal(size=(2, 200_000))
    size = np.abs(drawn)
    near = (drawn[0] * drawn[1] > 0) & (size.min(axis=0) >= 0.7 * size.max(axis=0))
    assert recall(profile, 0.0) == pytest.approx(near.mean(), abs=0.003)


@pytest.mark.parametrize("method", [5, 7, 9])
def test_sums_of_extremes_are_near_for_all_documents_of_one_length(method: int) -> None:
    """Drawn: hashes of unrelated documents, of one length."""
    profile = Profile(name="p", method=SimilarityIndex(si_method=method), resemblance=0.7)
    drawn = np.random.default_rng(1).integers(0, 2**32, 20 * 3000, dtype=np.uint64)
    found = numbers(Features(drawn, np.arange(0, drawn.size + 1, 3000)), method, gram=4, window=25)
    assert likeness(found[:-1], found[1:]).min() > 0.7
    assert recall(profile, 0.0) == 1.0


def test_hashes_of_sketches_that_differ_at_all_are_near_by_chance_only() -> None:
    profile = Profile(name="p", method=SimilarityIndex(si_method=4), resemblance=0.7)
    assert recall(profile, 0.99) == recall(profile, 0.1) == pytest.approx(0.15)
    assert recall(profile, 1.0) == 1.0
