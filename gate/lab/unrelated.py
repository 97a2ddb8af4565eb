"""Measure how far apart the fingerprints of unrelated documents of a corpus are, for `gate plan --corpus`."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from gate.core.method_parameters import Fingerprinted
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.core.unrelated import UnrelatedDistance
from gate.errors import ConfigError
from gate.lab.scores import sign
from gate.lab.truth import Corpus

SAMPLE = 300  # documents: 44,850 pairs
LEAST_DOCUMENTS = 20
RELATED = 0.1  # two documents that have more of their 3-word shingles in common are not unrelated
NEAR = 3.0  # standard deviations below the mean: pairs from here on are looked at


def measure_unrelated(corpus: Corpus, profile: Profile, *, seed: int = 1) -> UnrelatedDistance:
    """The mean and the variance over all pairs of a sample, one document of a work, pairs that are related left out."""
    method = profile.method
    if not isinstance(method, Fingerprinted):
        raise ConfigError(
            f"corpus: {method.name} has no fingerprint whose distances could be measured; choose a profile of the "
            "method simhash or hybrid, or leave --corpus out"
        )
    works: dict[str, int] = {}
    for i in np.random.default_rng(seed).permutation(len(corpus)).tolist():
        works.setdefault(corpus.clusters.get(corpus.ids[i], f"\0{corpus.first_equal[i]}"), i)
    chosen = np.array(list(works.values())[:SAMPLE], np.int64)
    bodies = sign(method_of(replace(profile, min_features=1)), [corpus.texts[i] for i in chosen.tolist()])
    signed = np.array([bool(body) for body in bodies], np.bool_)
    chosen = chosen[signed]
    if len(chosen) < LEAST_DOCUMENTS:
        raise ConfigError(
            f"corpus: {corpus.name} has {len(chosen)} different documents with features; give {LEAST_DOCUMENTS} or more"
        )
    prints = np.array([int.from_bytes(body[:8], "little") for body in bodies if body], np.uint64)
    left, right = np.triu_indices(len(prints), 1)
    distances = np.bitwise_count(prints[left] ^ prints[right]).astype(np.float64)
    near = np.flatnonzero(distances < distances.mean() - NEAR * distances.std())
    unrelated = np.ones(distances.size, np.bool_)
    unrelated[near] = corpus.jaccard(chosen[left[near]], chosen[right[near]]) < RELATED
    kept = distances[unrelated] if unrelated.any() else distances
    return UnrelatedDistance(mean=float(kept.mean()), variance=float(kept.var()))
