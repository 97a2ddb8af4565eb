"""Mod_n, Min_n and Sketch_n: which fingerprints of a text's windows represent the text.

A text is the set of the Rabin fingerprints of all its windows of w bytes (UTF-8 of the normal form); with a secret,
which Rabin fingerprints alone would give away, of SipHash of these under the key of `gate.core.keyed_hash`. Of that set

    Mod_n     keeps the fingerprints that n divides: as many as the text is long, so a part differs from its whole
    Min_n     keeps the n smallest
    Sketch_n  keeps the smallest under each of n hash functions

**Comparing two kept sets.** Fingerprints are as good as random, so the smallest of a set are a fair sample of it. Where
a set was too large to be kept whole, its smallest are there; then only the `most` smallest of the union of both are
looked at, and of each of these it is known whether it is in the one set and in the other. So a book whose set was cut
is still compared fairly with its chapter.

Bit for bit: hash function i of Sketch_n is F -> (F + s_i) a_i mod 2^64, with s_i = fmix64(2i + 1), a_i = fmix64(2i + 2)
| 1, and what is kept of a minimum are the lower 32 bits of its fmix64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gate.core import rabin
from gate.core.keyed_hash import hash_numbers, key_of
from gate.core.shingles import Features
from gate.core.text import Texts, encoded
from gate.core.tokenizers import Hashes, fmix64

_CACHED = 16 * 1024  # windows to hash at a time: they and the hashes stay in a core's cache
_ALL = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of a batch: the bytes of text i are `data[bounds[i]:bounds[i + 1]]`, and the fingerprints of its
    windows `prints[begins[i]:ends[i]]`. Those of windows across the end of a text lie between and belong to none."""

    data: NDArray[np.uint8]
    bounds: NDArray[np.int64]
    prints: Hashes
    ends: NDArray[np.int64]
    width: int

    @property
    def begins(self) -> NDArray[np.int64]:
        return self.bounds[:-1]

    @property
    def counts(self) -> NDArray[np.int64]:
        return self.ends - self.begins

    def first(self, limit: int) -> Windows:
        """The first windows of each text, `limit` of them at most."""
        if not (self.counts > limit).any():
            return self
        return replace(self, ends=np.minimum(self.ends, self.begins + limit))

    def texts_at(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of ascending positions those of windows that belong to a text, and the number of that text."""
        owners = np.searchsorted(self.bounds, places, side="right") - 1
        inside = places < self.ends[owners]
        return places[inside], owners[inside]


def windows(texts: Texts, width: int, secret: bytes = b"") -> Windows:
    """Every window of each text; a text of fewer than `width` bytes has none."""
    data, bounds = _bytes_of(texts)
    ends = np.maximum(bounds[1:] - (width - 1), bounds[:-1])
    prints = rabin.fingerprints(data, width, rabin.polynomial_of(secret))
    if (key := key_of(secret)) is not None:
        prints = hash_numbers(prints, key)
    return Windows(data, bounds, prints, ends, width)


def _bytes_of(texts: Texts) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The UTF-8 of a batch, and where the bytes of each text begin."""
    if texts.points.dtype == np.uint8:
        return texts.points.view(np.uint8), texts.starts
    parts = encoded(texts)
    bounds = np.zeros_like(texts.starts)
    np.cumsum(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)), out=bounds[1:])
    return np.frombuffer(b"".join(parts), dtype=np.uint8), bounds


def divisible(prints: Hashes, n: int) -> NDArray[np.int64]:
    """Where n divides a fingerprint. With n = 2^s m, m odd: m divides F if F / m, which mod 2^64 is a product, comes
    out no larger than a true quotient can be; and of the few that are left, the s lowest bits have to be zero."""
    even = n & -n
    if even == n:
        return np.flatnonzero((prints & np.uint64(n - 1)) == 0)
    odd = n // even
    places = np.flatnonzero(prints * np.uint64(pow(odd, -1, 2**64)) <= np.uint64(_ALL // odd))
    return places if odd == n else places[(prints[places] & np.uint64(even - 1)) == 0]


def mod_n(batch: Windows, n: int) -> Features:
    """The fingerprints of each text that n divides, distinct and ascending."""
    places, owners = batch.texts_at(divisible(batch.prints, n))
    return ascending(batch.prints[places], owners, len(batch.begins))


def min_n(batch: Windows, n: int) -> Features:
    """The n smallest fingerprints of each text, distinct and ascending; fewer where there are no more."""
    counts, texts = batch.counts, len(batch.begins)
    # Below such a bound half as many again as are needed are expected.
    upper_bounds = [min((3 * n // 2 + 32) * (1 << 64) // max(count, 1), _ALL) for count in counts.tolist()]
    bounds = np.repeat(np.array(upper_bounds, dtype=np.uint64), np.diff(batch.bounds))[: batch.prints.size]
    places, owners = batch.texts_at(np.flatnonzero(batch.prints <= bounds))
    smallest = ascending(batch.prints[places], owners, texts)
    too_few = np.flatnonzero((smallest.counts < n) & (np.bincount(owners, minlength=texts) < counts)).tolist()
    if too_few:  # texts that repeat themselves, most of them: all their windows are sorted, once
        sets = [smallest.hashes[a:b] for a, b in pairwise(smallest.starts.tolist())]
        for i in too_few:
            prints = np.sort(batch.prints[batch.begins[i] : batch.ends[i]])
            sets[i] = prints[np.append(True, prints[1:] != prints[:-1])]
        smallest = Features(np.concatenate(sets), np.cumsum([0, *map(len, sets)], dtype=np.int64))
    return smallest.first(n)


def ascending(values: Hashes, owners: NDArray[np.int64], texts: int) -> Features:
    """The distinct values of each text in rising order; the owners rise already. The values are sorted in place."""
    starts = np.searchsorted(owners, np.arange(texts + 1))
    for begin, end in pairwise(starts.tolist()):  # small sorts one by one are several times faster than all in one
        values[begin:end].sort()
    new = np.ones(values.size, dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    new[starts[:-1][starts[:-1] < values.size]] = True
    dropped = np.flatnonzero(~new)
    return Features(values[new], starts - np.searchsorted(dropped, starts))


def sketch_n(batch: Windows, n: int) -> NDArray[np.uint32]:
    """What is kept of each text's n minima, (texts, n). A text without windows has zeros."""
    texts = len(batch.begins)
    minima = np.full((n, texts), _ALL, dtype=np.uint64)
    # Segments by turns: the windows of a text, then those across its end. What is empty is left out.
    edges = np.stack((batch.begins, batch.ends), axis=1).reshape(-1)
    for first in range(0, batch.prints.size, _CACHED):
        block = batch.prints[first : first + _CACHED]
        edge = np.searchsorted(edges, first, side="right") - 1  # the segment that the block begins in
        last = np.searchsorted(edges, first + block.size, side="left")
        begins = np.maximum(edges[edge:last] - first, 0)
        solid = np.flatnonzero(np.diff(begins, append=block.size))
        segments = edge + solid
        owned = segments % 2 == 0
        rows, starts = segments[owned] // 2, begins[solid]
        hashed = np.empty_like(block)
        for i, (shift, factor) in enumerate(_functions(n)):
            np.add(block, shift, out=hashed)
            np.multiply(hashed, factor, out=hashed)
            least = np.minimum.reduceat(hashed, starts)[owned]
            minima[i, rows] = np.minimum(minima[i, rows], least)
    signatures = fmix64(np.ascontiguousarray(minima.T)).astype(np.uint32)
    signatures[batch.counts == 0] = 0
    return signatures


@lru_cache(maxsize=16)
def _functions(n: int) -> tuple[tuple[np.uint64, np.uint64], ...]:
    mixed = fmix64(np.arange(1, 2 * n + 1, dtype=np.uint64))
    return tuple(zip(mixed[::2], mixed[1::2] | np.uint64(1)))


def shared_of_cut(left: Hashes, right: Hashes, most: int) -> tuple[int, int, int]:
    """How many values two ascending sets share, and how many of each were looked at, where at least one of them is the
    `most` smallest of a larger set."""
    merged = np.sort(np.concatenate([left, right]), kind="stable")
    twice = merged[1:] == merged[:-1]  # the second of two equals
    new = np.flatnonzero(np.append(True, ~twice))
    bound = merged[new[min(most, new.size) - 1]]
    both = int(np.count_nonzero(merged[1:][twice] <= bound))
    seen = [int(np.searchsorted(side, bound, side="right")) for side in (left, right)]
    return both, seen[0], seen[1]


def shared_by_each(one: Hashes, others: Sequence[Hashes]) -> NDArray[np.int64]:
    """How many values of an ascending set each of the others shares; all of them whole.

    A document with a common phrase is compared with hundreds that share only that, and hardly any of their values are
    its own: a table of 16 bits of a value excludes them ten times faster than a search does.
    """
    present = np.zeros(1 << 16, dtype=np.bool_)
    present[_middle(one)] = True
    values, sizes = np.concatenate(others), np.fromiter(map(len, others), dtype=np.int64, count=len(others))
    maybe = np.flatnonzero(present.take(_middle(values)))
    likely = values[maybe]
    places = np.searchsorted(one, likely)
    places[places == one.size] = 0
    hits = maybe[one[places] == likely]
    return np.bincount(np.searchsorted(np.cumsum(sizes), hits, side="right"), minlength=len(others))


def _middle(values: Hashes) -> NDArray[np.int64]:
    """Bits that are random in the smallest values too, and in multiples of a power of two."""
    return ((values >> np.uint64(24)) & np.uint64(0xFFFF)).view(np.int64)
