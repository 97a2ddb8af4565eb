"""How much faster several threads sign: `python -m load.bench_sign_threads [--threads 2] [--json]`.

Batches of 256 documents are signed with ids, titles and content ids, as the pipeline does, by one thread and several,
on the compiled kernel and on numpy. Only the clock on the wall can tell, so it needs a machine that does nothing else.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from gate.core.builtin_profiles import BUILT_IN
from gate.core.native import loader
from gate.limits import Limits
from gate.model import CheckIn
from gate.pipeline import Signer, batches
from load.bench_fingerprint import cyrillic, texts
from load.measure import BenchmarkReport, Contender, interleave, target_row


def step(signer: Signer, cut: Sequence[Sequence[CheckIn]]) -> Callable[[int], int]:
    def once(_: int) -> int:
        for batch in cut:
            signer.sign(batch)
        return sum(len(document.text) for batch in cut for document in batch)

    return once


def rows(documents: Sequence[str], *, name: str, threads: int, rounds: int) -> list[dict[str, Any]]:
    check_ins = [CheckIn(document_id=str(n), title="a title", text=text) for n, text in enumerate(documents)]
    cut = list(batches(check_ins, Limits()))
    profile = BUILT_IN["standard"]
    contenders = [Contender(str(n), step(Signer(profile, threads=n), cut)) for n in (threads, 1)]
    several, one = interleave(contenders, rounds=rounds, reference="1", clock="wall")
    row = target_row(f"{name}, {loader.implementation()}", several.speed, at_least=None)
    return [row | {"ns a character": one.microseconds * 1e3, f"{threads} threads": several.microseconds * 1e3}]


def run(*, characters: int, threads: int, rounds: int) -> BenchmarkReport:
    report = BenchmarkReport("threads that sign", {"characters": characters, "threads": threads, "rounds": rounds})
    small, large = texts(characters, 2048), texts(characters, 8192)
    made: list[dict[str, Any]] = []
    for kernel in (loader.active(), None):
        with loader.using(kernel):
            for name, documents in (("2 KB", small), ("8 KB", large), ("8 KB, Cyrillic", cyrillic(large))):
                made += rows(documents, name=name, threads=threads, rounds=rounds)
    report.add("times as fast as one thread", made)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--characters", type=int, default=4 << 20, help="size of each corpus")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    run(characters=given.characters, threads=given.threads, rounds=given.rounds).show(as_json=given.json)


if __name__ == "__main__":
    main()
