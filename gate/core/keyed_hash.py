"""Feature hashes under a secret: a polynomial at a secret point, then SipHash, for a whole batch at once.

Without a secret features are hashed by bijections that everybody can compute and undo. With one, a published hash must
give neither the key nor the hash of any other feature, and nobody may find two features with one hash. So, bit for bit,
with p = 2^61 - 1 and all of the key derived from the secret:

    w, g        the points: bytes 0 .. 15 and 16 .. 31 of BLAKE2b(secret, 32 bytes, person "gate.points"), each as a
                little-endian number mod p
    k           BLAKE2b(secret, 16 bytes, person "gate.siphash"), the key of SipHash

    token       its UTF-8 in chunks of seven bytes, the last of them 1 .. 7 bytes long. A chunk of n bytes is the number
                c = bytes (little-endian) + n 2^56. Chunks c[0] .. c[m-1] give
                    t = c[0] w^(m-1) + c[1] w^(m-2) + ... + c[m-1]  mod p
    window      k numbers v[0] .. v[k-1] below p (the tokens t of k words, or k code points) give
                    v[0] + v[1] g + ... + v[k-1] g^(k-1)  mod p
    feature     SipHash-1-3 under k of that number as eight bytes, little-endian

Two different windows have one polynomial at no more than 100 of the 2^61 points, which nobody knows; SipHash hides
the polynomial. A number that was made otherwise (a Rabin fingerprint) is hidden by SipHash in the same way.

Products of 61 bits do not fit into the 64 of numpy. With a = a1 2^31 + a0, f = f1 2^31 + f0 and 2^61 = 1 mod p,

    a f = 2 a1 f1 + (a1 f0 + a0 f1) 2^31 + a0 f0,   and   m 2^31 = (m >> 30) + (m mod 2^30) 2^31  mod p,

where every term, and the sum of all of them, is below 2^64.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gate.core.byte_chunks import U64, Places, aligned, load_chunks

PRIME = (1 << 61) - 1
CHUNK_BYTES = 7

_BLOCK = 16 * 1024  # numbers to work on at a time: six arrays of 128 KB stay in a core's cache
_P, _P_BITS = np.uint64(PRIME), np.uint64(61)
_HALF, _HALF_MASK = np.uint64(31), np.uint64((1 << 31) - 1)
_MIDDLE, _MIDDLE_MASK = np.uint64(30), np.uint64((1 << 30) - 1)
_LENGTH = np.uint64(56)

# SipHash: its constants ("somepseudorandomlygeneratedbytes"), and its rotations as shifts to the left and the right.
_INITIAL = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_ROTATIONS = {bits: (np.uint64(bits), np.uint64(64 - bits)) for bits in (13, 16, 17, 21, 32)}
_EIGHT_BYTES = np.uint64(8 << 56)  # the last block: the length of the message
_FINAL = np.uint64(0xFF)
_FINAL_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Key:
    """What the hashes depend on; no part of it follows from another."""

    token_point: int
    window_point: int
    sip: tuple[int, int]

    def column(self) -> U64:
        """As the compiled kernel wants it: the points, the inverse of that of windows, and the key of SipHash."""
        inverse = pow(self.window_point, -1, PRIME) if self.window_point else 0
        return np.array([self.token_point, self.window_point, inverse, *self.sip], np.uint64)


@lru_cache(maxsize=16)
def key_of(secret: bytes) -> Key | None:
    """The key that the secret gives; none without a secret."""
    if not secret:
        return None
    points = hashlib.blake2b(secret, digest_size=32, person=b"gate.points").digest()
    sip = hashlib.blake2b(secret, digest_size=16, person=b"gate.siphash").digest()
    return Key(
        int.from_bytes(points[:16], "little") % PRIME,
        int.from_bytes(points[16:], "little") % PRIME,
        (int.from_bytes(sip[:8], "little"), int.from_bytes(sip[8:], "little")),
    )


def token_values(data: NDArray[np.uint8], begins: Places, lengths: Places, key: Key) -> U64:
    """The value t of some stretches of bytes, none of them empty."""
    lanes = aligned(data)
    values = np.empty(begins.size, dtype=np.uint64)
    for first in range(0, begins.size, _BLOCK):
        some = slice(first, first + _BLOCK)
        values[some] = _token_values(lanes, begins[some], lengths[some], key.token_point)
    return values


def hash_windows(values: NDArray[np.unsignedinteger], width: int, key: Key) -> U64:
    """The feature of every window of so many numbers side by side."""
    count = max(values.size - width + 1, 0)
    hashes = np.empty(count, dtype=np.uint64)
    for first in range(0, count, _BLOCK):
        last = min(first + _BLOCK, count)
        block = values[first : last + width - 1].astype(np.uint64)
        _siphash(_window_values(block, width, key.window_point), key, out=hashes[first:last])
    return hashes


def hash_numbers(values: U64, key: Key) -> U64:
    """SipHash of each number."""
    hashes = np.empty_like(values)
    for first in range(0, values.size, _BLOCK):
        some = slice(first, first + _BLOCK)
        _siphash(values[some], key, out=hashes[some])
    return hashes


def _token_values(lanes: U64, begins: Places, lengths: Places, point: int) -> U64:
    values = _chunks(lanes, begins, lengths)
    longer = np.flatnonzero(lengths > CHUNK_BYTES)
    begins, left = begins[longer], lengths[longer]
    while longer.size:
        begins += CHUNK_BYTES
        left -= CHUNK_BYTES
        values[longer] = _times_plus(values[longer], point, _chunks(lanes, begins, left))
        more = left > CHUNK_BYTES
        longer, begins, left = longer[more], begins[more], left[more]
    return values


def _chunks(lanes: U64, begins: Places, lengths: Places) -> U64:
    sizes = np.minimum(lengths, CHUNK_BYTES)
    chunks = load_chunks(lanes, begins, sizes)
    chunks |= sizes.view(np.uint64) << _LENGTH
    return chunks


def _window_values(values: U64, width: int, point: int) -> U64:
    """The polynomial of each window by doubling: of 2m at j it is that of m at j plus g^m times that of m at j + m."""
    done, sums = 1, values
    for bit in bin(width)[3:]:
        sums = _times_plus(sums[done:], pow(point, done, PRIME), sums[:-done])
        done *= 2
        if bit == "1":
            count = values.size - done
            sums = _times_plus(values[done:], pow(point, done, PRIME), sums[:count])
            done += 1
    return sums


def _times_plus(values: U64, factor: int, terms: U64) -> U64:
    """values factor + terms mod p, of numbers below p."""
    high, low = values >> _HALF, values & _HALF_MASK
    factor_high, factor_low = factor >> 31, factor & ((1 << 31) - 1)
    total = high * np.uint64(2 * factor_high)
    np.add(total, terms, out=total)
    np.multiply(high, np.uint64(factor_low), out=high)
    middle = low * np.uint64(factor_high)
    np.add(middle, high, out=middle)
    np.multiply(low, np.uint64(factor_low), out=low)
    np.add(total, low, out=total)
    np.right_shift(middle, _MIDDLE, out=high)
    np.add(total, high, out=total)
    np.bitwise_and(middle, _MIDDLE_MASK, out=middle)
    np.left_shift(middle, _HALF, out=middle)
    np.add(total, middle, out=total)
    np.right_shift(total, _P_BITS, out=high)
    np.bitwise_and(total, _P, out=total)
    np.add(total, high, out=total)
    # Below 2p: of it and it less p the latter is the smaller, unless it went below zero and round.
    np.subtract(total, _P, out=high)
    np.minimum(total, high, out=total)
    return total


def _siphash(values: U64, key: Key, *, out: U64) -> None:
    """SipHash-1-3 of each number as eight bytes."""
    v0, v1, v2, v3, spare = np.empty((5, values.size), dtype=np.uint64)
    # Half of the first round is the same for every number.
    i0, i1, i2, i3 = (initial ^ half for initial, half in zip(_INITIAL, key.sip * 2))
    i0 = (i0 + i1) % 2**64
    i1 = _rotated(i1, 13) ^ i0
    np.bitwise_xor(values, np.uint64(i3), out=v3)
    np.add(v3, np.uint64(i2), out=v2)
    _rotate(v3, 16, spare)
    np.bitwise_xor(v3, v2, out=v3)
    np.add(v2, np.uint64(i1), out=v2)
    np.add(v3, np.uint64(_rotated(i0, 32)), out=v0)
    _rotate(v3, 21, spare)
    np.bitwise_xor(v2, np.uint64(_rotated(i1, 17)), out=v1)
    np.bitwise_xor(v3, v0, out=v3)
    _rotate(v2, 32, spare)
    np.bitwise_xor(v0, values, out=v0)
    np.bitwise_xor(v3, _EIGHT_BYTES, out=v3)
    _sip_round(v0, v1, v2, v3, spare)
    np.bitwise_xor(v0, _EIGHT_BYTES, out=v0)
    np.bitwise_xor(v2, _FINAL, out=v2)
    for _ in range(_FINAL_ROUNDS):
        _sip_round(v0, v1, v2, v3, spare)
    np.bitwise_xor(v0, v1, out=v0)
    np.bitwise_xor(v2, v3, out=v2)
    np.bitwise_xor(v0, v2, out=out)


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) % 2**64


def _sip_round(v0: U64, v1: U64, v2: U64, v3: U64, spare: U64) -> None:
    np.add(v0, v1, out=v0)
    np.add(v2, v3, out=v2)
    _rotate(v1, 13, spare)
    _rotate(v3, 16, spare)
    np.bitwise_xor(v1, v0, out=v1)
    np.bitwise_xor(v3, v2, out=v3)
    _rotate(v0, 32, spare)
    np.add(v2, v1, out=v2)
    np.add(v0, v3, out=v0)
    _rotate(v1, 17, spare)
    _rotate(v3, 21, spare)
    np.bitwise_xor(v1, v2, out=v1)
    np.bitwise_xor(v3, v0, out=v3)
    _rotate(v2, 32, spare)


def _rotate(values: U64, bits: int, spare: U64) -> None:
    left, right = _ROTATIONS[bits]
    np.right_shift(values, right, out=spare)
    np.left_shift(values, left, out=values)
    np.bitwise_or(values, spare, out=values)
