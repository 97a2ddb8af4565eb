"""The experiment `quality`: what was planted is found, what is not installed is named, and counts are right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gate.core.builtin_profiles import BUILT_IN
from gate.errors import ConfigError
from gate.lab.experiment import ExperimentReport, Proportion, Table, no_progress
from gate.lab.planting import add_copies
from gate.lab.quality import UNRELATED, FingerprintDistances, QualityOptions, draw_sample, run
from gate.lab.scores import BANDS
from gate.lab.truth import Corpus, PairLabel
from tests.lab.lab_samples import unrelated_documents

STANDARD = (BUILT_IN["standard"],)


def table(report: ExperimentReport, name: str) -> Table:
    return next(one for one in report.tables if one.name == name)


@pytest.fixture(scope="module")
def measured() -> ExperimentReport:
    return run(
        unrelated_documents(60),
        QualityOptions(copies=1.0, profiles=tuple(BUILT_IN.values())[:2], peers=False),
        no_progress,
    )


def test_without_labels_copies_are_planted_at_every_resemblance(measured: ExperimentReport) -> None:
    [row] = table(measured, "corpus").rows
    assert (row["documents"], row["of them planted"]) == (120, 60)
    assert all(isinstance(count := row[f"pairs J {band}"], int) and count > 2 for band in BANDS)


def test_standard_finds_what_was_planted_close_by_and_calls_nothing_else_alike(measured: ExperimentReport) -> None:
    row = table(measured, "methods").rows[0]
    assert row["method"] == "standard@1"
    for band in (">= .9", ".8 - .9"):
        found = row[f"recall J {band}"]
        assert isinstance(found, Proportion)
        assert found.share == 1.0
    assert row["false pairs"] == 0
    assert row["index, bytes"] == 492


def test_profiles_with_the_same_fingerprints_share_one_curve(measured: ExperimentReport) -> None:
    assert [one.name for one in measured.tables if one.name.startswith("k-")] == ["k-standard"]


def test_the_k_curve_never_falls_and_ends_where_everything_near_is_found(measured: ExperimentReport) -> None:
    rows = table(measured, "k-standard").rows
    shares = [found.count for row in rows if isinstance(found := row["recall J >= .9"], Proportion)]
    assert shares == sorted(shares)
    assert len(shares) == 17
    assert shares[-1] > 0


def test_every_pair_is_counted_once_in_the_distances() -> None:
    some = add_copies(unrelated_documents(30), 20, np.random.default_rng(1))
    prints = np.random.default_rng(2).integers(1, 2**63, len(some), dtype=np.uint64)
    counts = FingerprintDistances(some, "x@1", prints).counts
    firsts = len(set(some.first_equal.tolist()))
    assert sum(int(own.sum()) for own in counts.values()) == firsts * (firsts - 1) // 2
    assert sum(int(own.sum()) for band, own in counts.items() if band != UNRELATED) == len(some.pairs)


def test_labelled_documents_are_measured_as_they_are() -> None:
    some = replace(unrelated_documents(10), labels=[PairLabel("d0", "d1", 0.0)])
    [row] = table(run(some, QualityOptions(profiles=STANDARD, peers=False), no_progress), "corpus").rows
    assert (row["documents"], row["of them planted"], row["labels"], row["labels that disagree"]) == (10, 0, 1, 0)


def test_pairs_labelled_alike_are_counted_by_the_verdicts() -> None:
    some = add_copies(unrelated_documents(6), 6, np.random.default_rng(1), (0.9,))
    copies = [
        PairLabel(some.ids[6], some.ids[6].partition("~")[0], None),
        PairLabel("d0", "d1", None),
        PairLabel("d0", "x", None),
    ]
    measured = PairLabel("d0", "d2", 0.0)  # a label with a measure is checked, not counted
    report = run(replace(some, labels=[*copies, measured]), QualityOptions(profiles=STANDARD, peers=False), no_progress)
    assert table(report, "methods").rows[0]["labelled pairs"] == Proportion(1, 2)


def test_documents_too_short_to_plant_anything_in_are_refused() -> None:
    with pytest.raises(ConfigError, match="no copy could be planted in short"):
        run(Corpus("short", ["a", "b"], ["one two", ""]), QualityOptions(profiles=STANDARD), no_progress)


def test_a_sample_keeps_versions_of_one_work_together() -> None:
    some = unrelated_documents(40)
    clusters = {f"d{i}": f"w{i // 4}" for i in range(40)}
    drawn = draw_sample(replace(some, clusters=clusters), 12, np.random.default_rng(1))
    assert len(drawn) == 12
    assert len({clusters[name] for name in drawn.ids}) == 3


def test_a_corpus_that_is_small_enough_is_taken_whole() -> None:
    some = unrelated_documents(5)
    assert draw_sample(some, 5, np.random.default_rng(1)) is some
