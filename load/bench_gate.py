"""The whole gate beside its peers: `python -m load.bench_gate [--n 20480] [--memory-n 50000] [--json]`.

Every contender gets the same documents of about 2 KB, 30 % of them planted copies, in the same order, and says of
each whether something like it came before: signed, looked up, and let in if new. Ours takes them as check-ins and gives
whole verdicts, in batches of 256; the peers take one document at a time, query and then insert, as their users do
in a stream, and say yes or no. rensa has an interface for batches too, which is shown as a contender of its own.
Speed without recall says nothing, so the recall of the planted copies, by band of their exact Jaccard, stands beside
it, and so does the share of base documents that were flagged.

Memory is measured apart, each index in a process of its own, over `--memory-n` documents; the corpus is made batch
by batch, so that nothing but the index is left.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from gate.api import Gate
from gate.model import CheckIn
from load.corpus import Kind, PlantedDocument, Recipe, SyntheticCorpus
from load.measure import CLOCKS, BenchmarkReport, Contender, Step, Timing, interleave, measure_memory, target_row

BATCH = 256
THRESHOLD = 0.7
PERMUTATIONS = 128
RECIPE = Recipe(words=410)  # 2 KB; 20 % edited copies, 5 % exact ones, 5 % parts
BANDS = ((0.9, 1.01, "J >= .9"), (0.8, 0.9, ".8 - .9"), (0.7, 0.8, ".7 - .8"))
_WORD = re.compile(r"\w+")


class Stream(Protocol):
    def take(self, documents: Sequence[PlantedDocument]) -> list[bool]:
        """Which of the documents are like an earlier one; the others are let in."""


class GateContender:
    def __init__(self, profile: str, index: Path | None = None) -> None:
        self.gate = Gate(profile, index=index)

    def take(self, documents: Sequence[PlantedDocument]) -> list[bool]:
        flags: list[bool] = []
        for start in range(0, len(documents), BATCH):
            batch = [CheckIn(document_id=d.document_id, text=d.text) for d in documents[start : start + BATCH]]
            flags += [verdict.similar for verdict in self.gate.check_in(batch)]
        return flags


class GaoyaSimHash:
    """Within 3 bits: its `hamming_distance` is exclusive. Six blocks are its fastest at a million documents. A document
    that is new is signed twice, once to be looked up and once to be let in: no call takes a signature."""

    def __init__(self) -> None:
        from gaoya.simhash import SimHashStringIndex

        self.index: Any = SimHashStringIndex(64, 6, 4, "word", True, (3, 3))

    def take(self, documents: Sequence[PlantedDocument]) -> list[bool]:
        return [_query_insert(self.index, d) for d in documents]


class GaoyaMinHash:
    def __init__(self) -> None:
        from gaoya.minhash import MinHashStringIndex

        self.index: Any = MinHashStringIndex(32, THRESHOLD, 16, 4, None, "word", True, (3, 3), "smallvec")

    def take(self, documents: Sequence[PlantedDocument]) -> list[bool]:
        return [_query_insert(self.index, d) for d in documents]


def _query_insert(index: Any, document: PlantedDocument) -> bool:
    if index.query(document.text):
        return True
    index.insert_document(document.number, document.text)
    return False


class SimHash1e0ng:
    """The `simhash` package."""

    def __init__(self) -> None:
        from simhash import Simhash, SimhashIndex

        self.sign: Any = Simhash
        self.index: Any = SimhashIndex([], k=3)

    def take(self, documents: Sequence[PlantedDocument]) -> list[bool]:
        flags = []
        for document in documents:
            signature = self.sign(shingles(document.text))
            flags.append(bool(self.index.get_near_dups(signature)))
            if not flags[-1]:
                self.index.add(document.document_id, signature)
        return flags


class Datasketch:
    """Its own choice of bands and rows for the threshold; what the bands bring together counts as found."""

    def __init__(self) -> None:
        from datasketch import MinHash, MinHashLSH

        self.sign: Any = MinHash
        self.index: Any = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)

    def take(self, documents: Sequence[PlantedDocument]) -> list[bool]:
        flags = []
        for document in documents:
            signature = self.sign(num_perm=PERMUTATIONS)
            signature.update_batch([shingle.encode() for shingle in shingles(document.text)])
            flags.append(bool(self.index.query(signature)))
            if not flags[-1]:
                self.index.insert(document.number, signature)
        return flags


class Rensa:
    """`add` is query, verification and insertion in one call. 32 bands of 4 rows: with fewer it misses more."""

    def __init__(self) -> None:
        from rensa import RMinHash, RMinHashDeduplicator

        self.sign: Any = RMinHash
        self.index: Any = RMinHashDeduplicator(THRESHOLD, PERMUTATIONS, True, 32)

    def take(self, documents: Sequence[PlantedDocument]) -> list[bool]:
        flags = []
        for document in documents:
            signature = self.sign(PERMUTATIONS, 42)
            signature.update(shingles(document.text))
            flags.append(not self.index.add(document.document_id, signature))
        return flags


class RensaBatch:
    """The same by batches: sketches of 256 documents in one call, then `add_pairs`."""

    def __init__(self) -> None:
        from rensa import RMinHash, RMinHashDeduplicator

        self.sign: Any = RMinHash
        self.index: Any = RMinHashDeduplicator(THRESHOLD, PERMUTATIONS, True, 32)

    def take(self, documents: Sequence[PlantedDocument]) -> list[bool]:
        flags: list[bool] = []
        for start in range(0, len(documents), BATCH):
            batch = documents[start : start + BATCH]
            sketches = self.sign.from_token_sets([shingles(d.text) for d in batch], PERMUTATIONS, 42)
            added = self.index.add_pairs([(d.document_id, s) for d, s in zip(batch, sketches)])
            flags += [not kept for kept in added]
        return flags


def shingles(text: str) -> list[str]:
    words = _WORD.findall(text.lower())
    return [" ".join(three) for three in zip(words, words[1:], words[2:])]


def contenders_of(folder: Path) -> dict[str, Callable[[], Stream]]:
    return {
        "simhash profile": lambda: GateContender("simhash"),
        "standard profile": lambda: GateContender("standard"),
        "standard, SQLite": lambda: GateContender("standard", folder / "index.sqlite"),
        "gaoya SimHash": GaoyaSimHash,
        "gaoya MinHash": GaoyaMinHash,
        "simhash (1e0ng)": SimHash1e0ng,
        "datasketch LSH": Datasketch,
        "rensa": Rensa,
        "rensa, batches": RensaBatch,
    }


def feeding(stream: Stream, slices: Sequence[Sequence[PlantedDocument]], flags: list[bool]) -> Step:
    def step(number: int) -> int:
        flags.extend(stream.take(slices[number]))
        return len(slices[number])

    return step


def quality(documents: Sequence[PlantedDocument], flags: Sequence[bool]) -> dict[str, Any]:
    """Recall in per cent by band, and the per cent of base documents that were flagged."""
    row: dict[str, Any] = {}
    for low, high, name in BANDS:
        found = [flag for d, flag in zip(documents, flags) if d.original is not None and low <= d.jaccard < high]
        row[f"recall {name}"] = round(100 * sum(found) / len(found), 1) if found else None
    base = [flag for d, flag in zip(documents, flags) if d.kind is Kind.BASE]
    row["bases flagged %"] = round(100 * sum(base) / len(base), 2)
    return row


def corpus(seed: int, count: int) -> Iterator[list[PlantedDocument]]:
    documents = iter(SyntheticCorpus(seed, count, RECIPE))
    while batch := list(islice(documents, BATCH)):
        yield batch


def weigh(mark: Callable[[], None], name: str, count: int, seed: int) -> Stream:
    """What is left when all documents went through."""
    make = contenders_of(Path("-"))[name]
    for batch in corpus(seed + 1, BATCH):
        make().take(batch)
    stream = make()
    mark()
    for batch in corpus(seed, count):
        stream.take(batch)
    return stream


def parts(stream: Stream) -> dict[str, int]:
    """What a gate says of its index."""
    return stream.gate.info() if isinstance(stream, GateContender) else {}


def file_size(profile: str, count: int, seed: int) -> int:
    """Bytes of a SQLite file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.sqlite"
        ours = GateContender(profile, path)
        for batch in corpus(seed, count):
            ours.take(batch)
        ours.gate.close()
        return path.stat().st_size


def targets(timings: Sequence[Timing], qualities: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    cost = {timing.name: timing for timing in timings}
    rows = []
    for ours, peer, target in (
        ("simhash profile", "gaoya SimHash", 2.5),
        ("simhash profile", "simhash (1e0ng)", None),
        ("standard profile", "rensa", 2),
        ("standard profile", "rensa, batches", 2),
        ("standard profile", "datasketch LSH", 5),
        ("standard, SQLite", "standard profile", None),
    ):
        if ours in cost and peer in cost:
            speed = cost[ours].speed / cost[peer].speed
            row = target_row(f"{ours}: times as fast as {peer}", speed, at_least=target)
            if peer in ("rensa", "rensa, batches", "datasketch LSH"):
                names = [f"recall {name}" for _, _, name in BANDS]
                row["recall no lower"] = all((qualities[ours][n] or 0) >= (qualities[peer][n] or 0) for n in names)
            rows.append(row)
    return rows


def add_memory(report: BenchmarkReport, chosen: Sequence[str], count: int, seed: int) -> None:
    rows, ours = [], []
    for name in chosen:
        if "SQLite" in name:
            rows.append({"contender": f"{name}: the file", "bytes": file_size("standard", count, seed) / count})
            continue
        size, info = measure_memory(weigh, name, count, seed, describe=parts)
        rows.append({"contender": name, "bytes": size / count})
        if info:
            sizes = {part.removeprefix("bytes_"): size for part, size in info.items() if part.startswith("bytes_")}
            row = {"contender": name, "let in": info["tickets"] / count}
            ours.append(row | {part: size / count for part, size in (sizes | {"sum": sum(sizes.values())}).items()})
    report.add(f"bytes a document, {count:,} documents", rows)
    report.add("bytes a document by part, as the index counts them", ours)


def run(
    *, count: int, rounds: int, memory_count: int, seed: int, clock: str, only: Sequence[str] = ()
) -> BenchmarkReport:
    documents = [document for batch in corpus(seed, count) for document in batch]
    size = -(-len(documents) // (rounds + 1) // BATCH) * BATCH  # a round is whole batches, as a stream under load is
    slices = [documents[start : start + size] for start in range(0, len(documents), size)]
    characters = sum(len(d.text) for d in documents) // len(documents)
    settings = {"n": count, "mean characters": characters, "batch": BATCH, "rounds": len(slices) - 1, "clock": clock}
    report = BenchmarkReport("gate", settings)

    with tempfile.TemporaryDirectory() as folder:
        makers = contenders_of(Path(folder))
        chosen = only or list(makers)
        flags: dict[str, list[bool]] = {name: [] for name in chosen}
        contenders = [Contender(name, feeding(makers[name](), slices, flags[name])) for name in chosen]
        timings = interleave(contenders, rounds=len(slices) - 1, reference=chosen[0], clock=clock)
    qualities = {name: quality(documents, flags[name]) for name in chosen}
    report.add(
        "documents through the gate",
        [
            {
                "contender": timing.name,
                "documents/s": round(1e6 / timing.microseconds),
                "us each": round(timing.microseconds, 1),
                **qualities[timing.name],
            }
            for timing in timings
        ],
    )
    report.add("targets", targets(timings, qualities))
    if memory_count:
        add_memory(report, chosen, memory_count, seed)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=20_480, help="documents through every contender")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--memory-n", type=int, default=50_000, help="documents for the memory tables; 0: none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--only", action="append", default=[], help="contender by name; may be repeated")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = run(
        count=arguments.n,
        rounds=arguments.rounds,
        memory_count=arguments.memory_n,
        seed=arguments.seed,
        clock=arguments.clock,
        only=arguments.only,
    )
    report.show(as_json=arguments.json)


if __name__ == "__main__":
    main()
