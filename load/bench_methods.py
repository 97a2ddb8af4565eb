"""How fast the methods of the papers sign documents: `python -m load.bench_methods [--characters 1048576] [--json]`.

Every contender of a question starts from the same raw texts, as in `load.bench_fingerprint`; a speed says how many
times faster ours is than a peer. Methods of windows are held against a bare pass (`load.bench_windows`).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from gate.core import minhash, shingles
from gate.core.method_parameters import Family
from gate.core.text import normalise
from load import bench_windows
from load.bench_fingerprint import (
    WORDS,
    Peer,
    Question,
    Run,
    ask,
    batched,
    datasketch_words,
    rensa_batches,
    rensa_words,
    texts,
)
from load.measure import CLOCKS, BenchmarkReport

VALUES = 128
FAMILIES: tuple[Family, ...] = ("one-permutation", "multiplicative", "modular", "murmur3")
# Asked of MinHash as the gate signs by default, and of the family that is made for arrays. The others are stated.
ASKED = ("one-permutation", "multiplicative")
WINDOWS = "windows"


def signed(family: Family) -> Run:
    """MinHash signatures of 3-word shingles."""

    def sign(some: Sequence[str]) -> object:
        return minhash.signatures(shingles.features(normalise(some), WORDS), VALUES, family)

    return batched(sign)


def questions(characters: int) -> list[Question]:
    peers = {
        "datasketch": Peer(datasketch_words(), 5),
        "rensa": Peer(rensa_words(), 2),
        "rensa, batches": Peer(rensa_batches(), 2),
    }
    stated = {name: replace(peer, target=None) for name, peer in peers.items()}
    return [
        Question(
            f"MinHash {VALUES}, {family}, {size // 1024} KB",
            documents,
            signed(family),
            peers if family in ASKED else stated,
        )
        for size, documents in ((size, texts(characters, size)) for size in (2048, 8192))
        for family in FAMILIES
    ]


def run(*, characters: int, rounds: int, clock: str, only: str = "") -> BenchmarkReport:
    report = BenchmarkReport("methods", {"characters": characters, "rounds": rounds, "clock": clock})
    if only != WINDOWS:
        chosen = [question for question in questions(characters) if only in question.name]
        report.add("times as fast", [row for question in chosen for row in ask(question, rounds=rounds, clock=clock)])
    if only in WINDOWS:
        bench_windows.add(report, characters=characters, rounds=rounds, clock=clock)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--characters", type=int, default=1 << 20, help="size of each corpus")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument(
        "--only", default="", help=f"ask only questions whose name contains this; {WINDOWS}: Mod_n, BSW_n, Sketch_n"
    )
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    run(characters=arguments.characters, rounds=arguments.rounds, clock=arguments.clock, only=arguments.only).show(
        as_json=arguments.json
    )


if __name__ == "__main__":
    main()
