"""k-grams hashed as Java hashes a String, whole batches at once: what Roth 2011 calls fingerprints.

`String.hashCode` of the UTF-16 units s[0] ... s[n-1] is s[0] 31^(n-1) + s[1] 31^(n-2) + ... + s[n-1] mod 2^32, read as
a signed number. 31 is odd and has an inverse mod 2^32, so with C[i] the sum of s[j] 31^(-j) over j < i, the hash of
the units a .. b-1 is (C[b] - C[a]) 31^(b-1): one running sum serves every window.

- characters: k UTF-16 units side by side, white space left out (four score -> four, ours, ursc, rsco ...);
- words and Soundex: k words or codes, with a space between two of them.

Texts whose String.hashCode is equal are easily made. With a secret the hash of a k-gram is therefore the upper half of
its feature in `gate.core.keyed_hash`: of k UTF-16 units, or of k tokens.
"""

from __future__ import annotations

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from gate.core import shingles, token_filters
from gate.core.keyed_hash import key_of
from gate.core.profile import Profile
from gate.core.shingles import Features, filter_texts
from gate.core.text import Texts
from gate.core.tokenizers import Tokens, Words, find_words, soundex_codes, word_tokens

U32 = NDArray[np.uint32]
Places = NDArray[np.int64]

_INVERSE = pow(31, -1, 2**32)
_SPACE = 0x20
_STEP = 4096  # powers to multiply out one by one; the others are products of two


def features(texts: Texts, profile: Profile, secret: bytes = b"", *, gram: int | None = None) -> Features:
    """The hash codes of each text's k-grams, unsigned, in the order of the text, repeated ones included."""
    gram = profile.gram if gram is None else gram
    if secret:
        return _keyed(texts, structs.replace(profile, gram=gram), secret)
    texts = filter_texts(texts, profile)
    by_characters = profile.tokenizer == "characters"
    hashes, starts = _character_grams(texts, gram) if by_characters else _token_grams(texts, profile, gram)
    return Features(hashes.astype(np.uint64), starts)


def _keyed(texts: Texts, profile: Profile, secret: bytes) -> Features:
    key = key_of(secret)
    if profile.tokenizer == "characters" and key is not None:
        units, starts = _units(filter_texts(texts, profile))
        wide = shingles.keyed_grams(units, starts, profile.gram, key)
    else:
        wide = shingles.features(texts, profile, secret)
    return Features(wide.hashes >> np.uint64(32), wide.starts)


def hash_codes(units: NDArray[np.generic], begins: Places, ends: Places) -> U32:
    """The hash code of each stretch of units, unsigned; none of them is empty."""
    rising, sums = powers(31, units.size), np.zeros(units.size + 1, np.uint32)
    falling = powers(_INVERSE, units.size)
    np.multiply(falling, units, out=falling, dtype=np.uint32, casting="unsafe")
    np.cumsum(falling, out=sums[1:], dtype=np.uint32)
    return (sums[ends] - sums[begins]) * rising[ends - 1]


def powers(base: int, count: int) -> U32:
    """base^0, base^1, ... mod 2^32."""
    near = np.full(_STEP, base, np.uint32)
    near[0] = 1
    np.multiply.accumulate(near, out=near)
    far = np.full(count // _STEP + 1, pow(base, _STEP, 2**32), np.uint32)
    far[0] = 1
    np.multiply.accumulate(far, out=far)
    return np.multiply.outer(far, near).reshape(-1)[:count]


def windows(starts: Places, width: int) -> tuple[Places, Places]:
    """Where windows of so many items begin, none across two documents, and the starts of documents among them."""
    counts = np.maximum(np.diff(starts) - (width - 1), 0)
    bounds = np.zeros_like(starts)
    np.cumsum(counts, out=bounds[1:])
    return np.arange(int(bounds[-1])) + np.repeat(starts[:-1] - bounds[:-1], counts), bounds


def _character_grams(texts: Texts, gram: int) -> tuple[U32, Places]:
    units, starts = _units(texts)
    begins, bounds = windows(starts, gram)
    return hash_codes(units, begins, begins + gram), bounds


def _units(texts: Texts) -> tuple[NDArray[np.unsignedinteger], Places]:
    """The UTF-16 units of each text without its white space."""
    keep = texts.points != _SPACE
    points, starts = texts.points[keep], texts.starts - np.searchsorted(np.flatnonzero(~keep), texts.starts)
    if points.dtype == np.uint8:
        return points, starts
    units = np.frombuffer(points.tobytes().decode("utf-32-le").encode("utf-16-le"), "<u2")
    return units, starts + np.searchsorted(np.flatnonzero(points > 0xFFFF), starts)


def _token_grams(texts: Texts, profile: Profile, gram: int) -> tuple[U32, Places]:
    words = find_words(texts)
    tokens = plain = word_tokens(words)
    codes, lengths = _words(words)
    if profile.tokenizer == "soundex":
        chunks = soundex_codes(words, tokens.hashes)
        coded = np.flatnonzero(chunks)
        letters = np.ascontiguousarray(chunks[coded].astype("<u8")).view(np.uint8).reshape(-1, 8)[:, :4].reshape(-1)
        codes[coded] = hash_codes(letters, np.arange(0, letters.size, 4), np.arange(4, letters.size + 4, 4))
        lengths[coded] = 4
        tokens = Tokens(np.where(chunks == 0, tokens.hashes, chunks), tokens.starts)
    if profile.drop_stop_words:
        stay = ~token_filters.is_stop(plain.hashes, profile.stop_words)
        tokens, codes, lengths = tokens.only(stay), codes[stay], lengths[stay]
    if profile.drop_repeats:
        stay = token_filters.is_first_occurrence(tokens)
        tokens, codes, lengths = tokens.only(stay), codes[stay], lengths[stay]
    begins, bounds = windows(tokens.starts, gram)
    return _joined(codes, lengths, begins, begins + gram - 1), bounds


def _words(words: Words) -> tuple[U32, Places]:
    """The hash code of each word, and how many UTF-16 units it has."""
    begins, ends = words.begins, words.begins + words.lengths
    units: NDArray[np.generic] = words.data
    if words.data.size and words.data.max() > 127:
        units = np.frombuffer(words.data.tobytes().decode().encode("utf-16-le"), "<u2")
        # A byte that begins a code point begins a unit, and one that begins four bytes begins two.
        steps = ((words.data & 0xC0) != 0x80).astype(np.int64) + (words.data >= 0xF0)
        offsets = np.concatenate([[0], np.cumsum(steps)])
        begins, ends = offsets[begins], offsets[ends]
    return hash_codes(units, begins, ends), ends - begins


def _joined(codes: U32, lengths: Places, first: Places, last: Places) -> U32:
    """The hash codes of runs of tokens, a space between two: as above, with a token as one term of the sum."""
    ends = np.cumsum(lengths + 1) - 1  # of each token in the text that they would be, one space apart
    size = int(ends[-1]) + 1 if ends.size else 0
    rising, falling = powers(31, size), powers(_INVERSE, size)
    terms = codes * falling[ends - 1]
    sums = np.zeros(codes.size + 1, np.uint32)
    np.cumsum(terms + np.uint32(_SPACE) * falling[ends], out=sums[1:], dtype=np.uint32)
    return (sums[last] + terms[last] - sums[first]) * rising[ends[last] - 1]
