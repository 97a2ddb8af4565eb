"""Many profiles measured on one set of documents: each way of looking at a text is signed once, and every choice of
radius, bands, rows and threshold is then read off the pairs of candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from time import process_time
from typing import Literal

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from gate.core.judge import DECIMALS
from gate.core.method_parameters import Hybrid, MinHash, SimHash, Weights
from gate.core.method_registry import method_of
from gate.core.plan import plan
from gate.core.profile import Profile
from gate.lab.experiment import Proportion
from gate.lab.scores import Flags, among_first_documents, compare_pairs, find_candidates, sign
from gate.lab.truth import LEAST, Corpus, DocumentPairs, Floats

Budget = Literal["balanced", "candidates", "bytes", "docs/s"]

NAME = "tuned"
WIDTH = 0.1  # of the band of J above `at` that recall is measured in: the hardest of the pairs that are promised
RADII = (2, 3, 4, 5, 6, 7)  # above, reading the index costs too much (docs/quality.md)
HYBRID_RADIUS = 3
WEIGHTS: tuple[Weights, ...] = ("count", "log")
BINS = (64, 128, 256)
BANDINGS = ((8, 4), (12, 4), (16, 4), (24, 4), (32, 4), (16, 3), (21, 3), (32, 3), (12, 5), (25, 5), (32, 6), (32, 2))
THRESHOLDS: tuple[float, ...] = tuple(round(0.2 + 0.025 * step, 3) for step in range(32))
DEVIATIONS = 1.28  # nine chances in ten that the true recall is not below what is called certain


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningGoal:
    """What a profile has to reach, and for how large an index."""

    recall: float
    at: float
    precision: float
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileTrial:
    """A profile, and what it was measured to find and to take."""

    profile: Profile
    recall: Proportion  # of pairs from `at` on, WIDTH wide
    precision: Proportion  # of all pairs called alike
    compared: int  # pairs of candidates
    candidates: float  # false candidates to compare at a look-up in an index of the wanted size
    size: int  # bytes a document
    seconds: float  # of the processor, a document

    def reaches(self, goal: TuningGoal) -> bool:
        return sure(self.recall) >= goal.recall and (self.precision.share or 0.0) >= goal.precision


@dataclass(frozen=True, slots=True)
class HeldOutScore:
    """What a profile found on edits that it was not chosen by: in the band that is asked for, and of all it called."""

    recall: Proportion
    precision: Proportion


def sure(cases: Proportion) -> float:
    """A share less what chance may have added to it, the more so the fewer cases there were."""
    if cases.share is None:
        return 0.0
    share = (cases.count + 0.5) / (cases.total + 1)
    return (
        min(cases.share, share - DEVIATIONS * sqrt(share * (1.0 - share) / cases.total))
        if cases.total < 10_000
        else share
    )


def feature_profiles(spaceless: bool) -> list[Profile]:
    """Ways of looking at a text. Where letters are words, k-grams of words are short: longer ones are tried too."""
    base = Profile(name=NAME)
    profiles = [replace(base, gram=gram) for gram in (2, 3, 4)]
    profiles.append(replace(base, gram=1, drop_stop_words=True))
    if spaceless:
        profiles += [replace(base, gram=gram) for gram in (5, 8)]
    profiles += [replace(base, tokenizer="characters", gram=gram) for gram in (5, 9)]
    return profiles


def measure(documents: Corpus, features: Profile, goal: TuningGoal) -> Iterator[ProfileTrial]:
    """Every method, radius, banding and threshold over one way of looking at a text."""
    bench = GridEvaluator(documents, goal)
    near = {weights: bench.near_pairs(features, SimHash(radius=max(RADII), weights=weights)) for weights in WEIGHTS}
    for weights, pairs in near.items():
        for radius in RADII:
            profile = replace(features, method=SimHash(radius=radius, weights=weights), resemblance=None)
            yield bench.score(profile, pairs.only(pairs.measure <= radius), pairs.seconds)
    for bins in BINS:
        bodies, seconds = bench.sign(replace(features, method=MinHash(bins=bins)))
        prints = near["count"].only(near["count"].measure <= HYBRID_RADIUS)
        for bands, rows in BANDINGS:
            if bands * rows > bins:
                continue
            profile = replace(features, method=MinHash(bins=bins, bands=bands, rows=rows))
            candidates = bench.candidates(profile, bodies, seconds)
            if (best := bench.best_threshold(profile, candidates)) is not None:
                yield best
            both = bench.join(profile, bodies, candidates, prints)
            hybrid = replace(features, method=Hybrid(bins=bins, bands=bands, rows=rows, radius=HYBRID_RADIUS))
            if (best := bench.best_threshold(hybrid, both)) is not None:
                yield best


@dataclass(frozen=True, slots=True)
class MeasuredPairs:
    """Pairs of candidates, their J (0 below LEAST), what decides about them, and the seconds a document."""

    pairs: DocumentPairs
    measure: Floats
    seconds: float

    def only(self, keep: Flags) -> MeasuredPairs:
        return MeasuredPairs(self.pairs.only(keep), self.measure[keep], self.seconds)


class GridEvaluator:
    """What all profiles are measured on."""

    def __init__(self, documents: Corpus, goal: TuningGoal) -> None:
        self.documents = documents
        self.goal = goal
        truth = documents.pairs.jaccard
        self.hard = int(((truth >= goal.at) & (truth < goal.at + WIDTH)).sum())
        self.firsts = len(set(documents.first_equal.tolist()))
        numbers: dict[str, int] = {}
        works = [documents.clusters.get(name, name) for name in documents.ids]
        self.works = np.array([numbers.setdefault(work, len(numbers)) for work in works])

    def sign(self, profile: Profile) -> tuple[list[bytes], float]:
        begun = process_time()
        bodies = sign(method_of(profile), self.documents.texts)
        return bodies, (process_time() - begun) / len(self.documents)

    def candidates(self, profile: Profile, bodies: Sequence[bytes], seconds: float) -> MeasuredPairs:
        """The pairs that share a band, with the estimates of their resemblance."""
        begun = process_time()
        method = method_of(profile)
        left, right = find_candidates(method, bodies)
        pairs = self._among(left, right)
        estimates = self._estimates(profile, bodies, pairs)
        return MeasuredPairs(pairs, estimates, seconds + (process_time() - begun) / len(self.documents))

    def near_pairs(self, features: Profile, fingerprint: SimHash) -> MeasuredPairs:
        """The pairs within the radius, with their distances."""
        profile = replace(features, method=fingerprint, resemblance=None)
        bodies, seconds = self.sign(profile)
        method = method_of(profile)
        begun = process_time()
        left, right = find_candidates(method, bodies)
        pairs = self._among(left, right)
        distances = [
            measures.distance
            for measures in compare_pairs(method, bodies, pairs.left, pairs.right)
            if measures.distance is not None
        ]
        apart = np.concatenate([np.empty(0, np.int64), *distances]).astype(np.float64)
        near = apart <= fingerprint.radius
        seconds += (process_time() - begun) / len(self.documents)
        return MeasuredPairs(pairs.only(near), apart[near], seconds)

    def join(
        self, profile: Profile, bodies: Sequence[bytes], candidates: MeasuredPairs, prints: MeasuredPairs
    ) -> MeasuredPairs:
        """The candidates of a hybrid: those of the bands, and those of the fingerprints beyond."""
        count = len(self.documents)
        known = candidates.pairs.left * count + candidates.pairs.right
        more = prints.only(~np.isin(prints.pairs.left * count + prints.pairs.right, known)).pairs
        pairs = DocumentPairs(
            np.concatenate([candidates.pairs.left, more.left]),
            np.concatenate([candidates.pairs.right, more.right]),
            np.concatenate([candidates.pairs.jaccard, more.jaccard]),
        )
        estimates = np.concatenate([candidates.measure, self._estimates(profile, bodies, more)])
        return MeasuredPairs(pairs, estimates, candidates.seconds + prints.seconds)

    def best_threshold(self, profile: Profile, candidates: MeasuredPairs) -> ProfileTrial | None:
        """The score under the highest threshold that leaves enough recall; None if none does."""
        jaccard = candidates.pairs.jaccard
        hard = np.sort(candidates.measure[(jaccard >= self.goal.at) & (jaccard < self.goal.at + WIDTH)])
        for threshold in reversed(THRESHOLDS):
            recall = Proportion(len(hard) - int(np.searchsorted(hard, threshold)), self.hard)
            if sure(recall) >= self.goal.recall:
                at_threshold = replace(profile, resemblance=threshold)
                return self.score(
                    at_threshold,
                    candidates.only(candidates.measure >= threshold),
                    candidates.seconds,
                    candidates=candidates,
                )
        return None

    def score(
        self, profile: Profile, called: MeasuredPairs, seconds: float, candidates: MeasuredPairs | None = None
    ) -> ProfileTrial:
        jaccard = called.pairs.jaccard
        hard = int(((jaccard >= self.goal.at) & (jaccard < self.goal.at + WIDTH)).sum())
        pairs = (candidates or called).pairs
        expected = plan(profile, self.goal.size)
        # Versions of one work are candidates though they may have little in common; a larger index has no more of them.
        false_candidates = (pairs.jaccard < LEAST) & (self.works[pairs.left] != self.works[pairs.right])
        # One more than were seen: of none among a thousand pairs it does not follow that there are none in a million.
        rate = (int(false_candidates.sum()) + 1) / max(self.firsts * (self.firsts - 1) / 2, 1)
        return ProfileTrial(
            profile=profile,
            recall=Proportion(hard, self.hard),
            precision=Proportion(int((jaccard >= LEAST).sum()), len(jaccard)),
            compared=len(pairs.left),
            candidates=max(rate * self.goal.size, expected.expected_candidates),
            size=sum(expected.bytes_per_document.values()),
            seconds=seconds,
        )

    def _among(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> DocumentPairs:
        among = among_first_documents(self.documents, left, right)
        left, right = left[among], right[among]
        return DocumentPairs(left, right, self.documents.known(left, right))

    def _estimates(self, profile: Profile, bodies: Sequence[bytes], pairs: DocumentPairs) -> Floats:
        parts = [
            measures.resemblance
            for measures in compare_pairs(method_of(profile), bodies, pairs.left, pairs.right)
            if measures.resemblance is not None
        ]
        return np.round(np.concatenate([np.empty(0), *parts]), DECIMALS)
