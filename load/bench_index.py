"""The index alone, over random fingerprints: `python -m load.bench_index [--n 1000000] [--json]`.

Questions: what does a query within k bits cost beside gaoya (k = 3) and faiss (k = 8, 12) where all give the same
guarantee; how does the cost grow with the number of documents; what do inserts between the queries cost; how much
memory does each take. Every peer's answers are checked against ours before anything is timed. Ours is asked by
batches of 256, through the reader that a claim uses (`gate.index.protocol.candidates`).

gaoya takes texts, not fingerprints: a text of one word has that word's hash as its fingerprint, which is random too.
Its `hamming_distance` is exclusive (a pair at exactly that distance is not returned), so k = 3 is asked for as 4, which
needs five blocks at least. Five are small and slow at a million documents, six are fast and large; the targets are
against the fast one, in time and in memory.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gate.core.bands import fingerprint_postings
from gate.core.method_parameters import SimHash
from gate.core.method_registry import method_of
from gate.core.profile import Profile
from gate.index.memory.store import MemoryStore
from gate.index.protocol.candidates import CandidateFinder
from gate.limits import Limits
from gate.pipeline import run_now
from load.measure import CLOCKS, BenchmarkReport, Contender, Step, interleave, measure_growth, target_row, timing_rows

U64 = NDArray[np.uint64]
BATCH = 256
LOAD_BATCH = 4096


def random_fingerprints(count: int, seed: int) -> U64:
    return np.random.default_rng(seed).integers(0, 1 << 64, count, dtype=np.uint64)


def near(fingerprints: U64, bits: int, rng: np.random.Generator) -> U64:
    """Each with `bits` different bits turned."""
    order = np.argsort(rng.random((len(fingerprints), 64)), axis=1)[:, :bits].astype(np.uint64)
    turned: U64 = fingerprints ^ np.bitwise_or.reduce(np.uint64(1) << order, axis=1)
    return turned


class FingerprintIndex:
    """The memory store and the reader that a claim uses; entry number i + 1 is fingerprint i."""

    def __init__(self, fingerprints: U64 | None = None) -> None:
        self.store = MemoryStore(max_bucket=1 << 30)
        self.size = 0
        if fingerprints is not None:
            for start in range(0, len(fingerprints), LOAD_BATCH):
                self.insert(fingerprints[start : start + LOAD_BATCH])

    def insert(self, fingerprints: U64) -> None:
        postings = fingerprint_postings(np.arange(len(fingerprints)), fingerprints)
        entries = (postings.rows + self.size + 1).astype(np.uint64)
        run_now(self.store.append(postings.keys, entries, postings.tags))
        self.size += len(fingerprints)

    def query(self, fingerprints: U64, k: int) -> set[tuple[int, int]]:
        """Pairs (place in the query, entry) within k bits."""
        profile = Profile(name="bench", method=SimHash(radius=k), resemblance=None)
        finder = CandidateFinder(self.store, method_of(profile), profile, Limits())
        flat = fingerprints.astype("<u8").tobytes()
        bodies = {i: flat[8 * i : 8 * i + 8] for i in range(len(fingerprints))}
        found = run_now(finder.read(bodies))
        return set(zip(found.rows.tolist(), found.entries.tolist()))


class Gaoya:
    """`word(i)` stands for fingerprint i."""

    def __init__(self, count: int, blocks: int) -> None:
        from gaoya.simhash import SimHashStringIndex

        self.index = SimHashStringIndex(64, blocks, 4, "word", False, (1, 1))
        for number in range(count):
            self.index.insert_document(number, word(number))


def word(number: int) -> str:
    return f"w{number}"


class Faiss:
    def __init__(self, fingerprints: U64) -> None:
        import faiss

        faiss.omp_set_num_threads(1)  # ours has one thread too
        self.index = faiss.IndexBinaryFlat(64)
        self.index.add(_octets(fingerprints))

    def query(self, fingerprints: U64, k: int) -> set[tuple[int, int]]:
        limits, _, labels = self.index.range_search(_octets(fingerprints), k + 1)  # exclusive
        owner = np.repeat(np.arange(len(fingerprints)), np.diff(limits.astype(np.int64)))
        return set(zip(owner.tolist(), (labels + 1).tolist()))


def _octets(fingerprints: U64) -> NDArray[np.uint8]:
    return fingerprints.astype("<u8").view(np.uint8).reshape(-1, 8)


def queries(stored: U64, k: int, number: int) -> U64:
    """A batch as a gate sees it: 30 % near something stored, the others new."""
    rng = np.random.default_rng((9, k, number))
    planted = int(0.3 * BATCH)
    old = near(stored[rng.integers(0, len(stored), planted)], k, rng)
    return np.concatenate([old, rng.integers(0, 1 << 64, BATCH - planted, dtype=np.uint64)])


def asking(index: FingerprintIndex | Faiss, stored: U64, k: int, *, rounds: int, batches: int = 1) -> Step:
    """Queries are made before the clock runs, and both indexes get the same ones."""
    asked = [[queries(stored, k, number * batches + batch) for batch in range(batches)] for number in range(rounds + 1)]

    def step(number: int) -> int:
        for batch in asked[number]:
            index.query(batch, k)
        return batches * BATCH

    return step


def asking_gaoya(peer: Gaoya, count: int, *, rounds: int, batches: int) -> Step:
    """30 % of the words are stored, the others are not."""
    rng = np.random.default_rng(8)
    size = batches * BATCH
    numbers = np.where(rng.random((rounds + 1, size)) < 0.3, 0, count) + rng.integers(0, count, (rounds + 1, size))
    asked = [[word(number) for number in row] for row in numbers.tolist()]

    def step(number: int) -> int:
        for one in asked[number]:
            peer.index.query(one)
        return size

    return step


def growing(ours: FingerprintIndex, peer: Gaoya, *, rounds: int, batches: int) -> list[Contender]:
    """A query and an insert of each new document: ours by the batch, gaoya by the document."""
    size = batches * BATCH
    prints = random_fingerprints((rounds + 1) * size, 10).reshape(rounds + 1, batches, BATCH)
    names = [[10**9 + number * size + i for i in range(size)] for number in range(rounds + 1)]
    words = [[word(name) for name in row] for row in names]

    def our_step(number: int) -> int:
        for batch in prints[number]:
            ours.query(batch, 3)
            ours.insert(batch)
        return size

    def gaoya_step(number: int) -> int:
        for name, one in zip(names[number], words[number]):
            peer.index.query(one)
            peer.index.insert_document(name, one)
        return size

    return [Contender("ours", our_step), Contender("gaoya", gaoya_step)]


def weigh_ours(mark: Callable[[], None], count: int) -> FingerprintIndex:
    fingerprints = random_fingerprints(count, 1)
    FingerprintIndex(fingerprints[:BATCH]).query(fingerprints[:BATCH], 3)
    mark()
    return FingerprintIndex(fingerprints)


def weigh_gaoya(mark: Callable[[], None], count: int, blocks: int) -> Gaoya:
    Gaoya(BATCH, blocks)
    mark()
    return Gaoya(count, blocks)


def check(ours: FingerprintIndex, peer: Faiss, stored: U64) -> None:
    """The same answers from both, so that the times compare equal work."""
    for k in (3, 8, 12):
        queried = queries(stored, k, 10**6)[::8]
        if ours.query(queried, k) != peer.query(queried, k):
            raise SystemExit(f"answers differ at k = {k}: a benchmark of unequal work says nothing")


def check_gaoya(blocks: int) -> None:
    """The same answers within 3 bits, over texts of many words, one of which was changed."""
    rng = np.random.default_rng(4)
    texts = rng.integers(0, 5000, (2000, 60))
    changed = texts.copy()
    changed[:, 0] = rng.integers(0, 5000, len(texts))
    peer = Gaoya(0, blocks).index
    lefts, rights = ([" ".join(map(word, row)) for row in side.tolist()] for side in (texts, changed))
    for number, text in enumerate(lefts):
        peer.insert_document(number, text)
    stored, queried = (
        np.array([peer.index.doc2signature(text) for text in side], np.uint64) for side in (lefts, rights)
    )
    theirs = {(place, number + 1) for place, text in enumerate(rights) for number in peer.query(text)}
    if FingerprintIndex(stored).query(queried, 3) != theirs:
        raise SystemExit(f"answers differ from gaoya's with {blocks} blocks: a benchmark of unequal work says nothing")


def run(*, count: int, rounds: int, clock: str) -> BenchmarkReport:
    report = BenchmarkReport("index", {"n": count, "batch": BATCH, "rounds": rounds, "clock": clock})
    targets: list[dict[str, Any]] = []
    stored = random_fingerprints(count, 1)
    ours, flat, small = FingerprintIndex(stored), Faiss(stored), FingerprintIndex(stored[: count // 10])
    check(ours, flat, stored)
    for blocks in (5, 6):
        check_gaoya(blocks)

    def timed(name: str, contenders: list[Contender], reference: str) -> float:
        """Add a table; how many times as fast as the reference the first contender is."""
        timings = interleave(contenders, rounds=rounds, reference=reference, clock=clock)
        report.add(name, timing_rows(timings, reference))
        return timings[0].speed

    peers = {blocks: Gaoya(count, blocks) for blocks in (5, 6)}
    contenders = [Contender("ours", asking(ours, stored, 3, rounds=rounds, batches=4))]
    contenders += [
        Contender(f"gaoya, {blocks} blocks", asking_gaoya(peer, count, rounds=rounds, batches=4))
        for blocks, peer in peers.items()
    ]
    speed = timed("query, k = 3", contenders, "gaoya, 6 blocks")
    targets.append(target_row("query, k = 3: times as fast as gaoya, 6 blocks", speed, at_least=0.8))
    del peers[5]

    for k, target in ((8, 5), (12, 2)):
        contenders = [
            Contender("ours", asking(ours, stored, k, rounds=rounds)),
            Contender("faiss flat", asking(flat, stored, k, rounds=rounds)),
        ]
        speed = timed(f"query, k = {k}", contenders, "faiss flat")
        targets.append(target_row(f"query, k = {k}: times as fast as faiss flat", speed, at_least=target))

    growth: list[dict[str, Any]] = []
    for k in (3, 8, 12):
        contenders = [
            Contender("a tenth", asking(small, stored[: count // 10], k, rounds=rounds)),
            Contender("all", asking(ours, stored, k, rounds=rounds)),
        ]
        tenth, whole = interleave(contenders, rounds=rounds, reference="all", clock=clock)
        growth.append({"k": k, "us at n/10": tenth.microseconds, "us at n": whole.microseconds, "growth": tenth.speed})
        targets.append(target_row(f"query, k = {k}: cost with ten times the documents", tenth.speed, at_most=2))
    report.add("growth of the query with ten times the documents", growth)

    speed = timed("query and insert, k = 3", growing(ours, peers[6], rounds=rounds, batches=4), "gaoya")
    targets.append(target_row("query and insert, k = 3: times as fast as gaoya, 6 blocks", speed))

    weights = {"ours": measure_growth(weigh_ours, count)}
    weights |= {f"gaoya, {blocks} blocks": measure_growth(weigh_gaoya, count, blocks) for blocks in (5, 6)}
    report.add(
        "memory",
        [{"contender": n, "bytes each": w / count, "of ours": w / weights["ours"]} for n, w in weights.items()],
    )
    share = weights["ours"] / weights["gaoya, 6 blocks"]
    targets.append(target_row("memory, as a share of gaoya, 6 blocks", share, at_most=0.2))
    report.add("targets", targets)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000, help="stored fingerprints")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    run(count=arguments.n, rounds=arguments.rounds, clock=arguments.clock).show(as_json=arguments.json)


if __name__ == "__main__":
    main()
