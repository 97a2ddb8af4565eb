"""A profile says what a signature means: tokenizer, filters, k-grams, method with its parameters, thresholds.

It is part of every verdict and every stored key. Signatures of two profiles never meet, and the digest of the
fields that shape a signature guards against meeting by mistake under one name.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, structs

from gate.core.method_parameters import Fingerprinted, Hybrid, MethodParameters, SimHash

Tokenizer = Literal["characters", "words", "soundex"]
Fraction = Annotated[float, Meta(gt=0.0, le=1.0)]

FINGERPRINT_BITS = 64
WIDEST_RADIUS = 24  # of a look-up: by chance, 3 % of unrelated texts are as near


class Decisions(msgspec.Struct, frozen=True, array_like=True):
    """What decides about signatures that are stored. An index keeps it and refuses a gate that decides by other values,
    as "alike" would not be symmetric then, and of two near-duplicates none or both would pass."""

    resemblance: float | None = None
    containment: float | None = None
    index: str = "originals"
    revisions: str = "keep"

    def encode(self) -> str:
        return msgspec.json.encode(self).decode()

    def differences(self, own: Decisions) -> list[str]:
        """Where a profile decides otherwise than an index that was made by these, in words."""
        pairs = ((name, getattr(self, name), getattr(own, name)) for name in self.__struct_fields__)
        return [f"{name} {_shown(one)}, and this profile has {_shown(two)}" for name, one, two in pairs if one != two]


BY_FINGERPRINT = Decisions()  # no threshold: the radius of the fingerprint decides, which is a part of the digest


def _shown(value: float | str | None) -> str:
    return "none" if value is None else str(value)


# What names a profile, and what decides about signatures after they are stored: no part of a digest.
NOT_SHAPING = ("name", "version", *Decisions.__struct_fields__)


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every field has a sane default, so a profile in TOML names only what it changes."""

    name: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
    version: Annotated[int, Meta(ge=1)] = 1

    # What is looked at.
    tokenizer: Tokenizer = "words"
    gram: Annotated[int, Meta(ge=1, le=64)] = 3
    drop_stop_words: bool = False
    drop_vowels: bool = False  # characters only
    drop_repeats: bool = False  # words and soundex only: each word once, at its first place
    mask_numbers: bool = False  # every run of digits counts as one 0
    fold_confusables: bool = False  # letters of other scripts count as the Latin letters that they look like
    stop_words: tuple[str, ...] = ()  # instead of the built-in English ones

    # How it is signed and found.
    method: MethodParameters = Hybrid()

    # What counts as alike.
    # Estimates err by some .04: at .65 most pairs from .7 on are found, and hardly any below .5 (docs/quality.md).
    resemblance: Fraction | None = 0.65
    containment: Fraction | None = None  # None: containment names the relation but does not decide
    min_features: Annotated[int, Meta(ge=1)] = 8  # of one or two, a byte that agrees by chance would make a match

    # What is kept.
    index: Literal["originals", "all"] = "originals"
    revisions: Literal["keep", "replace"] = "keep"

    @property
    def ref(self) -> str:
        return f"{self.name}@{self.version}"

    def parameters(self) -> dict[str, Any]:
        """All that the profile says, flat as in a TOML file, without what means nothing to its method."""
        flat: dict[str, Any] = {}
        for field in self.__struct_fields__:
            if field == "method":
                flat |= {"method": self.method.name, **structs.asdict(self.method)}
            elif field not in self.method.unused:
                flat[field] = getattr(self, field)
        return flat

    def digest(self, secret: bytes = b"") -> str:
        """A short hash of all that decides which signatures are stored, the secret seed included."""
        shaping = {field: value for field, value in self.parameters().items() if field not in NOT_SHAPING}
        encoded = msgspec.json.encode(shaping, order="deterministic")
        return hashlib.blake2b(encoded, key=secret[:64], digest_size=8).hexdigest()

    def decisions(self) -> Decisions:
        """What decides about signatures under this profile; what means nothing to its method is left out."""
        used = {name: getattr(self, name) for name in Decisions.__struct_fields__ if name not in self.method.unused}
        return Decisions(**used)


def decides_by_bits(profile: Profile) -> bool:
    """Whether two documents are alike by the distance of their fingerprints: there is no other threshold."""
    method = profile.method
    no_other = profile.resemblance is None and profile.containment is None
    return isinstance(method, SimHash) or (isinstance(method, Fingerprinted) and no_other)


def with_threshold(profile: Profile, threshold: float) -> Profile:
    """The profile with another threshold of likeness. Where a fingerprint is stored does not depend on the radius, so a
    look-up by bits may be wider than those before it. ValueError: it may not be so low."""
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"{threshold} is not allowed; give a number above 0 and at most 1")
    method = profile.method
    if isinstance(method, Fingerprinted) and decides_by_bits(profile):
        bits = int(FINGERPRINT_BITS * (1.0 - threshold) + 1e-9)
        if bits > WIDEST_RADIUS:
            least = 1 - WIDEST_RADIUS / FINGERPRINT_BITS
            raise ValueError(
                f"{threshold} lets {bits} of {FINGERPRINT_BITS} bits differ, and unrelated texts differ in about 32; "
                f"give {least} or more, which {WIDEST_RADIUS} bits are"
            )
        return structs.replace(profile, method=structs.replace(method, radius=bits))
    containment = None if profile.containment is None else threshold
    return structs.replace(profile, resemblance=threshold, containment=containment)
