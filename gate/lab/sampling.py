"""What the experiments on windows compute: edited versions of documents, their similarity, pairs, clusters, times.

Everything returns numbers; `cherkasova.py` makes tables and plots of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from time import process_time
from typing import Literal

import numpy as np

from gate.core.method import COUNT_BYTES
from gate.core.method_parameters import BswN, Chunks, MinN, ModN, SampleParameters, SketchN, WindowParameters
from gate.core.method_registry import Method, method_of
from gate.core.profile import Profile
from gate.core.text import Texts, normalise
from gate.core.tokenizers import Hashes
from gate.errors import ConfigError
from gate.lab.experiment import ProgressTracker
from gate.lab.planting import Edit, edit_text, pieces
from gate.lab.scores import find_candidates, normalise_in_batches
from gate.lab.truth import Corpus, Floats, Ints

ALGORITHMS = {"mod-n": "Mod", "min-n": "Min", "sketch-n": "Sketch", "bsw-n": "BSW"}
INSERTED = "a "  # the word that the paper inserts
LEAST_WORDS = 4  # words of a document for each edit: of a text that is all edits nothing can be learnt
MOST_BANDS = 128
MOST = 8000
_AT_ONCE = 1 << 16  # pairs compared at a time: bodies are copied for it
# By algorithm and number of edits, the similarity of each document.
SimilarityCurves = Mapping[Profile, Mapping[int, Floats]]

# How two signatures are compared. entries: as sets, what both have / what any of them has; an entry of Sketch_n is a
# value at its position. estimate: what the gate's profiles decide by, an unbiased estimate of the resemblance; of
# Sketch_n the share of positions that agree, of Min_n the share of the n smallest of both that are in both. Of Mod_n
# and BSW_n the two are one number.
Measure = Literal["entries", "estimate"]
MEASURES: tuple[Measure, ...] = ("entries", "estimate")


class Change(StrEnum):
    """How the copies of a document are made."""

    INSERTED = "words inserted at random"
    SPREAD = "words inserted at even distances"
    REMOVED = "words removed at random"


def profile_of(method: str, n: int, *, window: int = 20, plain: bool = False) -> Profile:
    """An algorithm without the limits that make it practical: the whole sample is kept, and all of it are keys."""
    return Profile(
        name="tried",
        tokenizer="characters",
        method=_parameters(method, n, window, "whole" if plain else "smallest"),
        min_features=1,
        resemblance=0.7,
    )


def _parameters(method: str, n: int, window: int, chunks: Chunks) -> WindowParameters:
    match method:
        case "mod-n":
            return ModN(sample=n, window=window, max_prints=MOST, max_keys=MOST)
        case "min-n":
            return MinN(sample=n, window=window, max_keys=MOST)
        case "bsw-n":
            return BswN(sample=n, window=window, chunks=chunks, max_prints=MOST, max_keys=MOST)
        case _:
            return SketchN(sample=n, window=window, bands=min(n, MOST_BANDS), rows=1)


def parameters_of(profile: Profile) -> WindowParameters:
    """The parameters of a profile whose method looks through windows of bytes."""
    if not isinstance(profile.method, WindowParameters):
        raise TypeError(f"{profile.method.name} looks through no windows")
    return profile.method


def window_of(profile: Profile) -> int:
    return parameters_of(profile).window


def label(profile: Profile) -> str:
    method = parameters_of(profile)
    plain = " plain" if isinstance(method, BswN) and method.chunks == "whole" else ""
    return f"{ALGORITHMS[method.name]}_{method.sample}{plain}"


@dataclass(frozen=True, slots=True)
class EditedVersions:
    """Documents, the shortest first, and copies of each with so many words inserted or removed."""

    sizes: Ints  # bytes
    originals: Sequence[Texts]
    copies: Mapping[tuple[Change, int], Sequence[Texts]]


def distinct(corpus: Corpus, count: int, words: int, rng: np.random.Generator) -> list[int]:
    """Documents to edit: different works, each of so many words at least; in the order of their length."""
    seen: set[str] = set()
    chosen: list[int] = []
    for i in rng.permutation(len(corpus)).tolist():
        work = corpus.clusters.get(corpus.ids[i], f"text {corpus.first_equal[i]}")
        if work not in seen and len(pieces(corpus.texts[i])) >= words:
            seen.add(work)
            chosen.append(i)
        if len(chosen) == count:
            break
    if len(chosen) < 2:
        raise ConfigError(
            f"corpus: {corpus.name} has {len(chosen)} documents of {words:,} words or more, and two are needed; give "
            "longer documents, or fewer --edits"
        )
    return sorted(chosen, key=lambda i: (len(corpus.texts[i]), i))


def versions(
    texts: Sequence[str], edits: Sequence[int], rng: np.random.Generator, progress: ProgressTracker
) -> EditedVersions:
    """Each text with every number of edits, each at places of its own."""
    made: dict[tuple[Change, int], list[str]] = {(change, n): [] for change in Change for n in edits}
    for text in progress(texts, "editing documents"):
        count = len(pieces(text))
        for (change, n), copies in made.items():
            if change is Change.SPREAD:
                copies.append(insert_evenly(text, n))
            else:
                edit = Edit.INSERT if change is Change.INSERTED else Edit.DELETE
                copies.append(edit_text(text, edit, n / count, rng, [INSERTED]))
    batches = {key: list(normalise_in_batches(copies)) for key, copies in made.items()}
    originals = list(normalise_in_batches(texts))
    sizes = [len(text.encode()) for text in texts]
    return EditedVersions(np.array(sizes, np.int64), originals, batches)


def insert_evenly(text: str, count: int) -> str:
    """A copy with so many words inserted, each as far from the next as any other."""
    own = pieces(text)
    for number in reversed(range(count)):
        own.insert(round((number + 0.5) * len(pieces(text)) / count), INSERTED)
    return "".join(own)


def sign_batches(method: Method, batches: Iterable[Texts]) -> list[bytes]:
    return [body for batch in batches for body in method.sign(batch).bodies]


def similarity(profile: Profile, lefts: Sequence[bytes], rights: Sequence[bytes], measure: Measure) -> Floats:
    """The similarity of each pair; NaN where one of them has no signature."""
    both = [i for i, pair in enumerate(zip(lefts, rights, strict=True)) if all(pair)]
    found = np.full(len(lefts), np.nan)
    if both:
        found[both] = resemblances(profile, [lefts[i] for i in both], [rights[i] for i in both], measure)
    return found


def resemblances(profile: Profile, lefts: Sequence[bytes], rights: Sequence[bytes], measure: Measure) -> Floats:
    """By a measure, of pairs that all have signatures."""
    if measure == "entries" and isinstance(profile.method, MinN):
        pairs = [(entries(left), entries(right)) for left, right in zip(lefts, rights, strict=True)]
        shared = np.array([np.intersect1d(a, b, assume_unique=True).size for a, b in pairs], np.float64)
        return shared / np.maximum(np.array([a.size + b.size for a, b in pairs], np.float64) - shared, 1.0)
    estimates = method_of(profile).compare(lefts, rights).resemblance
    if estimates is None:
        raise TypeError(f"{profile.method.name} does not measure resemblance")
    if measure == "entries" and isinstance(profile.method, SketchN):  # m of n positions: m / (2n - m)
        return estimates / (2.0 - estimates)
    return estimates


def entries(body: bytes) -> Hashes:
    """The fingerprints in the body of a sample."""
    return np.frombuffer(body[COUNT_BYTES:], "<u8")


def curves(profile: Profile, of: EditedVersions, change: Change) -> dict[Measure, dict[int, Floats]]:
    """By measure and number of edits, the similarity of each document with its copy."""
    method = method_of(profile)
    originals = sign_batches(method, of.originals)
    copies = {n: sign_batches(method, batches) for (own, n), batches in of.copies.items() if own is change}
    return {
        measure: {n: similarity(profile, originals, bodies, measure) for n, bodies in copies.items()}
        for measure in MEASURES
    }


def mean(values: Floats) -> float:
    """Over the documents that have a signature."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def expected(of: EditedVersions, n: int, window: int) -> float:
    """The mean similarity if every inserted word changes the windows that lie across its place and no two words are
    near each other: of S windows n (w - 1) are lost and n (w + 1) are new."""
    lost, new = n * (window - 1.0), n * (window + 1.0)
    return float(np.mean(np.clip((of.sizes - lost) / (of.sizes + new), 0.0, 1.0)))


@dataclass(frozen=True, slots=True)
class SimilarPairs:
    """Pairs with anything in common, the earlier document on the left, and how alike an algorithm says they are."""

    left: Ints
    right: Ints
    similarity: Floats
    total: int  # pairs of the batches

    def from_(self, least: float) -> SimilarPairs:
        enough = self.similarity >= least
        return SimilarPairs(self.left[enough], self.right[enough], self.similarity[enough], self.total)

    @property
    def names(self) -> set[tuple[int, int]]:
        return set(zip(self.left.tolist(), self.right.tolist(), strict=True))


def find_similar_pairs(
    profile: Profile, batches: Sequence[Texts], least: float = 0.0, measure: Measure = "estimate"
) -> SimilarPairs:
    """Every pair of which the signatures have something in common, and are so similar at least."""
    method = method_of(profile)
    bodies = sign_batches(method, batches)
    left, right = (
        sharing(bodies, least) if isinstance(profile.method, SampleParameters) else find_candidates(method, bodies)
    )
    parts = [np.empty(0)]
    for begin in range(0, len(left), _AT_ONCE):
        sides = [[bodies[i] for i in side[begin : begin + _AT_ONCE].tolist()] for side in (left, right)]
        parts.append(resemblances(profile, sides[0], sides[1], measure))
    found = np.concatenate(parts)
    enough = (found > 0) & (found >= least)
    return SimilarPairs(left[enough], right[enough], found[enough], len(bodies) * (len(bodies) - 1) // 2)


def sharing(bodies: Sequence[bytes], least: float) -> tuple[Ints, Ints]:
    """Pairs of sets that share a fingerprint, and so many that they can be as similar as `least`: what they share is
    no more than that share of the larger set. Counted, because to compare each pair would take minutes."""
    sets = [entries(body) for body in bodies]
    sizes = np.array([len(one) for one in sets], np.int64)
    values = np.concatenate([*sets, np.empty(0, np.uint64)])
    order = np.argsort(values, kind="stable")
    owners, ordered = np.repeat(np.arange(len(sets)), sizes)[order], values[order]
    lefts, rights = [], []
    for i, own in enumerate(sets):
        first = np.searchsorted(ordered, own)
        counts = np.searchsorted(ordered, own, side="right") - first
        sharing = owners[np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())]
        times = np.bincount(sharing[sharing < i], minlength=i)[:i]
        found = np.flatnonzero(times >= np.maximum(least * np.maximum(sizes[:i], sizes[i]), 1))
        lefts.append(found)
        rights.append(np.full(found.size, i))
    none = np.empty(0, np.int64)
    return np.concatenate([none, *lefts]), np.concatenate([none, *rights])


def clusters(pairs: SimilarPairs) -> list[list[int]]:
    """The groups of documents that pairs connect, over any number of others, the largest first."""
    leader: dict[int, int] = {}

    def lead(i: int) -> int:
        while leader.setdefault(i, i) != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    for a, b in pairs.names:
        leader[lead(a)] = lead(b)
    groups: dict[int, list[int]] = {}
    for i in sorted(leader):
        groups.setdefault(lead(i), []).append(i)
    return sorted(groups.values(), key=len, reverse=True)


def file_of(texts: Sequence[str], size: int) -> Texts:
    """One text of so many bytes, made of those that there are, over and over."""
    joined = "\n".join(texts).encode()
    while 0 < len(joined) < size:
        joined += b"\n" + joined
    return normalise([joined[:size].decode(errors="ignore")])


def times(profiles: Sequence[Profile], text: Texts, rounds: int, progress: ProgressTracker) -> list[float]:
    """Milliseconds of the processor in which each signs the text: the median of rounds in which all take turns."""
    methods = [method_of(profile) for profile in profiles]
    spent: list[list[float]] = [[] for _ in methods]
    for _ in progress(range(rounds), "timing a large file"):
        for costs, method in zip(spent, methods, strict=True):
            begun = process_time()
            method.sign(text)
            costs.append(1000 * (process_time() - begun))
    return [median(costs) for costs in spent]
