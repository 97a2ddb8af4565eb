"""Rabin fingerprints of every window of w bytes in a batch, each from the one before.

**The definition**, bit for bit. Bytes are polynomials over GF(2), the highest bit first: the window b[0] ... b[w-1] is
A = b[0] x^(8(w-1)) + ... + b[w-1]. With P an irreducible polynomial of degree 64, the fingerprint is A x^64 mod P as a
number of 64 bits. Without the factor x^64 a window of eight bytes or less would be its own fingerprint, which
would make "the smallest" the first in the alphabet.

When the window moves by a byte, with T[b] = b x^64 mod P and U[b] = b x^(64 + 8w) mod P,

    F' = (F << 8) ^ T[(F >> 56) ^ entering] ^ U[leaving]

That is one step after another, so the batch is cut into lanes of equal length that take their steps side by side:

    lane 0   b b b b b b b b            a row of the grid is one step of all lanes; before the first one,
    lane 1           b b b b b b b b    each lane reads the w bytes that precede it
    lane 2                   b b b b ...

P is derived from the secret, so that windows that collide cannot be constructed without it.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gate.core.tokenizers import Hashes

DEGREE = 64
_LEADING = 1 << DEGREE

MOST_LANES = 4096  # what a step works on stays in a core's cache
_STEPS_PER_CALL = 160.0  # lanes for which a call of numpy costs as much as its work, times the usual window
_ROWS = 8  # steps to write at a time: a cache line of each lane
_BYTE, _TOP = np.uint64(8), np.uint64(56)


def fingerprints(data: NDArray[np.uint8], window: int, polynomial: int) -> Hashes:
    """The fingerprint of the window that begins at each byte; none where it would stick out of the data."""
    count = data.size - window + 1
    if count <= 0:
        return np.empty(0, dtype=np.uint64)
    lanes = min(max(int((count * _STEPS_PER_CALL) ** 0.5), 1), MOST_LANES)
    steps = -(-count // (lanes * _ROWS)) * _ROWS
    lanes = -(-count // steps)
    padded = np.zeros(lanes * steps + window, dtype=np.uint8)
    padded[1 : data.size + 1] = data  # the zero in front leaves the window of the first step
    grid = np.lib.stride_tricks.as_strided(padded, (steps + window, lanes), (1, steps)).copy()
    return _stepped(grid, window, *_tables(polynomial, window)).reshape(-1)[:count]


def _stepped(grid: NDArray[np.uint8], window: int, entering: Hashes, leaving: Hashes) -> Hashes:
    """Row i of the result: the fingerprints of lane i, of the windows that end in each of its steps."""
    steps, lanes = grid.shape[0] - window, grid.shape[1]
    prints = np.empty((lanes, steps), dtype=np.uint64)
    rows = np.zeros((_ROWS, lanes), dtype=np.uint64)
    top, term = np.empty(lanes, dtype=np.uint64), np.empty(lanes, dtype=np.uint64)
    places, last = top.view(np.int64), rows[-1]
    for step in range(window):
        np.right_shift(last, _TOP, out=top)
        np.bitwise_xor(top, grid[step], out=top)
        entering.take(places, out=term, mode="clip")
        np.left_shift(last, _BYTE, out=last)
        np.bitwise_xor(last, term, out=last)
    for first in range(0, steps, _ROWS):
        for step, row in enumerate(rows, first):
            np.right_shift(last, _TOP, out=top)
            np.bitwise_xor(top, grid[step + window], out=top)
            entering.take(places, out=term, mode="clip")
            np.left_shift(last, _BYTE, out=row)
            np.bitwise_xor(row, term, out=row)
            leaving.take(grid[step], out=term, mode="clip")
            np.bitwise_xor(row, term, out=row)
            last = row
        prints[:, first : first + _ROWS] = rows.T
    return prints


@lru_cache(maxsize=16)
def _tables(polynomial: int, window: int) -> tuple[Hashes, Hashes]:
    """What a byte adds when it enters and when it leaves a window."""
    shift, bits = _power(8 * window, polynomial), [_reduced(1 << DEGREE + bit, polynomial) for bit in range(8)]
    far = [_product(bit, shift, polynomial) for bit in bits]
    return _spread(bits), _spread(far)


def _spread(bits: list[int]) -> Hashes:
    """The value of each byte, out of those of its bits."""
    table = np.zeros(256, dtype=np.uint64)
    for bit, value in enumerate(bits):
        table[1 << bit : 2 << bit] = table[: 1 << bit] ^ np.uint64(value)
    return table


@lru_cache(maxsize=16)
def polynomial_of(secret: bytes) -> int:
    """The lower 64 bits of P: of the numbers that the secret gives, the first that makes it irreducible."""
    number = 0
    while True:
        salt = number.to_bytes(4, "little")
        digest = hashlib.blake2b(secret, digest_size=8, salt=salt, person=b"gate.rabin").digest()
        candidate = int.from_bytes(digest, "little")
        # Divisible by x or by x + 1 are three of four.
        if candidate & 1 and not candidate.bit_count() & 1 and is_irreducible(candidate):
            return candidate
        number += 1


def is_irreducible(polynomial: int) -> bool:
    """Rabin's test of x^64 + polynomial: it divides x^(2^64) - x, and has no factor in common with x^(2^32) - x."""
    power = 2
    for squaring in range(1, DEGREE + 1):
        power = _product(power, power, polynomial)
        if squaring == DEGREE // 2 and _common(_LEADING | polynomial, power ^ 2) != 1:
            return False
    return power == 2


def _power(exponent: int, polynomial: int) -> int:
    """x^exponent mod P."""
    power, square = 1, 2
    while exponent:
        if exponent & 1:
            power = _product(power, square, polynomial)
        square = _product(square, square, polynomial)
        exponent >>= 1
    return power


def _product(left: int, right: int, polynomial: int) -> int:
    product = 0
    while right:
        if right & 1:
            product ^= left
        left <<= 1
        right >>= 1
    return _reduced(product, polynomial)


def _reduced(value: int, polynomial: int) -> int:
    whole = _LEADING | polynomial
    while (excess := value.bit_length() - DEGREE - 1) >= 0:
        value ^= whole << excess
    return value


def _common(left: int, right: int) -> int:
    """The greatest common divisor of two polynomials."""
    while right:
        while left.bit_length() >= right.bit_length():
            left ^= right << (left.bit_length() - right.bit_length())
        left, right = right, left
    return left
