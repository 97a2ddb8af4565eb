"""How fast documents are signed, as ratios to the peers: `python -m load.bench_fingerprint [--json] [--rounds N]`.

Every contender of a question starts from the same raw texts and runs once in each round, one after the other, so that a
noisy machine slows all of them alike; the best round counts. A ratio says how many times faster the gate is.
Each peer is used as its documentation proposes, on one thread, and is given what it needs and no more: what
it does not do itself (lower-casing, cutting k-grams) is done for it in the plainest fast Python.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import jellyfish

from gate.core import minhash, shingles, simhash
from gate.core.profile import Profile
from gate.core.streams import soundex_tokens, words
from gate.core.text import normalise

WORDS = Profile(name="words", stream="words", gram=3)
CHARACTERS = Profile(name="characters", stream="characters", gram=5)
BATCH_CHARACTERS = 256 * 1024  # what a pipeline hands over at once

_CYRILLIC = dict(zip(range(ord("a"), ord("z") + 1), "абцдефгхийклмнопярстувшыьз"))
_CYRILLIC |= {ord(chr(latin).upper()): letter.upper() for latin, letter in _CYRILLIC.items()}

Run = Callable[[Sequence[str]], object]


@dataclass(frozen=True, slots=True)
class Question:
    """One comparison: documents, ours and the peers'."""

    name: str
    documents: Sequence[str]
    ours: Run
    peers: dict[str, Run]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    question: str
    peer: str
    ratio: float
    ours_ns_per_character: float
    peer_ns_per_character: float


def corpus(characters: int, size: int, *, seed: int = 7, script: str = "latin") -> list[str]:
    """Prose over a Zipf vocabulary with capitals, punctuation, numbers and line ends, cut to equal documents."""
    rng = random.Random(seed)
    syllables = [c + v + e for c in "bcdfghjklmnprstvwz" for v in "aeiou" for e in ("", "n", "r", "s", "l")]
    vocabulary = ["".join(rng.choices(syllables, k=rng.choice((1, 1, 2, 2, 3, 4)))) for _ in range(20_000)]
    weights = [1 / (rank + 2.7) for rank in range(len(vocabulary))]
    documents = []
    for number in range(max(1, characters // size)):
        parts: list[str] = []
        for word in rng.choices(vocabulary, weights, k=size // 4):
            chance = rng.random()
            if chance < 0.08:
                parts.append(word + rng.choice((".", ".", "?", "!")) + ("\n" if chance < 0.01 else ""))
            elif chance < 0.16:
                parts.append(word.capitalize() + ",")
            elif chance < 0.17:
                parts.append(str(rng.randrange(3000)))
            else:
                parts.append(word)
        text = " ".join(parts)[:size]
        if script == "cyrillic" or (script == "mixed" and number % 4 == 0):
            text = text.translate(_CYRILLIC)
        elif script == "mixed":
            text = text.replace("e", "é", 20).replace(",", " —", 20)
        documents.append(text)
    return documents


def batched(sign: Callable[[Sequence[str]], object]) -> Run:
    """Hand over documents in batches of bounded size, as the pipeline does."""

    def run(documents: Sequence[str]) -> None:
        first, size = 0, 0
        for i, document in enumerate(documents):
            if size and size + len(document) > BATCH_CHARACTERS:
                sign(documents[first:i])
                first, size = i, 0
            size += len(document)
        sign(documents[first:])

    return run


def each(sign: Callable[[str], object]) -> Run:
    return lambda documents: [sign(document) for document in documents]


def fingerprint(profile: Profile) -> Run:
    return batched(lambda texts: simhash.fingerprints(shingles.features(normalise(texts), profile), profile.weights))


def both(texts: Sequence[str]) -> object:
    features = shingles.features(normalise(texts), WORDS)
    return simhash.fingerprints(features, WORDS.weights), minhash.signatures(features, 128)


def three_words(text: str) -> list[str]:
    found = re.findall(r"\w+", text.lower())
    return [" ".join(gram) for gram in zip(found, found[1:], found[2:])]


def gaoya_words() -> Run:
    from gaoya.simhash import SimHashStringIndex

    return each(SimHashStringIndex(analyzer="word", lowercase=True, ngram_range=(3, 3)).index.doc2signature)


def gaoya_characters() -> Run:
    from gaoya.simhash import SimHashStringIndex

    return each(SimHashStringIndex(analyzer="char", lowercase=True, ngram_range=(5, 5)).index.doc2signature)


def simhash_words() -> Run:
    from simhash import Simhash

    return each(lambda text: Simhash(three_words(text)))


def datasketch_words() -> Run:
    from datasketch import MinHash

    def run(documents: Sequence[str]) -> None:
        sets = ([gram.encode() for gram in three_words(text)] for text in documents)
        for _ in MinHash.generator(sets, num_perm=128):
            pass

    return run


def rensa_words() -> Run:
    from rensa import RMinHash

    return batched(lambda texts: RMinHash.digest_matrix_from_token_sets(map(three_words, texts), 128, 42))


def jellyfish_words() -> Run:
    return each(lambda text: [jellyfish.soundex(word) for word in re.findall(r"\w+", text.lower())])


def questions(characters: int) -> list[Question]:
    """What is asked; each corpus has about so many characters."""
    words_peers = {"gaoya": gaoya_words(), "simhash": simhash_words()}
    minhash_peers = {"datasketch": datasketch_words(), "rensa": rensa_words()}
    sound = batched(lambda texts: soundex_tokens(words(normalise(texts)), 0))
    small, large = corpus(characters, 2048), corpus(characters, 8192)
    cyrillic, mixed = corpus(characters, 8192, script="cyrillic"), corpus(characters, 8192, script="mixed")
    gaoya, characters_gaoya = {"gaoya": words_peers["gaoya"]}, {"gaoya": gaoya_characters()}
    return [
        Question("words 3, 2 KB", small, fingerprint(WORDS), words_peers),
        Question("words 3, 8 KB", large, fingerprint(WORDS), words_peers),
        Question("words 3, 8 KB, Cyrillic", cyrillic, fingerprint(WORDS), gaoya),
        Question("words 3, 8 KB, mixed", mixed, fingerprint(WORDS), gaoya),
        Question("characters 5, 2 KB", small, fingerprint(CHARACTERS), characters_gaoya),
        Question("characters 5, 8 KB", large, fingerprint(CHARACTERS), characters_gaoya),
        Question("characters 5, 8 KB, Cyrillic", cyrillic, fingerprint(CHARACTERS), characters_gaoya),
        Question("characters 5, 8 KB, mixed", mixed, fingerprint(CHARACTERS), characters_gaoya),
        Question("SimHash + MinHash 128, 2 KB", small, batched(both), minhash_peers),
        Question("SimHash + MinHash 128, 8 KB", large, batched(both), minhash_peers),
        Question("Soundex, 8 KB", large, sound, {"jellyfish": jellyfish_words()}),
        Question("words 3, 5 MB against 8 KB", corpus(5 << 20, 5 << 20), fingerprint(WORDS), {"8 KB": _small(WORDS)}),
        Question(
            "characters 5, 5 MB against 8 KB",
            corpus(5 << 20, 5 << 20),
            fingerprint(CHARACTERS),
            {"8 KB": _small(CHARACTERS)},
        ),
    ]


def _small(profile: Profile) -> Run:
    """The same text cut into documents of 8 KB: a ratio of 0.5 says that one long text takes twice the time."""
    sign = fingerprint(profile)
    return lambda documents: sign([text[i : i + 8192] for text in documents for i in range(0, len(text), 8192)])


def ask(question: Question, rounds: int) -> list[Answer]:
    """Interleaved rounds; the best time of each contender."""
    contenders = {"": question.ours, **question.peers}
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            begin = time.perf_counter()
            run(question.documents)
            best[name] = min(best[name], time.perf_counter() - begin)
    scale = 1e9 / sum(map(len, question.documents))
    return [
        Answer(
            question=question.name,
            peer=peer,
            ratio=round(best[peer] / best[""], 2),
            ours_ns_per_character=round(best[""] * scale, 2),
            peer_ns_per_character=round(best[peer] * scale, 2),
        )
        for peer in question.peers
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--characters", type=int, default=1 << 20, help="size of each corpus")
    parser.add_argument("--only", default="", help="ask only questions whose name contains this")
    arguments = parser.parse_args()
    asked = [question for question in questions(arguments.characters) if arguments.only in question.name]
    answers = [answer for question in asked for answer in ask(question, arguments.rounds)]
    if arguments.json:
        print(json.dumps([asdict(answer) for answer in answers], indent=2))
        return
    print(f"{'question':<34}{'peer':<12}{'ratio':>8}{'ours':>10}{'peer':>10}   ns per character")
    for a in answers:
        ours, peer = a.ours_ns_per_character, a.peer_ns_per_character
        print(f"{a.question:<34}{a.peer:<12}{a.ratio:>7.2f}x{ours:>10.2f}{peer:>10.2f}")


if __name__ == "__main__":
    main()
