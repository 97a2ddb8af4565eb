"""Every combination of the similarity index, and how the paper scores one.

A score is hits inside zones / (misses inside + hits outside), every document compared with every one, itself included,
so each ordered pair counts. It was recomputed from the paper's own matrices: 45 pairs of its 15 documents lie inside
zones, and every one that is missed counts, also where it expected low similarity or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gate.core import java_string_hash, similarity_index
from gate.core.method_parameters import FREQUENT, SimilarityIndex
from gate.core.profile import Profile, Tokenizer
from gate.core.text import Texts
from gate.lab.experiment import ProgressTracker
from gate.lab.truth import Corpus

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

OFFSETS: dict[Tokenizer, int] = {"characters": 0, "words": 20, "soundex": 40}
# Variations A to D by the switches of a profile, first with characters as tokens, then with words.
CHARACTERS = {"A": (), "B": ("drop_stop_words",), "C": ("drop_vowels",), "D": ("drop_stop_words", "drop_vowels")}
WORDS = {"A": (), "B": ("drop_stop_words",), "C": ("drop_repeats",), "D": ("drop_stop_words", "drop_repeats")}
NAMES = (
    "sum of all", "Rabin hash of all", "sum 0 mod 25", "Rabin hash 0 mod 25", "sum of winnowing",
    "Rabin hash of winnowing", "sum low 400", "Rabin hash low 400", "sum high 400", "Rabin hash high 400",
    "sum of a random third", "Rabin hash of a random third", "sum 200 most frequent words", "super shingle",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Combination:
    method: int  # 1 to 14
    tokenizer: Tokenizer
    variation: str
    gram: int
    window: int

    @property
    def tracked(self) -> str:
        """The paper's number of method and tokenizer, and the variation."""
        return f"{self.method + OFFSETS[self.tokenizer]}{self.variation}"

    @property
    def label(self) -> str:
        return f"{self.tracked} (k = {self.gram}, w = {self.window})"

    @property
    def row(self) -> dict[str, object]:
        return {
            "method": self.tracked,
            "what": f"{NAMES[self.method - 1]}, {self.tokenizer}",
            "k": self.gram,
            "w": self.window,
        }


@dataclass(frozen=True, slots=True)
class ZoneScore:
    """Ordered pairs of documents, as the paper counts them."""

    correct: int
    false_negatives: int
    false_positives: int

    @property
    def value(self) -> float:
        return self.correct / max(self.false_negatives + self.false_positives, 1)

    @property
    def row(self) -> dict[str, object]:
        return {
            "false positives": self.false_positives,
            "false negatives": self.false_negatives,
            "correct": self.correct,
            "score": self.value,
        }


def similarity_indexes(
    texts: Sequence[Texts], runs: Sequence[tuple[int, int]], progress: ProgressTracker
) -> dict[Combination, Ints]:
    """The numbers of all documents under every combination; a run is a k and a w."""
    found: dict[Combination, Ints] = {}
    shapes = list(product(OFFSETS, "ABCD", runs))
    for tokenizer, variation, (gram, window) in progress(shapes, "tokenizers, variations and runs"):
        switches: Any = dict.fromkeys((CHARACTERS if tokenizer == "characters" else WORDS)[variation], True)
        profile = Profile(name="tried", method=SimilarityIndex(), tokenizer=tokenizer, gram=gram, **switches)
        whole = [java_string_hash.features(batch, profile) for batch in texts]
        single = (
            [java_string_hash.features(batch, profile, gram=1) for batch in texts] if tokenizer != "characters" else []
        )
        for method in range(1, 15):
            if features := single if method == FREQUENT else whole:
                parts = [similarity_index.numbers(one, method, gram=gram, window=window) for one in features]
                found[Combination(method, tokenizer, variation, gram, window)] = np.concatenate(parts)
    return found


def similar(numbers: Ints, within: float) -> Flags:
    """Row i: whose number lies within the bounds of document i. As in the paper, not the same from both sides."""
    own = numbers.astype(np.float64)
    edges = np.sort(np.stack([own * (1.0 - within), own * (1.0 + within)]), axis=0)  # of a negative one, turned round
    inside: Flags = (edges[0][:, None] < own[None, :]) & (own[None, :] < edges[1][:, None])
    return inside


def similar_either_way(numbers: Ints, within: float) -> Flags:
    """As the gate decides: one of the two lies within the lower bound of the other."""
    count = len(numbers)
    likeness = similarity_index.likeness(np.repeat(numbers, count), np.tile(numbers, count))
    alike: Flags = likeness.reshape(count, count) >= 1.0 - within
    return alike


def score_hits(hits: Flags, zones: Flags) -> ZoneScore:
    return ZoneScore(
        correct=int((hits & zones).sum()),
        false_negatives=int((~hits & zones).sum()),
        false_positives=int((hits & ~zones).sum()),
    )


def work_of(documents: Corpus, i: int) -> str:
    """The work that a document is a version of; one without any is a work of its own."""
    return documents.clusters.get(documents.ids[i], f"\0{documents.ids[i]}")


def zones_of(documents: Corpus) -> Flags:
    """Which ordered pairs lie inside a zone."""
    works = np.unique([work_of(documents, i) for i in range(len(documents))], return_inverse=True)[1]
    inside: Flags = works[:, None] == works[None, :]
    return inside
