"""The similarity index once more: slowly, in plain Python, one document at a time; written from the docstrings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gate.core.profile import Profile
from tests.core import reference
from tests.core.reference import fmix64
from tests.core.reference_sampling import polynomial


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


def sequence(normal: str, profile: Profile) -> list[str]:
    """The characters or the tokens that k-grams are made of."""
    if profile.fold_confusables:
        normal = reference.fold_confusables(normal)
    if profile.mask_numbers:
        normal = reference.mask_numbers(normal)
    if profile.tokenizer == "characters":
        if profile.drop_stop_words:
            normal = reference.drop_stop_words_from_text(normal, profile.stop_words)
        if profile.drop_vowels:
            normal = reference.drop_vowels(normal)
        return units_of(normal.replace(" ", ""))
    return reference.token_sequence(normal, profile)


def grams(normal: str, profile: Profile, gram: int) -> list[str]:
    items, joint = sequence(normal, profile), "" if profile.tokenizer == "characters" else " "
    return [joint.join(items[i : i + gram]) for i in range(len(items) - gram + 1)]


def prints(normal: str, profile: Profile, secret: bytes = b"") -> list[int]:
    """The hashes of a document's k-grams; of its words, where those are counted."""
    gram = 1 if profile.parameters()["si_method"] == 13 else profile.gram
    items, by_characters = sequence(normal, profile), profile.tokenizer == "characters"
    if secret:
        values = [
            int.from_bytes(item.encode("utf-16-le", "surrogatepass"), "little")
            if by_characters
            else reference.keyed_token(item.encode(), secret)
            for item in items
        ]
        return [signed(value >> 32, 32) for value in reference.keyed_windows(values, gram, secret)]
    return [hash_code(one) for one in grams(normal, profile, gram)]


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


def rabin(values: Sequence[int], secret: bytes = b"") -> int:
    """A x^64 mod P, by long division."""
    divisor = polynomial(secret)
    dividend = 0
    for value in values:
        dividend = dividend << 32 | value % 2**32
    dividend <<= 64
    while dividend.bit_length() > 64:
        dividend ^= divisor << dividend.bit_length() - 65
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


def number(values: Sequence[int], method: int, *, gram: int, window: int, secret: bytes = b"") -> int:
    if method == 14:
        return super_shingle(values, gram)
    kept = sketch(values, method, window)
    if method % 2:
        return sum(kept)
    found = rabin(kept, secret)
    return signed(reference.hidden(found % 2**64, secret), 64) if secret and kept else found


def body(normal: str, profile: Profile, secret: bytes = b"") -> bytes:
    values, own = prints(normal, profile, secret), profile.parameters()
    found = number(values, own["si_method"], gram=own["gram"], window=own["si_window"], secret=secret)
    return found.to_bytes(8, "little", signed=True) if found and len(values) >= profile.min_features else b""
