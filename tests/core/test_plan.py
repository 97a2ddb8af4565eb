"""What a plan promises of a profile."""

from __future__ import annotations

from math import isclose

import numpy as np
import pytest

from gate.core.bands import fingerprint_postings, fingerprint_probes
from gate.core.plan import plan, recall, within
from gate.core.profile import Profile
from gate.core.profiles import BUILT_IN
from gate.errors import ConfigError


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_recall_rises_with_resemblance_and_identical_documents_always_meet(name: str) -> None:
    curve = plan(BUILT_IN[name], 1000).recall
    assert [j for j, _ in curve] == sorted(j for j, _ in curve)
    assert [r for _, r in curve] == sorted(r for _, r in curve)
    assert curve[-1] == (1.0, 1.0)


@pytest.mark.parametrize("radius", [0, 3, 6, 12])
def test_the_probes_planned_are_the_probes_sent(radius: int) -> None:
    profile = Profile(name="p", method="simhash", radius=radius, resemblance=None)
    rows, prints = np.zeros(1, np.int64), np.array([0x0123456789ABCDEF], np.uint64)
    planned = plan(profile, 10)
    assert planned.probes == len(fingerprint_probes(rows, prints, radius))
    assert planned.postings == len(fingerprint_postings(rows, prints))


def test_a_hybrid_reads_and_keeps_what_both_of_its_methods_do() -> None:
    both, blocks, bands = (plan(Profile(name="p", method=method), 10) for method in ("hybrid", "simhash", "minhash"))
    assert both.probes == blocks.probes + bands.probes
    assert both.postings == blocks.postings + bands.postings
    assert set(both.bytes_per_document) == set(blocks.bytes_per_document) | set(bands.bytes_per_document)


def test_a_hybrid_finds_at_least_what_each_of_its_methods_finds() -> None:
    for resemblance in (0.3, 0.6, 0.9):
        alone = [recall(Profile(name="p", method=method), resemblance) for method in ("simhash", "minhash")]
        assert recall(Profile(name="p"), resemblance) >= max(alone)


def test_bands_of_unrelated_documents_meet_only_by_the_chance_of_their_bytes() -> None:
    profile = Profile(name="p", method="minhash", bands=16, rows=2, bins=64)
    assert plan(profile, 65536).expected_candidates == pytest.approx(16.0)
    assert isclose(recall(profile, 0.0), 16 / 65536, rel_tol=1e-3)


def test_more_documents_mean_more_strangers_and_more_bytes() -> None:
    small, large = plan(BUILT_IN["standard"], 1_000), plan(BUILT_IN["standard"], 10_000)
    assert large.total_bytes == 10 * small.total_bytes
    assert large.expected_candidates == pytest.approx(10 * small.expected_candidates)
    assert large.bucket_size == pytest.approx(10 * small.bucket_size)


def test_bands_of_one_row_have_but_as_many_buckets_as_a_byte_has_values() -> None:
    sizes = [plan(Profile(name="p", rows=rows), 65536).bucket_size for rows in (1, 2, 4)]
    assert sizes == [256.0, 1.0, 1.0]


def test_all_64_bits_differ_or_not_with_certainty() -> None:
    assert within(64, 0.3) == pytest.approx(1.0)
    assert within(0, 0.0) == 1.0


def test_parameters_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ConfigError, match="bins"):
        plan(Profile(name="p", bands=64, rows=8), 10)


def test_a_negative_number_of_documents_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        plan(BUILT_IN["standard"], -1)
