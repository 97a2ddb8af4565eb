"""A profile says what a signature means: tokenizer, variations, k-grams, method, parameters, thresholds.

It is part of every verdict and every stored key. Signatures of two profiles never meet, and the digest of the
fields that shape a signature guards against meeting by mistake under one name.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Tokenizer = Literal["characters", "words", "soundex"]
Weights = Literal["count", "log", "set"]
Family = Literal["one-permutation", "modular", "multiplicative", "murmur3"]
Chunks = Literal["smallest", "whole"]
Fraction = Annotated[float, Meta(gt=0.0, le=1.0)]

FINGERPRINT_BITS = 64
MAX_RADIUS = 16  # beyond, the probes of one look-up would outnumber most indexes

# Fields that came when profiles had been stored without them, and the methods that they mean something to. They count
# in a digest only there, and only where they say something new: so every earlier profile keeps its digest.
LATER: dict[str, tuple[str, ...]] = {
    "family": ("minhash", "hybrid"),
    "si_method": ("simindex",),
    "si_window": ("simindex",),
    "window": ("mod-n", "min-n", "sketch-n", "bsw-n"),
    "sample": ("mod-n", "min-n", "sketch-n", "bsw-n"),
    "chunks": ("bsw-n",),
    "max_prints": ("mod-n", "bsw-n"),
    "max_keys": ("mod-n", "min-n", "bsw-n"),
}
# What decides about signatures after they are stored.
JUDGING = ("resemblance", "containment", "length_filter", "index", "revisions")


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every field has a sane default, so a profile in TOML names only what it changes."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
    version: Annotated[int, Meta(ge=1)] = 1

    # What is looked at.
    tokenizer: Tokenizer = "words"
    gram: Annotated[int, Meta(ge=1, le=64)] = 3
    drop_stop_words: bool = False
    drop_vowels: bool = False  # characters only
    drop_repeats: bool = False  # words and soundex only: each word once, where it stands first
    mask_numbers: bool = False  # every run of digits counts as one 0
    stop_words: tuple[str, ...] = ()  # instead of the built-in English ones
    weights: Weights = "count"

    # How it is signed and found.
    method: str = "hybrid"
    radius: Annotated[int, Meta(ge=0, le=16)] = 3  # SimHash: every pair within so many bits is found
    bins: Annotated[int, Meta(ge=16, le=1024)] = 128  # MinHash: signature length
    bands: Annotated[int, Meta(ge=1, le=128)] = 16
    rows: Annotated[int, Meta(ge=1, le=8)] = 4
    family: Family = "one-permutation"  # MinHash: by one pass, or by as many hash functions of a family as bins
    # Mod_n, Min_n, Sketch_n, BSW_n: fingerprints of windows of so many bytes, and the n of the name.
    window: Annotated[int, Meta(ge=1, le=1024)] = 20
    sample: Annotated[int, Meta(ge=1, le=8000)] = 100
    chunks: Chunks = "smallest"  # BSW_n: what stands for a chunk, its smallest fingerprint or a hash of the whole
    # The most fingerprints of a document that are kept (Mod_n, BSW_n), and that are bucket keys: of more, the smallest.
    max_prints: Annotated[int, Meta(ge=16, le=8000)] = 4096  # a record in Redis has room for 8,000
    max_keys: Annotated[int, Meta(ge=1, le=8000)] = 16
    si_method: Annotated[int, Meta(ge=1, le=14)] = 3  # similarity index: the number of the method in Roth 2011
    si_window: Annotated[int, Meta(ge=1, le=1000)] = 100  # of winnowing, his w

    # What counts as alike.
    # Estimates err by some .04: at .65 most pairs from .7 on are found, and hardly any below .5 (docs/quality.md).
    resemblance: Fraction | None = 0.65
    containment: Fraction | None = None  # None: containment names the relation but does not decide
    length_filter: bool = False  # MinHash: no resemblance beyond what the sizes of the two feature sets allow
    min_features: Annotated[int, Meta(ge=1)] = 8  # of one or two, a byte that agrees by chance would make a match

    # What is kept.
    index: Literal["originals", "all"] = "originals"
    revisions: Literal["keep", "replace"] = "keep"

    @property
    def ref(self) -> str:
        return f"{self.name}@{self.version}"

    def digest(self, secret: bytes = b"") -> str:
        """A short hash of all that decides which signatures are stored, the secret seed included."""
        shaping = {
            field: getattr(self, field)
            for field in self.__struct_fields__
            if field not in ("name", "version", *JUDGING) and (field not in LATER or self._says(field))
        }
        encoded = msgspec.json.encode(shaping, order="deterministic")
        return hashlib.blake2b(encoded, key=secret[:64], digest_size=8).hexdigest()

    def _says(self, field: str) -> bool:
        """Whether a later field means something to the method, and not what was so before there was the field."""
        return self.method in LATER[field] and getattr(self, field) != getattr(_PLAIN, field)


_PLAIN = Profile(name="plain")


def with_threshold(profile: Profile, threshold: float) -> Profile:
    """The profile with another threshold of likeness. Where a fingerprint is kept does not depend on the radius, so a
    look-up by bits may be wider than those before it."""
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"threshold: {threshold} is not above 0 and at most 1")
    if profile.method == "simhash" or (profile.resemblance is None and profile.containment is None):
        bits = int(FINGERPRINT_BITS * (1.0 - threshold) + 1e-9)
        return msgspec.structs.replace(profile, radius=min(bits, MAX_RADIUS))
    containment = None if profile.containment is None else threshold
    return msgspec.structs.replace(profile, resemblance=threshold, containment=containment)
