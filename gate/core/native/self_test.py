"""The known answers that a kernel has to give before it is used: a digest of what every function makes of a few texts.

The tables are made up, of the few code points that are in the texts, so that nothing else has to be loaded. That the
digest is right is tested against numpy, with these tables.
"""

from __future__ import annotations

import hashlib
import string

import numpy as np
from numpy.typing import NDArray

from gate.core.native.kernel import MAX_POINT, Kernel

EXPANDING, COMPOSING, ALONE = "№", "é", "ж"
TEXTS = (
    "The quick  brown fox\tjumps over the LAZY dog, and nobody minds. " * 9,
    f"Съешь же ещё этих мягких французских {ALONE}булок, да выпей чаю — {EXPANDING} 12 раз. " * 5,
    f"caf{COMPOSING}",
    "a",
)
SECRET = b"a secret"
KEY = np.array([3**37, 5**26, pow(5**26, -1, (1 << 61) - 1), 0x0706050403020100, 0x0F0E0D0C0B0A0908], np.uint64)
BINS = 16
GRAMS = (3, 5)
KNOWN_ANSWER = "a4ce2ed51a77ba98f9200cba836a20e63d4e1b42800ab0d6c513452b7600d43a"


def passes(kernel: Kernel) -> bool:
    return answer(kernel) == KNOWN_ANSWER


def answer(kernel: Kernel) -> str:
    """One digest over all that the functions give."""
    digest = hashlib.sha256()
    table, expansions, classes, letters = tables()
    lenders = np.array([np.roll(np.arange(BINS), -bin) for bin in range(BINS)], np.uint16)
    for texts in (TEXTS, TEXTS[:1]):
        folded = kernel.fold(texts, table, expansions)
        points, starts = folded.points, folded.starts
        digest.update(repr(kernel.folded_lengths(texts, table)).encode())
        digest.update(points.tobytes() + starts.tobytes() + folded.left.tobytes())
        for secret in (b"", SECRET):
            digest.update(b"".join(kernel.content_ids(points, starts, secret)))
        for key in (None, KEY):
            for spelt in (None, letters):
                tokens, bounds = kernel.tokens(points, starts, classes=classes, letters=spelt, key=key)
                digest.update(tokens.tobytes() + bounds.tobytes())
                for gram in GRAMS:
                    features, ends = kernel.token_windows(tokens, bounds, gram, key)
                    digest.update(features.tobytes() + ends.tobytes())
                    for weights in ("count", "log", "set"):
                        digest.update(kernel.fingerprints(features, ends, weights).tobytes())
                    rows, sizes = kernel.signatures(features, ends, BINS, lenders)
                    digest.update(rows.tobytes() + sizes.tobytes())
            for gram in (*GRAMS, 9):
                features, ends = kernel.character_windows(points, starts, gram, key)
                digest.update(features.tobytes() + ends.tobytes())
    return digest.hexdigest()


def tables() -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint8]]:
    """Made-up tables of what is folded, expansions, classes of code points and letters of Soundex."""
    points = np.array(sorted({ord(letter) for text in TEXTS for letter in text + text.lower()} | set(range(128))))
    size = MAX_POINT + 1
    table, classes, letters = np.zeros(size, np.uint32), np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    table[points] = [ord(chr(point).lower()) for point in points]
    table[ord(EXPANDING)] = 1 << 30 | 2 << 21
    table[ord(COMPOSING)] |= 1 << 29
    classes[points] = [2 if chr(point).isalnum() else 1 for point in points]
    classes[ord(ALONE)] = 4
    letters[points] = [point if chr(point) in string.ascii_lowercase else 2 for point in points]
    return table, np.array([ord("n"), ord("o")], np.uint32), classes, letters
