"""The plots of the experiment `cherkasova`: one curve a profile, under the name that the paper gives it."""

from __future__ import annotations

import numpy as np

from gate.lab.cherkasova_plots import overlap_plot, window_plot
from gate.lab.sampling import Change, SimilarPairs, profile_of


def test_a_plot_by_window_has_a_curve_of_each_window_of_its_method() -> None:
    profiles = [
        profile_of("mod-n", 100, window=5),
        profile_of("mod-n", 100, window=20),
        profile_of("min-n", 30, window=5),
    ]
    similarity = {profile: {5: np.array([0.9, 0.7]), 40: np.array([0.5])} for profile in profiles}
    plot = window_plot("mod-n", profiles, similarity, Change.INSERTED)
    assert plot.name == "figure-2-mod-n-inserted"
    assert [series.label for series in plot.series] == ["5 bytes", "20 bytes", "paper: 5 and 100 bytes"]
    assert (plot.series[0].x, plot.series[0].y) == ([5.0, 40.0], [0.8, 0.5])


def test_curves_of_different_documents_are_named_by_what_differs_between_them() -> None:
    pairs = SimilarPairs(np.array([0]), np.array([1]), np.array([0.2]), 4)
    by_window = [profile_of("mod-n", 100, window=window) for window in (5, 20)]
    by_method = [profile_of("mod-n", 100), profile_of("min-n", 100)]
    for profiles, labels in (
        (by_window, ["5 bytes", "20 bytes", "paper: 5 bytes, at least"]),
        (by_method, ["Mod_100", "Min_100"]),
    ):
        plot = overlap_plot("figure", profiles, dict.fromkeys(profiles, pairs))
        assert [series.label for series in plot.series] == labels


def test_a_curve_of_different_documents_falls_from_the_share_of_pairs_with_anything_in_common() -> None:
    profile = profile_of("min-n", 100)
    pairs = SimilarPairs(np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([0.1, 0.2, 0.2]), 10)
    [curve] = overlap_plot("figure", [profile], {profile: pairs}).series
    assert (list(curve.x), list(curve.y)) == ([0.1, 0.2], [0.3, 0.2])
