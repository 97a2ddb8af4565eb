"""The similarity index once more: slowly, in plain Python, one document at a time; written from the docstrings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gate.core.profile import Profile
from tests.core import reference
from tests.core.reference import fmix64, seed_of, stop_list

POLYNOMIAL = 1 << 64 | 0x2A5C9EF89D53B6CB  # of no secret


def hash_code(text: str) -> int:
    """java.lang.String.hashCode()"""
    units = text.encode("utf-16-le", "surrogatepass")
    code = 0
    for i in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[i : i + 2], "little")) % 2**32
    return signed(code, 32)


def signed(value: int, bits: int) -> int:
    return value - 2**bits if value >> (bits - 1) else value


def units_of(text: str) -> list[str]:
    """A string of one UTF-16 unit each, as Java's charAt gives them."""
    raw = text.encode("utf-16-le")
    return [raw[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(raw), 2)]


def grams(normal: str, profile: Profile, gram: int) -> list[str]:
    if profile.mask_numbers:
        normal = reference.mask_numbers(normal)
    if profile.tokenizer == "characters":
        if profile.drop_stop_words:
            normal = reference.drop_stop_words_from_text(normal, profile.stop_words)
        if profile.drop_vowels:
            normal = reference.drop_vowels(normal)
        units = units_of(normal.replace(" ", ""))
        return ["".join(units[i : i + gram]) for i in range(len(units) - gram + 1)]
    sequence = reference.words(normal)
    if profile.drop_stop_words:
        stops = stop_list(profile.stop_words)
        sequence = [word for word in sequence if word not in stops]
    if profile.tokenizer == "soundex":
        sequence = [reference.soundex_token(word) for word in sequence]
    if profile.drop_repeats:
        sequence = list(dict.fromkeys(sequence))
    return [" ".join(sequence[i : i + gram]) for i in range(len(sequence) - gram + 1)]


def prints(normal: str, profile: Profile, secret: bytes = b"") -> list[int]:
    """The hashes of a document's k-grams; of its words, where those are counted."""
    gram = 1 if profile.parameters()["si_method"] == 13 else profile.gram
    codes = [hash_code(one) for one in grams(normal, profile, gram)]
    if not secret:
        return codes
    return [signed(fmix64(code % 2**32 ^ seed_of(secret)) >> 32, 32) for code in codes]


def winnowed(values: Sequence[int], window: int) -> list[int]:
    chosen: set[int] = set()
    for begin in range(max(len(values) - window, 0) + 1):
        places = range(begin, min(begin + window, len(values)))
        if places:
            chosen.add(min(places, key=lambda j: (values[j], -j)))
    return [values[j] for j in sorted(chosen)]


def frequent(values: Sequence[int]) -> list[int]:
    counts = Counter(values)  # in the order of first appearance, which sorting by count keeps
    return sorted(counts, key=lambda value: -counts[value])[:200]


def random_third(values: Sequence[int]) -> list[int]:
    seed = sum(fmix64((j << 32) + value % 2**32) for j, value in enumerate(values))
    return [value for j, value in enumerate(values) if fmix64((seed + j) % 2**64) % 3 == 0]


def rabin(values: Sequence[int], polynomial: int = POLYNOMIAL) -> int:
    """A x^64 mod P, by long division."""
    dividend = 0
    for value in values:
        dividend = dividend << 32 | value % 2**32
    dividend <<= 64
    while dividend.bit_length() > 64:
        dividend ^= polynomial << dividend.bit_length() - 65
    return signed(dividend, 64)


def super_shingle(values: Sequence[int], gram: int) -> int:
    while len(values) > 1:
        blocks = [values[i : i + gram] for i in range(0, len(values), gram)]
        values = []
        for block in blocks:
            code = 1
            for value in block:
                code = (31 * code + value) % 2**32
            values.append(signed(code, 32))
    return values[0] if values else 0


def sketch(values: Sequence[int], method: int, window: int) -> Sequence[int]:
    kept = (
        lambda: values,
        lambda: [value for value in values if value % 25 == 0],
        lambda: winnowed(values, window),
        lambda: sorted(values)[:400],
        lambda: sorted(values, reverse=True)[:400],
        lambda: random_third(values),
        lambda: frequent(values),
        lambda: [value for j, value in enumerate(values) if fmix64((2011 << 32) + j) % 3 == 0],
    )
    return kept[(method - 1) // 2]()


def number(values: Sequence[int], method: int, *, gram: int, window: int, polynomial: int = POLYNOMIAL) -> int:
    if method == 14:
        return super_shingle(values, gram)
    kept = sketch(values, method, window)
    return sum(kept) if method % 2 else rabin(kept, polynomial)


def body(normal: str, profile: Profile, secret: bytes = b"", polynomial: int = POLYNOMIAL) -> bytes:
    values, own = prints(normal, profile, secret), profile.parameters()
    found = number(values, own["si_method"], gram=own["gram"], window=own["si_window"], polynomial=polynomial)
    return found.to_bytes(8, "little", signed=True) if found and len(values) >= profile.min_features else b""
