"""The truth that quality is measured against: documents, their exact resemblance, and labels to check it by.

Resemblance J of two texts is that of their sets of 3-word shingles, words being runs of `\\w` in lower case; in a set
that is largely of scripts without spaces, each of their letters is a word. Nothing is hashed or estimated here: words
are numbered, a shingle is three numbers, and every pair with J >= .5 is found by a join that is exact. It rests on one
thing: order all shingles from the rarest to the commonest. If J >= t, then the first n - ceil(t n) + 1 shingles of the
smaller set (of n) and as many of the other hold one in common, since otherwise more than (1 - t) n of the smaller
set's would be missing in the other. Few documents share a rare shingle, so few pairs are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gate.core.tokenizers import SPACELESS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

GRAM = 3
LEAST = 0.5  # of the pairs that count as alike at all
_ALONE = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in SPACELESS)
_WORD = re.compile(r"\w+")
_WORD_OR_LETTER = re.compile(rf"[{_ALONE}]|(?:(?![{_ALONE}])\w)+")
_LETTER = re.compile(rf"[{_ALONE}]")
UNSPACED = 0.2  # share of letters of scripts without spaces from which on they are words of their own


@dataclass(frozen=True, slots=True)
class DocumentPairs:
    """Pairs of documents by number, the earlier one on the left, and the J of each."""

    left: Ints
    right: Ints
    jaccard: Floats

    def __len__(self) -> int:
        return len(self.left)

    def only(self, keep: NDArray[np.bool_]) -> DocumentPairs:
        return DocumentPairs(self.left[keep], self.right[keep], self.jaccard[keep])


class PairLabel(NamedTuple):
    """A label of two documents, by their ids; a J that is not stated is None."""

    a: str
    b: str
    jaccard: float | None


@dataclass(frozen=True)
class Corpus:
    """A named set of documents in file order, and all that is true of them."""

    name: str
    ids: Sequence[str]
    texts: Sequence[str] = field(repr=False)
    labels: Sequence[PairLabel] = field(default=(), repr=False)
    clusters: Mapping[str, str] = field(default_factory=dict, repr=False)  # id -> name of the work it is a version of

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def shingles(self) -> tuple[Ints, Ints]:
        """Numbers of shingles, each document's distinct and ascending, back to back; and where each one's begin.
        The rarer a shingle, the lower its number."""
        vocabulary: dict[str, int] = {}
        sets: list[Ints] = []
        letters = share_without_spaces(self.texts) >= UNSPACED
        for text in self.texts:
            numbered = [vocabulary.setdefault(word, len(vocabulary)) for word in words(text, letters=letters)]
            sets.append(_packed(np.array(numbered, np.int64)))
        starts = np.zeros(len(sets) + 1, np.int64)
        np.cumsum([len(one) for one in sets], out=starts[1:])
        packed = np.concatenate([*sets, np.empty(0, np.int64)])
        distinct, numbers, counts = np.unique(packed, return_inverse=True, return_counts=True)
        rank = np.empty(len(distinct), np.int64)
        rank[np.argsort(counts, kind="stable")] = np.arange(len(distinct))
        numbers = rank[numbers]
        for begin, end in zip(starts.tolist(), starts[1:].tolist()):
            numbers[begin:end].sort()
        return numbers, starts

    @cached_property
    def first_equal(self) -> Ints:
        """For each document the first one with the same set of shingles; itself, where it has none."""
        numbers, starts = self.shingles
        seen: dict[bytes, int] = {}
        firsts = np.arange(len(self))
        for i, (begin, end) in enumerate(zip(starts.tolist(), starts[1:].tolist())):
            if end > begin:
                firsts[i] = seen.setdefault(numbers[begin:end].tobytes(), i)
        return firsts

    @cached_property
    def pairs(self) -> DocumentPairs:
        """All pairs with LEAST <= J, among the first documents of each group of equal ones."""
        numbers, starts = self.shingles
        sizes = np.diff(starts)
        firsts = [i for i in range(len(self)) if self.first_equal[i] == i and sizes[i]]
        prefix = {i: numbers[starts[i] : starts[i] + sizes[i] - ceil(LEAST * sizes[i]) + 1] for i in firsts}
        flat = np.concatenate([*prefix.values(), np.empty(0, np.int64)])
        owners = np.repeat(np.array(firsts, np.int64), [len(prefix[i]) for i in firsts])
        order = np.argsort(flat, kind="stable")
        flat, owners = flat[order], owners[order]
        lefts, rights = [], []
        for i in firsts:
            begin = np.searchsorted(flat, prefix[i])
            counts = np.searchsorted(flat, prefix[i], side="right") - begin
            begin, counts = begin[counts > 1], counts[counts > 1]
            sharing = owners[np.repeat(begin - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())]
            sharing = np.unique(sharing[sharing < i])
            fits = np.minimum(sizes[sharing], sizes[i]) >= LEAST * np.maximum(sizes[sharing], sizes[i])
            lefts.append(sharing[fits])
            rights.append(np.full(fits.sum(), i))
        left, right = (np.concatenate([*side, np.empty(0, np.int64)]) for side in (lefts, rights))
        jaccard = self.jaccard(left, right)
        kept = jaccard >= LEAST
        return DocumentPairs(left[kept], right[kept], jaccard[kept])

    def jaccard(self, left: Ints, right: Ints) -> Floats:
        """The exact J of any pairs; 0 where neither has a shingle."""
        numbers, starts = self.shingles
        sizes = np.diff(starts)
        shared = np.zeros(len(left), np.int64)
        present = np.zeros(int(numbers.max()) + 1 if len(numbers) else 1, np.bool_)
        order = np.argsort(right, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(right[order])) + 1) if len(order) else []:
            own = numbers[starts[right[group[0]]] : starts[right[group[0]] + 1]]
            present[own] = True
            for place, other in zip(group.tolist(), left[group].tolist()):
                shared[place] = np.count_nonzero(present[numbers[starts[other] : starts[other + 1]]])
            present[own] = False
        union = sizes[left] + sizes[right] - shared
        resembling: Floats = shared / np.maximum(union, 1)
        return resembling

    def known(self, left: Ints, right: Ints) -> Floats:
        """The J of pairs of first documents where it is LEAST or more, and 0 elsewhere; looked up, not counted."""
        codes = self.pairs.left * len(self) + self.pairs.right
        order = np.argsort(codes)
        pair_codes = np.minimum(left, right) * len(self) + np.maximum(left, right)
        places = np.minimum(np.searchsorted(codes[order], pair_codes), max(len(codes) - 1, 0))
        if not len(codes):
            return np.zeros(len(pair_codes))
        rows = order[places]
        jaccards: Floats = np.where(codes[rows] == pair_codes, self.pairs.jaccard[rows], 0.0)
        return jaccards

    @cached_property
    def alike(self) -> DocumentPairs:
        """All pairs with LEAST <= J among all documents: those of the firsts, for every member of their groups."""
        groups: dict[int, list[int]] = {}
        for i, first in enumerate(self.first_equal.tolist()):
            groups.setdefault(first, []).append(i)
        pairs: list[tuple[int, int, float]] = []
        for group in groups.values():
            pairs += [(a, b, 1.0) for n, b in enumerate(group) for a in group[:n]]
        for a, b, jaccard in zip(self.pairs.left.tolist(), self.pairs.right.tolist(), self.pairs.jaccard.tolist()):
            pairs += [(min(x, y), max(x, y), jaccard) for x in groups[a] for y in groups[b]]
        table = np.array(pairs, np.float64).reshape(-1, 3)
        return DocumentPairs(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2])


def words(text: str, *, letters: bool = False) -> list[str]:
    """Runs of letters; with `letters`, each letter of a script without spaces, or a sentence would be one word."""
    return (_WORD_OR_LETTER if letters and not text.isascii() else _WORD).findall(text.lower())


def share_without_spaces(texts: Iterable[str]) -> float:
    """The share of letters that are of a script without spaces."""
    alone = total = 0
    for text in texts:
        total += sum(map(len, _WORD.findall(text)))
        alone += 0 if text.isascii() else len(_LETTER.findall(text))
    return alone / max(total, 1)


def _packed(numbered: Ints) -> Ints:
    """The distinct shingles of a document, each as one number: 21 bits a word hold two million different words."""
    if len(numbered) < GRAM:
        return np.empty(0, np.int64)
    if numbered.max() >= 1 << 21:
        raise ValueError("more than two million different words; measure fewer documents at once")
    return np.unique(numbered[:-2] << 42 | numbered[1:-1] << 21 | numbered[2:])


def disagreements(documents: Corpus) -> int:
    """How many labels state another J than was found here (to the four digits that they have), or an unknown id."""
    number = {name: i for i, name in enumerate(documents.ids)}
    known = [label for label in documents.labels if label.a in number and label.b in number]
    stating = [label for label in known if label.jaccard is not None]
    left = np.array([number[label.a] for label in stating], np.int64)
    right = np.array([number[label.b] for label in stating], np.int64)
    stated = np.array([label.jaccard for label in stating], np.float64)
    wrong = np.abs(documents.jaccard(left, right) - stated) > 0.5e-4 + 1e-9
    return len(documents.labels) - len(known) + int(wrong.sum())
