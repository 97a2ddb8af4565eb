"""k-grams and their stable 64-bit hashes, whole batches at once.

**The definition**, bit for bit. With `chain` the hash of bytes and `fmix64` as in `gate.core.tokenizers`:

- characters: the feature at code point j is chain(UTF-8 of code points j .. j+k-1);
- words and Soundex: with t the token hashes, the feature at token j is
  fmix64(t[j] + Q t[j+1] + Q^2 t[j+2] + ... + Q^(k-1) t[j+k-1]) mod 2^64, Q = 0x9E3779B97F4A7C15 - 2.

With a secret, the feature is that of `gate.core.keyed_hash`: of a window of k code points, or of k tokens.

k-grams never cross from one document into the next; a document of fewer than k tokens has no features. Features under
different secrets have nothing to do with each other.

What is stored under a profile depends on every bit here: the vectors in the tests guard it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gate.core import confusables, keyed_hash, token_filters
from gate.core.keyed_hash import Key, key_of
from gate.core.native import loader
from gate.core.profile import Profile
from gate.core.text import Texts
from gate.core.tokenizers import (
    Hashes,
    Tokens,
    chained,
    fmix64,
    lanes_of,
    token_hashes,
    utf8,
)

_Q = 0x9E3779B97F4A7C13  # odd, so that no multiplication loses a bit; 3 mod 8, so that its powers do not soon repeat


@dataclass(frozen=True, slots=True)
class Features:
    """Feature hashes of all documents back to back: those of document i are `hashes[starts[i]:starts[i + 1]]`."""

    hashes: Hashes
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many features each document has, repeated ones included."""
        return np.diff(self.starts)

    def distinct_counts(self) -> NDArray[np.int64]:
        """How many distinct features each document has."""
        representative = representatives(self.hashes, self.starts)
        distinct = np.flatnonzero(representative == np.arange(representative.size))
        return np.diff(np.searchsorted(distinct, self.starts))

    def first(self, limit: int) -> Features:
        """The first features of each document, `limit` of them at most."""
        sizes = np.diff(self.starts)
        if not (sizes > limit).any():
            return self
        starts = np.zeros_like(self.starts)
        np.cumsum(np.minimum(sizes, limit), out=starts[1:])
        pieces = [self.hashes[i : i + n] for i, n in zip(self.starts.tolist(), np.diff(starts).tolist())]
        return Features(np.concatenate(pieces), starts)


def features(texts: Texts, profile: Profile, secret: bytes = b"") -> Features:
    """The features of each text under a profile, in the order of the text, repeated ones included."""
    key, texts = key_of(secret), filter_texts(texts, profile)
    if profile.tokenizer == "characters":
        return _character_features(texts, profile.gram, key)
    return _token_features(_tokens(texts, profile, key), profile.gram, key)


def _character_features(texts: Texts, gram: int, key: Key | None) -> Features:
    kernel = loader.active()
    if kernel is not None:
        column = None if key is None else key.column()
        return Features(*kernel.character_windows(texts.points, texts.starts, gram, column))
    return _character_grams(texts, gram) if key is None else keyed_grams(texts.points, texts.starts, gram, key)


def _token_features(tokens: Tokens, gram: int, key: Key | None) -> Features:
    kernel = loader.active()
    if kernel is not None:
        column = None if key is None else key.column()
        return Features(*kernel.token_windows(tokens.hashes, tokens.starts, gram, column))
    return _token_grams(tokens, gram) if key is None else keyed_grams(tokens.hashes, tokens.starts, gram, key)


def keyed_grams(values: NDArray[np.unsignedinteger], starts: NDArray[np.int64], gram: int, key: Key) -> Features:
    """The features under a secret of all windows of so many values that lie within one text."""
    bounds, keep = _within(starts, gram)
    return Features(keyed_hash.hash_windows(values, gram, key)[keep], bounds)


def filter_texts(texts: Texts, profile: Profile) -> Texts:
    """The texts after the filters that change characters; those of tokens come after the tokenizer."""
    if profile.fold_confusables:
        texts = confusables.fold_confusables(texts)
    if profile.mask_numbers:
        texts = token_filters.mask_numbers(texts)
    if profile.tokenizer == "characters" and profile.drop_stop_words:
        texts = token_filters.drop_stop_words_from_text(texts, profile.stop_words)
    if profile.tokenizer == "characters" and profile.drop_vowels:
        texts = token_filters.drop_vowels(texts)
    return texts


def _tokens(texts: Texts, profile: Profile, key: Key | None) -> Tokens:
    soundex = profile.tokenizer == "soundex"
    tokens = token_hashes(texts, soundex=soundex, key=key)
    if profile.drop_stop_words:
        plain = token_hashes(texts) if soundex or key is not None else tokens
        tokens = token_filters.drop_stop_words(tokens, plain.hashes, profile.stop_words)
    return token_filters.drop_repeats(tokens) if profile.drop_repeats else tokens


def _within(starts: NDArray[np.int64], gram: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The starts of the windows of each document, and which of all windows lie within one document."""
    counts = np.maximum(np.diff(starts) - (gram - 1), 0)
    bounds = np.zeros_like(starts)
    np.cumsum(counts, out=bounds[1:])
    windows = max(int(starts[-1]) - gram + 1, 0)
    keep = np.ones(windows, dtype=np.bool_)
    for lag in range(1, gram):  # windows that begin `lag` before a document's end stick out of it
        ends = starts[1:] - lag
        keep[ends[(ends >= starts[:-1]) & (ends < windows)]] = False
    return bounds, keep


def _character_grams(texts: Texts, gram: int) -> Features:
    data, offsets = utf8(texts)
    if offsets is None and gram <= 8:
        return _short_ascii_grams(data, texts.starts, gram)
    bounds, keep = _within(texts.starts, gram)
    begins = np.flatnonzero(keep)
    if offsets is None:
        lengths = np.full(begins.size, gram, dtype=np.int64)
    else:
        lengths = offsets[begins + gram] - offsets[begins]
        begins = offsets[begins]
    return Features(chained(data, begins, lengths), bounds)


def _short_ascii_grams(data: NDArray[np.uint8], starts: NDArray[np.int64], gram: int) -> Features:
    """Grams of at most eight ASCII characters are one chunk each: load it at every place, and mix."""
    bounds = np.zeros_like(starts)
    np.cumsum(np.maximum(np.diff(starts) - (gram - 1), 0), out=bounds[1:])
    hashes = np.empty(int(bounds[-1]), dtype=np.uint64)
    lanes, mask = lanes_of(data), np.uint64((1 << 8 * gram) - 1)
    for begin, first, last in zip(starts.tolist(), bounds.tolist(), bounds[1:].tolist()):
        np.bitwise_and(lanes[begin : begin + last - first], mask, out=hashes[first:last])
    return Features(fmix64(hashes), bounds)


def _token_grams(tokens: Tokens, gram: int) -> Features:
    bounds, keep = _within(tokens.starts, gram)
    sums = _windows(tokens.hashes, gram) if keep.size else np.empty(0, dtype=np.uint64)
    return Features(fmix64(sums[keep]), bounds)


def _windows(tokens: Hashes, gram: int) -> Hashes:
    """The polynomial of each window by doubling: G of 2m at j is G of m at j plus Q^m times G of m at j + m."""
    width, sums = 1, tokens
    for bit in bin(gram)[3:]:
        sums = sums[:-width] + sums[width:] * np.uint64(pow(_Q, width, 1 << 64))
        width *= 2
        if bit == "1":
            count = tokens.size - width
            sums = sums[:count] + tokens[width : width + count] * np.uint64(pow(_Q, width, 1 << 64))
            width += 1
    return sums


# Equal hashes are grouped without sorting, which gives the same groups and takes ten times as long: they are spread
# over cells, four to eight times as many as the document has hashes, by their upper bits. The last hash that is written
# to a cell represents all in the cell that are equal to it; those that are not are spread again, with their bits mixed.

# Of random hashes one in a million is left after so many rounds. What is left is sorted: hashes that were crafted to
# share a cell in every round cost no more than that.
_ROUNDS = 6
_MIX = np.uint64(0x9E3779B97F4A7C15)


def representatives(hashes: NDArray[np.uint64], starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """For each hash the position of the one that represents its equals in the same document, itself included.

    The hashes of document i are `hashes[starts[i]:starts[i + 1]]`; a batch of 2^31 would need 16 GB.
    """
    sizes = np.diff(starts)
    bits = np.frexp(sizes)[1] + 2
    ends = np.cumsum(1 << bits)
    cell_owners = np.empty(int(ends[-1]) if ends.size else 0, dtype=np.int32)  # only cells that were written are read
    first_cells, shifts = np.repeat(ends - (1 << bits), sizes), np.repeat((64 - bits).astype(np.uint64), sizes)
    representative = np.arange(hashes.size, dtype=np.int32)
    keys, positions = hashes, representative.copy()
    for _ in range(_ROUNDS):
        cells = (keys >> shifts).view(np.int64)
        cells += first_cells
        cell_owners[cells] = positions
        owners = cell_owners.take(cells)
        displaced = np.flatnonzero(owners != positions)
        own, others = positions[displaced], owners[displaced]
        equal = hashes[own] == hashes[others]
        representative[own[equal]] = others[equal]
        left = displaced[~equal]
        if not left.size:
            return representative
        positions, shifts, first_cells, keys = positions[left], shifts[left], first_cells[left], keys[left] * _MIX
    order = np.lexsort((hashes[positions], first_cells))
    positions, documents = positions[order], first_cells[order]
    new = np.ones(positions.size, dtype=np.bool_)
    new[1:] = (hashes[positions[1:]] != hashes[positions[:-1]]) | (documents[1:] != documents[:-1])
    representative[positions] = positions[new][np.cumsum(new) - 1]
    return representative
