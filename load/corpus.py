"""A seeded stream of documents with planted truth: which are copies, of what, and how alike exactly.

Base documents are sentences and paragraphs over a Zipf vocabulary. A document is an array of tokens,

    token = form * VOCABULARY + word        form: 0 plain, 1 opens a sentence, 2 closes one, 3 closes a paragraph

so capitals and punctuation travel with their word when a copy is edited, and the word sequence that a reader's
`\\w+` finds is `token % VOCABULARY`. Every base document has a random generator of its own, made from the seed and its
number: a copy remakes its original instead of keeping it, so a million documents stream in constant memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int64]

VOCABULARY = 30_000
# Words are drawn by a look-up in a table instead of a search in the distribution: with 2^20 places the rarest of 30,000
# words still has three of them, so the tail stays in.
_PLACES = 1 << 20
_SYLLABLES = [c + v + e for c in "bcdfghjklmnprstvwz" for v in "aeiou" for e in ("", "n", "r", "s", "l")]


class Kind(StrEnum):
    BASE = "base"
    COPY = "copy"  # words replaced, inserted, deleted and moved
    EXACT = "exact"
    PART = "part"  # a run of the original's words


class TokenEdit(StrEnum):
    REPLACE = "replace"
    INSERT = "insert"
    DELETE = "delete"
    MOVE = "move"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedDocument:
    """A document and the truth about it. `jaccard` is the exact one over sets of 3-word shingles, 0 for a base."""

    number: int
    text: str
    kind: Kind
    original: int | None
    jaccard: float

    @property
    def document_id(self) -> str:
        return str(self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Shares are of all documents; `edit_shares` are drawn uniformly, as shares of a copy's words."""

    words: int = 330  # about 2 KB of text
    copies: float = 0.2
    exact: float = 0.05
    parts: float = 0.05
    edit_shares: tuple[float, ...] = (0.005, 0.01, 0.02, 0.04, 0.08)
    part_shares: tuple[float, ...] = (0.5, 0.8)


class SyntheticCorpus:
    """`documents` documents in a fixed order; iterating twice, or in another process, gives the same ones."""

    def __init__(self, seed: int, documents: int, recipe: Recipe | None = None) -> None:
        self.seed = seed
        self.recipe = recipe = recipe or Recipe()
        self._words, self._places = _vocabulary(seed)
        rng = np.random.default_rng((seed, 1))
        fractions = [recipe.exact, recipe.parts, recipe.copies]
        draw = np.searchsorted(np.cumsum(fractions), rng.random(documents), side="right")
        self._kinds = np.array([Kind.EXACT, Kind.PART, Kind.COPY, Kind.BASE], dtype=object)[draw]
        base = draw == 3
        base[:1] = True
        self._kinds[:1] = Kind.BASE
        # The original of document i is one of the base documents before i, any of them alike.
        numbers = np.flatnonzero(base)
        before = np.searchsorted(numbers, np.arange(documents))
        self._originals = numbers[(rng.random(documents) * before).astype(np.int64)] if documents else numbers

    def __len__(self) -> int:
        return len(self._kinds)

    def __iter__(self) -> Iterator[PlantedDocument]:
        for number in range(len(self)):
            yield self[number]

    def __getitem__(self, number: int) -> PlantedDocument:
        kind: Kind = self._kinds[number]
        if kind is Kind.BASE:
            return PlantedDocument(
                number=number, text=self.render(self.tokens(number)), kind=kind, original=None, jaccard=0.0
            )
        original = int(self._originals[number])
        source = self.tokens(original)
        rng = np.random.default_rng((self.seed, 3, number))
        made = source
        if kind is Kind.COPY:
            made = edit_tokens(source, self.recipe.edit_shares[rng.integers(len(self.recipe.edit_shares))], rng)
        elif kind is Kind.PART:
            made = cut_part(source, self.recipe.part_shares[rng.integers(len(self.recipe.part_shares))], rng)
        alike = 1.0 if kind is Kind.EXACT else jaccard(source, made)
        return PlantedDocument(number=number, text=self.render(made), kind=kind, original=original, jaccard=alike)

    def tokens(self, number: int) -> Tokens:
        """The base document that stands, or would stand, at this place: 75 to 125 % of the recipe's words."""
        rng = np.random.default_rng((self.seed, 2, number))
        size = max(4, int(self.recipe.words * (0.75 + 0.5 * rng.random())))
        tokens: Tokens = self._places[rng.integers(0, _PLACES, size)].astype(np.int64)
        ends = np.cumsum(rng.integers(6, 26, size // 6 + 1)) - 1
        ends = np.append(ends[ends < size - 1], size - 1)
        tokens[ends] += np.where((np.arange(1, len(ends) + 1) % 5 == 0) | (ends == size - 1), 3, 2) * VOCABULARY
        opens = np.append(0, ends[:-1] + 1)
        opens = opens[tokens[opens] < VOCABULARY]
        tokens[opens] += VOCABULARY
        return tokens

    def render(self, tokens: Tokens) -> str:
        return "".join(self._words[tokens].tolist()).rstrip()


def edit_tokens(
    tokens: Tokens, share: float, rng: np.random.Generator, kinds: Sequence[TokenEdit] = tuple(TokenEdit)
) -> Tokens:
    """A copy in which about `share` of the words were edited, at least one, by an even mix of the kinds."""
    total = max(1, round(share * len(tokens)))
    for kind, count in zip(kinds, np.bincount(rng.integers(0, len(kinds), total), minlength=len(kinds)), strict=True):
        count = min(int(count), len(tokens) - 1)
        if count <= 0:
            continue
        at = rng.choice(len(tokens), count, replace=False)
        if kind is TokenEdit.REPLACE:
            tokens = tokens.copy()
            tokens[at] += _other(tokens[at], rng)
        elif kind is TokenEdit.INSERT:
            tokens = np.insert(tokens, at, rng.integers(0, VOCABULARY, count))
        elif kind is TokenEdit.DELETE:
            tokens = np.delete(tokens, at)
        else:
            moved = tokens[at]
            rest = np.delete(tokens, at)
            tokens = np.insert(rest, rng.integers(0, len(rest) + 1, count), moved)
    return tokens


def _other(tokens: Tokens, rng: np.random.Generator) -> Tokens:
    """What to add to each token so that it has another word in the same form."""
    words = tokens % VOCABULARY
    return (words + rng.integers(1, VOCABULARY, len(words))) % VOCABULARY - words


def cut_part(tokens: Tokens, share: float, rng: np.random.Generator) -> Tokens:
    """A run of `share` of the words."""
    size = max(1, round(share * len(tokens)))
    start = int(rng.integers(0, len(tokens) - size + 1))
    return tokens[start : start + size]


def jaccard(left: Tokens, right: Tokens) -> float:
    """Exact, over the sets of 3-word shingles; two documents without a shingle have nothing in common."""
    first, second = _shingles(left), _shingles(right)
    union = len(first | second)
    return len(first & second) / union if union else 0.0


def _shingles(tokens: Tokens) -> set[int]:
    words = tokens % VOCABULARY
    packed = (words[:-2] * VOCABULARY + words[1:-1]) * VOCABULARY + words[2:]
    return set(packed.tolist())


def _vocabulary(seed: int) -> tuple[NDArray[np.object_], NDArray[np.int32]]:
    """Every word in its four forms, and the table of places that words are drawn from."""
    rng = np.random.default_rng((seed, 0))
    syllables = np.array(_SYLLABLES)
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        picks = rng.integers(0, len(syllables), (VOCABULARY, 4))
        for row, size in zip(syllables[picks].tolist(), rng.integers(1, 5, VOCABULARY).tolist(), strict=True):
            words["".join(row[:size])] = None
    # The frequent words are the short ones, as in any language; the sort keeps the order of equals.
    ranked = sorted(list(words)[:VOCABULARY], key=len)
    forms = np.empty(4 * VOCABULARY, dtype=object)
    forms[:] = (
        [word + " " for word in ranked]
        + [word.capitalize() + " " for word in ranked]
        + [word + ". " for word in ranked]
        + [word + ".\n\n" for word in ranked]
    )
    share = 1.0 / (np.arange(VOCABULARY) + 2.7)
    cumulative = np.cumsum(share) / share.sum()
    places = np.searchsorted(cumulative, (np.arange(_PLACES) + 0.5) / _PLACES).astype(np.int32)
    return forms, places
