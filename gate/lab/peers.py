"""Other near-duplicate libraries on the same documents, where they are installed: all by 3-word shingles, as the truth.

Each takes the documents one by one, asks for what is alike among those before, and lets it in. Thresholds, sizes of
signatures and radii are those of the gate's own profiles; everything else is as the library has it by default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np

from gate.lab.scores import JudgedPairs
from gate.lab.truth import GRAM, Corpus, words

THRESHOLD = 0.65
PERMUTATIONS = 128
RADIUS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerLibrary:
    """`find_matches(texts)` yields, for each text, the numbers of the earlier texts that are called like it."""

    name: str
    package: str
    how: str
    body_bytes: int
    find_matches: Callable[[Iterable[str]], Iterator[Sequence[int]]]

    @property
    def installed(self) -> bool:
        return find_spec(self.package) is not None


def judge_all(documents: Corpus, peer: PeerLibrary, texts: Iterable[str]) -> JudgedPairs:
    """What a peer calls alike; signing and finding are measured together."""
    begun = process_time()
    found = list(peer.find_matches(texts))
    took = process_time() - begun
    right = np.repeat(np.arange(len(documents)), [len(one) for one in found])
    left = np.array([number for one in found for number in one], np.int64)
    return JudgedPairs(
        left=left, right=right, is_match=np.ones(len(left), np.bool_), bodies=(), signing=took, finding=0.0
    )


def _shingles(text: str) -> list[str]:
    found = words(text)
    return [" ".join(found[i : i + GRAM]) for i in range(len(found) - GRAM + 1)]


def _datasketch(texts: Iterable[str]) -> Iterator[Sequence[int]]:
    from datasketch import MinHash, MinHashLSH

    index: Any = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    known: list[Any] = []
    for number, text in enumerate(texts):
        signature = MinHash(num_perm=PERMUTATIONS)
        grams = [gram.encode() for gram in _shingles(text)]
        if grams:
            signature.update_batch(grams)
            yield [other for other in index.query(signature) if known[other].jaccard(signature) >= THRESHOLD]
            index.insert(number, signature)
        else:
            yield ()
        known.append(signature)


def _rensa(texts: Iterable[str]) -> Iterator[Sequence[int]]:
    from rensa import RMinHash, RMinHashLSH

    index: Any = RMinHashLSH(THRESHOLD, PERMUTATIONS, 32)
    known: list[Any] = []
    for number, text in enumerate(texts):
        signature = RMinHash(PERMUTATIONS, 42)
        grams = _shingles(text)
        if grams:
            signature.update(grams)
            yield [other for other in index.query(signature) if known[other].jaccard(signature) >= THRESHOLD]
            index.insert(number, signature)
        else:
            yield ()
        known.append(signature)


def _gaoya_minhash(texts: Iterable[str]) -> Iterator[Sequence[int]]:
    from gaoya.minhash import MinHashStringIndex

    return _gaoya(texts, MinHashStringIndex(32, THRESHOLD, 32, 4, None, "word", True, (GRAM, GRAM)))


def _gaoya_simhash(texts: Iterable[str]) -> Iterator[Sequence[int]]:
    from gaoya.simhash import SimHashStringIndex

    # Its distance is exclusive.
    return _gaoya(texts, SimHashStringIndex(64, 6, RADIUS + 1, "word", True, (GRAM, GRAM)))


def _gaoya(texts: Iterable[str], index: Any) -> Iterator[Sequence[int]]:
    for number, text in enumerate(texts):
        if len(words(text)) < GRAM:
            yield ()
            continue
        yield list(index.query(text))
        index.insert_document(number, text)


def _simhash(texts: Iterable[str]) -> Iterator[Sequence[int]]:
    from simhash import Simhash, SimhashIndex

    index: Any = SimhashIndex([], k=RADIUS)
    for number, text in enumerate(texts):
        grams = _shingles(text)
        if not grams:
            yield ()
            continue
        signature = Simhash(grams)
        yield [int(other) for other in index.get_near_dups(signature)]
        index.add(str(number), signature)


PEERS = (
    PeerLibrary(
        name="datasketch",
        package="datasketch",
        how=f"MinHashLSH, {PERMUTATIONS} values, threshold {THRESHOLD}",
        body_bytes=8 * PERMUTATIONS,
        find_matches=_datasketch,
    ),
    PeerLibrary(
        name="rensa",
        package="rensa",
        how=f"RMinHashLSH, {PERMUTATIONS} values, 32 bands, threshold {THRESHOLD}",
        body_bytes=4 * PERMUTATIONS,
        find_matches=_rensa,
    ),
    PeerLibrary(
        name="gaoya, MinHash",
        package="gaoya",
        how=f"MinHashStringIndex, 32 bands of 4, threshold {THRESHOLD}",
        body_bytes=4 * 128,
        find_matches=_gaoya_minhash,
    ),
    PeerLibrary(
        name="gaoya, SimHash",
        package="gaoya",
        how=f"SimHashStringIndex, within {RADIUS} bits",
        body_bytes=8,
        find_matches=_gaoya_simhash,
    ),
    PeerLibrary(
        name="simhash",
        package="simhash",
        how=f"SimhashIndex, within {RADIUS} bits",
        body_bytes=8,
        find_matches=_simhash,
    ),
)
