"""The parameters of each method, their bounds, and what does not go together. A profile has those of one method.

Without numpy, so that a command line completes the names of profiles before a user notices.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

Weights = Literal["count", "log", "set"]
Family = Literal["one-permutation", "modular", "multiplicative", "murmur3"]
Chunks = Literal["smallest", "whole"]
LengthFilter = Literal["none", "set", "repetition", "weighted"]

MAX_RADIUS = 16  # beyond, the probes of one look-up would outnumber most indexes

Radius = Annotated[int, Meta(ge=0, le=MAX_RADIUS)]
Bands = Annotated[int, Meta(ge=1, le=128)]
Rows = Annotated[int, Meta(ge=1, le=8)]
# A record in Redis has room for 8,000 fingerprints.
MaxPrints = Annotated[int, Meta(ge=16, le=8000)]

RANDOM_THIRD, FREQUENT, SUPER = 11, 13, 14  # methods of Roth 2011 with rules of their own

_NO_CONTAINMENT = {"containment": "it estimates no containment; set resemblance"}


class MethodParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every method has: a name, and fields of a profile that mean nothing to it, with the remedy."""

    name: ClassVar[str]
    unused: ClassVar[dict[str, str]] = {}

    def problems(self, *, tokenizer: str, gram: int) -> list[str]:
        """What does not go together, among the parameters and with what the text is cut into."""
        return []


class SimHash(MethodParameters, frozen=True, kw_only=True):
    """A 64-bit fingerprint: every pair within `radius` bits is found, and is alike."""

    name: ClassVar[str] = "simhash"
    unused: ClassVar[dict[str, str]] = dict.fromkeys(
        ("resemblance", "containment"), "it measures a distance in bits alone; set radius"
    )

    radius: Radius = 3
    weights: Weights = "count"


class MinHash(MethodParameters, frozen=True, kw_only=True):
    """A signature of `bins` bytes: pairs are found by `bands` of `rows` bins, and compared by all of them."""

    name: ClassVar[str] = "minhash"

    bins: Annotated[int, Meta(ge=16, le=1024)] = 128
    bands: Bands = 16
    rows: Rows = 4
    family: Family = "one-permutation"  # in one pass, or by as many hash functions of a family as bins
    multisets: bool = False  # a feature counts as often as it occurs
    length_filter: LengthFilter = "none"  # which documents their lengths rule out: not even fetched (`length_filter`)

    def problems(self, *, tokenizer: str, gram: int) -> list[str]:
        problems = _too_few_values(self.bands, self.rows, self.bins, "bins", "bins")
        if self.multisets and self.length_filter == "set":
            problems.append(
                "profile.length_filter: set counts each feature once, and under multisets each counts as often as it "
                "occurs; set it to repetition"
            )
        return problems


class Hybrid(MinHash, frozen=True, kw_only=True):
    """MinHash, and beside it the fingerprint of SimHash: a pair is found by either."""

    name: ClassVar[str] = "hybrid"

    radius: Radius = 3
    weights: Weights = "count"

    def problems(self, *, tokenizer: str, gram: int) -> list[str]:
        problems = super().problems(tokenizer=tokenizer, gram=gram)
        if self.length_filter != "none":
            problems.append(
                "profile.length_filter: the keys of a fingerprint have no room for a length; set method to minhash, or "
                "leave it out"
            )
        return problems


class WindowParameters(MethodParameters, frozen=True, kw_only=True):
    """What the methods of Cherkasova et al. 2009 share: the fingerprints of all windows of bytes, and n of them."""

    unused: ClassVar[dict[str, str]] = {
        "gram": "it looks through windows of bytes; set window",
        "drop_repeats": "windows of bytes know no words; leave it out",
    }

    window: Annotated[int, Meta(ge=1, le=1024)] = 20
    sample: Annotated[int, Meta(ge=1, le=8000)] = 100  # the n of the name

    def problems(self, *, tokenizer: str, gram: int) -> list[str]:
        if tokenizer == "characters":
            return []
        return [
            f"profile.tokenizer: {self.name} looks through a window of bytes and knows no {tokenizer}; "
            'set it to "characters"'
        ]


class SampleParameters(WindowParameters, frozen=True, kw_only=True):
    """A set of fingerprints of windows, of which the smallest `max_keys` are the bucket keys."""

    max_keys: Annotated[int, Meta(ge=1, le=8000)] = 16


class ModN(SampleParameters, frozen=True, kw_only=True):
    """The fingerprints that n divides; of more than `max_prints` the smallest."""

    name: ClassVar[str] = "mod-n"

    max_prints: MaxPrints = 4096


class MinN(SampleParameters, frozen=True, kw_only=True):
    """The n smallest fingerprints."""

    name: ClassVar[str] = "min-n"
    unused: ClassVar[dict[str, str]] = WindowParameters.unused | _NO_CONTAINMENT


class BswN(SampleParameters, frozen=True, kw_only=True):
    """A fingerprint of each chunk, its smallest or a hash of the whole; of more than `max_prints` the smallest."""

    name: ClassVar[str] = "bsw-n"

    chunks: Chunks = "smallest"
    max_prints: MaxPrints = 4096


class SketchN(WindowParameters, frozen=True, kw_only=True):
    """The smallest fingerprint under each of n hash functions; pairs are found by bands of their lowest bytes."""

    name: ClassVar[str] = "sketch-n"
    unused: ClassVar[dict[str, str]] = WindowParameters.unused | _NO_CONTAINMENT

    bands: Bands = 16
    rows: Rows = 4

    def problems(self, *, tokenizer: str, gram: int) -> list[str]:
        return [
            *super().problems(tokenizer=tokenizer, gram=gram),
            *_too_few_values(self.bands, self.rows, self.sample, "values", "sample"),
        ]


class SimilarityIndex(MethodParameters, frozen=True, kw_only=True):
    """One number a document, by one of the fourteen methods of Roth 2011 or two of our own."""

    name: ClassVar[str] = "simindex"
    unused: ClassVar[dict[str, str]] = _NO_CONTAINMENT

    si_method: Annotated[int, Meta(ge=1, le=16)] = 3  # his number of the method; 15 and 16 are ours
    si_window: Annotated[int, Meta(ge=1, le=1000)] = 100  # of winnowing, his w

    def problems(self, *, tokenizer: str, gram: int) -> list[str]:
        if self.si_method == FREQUENT and tokenizer == "characters":
            return ["profile.si_method: 13 counts words; give profile.tokenizer words or soundex"]
        if self.si_method == SUPER and gram < 2:
            return ["profile.gram: a super shingle of 1 never ends; give 2 or more"]
        return []


# Methods with a fingerprint of 64 bits, and the parameters `radius` and `weights`.
Fingerprinted = SimHash | Hybrid


def _too_few_values(bands: int, rows: int, values: int, unit: str, field: str) -> list[str]:
    if bands * rows <= values:
        return []
    return [
        f"profile.bands x profile.rows: {bands} x {rows} rows need more than the {values} {unit} there are; lower "
        f"bands or rows, or raise profile.{field}"
    ]
