"""What the compiled kernel does, compared with what numpy does, in every bit: one function for tests and sanitizers.

    python -m tests.core.native.equality LIBRARY [ROUNDS]

compares many random batches by a library, in this process: a sanitizer is loaded into it from outside.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
from msgspec import structs

from gate.core import minhash, shingles, simhash
from gate.core.keyed_hash import key_of
from gate.core.method_parameters import SimHash
from gate.core.native.kernel import Kernel
from gate.core.native.loader import using
from gate.core.profile import Profile, Tokenizer
from gate.core.shingles import Features
from gate.core.text import Texts, content_ids, folded_lengths, normalise
from gate.core.tokenizers import Tokens, token_hashes
from tests.core.samples import GAPS, PIECES, WRITTEN

SECRETS = (b"", b"a secret of thirty-two bytes, or so", b"x" * 100)
GRAMS = (1, 2, 3, 5, 8, 9, 40, 64)
BINS = (16, 100, 128, 1024)


def compare_batch(kernel: Kernel, texts: Sequence[str], random: Random) -> None:
    """Every function on a batch of texts, with parameters drawn anew."""
    secret, gram = random.choice(SECRETS), random.choice(GRAMS)
    tokenizer: Tokenizer = random.choice(("words", "words", "characters", "soundex"))
    profile = Profile(name="x", tokenizer=tokenizer, gram=gram, method=SimHash(), resemblance=None)
    filters = [name for name in ("drop_stop_words", "mask_numbers", "fold_confusables") if random.random() < 0.2]
    profile = structs.replace(profile, **dict.fromkeys(filters, True))
    with using(None):
        expected = normalise(texts)
        expected_lengths = folded_lengths(texts)
        expected_ids = content_ids(expected, secret)
        expected_features = shingles.features(expected, profile, secret)
    with using(kernel):
        actual = normalise(texts)
        same_texts(actual, expected)
        assert folded_lengths(texts) == expected_lengths
        assert content_ids(actual, secret) == expected_ids
        same_columns(shingles.features(actual, profile, secret), expected_features)
    compare_features(kernel, expected_features, random)


def compare_features(kernel: Kernel, features: Features, random: Random) -> None:
    bins = random.choice(BINS)
    results = []
    for implementation in (None, kernel):
        with using(implementation):
            prints = [simhash.fingerprints(features, weights) for weights in ("count", "log", "set")]
            results.append([*prints, *minhash.signatures(features, bins)])
    for ours, theirs in zip(*results, strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)


def same_texts(actual: Texts, expected: Texts) -> None:
    assert actual.points.dtype == expected.points.dtype
    assert np.array_equal(actual.points, expected.points)
    assert np.array_equal(actual.starts, expected.starts)


def same_columns(actual: Features | Tokens, expected: Features | Tokens) -> None:
    assert np.array_equal(actual.hashes, expected.hashes)
    assert np.array_equal(actual.starts, expected.starts)


def compare_tokens(kernel: Kernel, texts: Texts, random: Random) -> None:
    """Tokens alone, of points that no text would be normalised to."""
    key = key_of(random.choice(SECRETS))
    for soundex in (False, True):
        with using(None):
            expected = token_hashes(texts, soundex=soundex, key=key)
        with using(kernel):
            same_columns(token_hashes(texts, soundex=soundex, key=key), expected)


def random_batches(random: Random) -> Iterator[list[str]]:
    """Batches of texts of every script, long and short, plain and strange."""
    alphabets = [sorted(set(text)) for text in WRITTEN.values()]
    while True:
        texts = []
        for _ in range(random.choice((1, 2, 5, 20))):
            size = random.choice((0, 1, 7, 63, 64, 65, 130, 700, 3000))
            kind = random.random()
            if kind < 0.3:
                text = "".join(random.choice(PIECES) + random.choice(GAPS) for _ in range(size // 6))
            elif kind < 0.5:
                text = "".join(random.choices(random.choice(alphabets), k=size))
            elif kind < 0.7:
                text = (random.choice(list(WRITTEN.values())) * (size // 50 + 1))[:size]
            elif kind < 0.8:
                text = "".join(chr(random.randrange(128)) for _ in range(size))
            elif kind < 0.9:
                text = random.choice("aé漢\u0301 _") * size
            else:
                points = (random.randrange(random.choice((0x300, 0x3000, 0x110000))) for _ in range(size))
                text = "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)
            texts.append(text)
        yield texts


def random_features(random: Random) -> Features:
    """Hashes that repeat, that collide in their upper bits, and the least and greatest of all."""
    documents = []
    for _ in range(random.choice((1, 3, 10))):
        size, spread = random.choice((0, 1, 15, 16, 17, 300, 2000)), random.choice((3, 1 << 20, 1 << 64))
        low = random.choice((0, 0, (1 << 64) - spread))
        documents.append([low + random.randrange(spread) for _ in range(size)])
    starts = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    return Features(np.array([value for document in documents for value in document], np.uint64), starts)


def compare_many(kernel: Kernel, rounds: int, seed: int) -> None:
    random = Random(seed)
    batches = random_batches(random)
    for _ in range(rounds):
        compare_batch(kernel, next(batches), random)
        compare_features(kernel, random_features(random), random)


def main() -> None:
    library, rounds = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 100
    compare_many(Kernel(library), rounds, seed=rounds)
    print(f"{rounds} batches are equal")  # noqa: T201


if __name__ == "__main__":
    main()
