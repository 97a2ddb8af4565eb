"""What a profile costs and finds, before the first document is in: look-ups, strangers, bytes, recall.

Everything here is arithmetic on the parameters. Two models stand behind it:

- A band of r rows is shared with probability p ** r, where p = J + (1 - J) / 256: a row agrees because the sets do,
  or by the chance of one byte.
- A bit of two fingerprints differs with probability arccos(c) / pi (random hyperplanes), where c = 2J / (1 + J) is
  the cosine of two sets of equal size and resemblance J; so the distance is binomial over 64 bits.

Real texts repeat words and come in unequal sizes, so a measured recall may differ; a hybrid's two ways are taken
as independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import acos, comb, pi

from gate.core.bands import BLOCK_BITS, BLOCKS, band_recall, probe_count
from gate.core.methods import method_of
from gate.core.profile import Profile

FINGERPRINT_BITS = 64
FINGERPRINT_BYTES = 8
POSTING_BYTES = 16  # an entry's number and its tag
IDENTITY_BYTES = 16 + 8 + 8  # content id, entry, ticket
SIZE_BYTES = 4  # of the feature set, before the sketch
CHANCE = 1.0 / 256.0  # that two unrelated bytes agree
RESEMBLANCES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The expectations of one profile at one size."""

    profile: str
    documents: int
    probes: int  # buckets read per look-up
    postings: int  # buckets that a stored document stands in
    bucket_size: float  # postings in a bucket, if all are used alike, of the table that has the fewest
    expected_candidates: float  # strangers per look-up that have to be compared
    bytes_per_document: dict[str, int]  # as it is defined; a backend's own overhead comes on top
    recall: list[tuple[float, float]]  # resemblance, chance that the pair meets
    radius: int | None  # fingerprints within so many bits meet for certain

    @property
    def total_bytes(self) -> int:
        return self.documents * sum(self.bytes_per_document.values())


def plan(profile: Profile, documents: int) -> Plan:
    """What to expect of `documents` documents under the profile."""
    method_of(profile)  # refuses parameters that do not go together
    if documents < 0:
        raise ValueError("documents must not be negative")
    prints = profile.method != "minhash"
    bands = profile.bands if profile.method != "simhash" else 0
    postings = (BLOCKS if prints else 0) + bands
    bucket_bits = min(BLOCK_BITS, 8 * profile.rows) if bands else BLOCK_BITS
    strangers = within(profile.radius, 0.5) if prints else 0.0
    strangers += bands * CHANCE**profile.rows
    size = {"record": IDENTITY_BYTES, "postings": postings * POSTING_BYTES}
    if prints:
        size["fingerprint"] = FINGERPRINT_BYTES
    if bands:
        size["sketch"] = SIZE_BYTES + profile.bins
    return Plan(
        profile=profile.ref,
        documents=documents,
        probes=(probe_count(profile.radius) if prints else 0) + bands,
        postings=postings,
        bucket_size=documents / 2**bucket_bits,
        expected_candidates=documents * strangers,
        bytes_per_document=size,
        recall=[(resemblance, recall(profile, resemblance)) for resemblance in RESEMBLANCES],
        radius=profile.radius if prints else None,
    )


def recall(profile: Profile, resemblance: float) -> float:
    """The chance that two documents of that resemblance meet in the index."""
    missed = 1.0
    if profile.method != "minhash":
        cosine = 2.0 * resemblance / (1.0 + resemblance)
        missed *= 1.0 - within(profile.radius, acos(min(1.0, cosine)) / pi)
    if profile.method != "simhash":
        agree = resemblance + (1.0 - resemblance) * CHANCE
        missed *= 1.0 - band_recall(agree, bands=profile.bands, band_rows=profile.rows)
    return 1.0 - missed


def changed(resemblance: float, gram: int) -> float:
    """The share of words (or characters) that, replaced here and there, leaves two texts of one length so alike.

    A replaced word takes the `gram` k-grams with it that it stands in, so a share q of them survives where
    q = (1 - changed) ** gram, and J = q / (2 - q).
    """
    survives = 2.0 * resemblance / (1.0 + resemblance)
    return 1.0 - float(survives ** (1.0 / gram))


def within(radius: int, differs: float) -> float:
    """The chance that at most `radius` of 64 bits differ, each with probability `differs`."""
    return sum(
        comb(FINGERPRINT_BITS, d) * differs**d * (1.0 - differs) ** (FINGERPRINT_BITS - d) for d in range(radius + 1)
    )
