"""Families of hash functions for MinHash: `count` functions of one family applied to every feature of a batch.

A signature of t values takes the least value of each of t functions over a document's features; two documents agree in
a value with a probability of their resemblance, if the functions order features as t independent shuffles would. The
key of a feature is the upper half of its hash, x = h >> 32. Function i = 0, 1, 2 ... of a family, bit for bit:

- modular: (a x' + b) mod p, with p = 2^31 - 1, x' = x >> 1, a = 1 + fmix64(2i + 1) mod (p - 1) and
  b = fmix64(2i + 2) mod p. Both factors stay below p, so the product fits in 64 bits.
- multiplicative: x S^(i + 1) mod 2^32, where S = 0x9E3779B9 is Knuth's A = (sqrt 5 - 1) / 2 times 2^32. Powers, not
  multiples: under S, 2S, 3S ... a feature that is the least under one function is among the least under the next.
- murmur3: MurmurHash3 x86 32 of the four bytes of x, the lowest first, with the seed i.

All values are below 2^32. What is stored under a profile depends on every bit here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gate.core.shingles import Features
from gate.core.tokenizers import Hashes, fmix64

U32 = NDArray[np.uint32]

PRIME = 2**31 - 1
KNUTH = 0x9E3779B9
NONE = 2**32 - 1  # the least value of no features at all

_CACHED = 1 << 15  # features to work on at a time: their keys, values and spare room stay in a core's cache
_HALF = np.uint64(32)


def minima(features: Features, family: str, count: int) -> U32:
    """The least value of each function over the features of each document, (documents, count)."""
    functions = FAMILIES[family]
    filled = np.flatnonzero(np.diff(features.starts))
    begins = features.starts[:-1][filled]
    least = np.full((count, filled.size), NONE, np.uint32)
    for first in range(0, features.hashes.size, _CACHED):
        block = features.hashes[first : first + _CACHED]
        # The documents that have features in this block: the first of them may have begun before it.
        low = int(np.searchsorted(begins, first, side="right")) - 1
        places = np.maximum(begins[low : np.searchsorted(begins, first + block.size)] - first, 0)
        for i, values in enumerate(functions(block, count)):
            so_far = least[i, low : low + places.size]
            np.minimum(so_far, np.minimum.reduceat(values, places), out=so_far)
    result = np.full((len(features), count), NONE, np.uint32)
    result[filled] = least.T
    return result


def modular(hashes: Hashes, count: int) -> Iterator[U32]:
    keys, prime, shift = hashes >> np.uint64(33), np.uint64(PRIME), np.uint64(31)
    wide, high, spare = np.empty_like(keys), np.empty_like(keys), np.empty(keys.size, np.uint32)
    for a, b in _coefficients(count):
        np.multiply(keys, np.uint64(a), out=wide)
        np.add(wide, np.uint64(b), out=wide)
        # 2^31 is 1 mod p, so the upper bits count as much as the lower ones. The sum is below 2p, and of it and
        # it less p, the latter is the smaller, unless it went below zero and round.
        np.right_shift(wide, shift, out=high)
        np.bitwise_and(wide, prime, out=wide)
        np.add(wide, high, out=wide)
        values = wide.astype(np.uint32)
        np.subtract(values, np.uint32(PRIME), out=spare)
        yield np.minimum(values, spare, out=values)


def multiplicative(hashes: Hashes, count: int) -> Iterator[U32]:
    keys = (hashes >> _HALF).astype(np.uint32)
    values, factor = np.empty_like(keys), 1
    for _ in range(count):
        factor = factor * KNUTH % 2**32
        yield np.multiply(keys, np.uint32(factor), out=values)


def murmur3(hashes: Hashes, count: int) -> Iterator[U32]:
    mixed = (hashes >> _HALF).astype(np.uint32)
    values, spare = np.empty_like(mixed), np.empty_like(mixed)
    mixed *= np.uint32(0xCC9E2D51)
    _rotate(mixed, 15, spare)
    mixed *= np.uint32(0x1B873593)
    for seed in range(count):  # all above is the same for every seed
        np.bitwise_xor(mixed, np.uint32(seed), out=values)
        _rotate(values, 13, spare)
        np.multiply(values, np.uint32(5), out=values)
        np.add(values, np.uint32(0xE6546B64), out=values)
        np.bitwise_xor(values, np.uint32(4), out=values)  # the length
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
            np.right_shift(values, np.uint32(shift), out=spare)
            np.bitwise_xor(values, spare, out=values)
            if factor > 1:
                np.multiply(values, np.uint32(factor), out=values)
        yield values


# Each yields the values of one function after the other, in an array that the next may write over.
FAMILIES: dict[str, Callable[[Hashes, int], Iterator[U32]]] = {
    "modular": modular,
    "multiplicative": multiplicative,
    "murmur3": murmur3,
}


def _rotate(values: U32, bits: int, spare: U32) -> None:
    np.right_shift(values, np.uint32(32 - bits), out=spare)
    np.left_shift(values, np.uint32(bits), out=values)
    np.bitwise_or(values, spare, out=values)


@lru_cache(maxsize=8)
def _coefficients(count: int) -> list[tuple[int, int]]:
    drawn = fmix64(np.arange(1, 2 * count + 1, dtype=np.uint64)).tolist()
    return [(1 + a % (PRIME - 1), b % PRIME) for a, b in zip(drawn[::2], drawn[1::2])]
