"""Mod_n, Min_n, Sketch_n and BSW_n once more: slowly, in plain Python, one document at a time.

As in `reference`, it is written from the docstrings and shares nothing with the code but the profile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

import mmh3

from gate.core.profile import Profile
from tests.core.reference import ALL_ONES, fmix64, fold_confusables, hidden, mask_numbers, mix_band


def body(normal: str, profile: Profile, secret: bytes = b"") -> bytes:
    """What is stored of a normalised text."""
    normal = fold_confusables(normal) if profile.fold_confusables else normal
    data = (mask_numbers(normal) if profile.mask_numbers else normal).encode()
    own = profile.parameters()
    prints = window_prints(data, own["window"], secret)
    if own["method"] == "bsw-n" and own["chunks"] == "whole":
        return kept(chunk_hashes(data, prints, own["window"], own["sample"], secret), profile)
    return kept(prints, profile)


def remainder(value: int, divisor: int) -> int:
    """Of two polynomials over GF(2), bit by bit."""
    for bit in range(value.bit_length() - 1, divisor.bit_length() - 2, -1):
        if value >> bit & 1:
            value ^= divisor << bit - divisor.bit_length() + 1
    return value


def square(value: int) -> int:
    return sum(1 << 2 * bit for bit in range(value.bit_length()) if value >> bit & 1)


@cache
def polynomial(secret: bytes) -> int:
    """The first candidate of degree 64 without a factor of degree 1 to 32: x^(2^d) - x holds all those of degree d."""
    for number in range(10_000):
        salt = number.to_bytes(4, "little")
        digest = hashlib.blake2b(secret, digest_size=8, salt=salt, person=b"gate.rabin").digest()
        candidate = 1 << 64 | int.from_bytes(digest, "little")
        power = 2
        for _ in range(32):
            power = remainder(square(power), candidate)
            left, right = candidate, power ^ 2
            while right:
                left, right = right, remainder(left, right)
            if left != 1:
                break
        else:
            return candidate
    raise AssertionError("one of 64 is irreducible")


def window_prints(data: bytes, window: int, secret: bytes = b"") -> list[int]:
    windows = [data[i : i + window] for i in range(len(data) - window + 1)]
    prints = [remainder(int.from_bytes(one, "big") << 64, polynomial(secret)) for one in windows]
    return [hidden(value, secret) for value in prints] if secret else prints


def chunk_hashes(data: bytes, prints: Sequence[int], window: int, n: int, secret: bytes) -> list[int]:
    """The hash of each chunk's bytes."""
    ends = [i + window for i, value in enumerate(prints) if value % n == 0]
    if prints and len(data) not in ends:
        ends.append(len(data))
    chunks = [data[a:b] for a, b in zip([0, *ends], ends)]
    if secret:
        key = hashlib.blake2b(secret, digest_size=32, person=b"gate.chunks").digest()
        return [int.from_bytes(hashlib.blake2b(one, key=key, digest_size=16).digest()[:8], "little") for one in chunks]
    return [int.from_bytes(mmh3.hash_bytes(one)[:8], "little") for one in chunks]


def chunk_minima(prints: Sequence[int], n: int) -> list[int]:
    """The smallest fingerprint of each chunk."""
    minima, chunk = [], []
    for value in prints:
        chunk.append(value)
        if value % n == 0:
            minima.append(min(chunk))
            chunk = []
    return minima + ([min(chunk)] if chunk else [])


def sketch(prints: Sequence[int], n: int) -> bytes:
    kept = []
    for i in range(n):
        shift, factor = fmix64(2 * i + 1), fmix64(2 * i + 2) | 1
        kept.append(fmix64(min((value + shift) * factor & ALL_ONES for value in prints)) & 0xFFFFFFFF)
    return b"".join(value.to_bytes(4, "little") for value in kept)


def sampled(prints: Sequence[int], profile: Profile) -> set[int]:
    """The fingerprints that stand for a text."""
    own = profile.parameters()
    if own["method"] == "mod-n":
        return {value for value in prints if value % own["sample"] == 0}
    if own["method"] == "bsw-n" and own["chunks"] == "smallest":
        return set(chunk_minima(prints, own["sample"]))
    return set(prints)


def kept(prints: Sequence[int], profile: Profile) -> bytes:
    chosen, own = sorted(sampled(prints, profile)), profile.parameters()
    counted = chosen if own["method"] in ("mod-n", "bsw-n") else prints
    if not chosen or len(counted) < profile.min_features:
        return b""
    if own["method"] == "sketch-n":
        return sketch(prints, own["sample"])
    most: int = own["sample"] if own["method"] == "min-n" else own["max_prints"]
    head = min(len(chosen), most) + (2**31 if len(chosen) > most else 0)
    return head.to_bytes(4, "little") + b"".join(value.to_bytes(8, "little") for value in chosen[:most])


def print_key(value: int, profile: Profile) -> tuple[int, int]:
    """The key and the tag of a fingerprint."""
    mixed, tag_bits = mix_band(value, 8), 48 if profile.parameters()["max_keys"] <= 64 else 44
    return 8 << 32 | mixed >> tag_bits, mixed % 2**tag_bits
