"""Split two texts into the passages that they share and those that they do not.

A word is shared if some run of `gram` words around it occurs in both texts, in any case. The passages of a
text, put together, are the text to the last character: what lies between two words goes with the word before it,
and what lies before the first word with the first.

This is for people to look at. It reads words as the signatures do, but cuts them at combining marks;
both texts are cut alike, so what is shared stays shared.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise

from gate.core.tokenizers import SPACELESS

_UNSPACED = "".join(f"{chr(low)}-{chr(high)}" for low, high in SPACELESS)  # each character counts as a word
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of the original text."""

    text: str
    shared: bool


def passages(left: str, right: str, *, gram: int = 3) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
    """The passages of both texts, each in its own order. Texts shorter than `gram` words are compared as a whole."""
    left_starts, left_words = _words(left)
    right_starts, right_words = _words(right)
    size = max(1, min(gram, len(left_words), len(right_words)))
    common = _grams(left_words, size) & _grams(right_words, size)
    return (
        _cut(left, left_starts, _covered(left_words, common, size)),
        _cut(right, right_starts, _covered(right_words, common, size)),
    )


def _words(text: str) -> tuple[list[int], list[str]]:
    """Where each word starts, and the word as it is compared."""
    matches = list(_WORD.finditer(text))
    return (
        [match.start() for match in matches],
        [unicodedata.normalize("NFKC", match.group()).casefold() for match in matches],
    )


def _grams(words: list[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + size]) for i in range(len(words) - size + 1)}


def _covered(words: list[str], common: set[tuple[str, ...]], size: int) -> list[bool]:
    """Which words lie in a common run."""
    covered = [False] * len(words)
    done = 0  # words before it were looked at, so a long shared passage costs no more than its length
    for i in range(len(words) - size + 1):
        if tuple(words[i : i + size]) in common:
            for j in range(max(i, done), i + size):
                covered[j] = True
            done = i + size
    return covered


def _cut(text: str, starts: list[int], covered: list[bool]) -> tuple[Passage, ...]:
    """The text, cut where shared words turn into others or back."""
    if not text:
        return ()
    if not starts:
        return (Passage(text, shared=False),)
    turns = [i for i in range(1, len(covered)) if covered[i] != covered[i - 1]]
    cuts = [0, *(starts[i] for i in turns), len(text)]
    kinds = [covered[0], *(covered[i] for i in turns)]
    return tuple(Passage(text[a:b], shared=kind) for (a, b), kind in zip(pairwise(cuts), kinds))
