"""Token filters: what is left out or masked before k-grams are words.

Numbers, vowels and, with characters as tokens, stop words are taken out of the text; with words as tokens, stop words
and repeated words are taken out of the sequence of tokens.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gate.core.text import Points, Texts, normalise
from gate.core.tokenizers import Hashes, Tokens, find_words, word_tokens

# The commonest function words, and the tails that \w leaves of contractions (don't -> don, t).
ENGLISH: tuple[str, ...] = tuple(
    """
    a about above after again against all also although always am among an and another any are as at away back
    be became because been before being below between both but by can cannot could did do does doing done down
    during each either else ever every few for from further get had has have having he hence her here hers
    herself him himself his how however i if in into is it its itself just least less many may me might mine
    more most much must my myself neither no nor not now of off often on once one only onto or other others our
    ours ourselves out over own per perhaps quite rather same shall she should since so some such than that the
    their theirs them themselves then there therefore these they this those though through thus to together too
    toward towards under until up upon us very was we were what whatever when where whether which while who whom
    whose why will with within without would yet you your yours yourself yourselves s t d ll m re ve
    """.split()  # noqa: SIM905 - a paragraph is read more easily than a hundred and eighty quoted words
)

_DIGIT, _VOWEL, _MARK, _PLAIN = 1, 2, 3, 4
_kinds = np.zeros(0x110000, dtype=np.uint8)


def _kind_of(point: int) -> int:
    category = unicodedata.category(chr(point))
    if category == "Nd":
        return _DIGIT
    if category.startswith("M"):
        return _MARK
    return _VOWEL if unicodedata.normalize("NFD", chr(point))[0] in "aeiou" else _PLAIN


def _kinds_of(points: Points) -> NDArray[np.uint8]:
    kinds: NDArray[np.uint8] = np.take(_kinds, points)
    if kinds.size and not kinds.all():
        for point in np.unique(points[kinds == 0]).tolist():
            _kinds[point] = _kind_of(point)
        kinds = np.take(_kinds, points)
    return kinds


def mask_numbers(texts: Texts) -> Texts:
    """Every run of digits, of any script, becomes one 0: texts that differ only in dates or amounts become equal."""
    digits = _kinds_of(texts.points) == _DIGIT
    if not digits.any():
        return texts
    points = texts.points.copy()
    points[digits] = ord("0")
    follows = np.zeros_like(digits)
    follows[1:] = digits[1:] & digits[:-1]
    inner = texts.starts[:-1]
    follows[inner[inner < digits.size]] = False
    return _without(Texts(points, texts.starts), follows)


def drop_vowels(texts: Texts) -> Texts:
    """Leave out a, e, i, o and u, each with its accents, composed or not."""
    kinds = _kinds_of(texts.points)
    dropped = kinds == _VOWEL
    marks = np.flatnonzero(kinds == _MARK)
    if marks.size and dropped.any():
        letters = np.flatnonzero(kinds != _MARK)
        letter = letters[np.searchsorted(letters, marks) - 1]  # the one before; of a mark before all letters, the last
        begin = texts.starts[np.searchsorted(texts.starts, marks, side="right") - 1]
        dropped[marks] = dropped[letter] & (begin <= letter) & (letter < marks)
    return _without(texts, dropped)


def drop_stop_words_from_text(texts: Texts, stop_words: Sequence[str]) -> Texts:
    """Leave out each stop word and the space behind it."""
    words = find_words(texts)
    stops = is_stop(word_tokens(words).hashes, stop_words)
    begins, lengths = words.begins[stops], words.lengths[stops]
    size = words.data.size - 8
    edges = np.zeros(size + 1, dtype=np.int8)
    edges[begins] = 1
    np.subtract.at(edges, begins + lengths, 1)
    dropped = np.cumsum(edges[:-1], dtype=np.int8).astype(np.bool_)
    if texts.points.dtype != np.uint8:  # a flag for each code point instead of each byte of its UTF-8
        dropped = dropped[(words.data[:-8] & 0xC0) != 0x80]
    ends_of_stops = np.flatnonzero(dropped[:-1] & ~dropped[1:]) + 1
    dropped[ends_of_stops[texts.points[ends_of_stops] == ord(" ")]] = True
    return _without(texts, dropped)


def drop_stop_words(tokens: Tokens, plain: Hashes, stop_words: Sequence[str]) -> Tokens:
    """Leave out the tokens of stop words; `plain` are the hashes, without a secret, of the words they were made of."""
    return tokens.only(~is_stop(plain, stop_words))


def drop_repeats(tokens: Tokens) -> Tokens:
    """Keep the first occurrence of each token in its text."""
    return tokens.only(is_first_occurrence(tokens))


def is_first_occurrence(tokens: Tokens) -> NDArray[np.bool_]:
    """Which tokens are not the same as an earlier one of their text."""
    order = np.argsort(tokens.hashes, kind="stable")
    documents = np.repeat(np.arange(tokens.starts.size - 1), np.diff(tokens.starts))[order]
    hashes = tokens.hashes[order]
    keep = np.ones(order.size, dtype=np.bool_)
    # Equal tokens are side by side, in the order of their places and so of their texts.
    keep[order[1:]] = (hashes[1:] != hashes[:-1]) | (documents[1:] != documents[:-1])
    return keep


def is_stop(plain: Hashes, stop_words: Sequence[str]) -> NDArray[np.bool_]:
    """Which hashes are those of stop words: a sieve of their top bits first, and the few that pass are looked up."""
    listed, sieve = _stop_list(tuple(stop_words))
    stops: NDArray[np.bool_] = sieve[plain >> np.uint64(48)]
    passed = np.flatnonzero(stops)
    place = np.minimum(np.searchsorted(listed, plain[passed]), listed.size - 1)
    stops[passed] = listed[place] == plain[passed] if listed.size else False
    return stops


@lru_cache(maxsize=64)
def _stop_list(stop_words: tuple[str, ...]) -> tuple[Hashes, NDArray[np.bool_]]:
    """Sorted hashes of the words. An entry that is several words (don't) counts for each of them."""
    listed = np.unique(word_tokens(find_words(normalise(stop_words or ENGLISH))).hashes)
    sieve = np.zeros(1 << 16, dtype=np.bool_)
    sieve[listed >> np.uint64(48)] = True
    return listed, sieve


def _without(texts: Texts, dropped: NDArray[np.bool_]) -> Texts:
    places = np.flatnonzero(dropped)
    if not places.size:
        return texts
    return Texts(texts.points[~dropped], texts.starts - np.searchsorted(places, texts.starts))
