"""Many profiles measured on one set of documents: each way of looking at a text is signed once, and every choice of
radius, bands, rows and threshold is then read off the pairs that are brought together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from time import process_time

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from gate.core.judge import DECIMALS
from gate.core.method_parameters import Hybrid, MinHash, SimHash, Weights
from gate.core.method_registry import method_of
from gate.core.plan import plan
from gate.core.profile import Profile
from gate.lab.experiment import Proportion
from gate.lab.scores import DocumentPairs, Flags, compared, find_candidates, firsts, sign
from gate.lab.truth import LEAST, Corpus, Floats

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
    met: int  # pairs that were brought together
    candidates: float  # strangers to compare at a look-up in an index of the wanted size
    size: int  # bytes a document
    seconds: float  # of the processor, a document

    def reaches(self, wanted: TuningGoal) -> bool:
        return sure(self.recall) >= wanted.recall and (self.precision.share or 0.0) >= wanted.precision


def sure(found: Proportion) -> float:
    """A share less what chance may have added to it, the more so the fewer cases there were."""
    if found.share is None:
        return 0.0
    share = (found.count + 0.5) / (found.total + 1)
    return (
        min(found.share, share - DEVIATIONS * sqrt(share * (1.0 - share) / found.total))
        if found.total < 10_000
        else share
    )


def looks(spaceless: bool) -> list[Profile]:
    """Ways of looking at a text. Where letters are words, k-grams of words are short: longer ones are tried too."""
    base = Profile(name=NAME)
    found = [replace(base, gram=gram) for gram in (2, 3, 4)]
    found.append(replace(base, gram=1, drop_stop_words=True))
    found += [replace(base, gram=gram) for gram in (5, 8)] if spaceless else [replace(base, tokenizer="soundex")]
    found += [replace(base, tokenizer="characters", gram=gram) for gram in (5, 9)]
    return found


def measure(documents: Corpus, look: Profile, wanted: TuningGoal) -> Iterator[ProfileTrial]:
    """Every method, radius, banding and threshold over one way of looking at a text."""
    bench = GridEvaluator(documents, wanted)
    near = {weights: bench.near(look, SimHash(radius=max(RADII), weights=weights)) for weights in WEIGHTS}
    for weights, found in near.items():
        for radius in RADII:
            profile = replace(look, method=SimHash(radius=radius, weights=weights), resemblance=None)
            yield bench.tried(profile, found.only(found.measure <= radius), found.seconds)
    for bins in BINS:
        bodies, seconds = bench.signed(replace(look, method=MinHash(bins=bins)))
        prints = near["count"].only(near["count"].measure <= HYBRID_RADIUS)
        for bands, rows in BANDINGS:
            if bands * rows > bins:
                continue
            profile = replace(look, method=MinHash(bins=bins, bands=bands, rows=rows))
            met = bench.met(profile, bodies, seconds)
            if (best := bench.decided(profile, met)) is not None:
                yield best
            both = bench.joined(profile, bodies, met, prints)
            hybrid = replace(look, method=Hybrid(bins=bins, bands=bands, rows=rows, radius=HYBRID_RADIUS))
            if (best := bench.decided(hybrid, both)) is not None:
                yield best


@dataclass(frozen=True, slots=True)
class MeasuredPairs:
    """Pairs that are brought together, their J (0 below LEAST), what decides about them, and the seconds a document."""

    pairs: DocumentPairs
    measure: Floats
    seconds: float

    def only(self, keep: Flags) -> MeasuredPairs:
        return MeasuredPairs(self.pairs.only(keep), self.measure[keep], self.seconds)


class GridEvaluator:
    """What all profiles are measured on."""

    def __init__(self, documents: Corpus, wanted: TuningGoal) -> None:
        self.documents = documents
        self.wanted = wanted
        truth = documents.pairs.jaccard
        self.hard = int(((truth >= wanted.at) & (truth < wanted.at + WIDTH)).sum())
        self.firsts = len(set(documents.first_equal.tolist()))
        numbers: dict[str, int] = {}
        works = [documents.clusters.get(name, name) for name in documents.ids]
        self.works = np.array([numbers.setdefault(work, len(numbers)) for work in works])

    def signed(self, profile: Profile) -> tuple[list[bytes], float]:
        begun = process_time()
        bodies = sign(method_of(profile), self.documents.texts)
        return bodies, (process_time() - begun) / len(self.documents)

    def met(self, profile: Profile, bodies: Sequence[bytes], seconds: float) -> MeasuredPairs:
        """The pairs that the bands bring together, with the estimates of their resemblance."""
        begun = process_time()
        method = method_of(profile)
        left, right = find_candidates(method, bodies)
        pairs = self._among(left, right)
        estimates = self._estimates(profile, bodies, pairs)
        return MeasuredPairs(pairs, estimates, seconds + (process_time() - begun) / len(self.documents))

    def near(self, look: Profile, fingerprint: SimHash) -> MeasuredPairs:
        """The pairs within the radius, with their distances."""
        profile = replace(look, method=fingerprint, resemblance=None)
        bodies, seconds = self.signed(profile)
        method = method_of(profile)
        begun = process_time()
        left, right = find_candidates(method, bodies)
        pairs = self._among(left, right)
        distances = [
            measures.distance
            for measures in compared(method, bodies, pairs.left, pairs.right)
            if measures.distance is not None
        ]
        apart = np.concatenate([np.empty(0, np.int64), *distances]).astype(np.float64)
        near = apart <= fingerprint.radius
        seconds += (process_time() - begun) / len(self.documents)
        return MeasuredPairs(pairs.only(near), apart[near], seconds)

    def joined(
        self, profile: Profile, bodies: Sequence[bytes], met: MeasuredPairs, prints: MeasuredPairs
    ) -> MeasuredPairs:
        """What either way brings together: those of the bands, and those of the fingerprints beyond."""
        count = len(self.documents)
        known = met.pairs.left * count + met.pairs.right
        more = prints.only(~np.isin(prints.pairs.left * count + prints.pairs.right, known)).pairs
        joined = DocumentPairs(
            np.concatenate([met.pairs.left, more.left]),
            np.concatenate([met.pairs.right, more.right]),
            np.concatenate([met.pairs.jaccard, more.jaccard]),
        )
        estimates = np.concatenate([met.measure, self._estimates(profile, bodies, more)])
        return MeasuredPairs(joined, estimates, met.seconds + prints.seconds)

    def decided(self, profile: Profile, met: MeasuredPairs) -> ProfileTrial | None:
        """With the highest threshold that leaves enough recall; None if no threshold does."""
        jaccard = met.pairs.jaccard
        hard = np.sort(met.measure[(jaccard >= self.wanted.at) & (jaccard < self.wanted.at + WIDTH)])
        for threshold in reversed(THRESHOLDS):
            found = Proportion(len(hard) - int(np.searchsorted(hard, threshold)), self.hard)
            if sure(found) >= self.wanted.recall:
                chosen = replace(profile, resemblance=threshold)
                return self.tried(chosen, met.only(met.measure >= threshold), met.seconds, brought=met)
        return None

    def tried(
        self, profile: Profile, called: MeasuredPairs, seconds: float, brought: MeasuredPairs | None = None
    ) -> ProfileTrial:
        jaccard = called.pairs.jaccard
        hard = int(((jaccard >= self.wanted.at) & (jaccard < self.wanted.at + WIDTH)).sum())
        met = (brought or called).pairs
        expected = plan(profile, self.wanted.size)
        # Versions of one work meet though they may have little in common; a larger index does not hold more of them.
        strangers = (met.jaccard < LEAST) & (self.works[met.left] != self.works[met.right])
        # One more than were seen: of none among a thousand pairs it does not follow that there are none in a million.
        rate = (int(strangers.sum()) + 1) / max(self.firsts * (self.firsts - 1) / 2, 1)
        return ProfileTrial(
            profile=profile,
            recall=Proportion(hard, self.hard),
            precision=Proportion(int((jaccard >= LEAST).sum()), len(jaccard)),
            met=len(met.left),
            candidates=max(rate * self.wanted.size, expected.expected_candidates),
            size=sum(expected.bytes_per_document.values()),
            seconds=seconds,
        )

    def _among(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> DocumentPairs:
        among = firsts(self.documents, left, right)
        left, right = left[among], right[among]
        return DocumentPairs(left, right, self.documents.known(left, right))

    def _estimates(self, profile: Profile, bodies: Sequence[bytes], pairs: DocumentPairs) -> Floats:
        parts = [
            measures.resemblance
            for measures in compared(method_of(profile), bodies, pairs.left, pairs.right)
            if measures.resemblance is not None
        ]
        return np.round(np.concatenate([np.empty(0), *parts]), DECIMALS)
