"""How fast documents are signed, beside the peers: `python -m load.bench_fingerprint [--characters 1048576] [--json]`.

Every contender of a question starts from the same raw texts; a speed says how many times faster ours is than a
peer. The targets are for the compiled kernel (GATE_KERNEL=none measures numpy). Each peer is used as its documentation
proposes, on one thread, and is given what it needs and no more: what it does not do itself (lower-casing, cutting
k-grams) is done for it in the plainest fast Python.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import jellyfish

from gate.core import minhash, shingles, simhash
from gate.core.native import loader
from gate.core.profile import Profile
from gate.core.text import normalise
from gate.core.tokenizers import token_hashes
from gate.limits import Limits
from gate.model import CheckIn
from gate.pipeline import batches, split_for_signing
from load.corpus import Recipe, SyntheticCorpus
from load.measure import CLOCKS, BenchmarkReport, Contender, interleave, target_row

WORDS = Profile(name="words", tokenizer="words", gram=3)
CHARACTERS = Profile(name="characters", tokenizer="characters", gram=5)
CHARACTERS_PER_WORD = 5  # of the corpus, spaces and full stops included
LONG = 5_000_000

_CYRILLIC = dict(zip(range(ord("a"), ord("z") + 1), "абцдефгхийклмнопярстувшыьз"))
_CYRILLIC |= {ord(chr(latin).upper()): letter.upper() for latin, letter in _CYRILLIC.items()}
_WORD = re.compile(r"\w+")

Run = Callable[[Sequence[str]], object]


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer's implementation of the same, and how many times faster ours is to be; None: that is only stated."""

    run: Run
    target: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    name: str
    documents: Sequence[str]
    ours: Run
    peers: dict[str, Peer]


def texts(characters: int, size: int) -> list[str]:
    """Documents of about `size` characters, about so many in all. No copies: everything has to be signed."""
    recipe = Recipe(words=size // CHARACTERS_PER_WORD, copies=0.0, exact=0.0, parts=0.0)
    count = max(1, characters // size)
    return [document.text for document in islice(SyntheticCorpus(7, count, recipe), count)]


def cyrillic(documents: Sequence[str]) -> list[str]:
    return [document.translate(_CYRILLIC) for document in documents]


def mixed(documents: Sequence[str]) -> list[str]:
    """Every fourth Cyrillic, the others with some accents and dashes."""
    accented = [document.replace("e", "é", 20).replace(". ", " — ", 20) for document in documents]
    accented[::4] = cyrillic(accented[::4])
    return accented


def batched(sign: Callable[[Sequence[str]], object]) -> Run:
    """Hand over documents in batches, as the pipeline cuts them."""

    def run(documents: Sequence[str]) -> None:
        for batch in batches((CheckIn(document_id="", text=text) for text in documents), Limits()):
            for piece in split_for_signing(batch):
                sign([document.text for document in piece])

    return run


def each(sign: Callable[[str], object]) -> Run:
    return lambda documents: [sign(document) for document in documents]


def fingerprint(profile: Profile) -> Run:
    return batched(lambda some: simhash.fingerprints(shingles.features(normalise(some), profile)))


def both(some: Sequence[str]) -> object:
    features = shingles.features(normalise(some), WORDS)
    return simhash.fingerprints(features), minhash.signatures(features, 128)


def three_words(text: str) -> list[str]:
    found = _WORD.findall(text.lower())
    return [" ".join(gram) for gram in zip(found, found[1:], found[2:])]


def gaoya(analyzer: str, gram: int) -> Run:
    from gaoya.simhash import SimHashStringIndex

    return each(SimHashStringIndex(analyzer=analyzer, lowercase=True, ngram_range=(gram, gram)).index.doc2signature)


def simhash_words() -> Run:
    from simhash import Simhash

    return each(lambda text: Simhash(three_words(text)))


def datasketch_words() -> Run:
    """By its generator, which is faster than one object after the other."""
    from datasketch import MinHash

    def run(documents: Sequence[str]) -> None:
        for _ in MinHash.generator(([gram.encode() for gram in three_words(text)] for text in documents), num_perm=128):
            pass

    return run


def rensa_words() -> Run:
    from rensa import RMinHash

    def sign(text: str) -> object:
        signature = RMinHash(128, 42)
        signature.update(three_words(text))
        return signature.digest()

    return each(sign)


def rensa_batches() -> Run:
    """All sketches of a batch in one call."""
    from rensa import RMinHash

    return batched(lambda some: RMinHash.digest_matrix_from_token_sets(map(three_words, some), 128, 42))


def jellyfish_words() -> Run:
    return each(lambda text: [jellyfish.soundex(word) for word in _WORD.findall(text.lower())])


def in_small(profile: Profile) -> Run:
    """The same text cut into documents of 8 KB: a speed of 0.5 says that one long text takes twice the time."""
    sign = fingerprint(profile)
    return lambda documents: sign([text[i : i + 8192] for text in documents for i in range(0, len(text), 8192)])


def questions(characters: int) -> list[Question]:
    """What is asked; each corpus has about so many characters, but for the one long text."""
    small, large, long = texts(characters, 2048), texts(characters, 8192), texts(LONG, LONG)
    other, both_scripts = cyrillic(large), mixed(large)
    by_words, by_characters = gaoya("word", 3), gaoya("char", 5)
    simple = simhash_words()
    hashes = {
        "datasketch": Peer(datasketch_words(), 70),
        "rensa": Peer(rensa_words(), 14),
        "rensa, batches": Peer(rensa_batches(), 14),
    }
    sound = batched(lambda some: token_hashes(normalise(some), soundex=True))
    plain, spelt = fingerprint(WORDS), fingerprint(CHARACTERS)
    return [
        Question("words 3, 2 KB", small, plain, {"gaoya": Peer(by_words, 5), "simhash": Peer(simple, 75)}),
        Question("words 3, 8 KB", large, plain, {"gaoya": Peer(by_words, 5), "simhash": Peer(simple, 75)}),
        Question("words 3, 8 KB, Cyrillic", other, plain, {"gaoya": Peer(by_words, 3), "simhash": Peer(simple)}),
        Question("words 3, 8 KB, mixed", both_scripts, plain, {"gaoya": Peer(by_words), "simhash": Peer(simple)}),
        Question("characters 5, 2 KB", small, spelt, {"gaoya": Peer(by_characters)}),
        Question("characters 5, 8 KB", large, spelt, {"gaoya": Peer(by_characters, 3.3)}),
        Question("characters 5, 8 KB, Cyrillic", other, spelt, {"gaoya": Peer(by_characters)}),
        Question("characters 5, 8 KB, mixed", both_scripts, spelt, {"gaoya": Peer(by_characters)}),
        Question("SimHash + MinHash 128, 2 KB", small, batched(both), hashes),
        Question("SimHash + MinHash 128, 8 KB", large, batched(both), hashes),
        Question("Soundex, 8 KB", large, sound, {"jellyfish": Peer(jellyfish_words(), 4)}),
        Question("words 3, 5 MB", long, plain, {"the same in 8 KB": Peer(in_small(WORDS), 0.5)}),
        Question("characters 5, 5 MB", long, spelt, {"the same in 8 KB": Peer(in_small(CHARACTERS), 0.5)}),
    ]


def ask(question: Question, *, rounds: int, clock: str) -> list[dict[str, Any]]:
    size = sum(map(len, question.documents))

    def step(run: Run) -> Callable[[int], int]:
        def once(_: int) -> int:
            run(question.documents)
            return size

        return once

    contenders = [Contender(name, step(peer.run)) for name, peer in question.peers.items()]
    *theirs, ours = interleave(
        [*contenders, Contender("ours", step(question.ours))], rounds=rounds, reference="ours", clock=clock
    )
    return [
        target_row(f"{question.name}: {peer.name}", 1 / peer.speed, at_least=question.peers[peer.name].target)
        | {"ours, ns a character": ours.microseconds * 1e3, "theirs": peer.microseconds * 1e3}
        for peer in theirs
    ]


def run(*, characters: int, rounds: int, clock: str, only: str = "") -> BenchmarkReport:
    settings = {"characters": characters, "rounds": rounds, "clock": clock, "kernel": loader.implementation()}
    report = BenchmarkReport("fingerprint", settings)
    chosen = [question for question in questions(characters) if only in question.name]
    report.add("times as fast", [row for question in chosen for row in ask(question, rounds=rounds, clock=clock)])
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--characters", type=int, default=1 << 20, help="size of each corpus")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--only", default="", help="ask only questions whose name contains this")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    run(characters=arguments.characters, rounds=arguments.rounds, clock=arguments.clock, only=arguments.only).show(
        as_json=arguments.json
    )


if __name__ == "__main__":
    main()
