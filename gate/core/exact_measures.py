"""Exact resemblance and containment of two texts, from all their features, where a signature can only estimate them.

As sets, or as multisets, in which a feature counts as often as it occurs: what both have is the lesser count of each
feature, what either has the greater.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gate.core import shingles, sketches
from gate.core.method_parameters import MinHash, WindowParameters
from gate.core.profile import Profile
from gate.core.text import Texts
from gate.core.tokenizers import Hashes


@dataclass(frozen=True, slots=True)
class ExactMeasures:
    """Of two texts; None where there is nothing to be a share of."""

    resemblance: float | None
    left_in_right: float | None
    right_in_left: float | None


def are_multisets(profile: Profile) -> bool:
    """Whether the profile counts repeated features."""
    return isinstance(profile.method, MinHash) and profile.method.multisets


def features_of(texts: Texts, profile: Profile, secret: bytes) -> list[Hashes]:
    """What is compared under a profile: the k-grams of each text, or its windows of bytes; all of them, however many a
    signature is made of."""
    if isinstance(profile.method, WindowParameters):
        filtered = shingles.filter_texts(texts, profile)
        windows = sketches.windows(filtered, profile.method.window, secret)
        return [windows.prints[a:b] for a, b in zip(windows.begins.tolist(), windows.ends.tolist(), strict=True)]
    features = shingles.features(texts, profile, secret)
    return [features.hashes[a:b] for a, b in pairwise(features.starts.tolist())]


def exact_measures(left: Hashes, right: Hashes, *, multisets: bool) -> ExactMeasures:
    """The measures of two texts by their features."""
    left_values, left_counts = np.unique(left, return_counts=True)
    right_values, right_counts = np.unique(right, return_counts=True)
    if not multisets:
        left_counts, right_counts = np.ones_like(left_counts), np.ones_like(right_counts)
    _, at_left, at_right = np.intersect1d(left_values, right_values, assume_unique=True, return_indices=True)
    shared = int(np.minimum(left_counts[at_left], right_counts[at_right]).sum())
    sizes = int(left_counts.sum()), int(right_counts.sum())
    return ExactMeasures(_share(shared, sum(sizes) - shared), _share(shared, sizes[0]), _share(shared, sizes[1]))


def _share(count: int, total: int) -> float | None:
    return count / total if total else None
