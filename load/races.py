"""Races of several processes over one index: `python -m load.races --index sqlite|redis|cluster|all [--groups 2000]`.

Groups of two to five documents that are alike, each pair of them or in a path (A like B, B like C, A unlike C), are
checked in at the same time by different processes. Every step of the index may be late, processes are killed (-9) in
the middle of whatever they do, and documents are delivered twice. What a process did not acknowledge is delivered
again. Afterwards fresh processes check everything in once more, in another order. It must not happen

    that all of a group were refused        none survived
    that two that are alike passed          two survived
    that a document got two verdicts        changed verdicts, compared field by field, of all its deliveries
    that one was refused though nothing     chained: it was refused because of a document that was refused itself
        that is alike to it passed
    that a verdict names a refused one      refused named, as a match or as the group

The last row is `load.racers.LookUpThenInsert`, over the same Redis: it has to fail, or nothing raced.
The exit code is 1 if anything that must not happen happened, or if that contender did not fail.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

import numpy as np

from gate.core.builtin_profiles import BUILT_IN
from gate.core.method_registry import Method, method_of
from gate.core.profile import Profile
from gate.core.text import normalise
from gate.index.protocol.batch_order import similar_within_batch
from gate.model import CheckIn, Verdict
from load.corpus import Recipe, SyntheticCorpus, Tokens, edit_tokens
from load.measure import BenchmarkReport
from load.racers import Assignment, work
from tests.support.servers import redis_cluster, redis_server

INDEXES = ("sqlite", "redis", "cluster")
PROFILE = "standard"
WORDS = 100
GROUPS_AT_ONCE = 4  # in one round: each process gets one document of most of them
PATHS = 0.25  # of the groups
STEP = 0.14  # of a path: the share of words replaced; a resemblance of .75 to the next, .56 to the one after
EDITS = 0.012  # of the others
TWICE = 0.1  # of the documents, at the same time in another process
REDELIVERED_SHARE = 0.05  # of the documents, some rounds later
DEADLY = 0.2  # of the deliveries: half die at a step of the index, half at any moment
MOST_STEPS = 24
# Python's `spawn` would take longer to begin a process than a round takes. A fork server spawns once, with the modules
# loaded and nothing else, and every worker is a fresh fork of that.
CONTEXT = multiprocessing.get_context("forkserver")


@dataclass(frozen=True, slots=True)
class Group:
    """Documents, and which of them are alike."""

    documents: tuple[CheckIn, ...]
    alike: frozenset[tuple[int, int]]


def groups(count: int, seed: int, profile: Profile) -> Iterator[Group]:
    """Each pair alike, or consecutive ones only: as the gate sees it, not as they were made."""
    method = method_of(profile)
    corpus = SyntheticCorpus(seed, 0, Recipe(words=WORDS))
    rng = np.random.default_rng((seed, 7))
    made = 0
    for number in range(20 * count):
        path = rng.random() < PATHS
        size = int(rng.integers(3 if path else 2, 6))
        first = corpus.tokens(number)
        members = list(_path(first, size, rng)) if path else [first, *(_near(first, rng) for _ in range(size - 1))]
        documents = [CheckIn(document_id=f"{made}-{n}", text=corpus.render(t)) for n, t in enumerate(members)]
        alike = _alike(method, profile, documents)
        pairs = {(j, i) for i in range(size) for j in range(i)}
        wanted = {(n, n + 1) for n in range(size - 1)} if path else pairs
        if alike == wanted:
            yield Group(tuple(documents), alike)
            made += 1
            if made == count:
                return
    raise RuntimeError("too few groups are alike as they should be")


def _near(tokens: Tokens, rng: np.random.Generator) -> Tokens:
    return tokens if rng.random() < 0.1 else edit_tokens(tokens, EDITS, rng)


def _path(tokens: Tokens, size: int, rng: np.random.Generator) -> Iterator[Tokens]:
    """Each differs from the one before in another stretch."""
    yield tokens
    stretch = round(STEP * len(tokens))
    for n in range(size - 1):
        tokens = tokens.copy()
        at = slice(n * stretch, (n + 1) * stretch)
        tokens[at] = rng.permutation(tokens[at][::-1] + 1)
        yield tokens


def _alike(method: Method, profile: Profile, documents: Sequence[CheckIn]) -> frozenset[tuple[int, int]]:
    bodies = method.sign(normalise([document.text for document in documents])).bodies
    return frozenset((j, i) for i, earlier in enumerate(similar_within_batch(method, profile, bodies)) for j in earlier)


@dataclass(slots=True)
class RaceTally:
    """What happened, and what of it must not happen."""

    index: str
    groups: int = 0
    documents: int = 0
    kills: int = 0
    double_deliveries: int = 0
    none_survived: int = 0
    two_survived: int = 0
    changed_verdicts: int = 0
    chained: int = 0
    refused_named: int = 0
    seconds: float = 0.0
    is_naive: bool = False

    @property
    def violations(self) -> int:
        """Of everything that must not happen."""
        return self.none_survived + self.two_survived + self.changed_verdicts + self.chained + self.refused_named

    @property
    def as_expected(self) -> bool:
        return (self.violations > 0) == self.is_naive


@dataclass(slots=True)
class WorkerProcess:
    """A process and the assignment that it works on."""

    process: multiprocessing.context.ForkServerProcess
    pipe: Connection
    assignment: Assignment | None = None
    since: float = 0.0
    killed_at: float | None = None

    def stop(self) -> None:
        self.pipe.close()
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.process.close()


@dataclass(slots=True)
class Race:
    """Workers over one index; one that is killed is replaced, and what it did not acknowledge is delivered again."""

    index: str
    naive: bool
    processes: int
    rng: random.Random
    tally: RaceTally
    verdicts: dict[str, list[Verdict]] = field(default_factory=lambda: defaultdict(list))
    workers: list[WorkerProcess] = field(default_factory=list)
    _seconds: float = 0.05  # of an assignment, lately
    _number: int = 0

    def start(self) -> None:
        self.workers = [self._start_worker() for _ in range(self.processes)]

    def _start_worker(self) -> WorkerProcess:
        ours, theirs = CONTEXT.Pipe()
        options = {"naive": self.naive, "seed": self.rng.getrandbits(32)}
        process = CONTEXT.Process(target=work, args=(theirs, PROFILE, self.index), kwargs=options, daemon=True)
        process.start()
        theirs.close()
        ours.recv()  # it is ready: all begin together
        return WorkerProcess(process, ours)

    def run(self, shares: Sequence[Sequence[CheckIn]], *, deadly: float) -> None:
        """Deliver to all workers at once, and return when all is acknowledged."""
        for worker, documents in zip(self.workers, shares, strict=True):
            if documents:
                self._deliver(worker, tuple(documents), deadly)
        while busy := [worker for worker in self.workers if worker.assignment is not None]:
            now = time.monotonic()
            for worker in busy:
                if worker.killed_at is not None and worker.killed_at <= now and worker.process.pid is not None:
                    os.kill(worker.process.pid, signal.SIGKILL)
                    worker.killed_at = None
            deaths = [worker.killed_at - now for worker in busy if worker.killed_at is not None]
            ready = wait([worker.pipe for worker in busy], timeout=min(deaths, default=None))
            for worker in busy:
                if worker.pipe in ready:
                    self._receive(worker, deadly)

    def _deliver(self, worker: WorkerProcess, documents: tuple[CheckIn, ...], deadly: float) -> None:
        self._number += 1
        worker.killed_at = None
        last_step = None
        if self.rng.random() < deadly:
            if self.rng.random() < 0.5:
                last_step = self.rng.randint(1, MOST_STEPS)
            else:
                worker.killed_at = time.monotonic() + self.rng.random() * 1.2 * self._seconds
        worker.assignment = Assignment(number=self._number, documents=documents, last_step=last_step)
        worker.since = time.monotonic()
        try:
            worker.pipe.send(worker.assignment)
        except OSError:  # it was killed as it acknowledged the last one
            self._replace(worker, deadly)

    def _receive(self, worker: WorkerProcess, deadly: float) -> None:
        assert worker.assignment is not None
        try:
            number, verdicts = worker.pipe.recv()
        except (EOFError, OSError):
            self._replace(worker, deadly)
            return
        assert number == worker.assignment.number
        worker.assignment, worker.killed_at = None, None
        self._seconds += 0.05 * (time.monotonic() - worker.since - self._seconds)
        for verdict in verdicts:
            self.verdicts[verdict.document_id].append(verdict)

    def _replace(self, killed: WorkerProcess, deadly: float) -> None:
        assert killed.assignment is not None
        self.tally.kills += 1
        killed.process.join()
        if killed.process.exitcode != -signal.SIGKILL:
            raise RuntimeError(f"a worker ended by itself, with exit code {killed.process.exitcode}")
        killed.stop()
        worker = self._start_worker()
        self.workers[self.workers.index(killed)] = worker
        self._deliver(worker, killed.assignment.documents, deadly)

    def stop(self) -> None:
        for worker in self.workers:
            worker.stop()
        self.workers = []


def race(
    name: str, index: str, *, groups_count: int, processes: int = 4, seed: int = 1, naive: bool = False
) -> RaceTally:
    """Let processes race over an empty index, replay everything, and count what happened."""
    begun = time.monotonic()
    CONTEXT.set_forkserver_preload(["load.racers"])
    all_groups = list(groups(groups_count, seed, BUILT_IN[PROFILE]))
    rng = random.Random(seed)
    tally = RaceTally(name, groups=len(all_groups), documents=sum(len(g.documents) for g in all_groups), is_naive=naive)
    running = Race(index, naive, processes, rng, tally)
    try:
        running.start()
        later: list[CheckIn] = []
        for start in range(0, len(all_groups), GROUPS_AT_ONCE):
            shares, kept = _shares(all_groups[start : start + GROUPS_AT_ONCE], later, processes, rng, tally)
            running.run(shares, deadly=DEADLY)
            later = kept
        running.stop()
        running.start()  # fresh processes, with nothing cached
        documents = [document for group in all_groups for document in group.documents]
        rng.shuffle(documents)
        step = -(-len(documents) // max(1, len(documents) // (processes * 64)))
        for start in range(0, len(documents), step):
            part = documents[start : start + step]
            running.run([part[n::processes] for n in range(processes)], deadly=0.0)
    finally:
        running.stop()
    for group in all_groups:
        judge(group, running.verdicts, tally)
    tally.seconds = round(time.monotonic() - begun, 1)
    return tally


def _shares(
    chosen: Sequence[Group], later: Sequence[CheckIn], processes: int, rng: random.Random, tally: RaceTally
) -> tuple[list[list[CheckIn]], list[CheckIn]]:
    """The documents of each process in a round, those of a group in different ones; and those delivered again later."""
    shares: list[list[CheckIn]] = [[] for _ in range(processes)]
    kept: list[CheckIn] = []
    for group in chosen:
        members = list(group.documents)
        rng.shuffle(members)
        first = rng.randrange(processes)
        for n, document in enumerate(members):
            shares[(first + n) % processes].append(document)
            if rng.random() < TWICE:
                shares[(first + n + 1) % processes].append(document)
                tally.double_deliveries += 1
            if rng.random() < REDELIVERED_SHARE:
                kept.append(document)
    for document in later:
        shares[rng.randrange(processes)].append(document)
        tally.double_deliveries += 1
    for share in shares:
        rng.shuffle(share)
    return shares, kept


def judge(group: Group, verdicts: dict[str, list[Verdict]], tally: RaceTally) -> None:
    first = [verdicts[document.document_id][0] for document in group.documents]
    passed = [not verdict.similar for verdict in first]
    tally.none_survived += not any(passed)
    tally.two_survived += any(passed[i] and passed[j] for i, j in group.alike)
    refused = {verdict.document_id for verdict in first if verdict.similar}
    for document in group.documents:
        own = verdicts[document.document_id]
        tally.changed_verdicts += any(verdict != own[0] for verdict in own)
        tally.refused_named += any(names & refused for names in map(_named, own))
    alike: dict[int, set[int]] = defaultdict(set)
    for i, j in group.alike:
        alike[i].add(j)
        alike[j].add(i)
    tally.chained += sum(not passed[i] and not any(passed[j] for j in alike[i]) for i in range(len(passed)))


def _named(verdict: Verdict) -> set[str]:
    """The documents that a verdict names, but for its own."""
    return {verdict.group, *(match.document_id for match in verdict.matches)} - {verdict.document_id}


@contextmanager
def empty_index(name: str) -> Iterator[str]:
    """An empty index of that kind."""
    if name == "sqlite":
        with tempfile.TemporaryDirectory(prefix="gate-races-") as folder:
            yield str(Path(folder) / "index.gate")
    elif name == "redis":
        with redis_server() as server:
            yield server.url
    else:
        with redis_cluster(3) as cluster:
            yield cluster.url


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m load.races", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--index", choices=(*INDEXES, "all"), default="all")
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chosen = INDEXES if options.index == "all" else (options.index,)
    races = [(name, False) for name in chosen] + ([("redis", True)] if options.index != "sqlite" else [])
    tallies = []
    for name, naive in races:
        with empty_index(name) as index:
            title = f"{name}, look up then insert" if naive else name
            tallies.append(
                race(
                    title,
                    index,
                    groups_count=options.groups,
                    processes=options.processes,
                    seed=options.seed,
                    naive=naive,
                )
            )
    report = BenchmarkReport("Races", {"processes": options.processes, "seed": options.seed, "profile": PROFILE})
    rows = [
        {name.replace("_", " "): value for name, value in asdict(tally).items() if name != "is_naive"}
        for tally in tallies
    ]
    report.add("what happened", rows)
    report.show(as_json=options.json)
    return 0 if all(tally.as_expected for tally in tallies) else 1


if __name__ == "__main__":
    sys.exit(main())
