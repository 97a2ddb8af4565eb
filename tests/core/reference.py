"""Every definition of the core once more: slowly, in plain Python, one document at a time.

It is written from the docstrings, not from the code, and shares nothing with the code but the profile, the list of
English stop words and that of look-alike letters. Where the two disagree one of them is wrong.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log2

import mmh3

from gate.core.confusables import LOOK_ALIKE
from gate.core.profile import Profile
from gate.core.token_filters import ENGLISH

ALL_ONES = 2**64 - 1
Q = 0x9E3779B97F4A7C15 - 2


# Normalisation

# Format characters and Default_Ignorable_Code_Point, blanks, noncharacters, and marks that belong to no script.
_SELECTORS = {*range(0x180B, 0x180E), 0x180F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
_LISTED = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0, *range(0xFFF0, 0xFFF9)}
_LISTED |= set(range(0xE0000, 0xE1000))


_BLANKS = {0x200A, 0x2800, 0xFFFC, *range(0xFDD0, 0xFDF0)}
_BLANKS |= {plane << 16 | last for plane in range(17) for last in (0xFFFE, 0xFFFF)}
_MARKS = {*range(0x300, 0x370), *range(0x483, 0x48A), *range(0x1AB0, 0x1B00), *range(0x1DC0, 0x1E00)}
_MARKS |= {*range(0x20D0, 0x2100), *range(0xFE20, 0xFE30)}
_COMPOSING = {
    int(parts[1], 16)
    for parts in (unicodedata.decomposition(chr(point)).split() for point in range(0x110000))
    if len(parts) == 2 and parts[0][0] != "<"
}


def invisible(letter: str) -> bool:
    point, category = ord(letter), unicodedata.category(letter)
    if point in _SELECTORS or point in _LISTED or point in _BLANKS or category in ("Cf", "Me"):
        return True
    if point in _MARKS and point not in _COMPOSING:
        return True
    return category == "Cc" and not letter.isspace()


def nfkc_casefold(letter: str) -> str:
    """The mapping of one code point: compatibility, case and invisibility, until nothing changes any more.

    What would become more than six code points stays as it is.
    """
    folded = "" if invisible(letter) else letter
    while True:
        shown = "".join(c for c in unicodedata.normalize("NFKC", folded) if not invisible(c))
        again = unicodedata.normalize("NFKC", shown.casefold())
        if again == folded:
            return folded if len(folded) <= 6 else letter
        folded = again


def normalise(text: str) -> str:
    composed = unicodedata.normalize("NFC", "".join(map(nfkc_casefold, text)))
    without_stray = "".join(letter for letter in composed if ord(letter) not in _MARKS)
    return " ".join(unicodedata.normalize("NFC", without_stray).split())


def content_id(normal: str, secret: bytes = b"") -> bytes:
    key = secret if len(secret) <= 64 else hashlib.blake2b(secret).digest()
    return hashlib.blake2b(normal.encode(), key=key, digest_size=16).digest()


# Words

_SPACELESS = (
    "\u0e00-\u0eff", "\u1000-\u109f", "\ua9e0-\ua9ff", "\uaa60-\uaa7f", "\u1780-\u17ff",
    "\u2e80-\u2fdf", "\u3005-\u3007", "\u3021-\u3029", "\u3400-\u4dbf", "\u4e00-\u9fff", "\uf900-\ufaff",
    "\U00020000-\U0003fffd", "\u3040-\u30ff", "\u31f0-\u31ff", "\U0001aff0-\U0001b16f",
)  # fmt: skip


def is_mark(letter: str) -> bool:
    return unicodedata.category(letter)[0] == "M"


def stands_alone(letter: str) -> bool:
    """A letter of a script without spaces; its digits are written as numbers are anywhere."""
    if not letter.isalnum() or unicodedata.category(letter) == "Nd":
        return False
    return any(span[0] <= letter <= span[2] for span in _SPACELESS)


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the words of a normalised text begin and end."""
    spans: list[list[int]] = []
    open_, alone = False, False
    for i, letter in enumerate(text):
        if is_mark(letter):
            if not open_:
                spans.append([i, i])
                open_, alone = True, False
        elif stands_alone(letter):
            spans.append([i, i])
            open_, alone = True, True
        elif letter.isalnum() or letter == "_":
            if not open_ or alone:
                spans.append([i, i])
            open_, alone = True, False
        else:
            open_ = False
        if open_:
            spans[-1][1] = i + 1
    for begin, end in spans:
        for cut in range(begin, end, 64):
            yield cut, min(cut + 64, end)


def words(text: str) -> list[str]:
    return [text[begin:end] for begin, end in word_spans(text)]


# Hashes


def fmix64(value: int) -> int:
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & ALL_ONES
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & ALL_ONES
    return value ^ value >> 33


def chain(data: bytes) -> int:
    value = 0
    for i in range(0, len(data), 8):
        value = fmix64(value ^ int.from_bytes(data[i : i + 8], "little"))
    return value


# Hashes under a secret

PRIME = 2**61 - 1


def siphash(data: bytes, key: bytes) -> int:
    """SipHash-1-3, as its paper gives SipHash-c-d."""

    def sip_round() -> None:
        v[0], v[2] = v[0] + v[1] & ALL_ONES, v[2] + v[3] & ALL_ONES
        v[1], v[3] = rotate(v[1], 13) ^ v[0], rotate(v[3], 16) ^ v[2]
        v[0] = rotate(v[0], 32)
        v[2], v[0] = v[2] + v[1] & ALL_ONES, v[0] + v[3] & ALL_ONES
        v[1], v[3] = rotate(v[1], 17) ^ v[2], rotate(v[3], 21) ^ v[0]
        v[2] = rotate(v[2], 32)

    halves = [int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")] * 2
    words = b"somepseudorandomlygeneratedbytes"
    v = [int.from_bytes(words[8 * i : 8 * i + 8], "big") ^ halves[i] for i in range(4)]
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for i in range(0, len(padded), 8):
        message = int.from_bytes(padded[i : i + 8], "little")
        v[3] ^= message
        sip_round()
        v[0] ^= message
    v[2] ^= 0xFF
    for _ in range(3):
        sip_round()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def rotate(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & ALL_ONES


def hidden(number: int, secret: bytes) -> int:
    """The SipHash of a number under a secret."""
    key = hashlib.blake2b(secret, digest_size=16, person=b"gate.siphash").digest()
    return siphash(number.to_bytes(8, "little"), key)


def points(secret: bytes) -> tuple[int, int]:
    """Where the polynomials of tokens and of windows are evaluated."""
    both = hashlib.blake2b(secret, digest_size=32, person=b"gate.points").digest()
    return int.from_bytes(both[:16], "little") % PRIME, int.from_bytes(both[16:], "little") % PRIME


def keyed_token(data: bytes, secret: bytes) -> int:
    point, value = points(secret)[0], 0
    for i in range(0, len(data), 7):
        chunk = data[i : i + 7]
        value = (value * point + int.from_bytes(chunk, "little") + (len(chunk) << 56)) % PRIME
    return value


def token(word: str, secret: bytes = b"") -> int:
    return keyed_token(word.encode(), secret) if secret else chain(word.encode())


def keyed_windows(values: Sequence[int], width: int, secret: bytes) -> list[int]:
    point = points(secret)[1]
    windows = [values[i : i + width] for i in range(len(values) - width + 1)]
    return [hidden(sum(value * pow(point, j, PRIME) for j, value in enumerate(w)) % PRIME, secret) for w in windows]


_SOUNDEX = {c: str(n) for n, group in enumerate(("bfpv", "cgjkqsxz", "dt", "l", "mn", "r"), 1) for c in group}


def soundex(word: str) -> str:
    """American Soundex of a lower-case word: h and w do not part letters of one code, vowels do."""
    digits, last = "", _SOUNDEX.get(word[0], "")
    for letter in word[1:]:
        code = _SOUNDEX.get(letter, "")
        if code and code != last:
            digits += code
        if letter not in "hw":
            last = code
    return (word[0].upper() + digits + "000")[:4]


def soundex_token(word: str) -> str:
    """The token of a word where Soundex codes are the tokens."""
    bare = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
    return soundex(bare) if bare.isascii() and bare.isalpha() else word


# Variations


def fold_confusables(text: str) -> str:
    latin = {letter: target for target, letters in LOOK_ALIKE.items() for letter in letters}
    folded = ""
    for letter in text:
        parts = "".join(latin.get(part, part) for part in unicodedata.normalize("NFD", letter))
        whole = unicodedata.normalize("NFC", parts)
        folded += whole if len(whole) == 1 else letter
    return folded


def mask_numbers(text: str) -> str:
    masked = ""
    for i, letter in enumerate(text):
        if unicodedata.category(letter) != "Nd":
            masked += letter
        elif i == 0 or unicodedata.category(text[i - 1]) != "Nd":
            masked += "0"
    return masked


def drop_vowels(text: str) -> str:
    left, dropping = "", False
    for letter in text:
        if not is_mark(letter):
            dropping = unicodedata.normalize("NFD", letter)[0] in "aeiou"
        if not dropping:
            left += letter
    return left


def stop_list(stop_words: Sequence[str]) -> set[str]:
    return {word for entry in stop_words or ENGLISH for word in words(normalise(entry))}


def drop_stop_words_from_text(text: str, stop_words: Sequence[str] = ()) -> str:
    stops = stop_list(stop_words)
    gone: set[int] = set()
    for begin, end in word_spans(text):
        if text[begin:end] in stops:
            gone.update(range(begin, end + 1 if text[end : end + 1] == " " else end))
    return "".join(letter for i, letter in enumerate(text) if i not in gone)


# Features


def features(normal: str, profile: Profile, secret: bytes = b"") -> list[int]:
    """The features of a normalised text."""
    k = profile.gram
    if profile.fold_confusables:
        normal = fold_confusables(normal)
    if profile.mask_numbers:
        normal = mask_numbers(normal)
    if profile.tokenizer == "characters":
        if profile.drop_stop_words:
            normal = drop_stop_words_from_text(normal, profile.stop_words)
        if profile.drop_vowels:
            normal = drop_vowels(normal)
        if secret:
            return keyed_windows([ord(letter) for letter in normal], k, secret)
        return [chain(normal[i : i + k].encode()) for i in range(len(normal) - k + 1)]
    sequence = token_sequence(normal, profile)
    if secret:
        return keyed_windows([keyed_token(token.encode(), secret) for token in sequence], k, secret)
    tokens = [chain(token.encode()) for token in sequence]
    return [fmix64(sum(pow(Q, j) * tokens[i + j] for j in range(k)) & ALL_ONES) for i in range(len(tokens) - k + 1)]


def token_sequence(normal: str, profile: Profile) -> list[str]:
    """The words of a text or their Soundex codes, without what the profile leaves out."""
    sequence = words(normal)
    if profile.drop_stop_words:
        stops = stop_list(profile.stop_words)
        sequence = [word for word in sequence if word not in stops]
    if profile.tokenizer == "soundex":
        sequence = [soundex_token(word) for word in sequence]
    if profile.drop_repeats:
        sequence = list(dict.fromkeys(sequence))
    return sequence


# SimHash


def fingerprint(hashes: Sequence[int], weights: str) -> int:
    counts = Counter(hashes)
    weighed = {value: {"count": n, "log": 1 + int(log2(n)), "set": 1}[weights] for value, n in counts.items()}
    total = sum(weighed.values())
    heavy = (b for b in range(64) if 2 * sum(w for value, w in weighed.items() if value >> b & 1) > total)
    return sum(1 << b for b in heavy)


# MinHash


def family_value(family: str, i: int, feature: int) -> int:
    """Function i of a family, of the hash of a feature."""
    key = feature >> 32
    if family == "modular":
        prime = 2**31 - 1
        return ((1 + fmix64(2 * i + 1) % (prime - 1)) * (key >> 1) + fmix64(2 * i + 2) % prime) % prime
    if family == "multiplicative":
        return int(key * pow(0x9E3779B9, i + 1) % 2**32)
    return mmh3.hash(key.to_bytes(4, "little"), i, signed=False)


def signature(hashes: Sequence[int], bins: int, family: str = "one-permutation") -> bytes:
    if not hashes:
        return bytes(bins)
    if family != "one-permutation":
        return bytes(fmix64(min(family_value(family, i, one) for one in set(hashes))) >> 56 for i in range(bins))
    minima: dict[int, int] = {}
    for value in hashes:
        place = (value >> 32) * bins >> 32
        minima[place] = min(value, minima.get(place, ALL_ONES))
    kept = []
    for place in range(bins):
        lender = place if place in minima else min(minima, key=lambda o: fmix64((place << 32) + o + 1))
        kept.append(fmix64(minima[lender]) >> 56)
    return bytes(kept)


def body(hashes: Sequence[int], profile: Profile) -> bytes:
    """What is stored of a document."""
    if len(hashes) < profile.min_features:
        return b""
    stored, own = b"", profile.parameters()
    if own["method"] != "minhash":
        stored += fingerprint(hashes, own["weights"]).to_bytes(8, "little")
    if own["method"] != "simhash":
        stored += len(set(hashes)).to_bytes(4, "little")
        if own["length_filter"] == "weighted":
            places = enumerate(Counter(hashes).values(), 1)
            stored += sum(place * count for place, count in places).to_bytes(8, "little")
        stored += signature(hashes, own["bins"], own["family"])
    return stored


# Buckets


def blocks(value: int) -> list[int]:
    return [value >> 16 * block & 0xFFFF for block in range(4)]


def block_keys(value: int) -> set[int]:
    return {table << 32 | block for table, block in enumerate(blocks(value))}


def mix_band(value: int, rows: int) -> int:
    bits = 8 * rows
    value = value * 0x9E3779B97F4A7C15 % 2**bits
    value ^= value >> bits // 2
    mixed: int = value * 0xD6E8FEB86659FD93 % 2**bits
    return mixed


def band_keys(sketch: bytes, *, bands: int, rows: int) -> list[tuple[int, int]]:
    """The key and the tag of each band."""
    found = []
    for band in range(bands):
        mixed = mix_band(int.from_bytes(sketch[band * rows : (band + 1) * rows], "little"), rows)
        tag_bits = max(8 * rows - 16, 0)
        found.append((16 + band << 32 | mixed >> tag_bits, mixed % 2**tag_bits))
    return found
