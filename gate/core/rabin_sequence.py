"""The Rabin fingerprint of whole sequences of 32-bit numbers, one for each document of a batch.

With the polynomials of `gate.core.rabin`: the numbers v[0] ... v[n-1], their highest bits first, are the polynomial
A = v[0] x^(32(n-1)) + ... + v[n-1] over GF(2), and the fingerprint is A x^64 mod P. The sequences are folded: each
two neighbours become one residue, left x^32 + right, then each two of those with x^64, and so on. In a sequence of odd
length the first is alone, as if a 0 were before it. So a batch takes as many steps as its longest sequence has
binary digits, and one more numpy pass over half as much each time.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gate.core.rabin import polynomial_of
from gate.core.tokenizers import Hashes


def fingerprints(values: NDArray[np.uint32], starts: NDArray[np.int64], secret: bytes = b"") -> Hashes:
    """The fingerprint of each sequence; that of an empty one is 0."""
    polynomial = polynomial_of(secret)
    residues, factor = values.astype(np.uint64), 1 << 32
    while (np.diff(starts) > 1).any():
        counts = (np.diff(starts) + 1) // 2
        bounds = np.zeros_like(starts)
        np.cumsum(counts, out=bounds[1:])
        # Pairs are counted from the end, so that what lies before an odd first is 0.
        rights = np.repeat(starts[1:] - 2 * bounds[1:], counts) + 2 * np.arange(1, int(bounds[-1]) + 1) - 1
        lefts = rights - 1
        outside = lefts < np.repeat(starts[:-1], counts)
        left = residues[np.where(outside, 0, lefts)]
        left[outside] = 0
        residues, starts = _times(left, factor, polynomial) ^ residues[rights], bounds
        factor = int(_times(np.array([factor], np.uint64), factor, polynomial)[0])
    prints = np.zeros(starts.size - 1, np.uint64)
    square = int(_times(np.array([1 << 32], np.uint64), 1 << 32, polynomial)[0])
    prints[np.diff(starts) == 1] = _times(residues, square, polynomial)
    return prints


def _times(values: Hashes, factor: int, polynomial: int) -> Hashes:
    """The product of each with one factor, mod P: byte by byte from a table."""
    products = np.zeros(values.size, np.uint64)
    for shift, table in enumerate(_tables(factor, polynomial)):
        products ^= table[values >> np.uint64(8 * shift) & np.uint64(0xFF)]
    return products


@lru_cache(maxsize=64)
def _tables(factor: int, polynomial: int) -> tuple[Hashes, ...]:
    """The products of all bytes, at each of the eight places that a byte has in a number."""
    bits = []
    for _ in range(64):
        bits.append(factor)
        factor = (factor << 1 ^ (polynomial if factor >> 63 else 0)) & (2**64 - 1)
    tables = np.zeros((8, 256), np.uint64)
    for place, table in enumerate(tables):
        for bit in range(8):
            table[1 << bit : 2 << bit] = table[: 1 << bit] ^ np.uint64(bits[8 * place + bit])
    return tuple(tables)
