"""Documents of an attacker who knows how signatures are made: decoys beside an original, and sketches that lie.

Without a secret anybody can compute the hash of a three-word sequence. So the attacker picks, for each place of a
sketch, the sequence of a long text whose hash is the least there, and writes short texts of nothing but those: each
agrees with the long text in as many places as it pleases, although the two share next to nothing. Under a secret the
same texts are built by the wrong hashes, and what is left is to copy parts of the long text honestly.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gate.core import shingles
from gate.core.method_parameters import MinHash
from gate.core.profile import Profile
from gate.core.text import normalise
from load.corpus import Recipe, SyntheticCorpus

GRAM = 3
FILLER = 63  # words of its own that a decoy ends in: they fill the places that were not chosen


@dataclass(frozen=True, slots=True)
class Victim:
    """A long text that was checked in, and its copy with some words changed, which is to pass."""

    original: str
    copy: str


def victim(words: int = 20_000, *, changed: float = 0.03, seed: int = 1) -> Victim:
    """A text of so many words, and a copy of it with that share of them changed."""
    chance = random.Random(seed)
    found: list[str] = []
    for document in SyntheticCorpus(seed, words // 100 + 1, Recipe(words=330, copies=0, exact=0, parts=0)):
        found += re.findall(r"\w+", document.text.lower())
        if len(found) >= words:
            break
    found = found[:words]
    copied = [f"{word}{chance.randrange(1000)}" if chance.random() < changed else word for word in found]
    return Victim(" ".join(found), " ".join(copied))


def least_sequences(text: str, profile: Profile) -> dict[int, str]:
    """For each place of the text's sketch, without a secret, the sequence of words that decides it."""
    assert isinstance(profile.method, MinHash)
    words = text.split()
    hashes = shingles.features(normalise([text]), profile, b"").hashes
    assert len(hashes) == len(words) - GRAM + 1
    places = (hashes >> np.uint64(32)) * np.uint64(profile.method.bins) >> np.uint64(32)
    order = np.lexsort((hashes, places))
    firsts = order[np.unique(places[order], return_index=True)[1]]
    return {int(places[i]): " ".join(words[i : i + GRAM]) for i in firsts.tolist()}


def decoys(text: str, profile: Profile, *, places: int = 64, seed: int = 2) -> Iterator[str]:
    """Short texts that agree with the sketch of `text` in its first places, those that its buckets are made of: as many
    buckets in common as an exact copy has, and still not alike to it, nor to each other."""
    sequences = [sequence for place, sequence in least_sequences(text, profile).items() if place < places]
    chance = random.Random(seed)
    while True:
        filler = [f"filler{chance.randrange(10**9)}" for _ in range(FILLER)]
        yield " ".join([*chance.sample(sequences, len(sequences)), *filler])


def halves(text: str, *, words: int = 510, run: int = 10, seed: int = 3) -> Iterator[str]:
    """Texts that have every other run of words from the beginning of `text`, at random: half of it, copied honestly, as
    an attacker can who does not know the secret. Any two of them share a third."""
    part = text.split()[:words]
    runs = [" ".join(part[i : i + run]) for i in range(0, len(part), run)]
    chance = random.Random(seed)
    while True:
        yield " ".join(sorted(chance.sample(runs, len(runs) // 2), key=runs.index))


def template_documents(*, shared: int = 120, own: int = 120, seed: int = 4) -> Iterator[str]:
    """A flood of documents with one template: half of each is the same, half is its own."""
    chance = random.Random(seed)
    template = " ".join(f"template{n}" for n in range(shared))
    while True:
        yield f"{template} " + " ".join(f"own{chance.randrange(10**9)}" for _ in range(own))


def forged_sketch(text: str, profile: Profile) -> str:
    """Some hundred words that agree with a long text in every place of its sketch: registered first, they would have
    the long text refused, if the sizes of the two did not rule that out."""
    return " ".join(least_sequences(text, profile).values())
