"""What the experiments on windows compute: edited versions of documents, their similarity, pairs, clusters, times.

Everything returns numbers; `cherkasova.py` makes tables and plots of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time

import numpy as np

from gate.core.method import COUNT_BYTES
from gate.core.method_parameters import BswN, Chunks, MinN, ModN, SampleParameters, SketchN, WindowParameters
from gate.core.method_registry import Method, method_of
from gate.core.profile import Profile
from gate.core.text import Texts, normalise
from gate.errors import ConfigError
from gate.lab.experiment import ProgressTracker
from gate.lab.planting import Edit, edit_text, pieces
from gate.lab.scores import compare_pairs, find_candidates, normalise_in_batches
from gate.lab.truth import Corpus, Floats, Ints

ALGORITHMS = {"mod-n": "Mod", "min-n": "Min", "sketch-n": "Sketch", "bsw-n": "BSW"}
INSERTED = "a "  # the word that the paper inserts
LEAST_WORDS = 4  # words of a document for each edit: of a text that is all edits nothing can be learnt
MOST_BANDS = 128
MOST = 8000
SimilarityCurves = Mapping[
    Profile, Mapping[int, Floats]
]  # by algorithm and number of edits, the similarity of each document


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
    copies: Mapping[tuple[Edit, int], Sequence[Texts]]


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
    made: dict[tuple[Edit, int], list[str]] = {(edit, n): [] for edit in (Edit.INSERT, Edit.DELETE) for n in edits}
    for text in progress(texts, "editing documents"):
        count = len(pieces(text))
        for (edit, n), copies in made.items():
            copies.append(edit_text(text, edit, n / count, rng, [INSERTED]))
    batches = {key: list(normalise_in_batches(copies)) for key, copies in made.items()}
    originals = list(normalise_in_batches(texts))
    sizes = [len(text.encode()) for text in texts]
    return EditedVersions(np.array(sizes, np.int64), originals, batches)


def sign_batches(method: Method, batches: Iterable[Texts]) -> list[bytes]:
    return [body for batch in batches for body in method.sign(batch).bodies]


def similarity(method: Method, lefts: Sequence[bytes], rights: Sequence[bytes]) -> Floats:
    """The resemblance of each pair; NaN where one of them has no signature."""
    both = [i for i, pair in enumerate(zip(lefts, rights, strict=True)) if all(pair)]
    found = np.full(len(lefts), np.nan)
    if both:
        measures = method.compare([lefts[i] for i in both], [rights[i] for i in both])
        found[both] = measures.resemblance
    return found


def curves(profile: Profile, of: EditedVersions, edit: Edit) -> dict[int, Floats]:
    """By the number of edits, the similarity of each document with its copy."""
    method = method_of(profile)
    originals = sign_batches(method, of.originals)
    return {
        n: similarity(method, originals, sign_batches(method, batches))
        for (own, n), batches in of.copies.items()
        if own is edit
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


def find_similar_pairs(profile: Profile, batches: Sequence[Texts], least: float = 0.0) -> SimilarPairs:
    """Every pair of which the signatures have something in common, and are so similar at least."""
    method = method_of(profile)
    bodies = sign_batches(method, batches)
    left, right = (
        sharing(bodies, least) if isinstance(profile.method, SampleParameters) else find_candidates(method, bodies)
    )
    parts = [measures.resemblance for measures in compare_pairs(method, bodies, left, right)]
    found = np.concatenate([np.empty(0), *(part for part in parts if part is not None)])
    enough = (found > 0) & (found >= least)
    return SimilarPairs(left[enough], right[enough], found[enough], len(bodies) * (len(bodies) - 1) // 2)


def sharing(bodies: Sequence[bytes], least: float) -> tuple[Ints, Ints]:
    """Pairs of sets that share a fingerprint, and so many that they can be as similar as `least`: what they share is
    no more than that share of the larger set. Counted, because to compare each pair would take minutes."""
    sets = [np.frombuffer(body[COUNT_BYTES:], "<u8") for body in bodies]
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


def clusters(pairs: SimilarPairs) -> list[int]:
    """Sizes of the groups that pairs connect, over any number of others, the largest first."""
    leader: dict[int, int] = {}

    def lead(i: int) -> int:
        while leader.setdefault(i, i) != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    for a, b in pairs.names:
        leader[lead(a)] = lead(b)
    return sorted(Counter(map(lead, list(leader))).values(), reverse=True)


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
