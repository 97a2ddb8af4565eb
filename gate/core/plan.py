"""What a profile costs and finds, before the first document is in: look-ups, false candidates, bytes, recall.

Everything here is arithmetic on the parameters. It rests on four models:

- A band of r rows is shared with probability p ** r, where p = J + (1 - J) / 256: a row agrees because the sets do,
  or by the chance of one byte.
- A bit of two fingerprints differs with probability arccos(c) / pi (random hyperplanes), where c = 2J / (1 + J) is
  the cosine of two sets of equal size and resemblance J; so the distance is binomial over 64 bits.
- Bits of unrelated documents differ as `gate.core.unrelated` says: seldomer than in half of the cases.
- A similarity index is the sum of random numbers of both signs, of which two documents share 2J / (1 + J): two normal
  numbers of that correlation. Their quotient is a Cauchy variable, and J says how often it is near 1.
- Of a set of windows, the k smallest fingerprints are the keys. Each of the smallest of the union is in both sets with
  probability J, so documents of one size share a key with probability 1 - (1 - J) ** k. How many keys and fingerprints
  there are grows with the text; a document of 8 KB is taken.

Real texts repeat words and come in unequal sizes, so a measured recall may differ; a hybrid's two access paths are
taken as independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import acos, atan, comb, log2, pi, sqrt
from typing import Any

from gate.core.bands import BLOCK_BITS, BLOCKS, band_recall, probe_count
from gate.core.method import COUNT_BYTES
from gate.core.method_parameters import (
    RANDOM_THIRD,
    SUPER,
    BswN,
    Fingerprinted,
    Hybrid,
    MethodParameters,
    MinHash,
    MinN,
    ModN,
    SimHash,
    SimilarityIndex,
    SketchN,
)
from gate.core.method_registry import method_of
from gate.core.minhash import SIZE_BYTES, length_bytes
from gate.core.profile import FINGERPRINT_BITS, Profile
from gate.core.sampled_methods import PRINT_BYTES, VALUE_BYTES, SampleMethod
from gate.core.simhash import FINGERPRINT_BYTES
from gate.core.similarity_index import SimilarityIndexMethod
from gate.core.unrelated import UnrelatedDistance, typical
from gate.errors import ConfigError

POSTING_BYTES = 16  # an entry's number and its tag
IDENTITY_BYTES = 16 + 8 + 8  # content id, entry, ticket
TEXT_BYTES = 8192  # of a document whose signature grows with it
CHANCE = 1.0 / 256.0  # that two unrelated bytes agree
NUMBER_BITS = 6  # most similarity indexes of documents of one length lie within two doublings, of either sign
MOST_BANDS, MOST_ROWS = 128, 8
RESEMBLANCES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The expectations of one profile at one size."""

    profile: str
    documents: int
    probes: int  # buckets read per look-up
    postings: int  # buckets that hold a stored document
    bucket_size: float  # postings in a bucket, if all are used alike, of the table that has the fewest
    expected_candidates: float  # false candidates: unrelated documents per look-up that have to be compared
    bytes_per_document: dict[str, int]  # as it is defined; a backend's own overhead comes on top
    recall: list[tuple[float, float]]  # resemblance, chance that the pair is found
    radius: int | None  # fingerprints within so many bits are found for certain

    @property
    def total_bytes(self) -> int:
        return self.documents * sum(self.bytes_per_document.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPath:
    """One way to find candidates, of which a method has one or more."""

    probes: int
    postings: int
    bucket_bits: float
    false_candidates: float  # the share of unrelated documents that have to be compared
    size: dict[str, int]  # bytes, but for the postings
    recall: Callable[[float], float]  # the chance that a pair of that resemblance is found
    radius: int | None = None


def plan(profile: Profile, documents: int, unrelated: UnrelatedDistance | None = None) -> Plan:
    """What to expect of `documents` documents under the profile, whose fingerprints are as far apart as measured, or
    else as those of typical texts."""
    method_of(profile)  # refuses parameters that do not go together
    if documents < 0:
        raise ValueError("documents must not be negative")
    paths = [path(profile, profile.method) for path in ACCESS_PATHS[type(profile.method)]]
    if unrelated is not None:
        paths = [
            path if path.radius is None else replace(path, false_candidates=unrelated.chance_within(path.radius))
            for path in paths
        ]
    postings = sum(path.postings for path in paths)
    size = {"record": IDENTITY_BYTES, "postings": postings * POSTING_BYTES}
    for path in paths:
        size |= path.size
    return Plan(
        profile=profile.ref,
        documents=documents,
        probes=sum(path.probes for path in paths),
        postings=postings,
        bucket_size=documents / 2 ** min(path.bucket_bits for path in paths),
        expected_candidates=documents * sum(path.false_candidates for path in paths),
        bytes_per_document=size,
        recall=[(resemblance, recall(profile, resemblance)) for resemblance in RESEMBLANCES],
        radius=next((path.radius for path in paths if path.radius is not None), None),
    )


def recall(profile: Profile, resemblance: float) -> float:
    """The chance that one of two documents of that resemblance is found by the other."""
    missed = 1.0
    for path in ACCESS_PATHS[type(profile.method)]:
        missed *= 1.0 - path(profile, profile.method).recall(resemblance)
    return 1.0 - missed


def _blocks(profile: Profile, parameters: Fingerprinted) -> AccessPath:
    def chance(resemblance: float) -> float:
        cosine = 2.0 * resemblance / (1.0 + resemblance)
        return chance_within(parameters.radius, acos(min(1.0, cosine)) / pi)

    return AccessPath(
        probes=probe_count(parameters.radius),
        postings=BLOCKS,
        bucket_bits=BLOCK_BITS,
        false_candidates=typical(profile).chance_within(parameters.radius),
        size={"fingerprint": FINGERPRINT_BYTES},
        recall=chance,
        radius=parameters.radius,
    )


def _bands(_: Profile, parameters: MinHash | SketchN) -> AccessPath:
    def chance(resemblance: float) -> float:
        agree = resemblance + (1.0 - resemblance) * CHANCE
        return band_recall(agree, bands=parameters.bands, band_rows=parameters.rows)

    if isinstance(parameters, SketchN):
        size = VALUE_BYTES * parameters.sample
    else:
        size = SIZE_BYTES + length_bytes(parameters) + parameters.bins
    return AccessPath(
        probes=parameters.bands,
        postings=parameters.bands,
        bucket_bits=min(BLOCK_BITS, 8 * parameters.rows),
        false_candidates=parameters.bands * CHANCE**parameters.rows,
        size={"sketch": size},
        recall=chance,
    )


def _range(profile: Profile, parameters: SimilarityIndex) -> AccessPath:
    least, number = profile.resemblance or 1.0, parameters.si_method

    def chance(resemblance: float) -> float:
        if resemblance == 1.0 or number in (5, 7, 9):  # extremes add up alike in all documents of one length
            return 1.0
        if number == SUPER or number % 2 == 0:  # a hash is near another by chance
            return 0.5 * (1.0 - least)
        shared = 2.0 * resemblance / (1.0 + resemblance)
        if number == RANDOM_THIRD:  # of what two documents share, each draws a third by itself
            shared /= 3.0
        apart = sqrt(1.0 - shared * shared)
        return (atan((1.0 / least - shared) / apart) - atan((least - shared) / apart)) / pi

    middle = (3 << 40).to_bytes(FINGERPRINT_BYTES, "little")
    return AccessPath(
        probes=len(SimilarityIndexMethod(profile, parameters).probes([middle])),
        postings=1,
        bucket_bits=NUMBER_BITS,
        false_candidates=chance(0.0),
        size={"number": FINGERPRINT_BYTES},
        recall=chance,
    )


def _prints(profile: Profile, parameters: ModN | MinN | BswN) -> AccessPath:
    method = SampleMethod(profile, parameters)
    sampled = method.most if isinstance(parameters, MinN) else min(TEXT_BYTES // parameters.sample, method.most)
    prints = max(sampled, 1)
    keys = min(prints, parameters.max_keys)
    return AccessPath(
        probes=keys,
        postings=keys,
        bucket_bits=method.bucket_bits - log2(keys),  # all keys are in one table
        false_candidates=0.0,
        size={"prints": COUNT_BYTES + prints * PRINT_BYTES},
        recall=lambda resemblance: 1.0 - (1.0 - resemblance) ** keys,
    )


# A row for each method of `gate.core.method_registry`.
ACCESS_PATHS: dict[type[MethodParameters], tuple[Callable[[Profile, Any], AccessPath], ...]] = {
    SimHash: (_blocks,),
    MinHash: (_bands,),
    Hybrid: (_blocks, _bands),
    SimilarityIndex: (_range,),
    ModN: (_prints,),
    MinN: (_prints,),
    BswN: (_prints,),
    SketchN: (_bands,),
}


def bands_for(resemblance: float, *, bins: int, recall: float) -> tuple[int, int]:
    """The bands and rows that find pairs of that resemblance with that probability, and the fewest pairs below it.

    For each number of rows there is a least number of bands that will do; of those, the steepest curve brings the
    fewest false candidates: that with the least area below it up to the resemblance.
    """
    if not 0.0 < resemblance <= 1.0:
        raise ConfigError(f"at: {resemblance} is not allowed; give a resemblance above 0 and at most 1")
    if not 0.0 < recall < 1.0:
        raise ConfigError(f"recall: {recall} is not allowed; give a share above 0 and below 1")
    best: tuple[float, int, int] | None = None
    for rows in range(1, MOST_ROWS + 1):
        for bands in range(1, min(MOST_BANDS, bins // rows) + 1):
            if band_recall(resemblance, bands=bands, band_rows=rows) >= recall:
                steps = [band_recall(resemblance * i / 100, bands=bands, band_rows=rows) for i in range(100)]
                best = min(best or (float("inf"), 0, 0), (sum(steps), bands, rows))
                break
    if best is None:
        raise ConfigError(
            f"recall: no bands of {bins} bins find {recall:.1%} of pairs of resemblance {resemblance}; raise bins, or "
            "lower the recall that is asked for"
        )
    return best[1], best[2]


def replaced_share(resemblance: float, gram: int) -> float:
    """The share of words (or characters) that, replaced here and there, leaves two texts of one length so alike.

    A replaced word takes the `gram` k-grams that it is part of with it, so a share q of them survives where
    q = (1 - changed) ** gram, and J = q / (2 - q).
    """
    survives = 2.0 * resemblance / (1.0 + resemblance)
    return 1.0 - float(survives ** (1.0 / gram))


def chance_within(radius: int, differs: float) -> float:
    """The chance that at most `radius` of 64 bits differ, each with probability `differs`."""
    return sum(
        comb(FINGERPRINT_BITS, d) * differs**d * (1.0 - differs) ** (FINGERPRINT_BITS - d) for d in range(radius + 1)
    )
