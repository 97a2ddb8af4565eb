"""What an attacker's documents cost, and what they hide: `python -m load.attacks [--redis] [--decoys 5000] [--json]`.

An original is checked in among other documents. Then the attacker floods the index with documents of one of these
kinds, and sends a copy of the original with some words changed:

    decoys     each is in all buckets of that copy, and is not alike to it, nor to another one (`load.forged_documents`)
    halves     half of the original's words, copied honestly: any two share a third of their text
    template   half of each is the same
    forged     one short text that agrees with the original in its whole sketch, registered before it

Under a secret the attacker forges by the hashes of an index without one, and is left with what can be copied. Measured
in CPU of this process, interleaved: batches of the attacker's on the flooded index, of everybody else's on the same
one, and of everybody else's on an index that nobody floods. Beside that: the memory that a batch of the attacker's
takes at its peak, and whether the copy passed.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any

from msgspec import structs

from gate.api import Gate
from gate.core.builtin_profiles import BUILT_IN
from gate.index.store import EntryRecord
from gate.model import CheckIn, Verdict
from load.corpus import Recipe, SyntheticCorpus
from load.forged_documents import Victim, decoys, forged_sketch, halves, template_documents, victim
from load.measure import BenchmarkReport, Contender, interleave, resident_bytes, target_row
from tests.support.servers import redis_server

BATCH = 256
OTHERS = 4096  # documents of everybody else that are in the index
KINDS = ("decoys", "halves", "template")
SECRET = b"an attacker does not know this"
PROFILE = BUILT_IN["standard"]
OWN_COST, OTHERS_COST, PEAK_MB = 3.0, 1.2, 200.0  # the goals


@dataclass(slots=True)
class Work:
    """What a store was made to do: postings that it returned, records that were fetched, and bytes of their bodies."""

    postings: int = 0
    records: int = 0
    body_bytes: int = 0
    largest_fetch: int = 0

    def count_records(self, records: Sequence[EntryRecord | None]) -> None:
        self.records += len(records)
        self.body_bytes += sum(len(record.body) for record in records if record is not None)
        self.largest_fetch = max(self.largest_fetch, len(records))


@dataclass(slots=True)
class CountingStore:
    """A store that counts what is read of it."""

    inner: Any
    work: Work = field(default_factory=Work)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def probe(self, *arguments: Any, **options: Any) -> Any:
        found = await self.inner.probe(*arguments, **options)
        self.work.postings += len(found.entries)
        return found

    async def records(self, entries: Sequence[int]) -> list[EntryRecord | None]:
        records: list[EntryRecord | None] = await self.inner.records(entries)
        self.work.count_records(records)
        return records


class Arena:
    """An index under attack, and one that is left alone, with the same documents of everybody else."""

    def __init__(self, kind: str, target: Victim, attacked: Gate, calm: Gate, *, usual: int = OTHERS) -> None:
        self.victim, self.attacked, self.calm, self.sent = target, attacked, calm, 0
        self._texts = others()
        first = list(islice(self._texts, usual))
        for gate in (self.attacked, self.calm):
            gate.check_in(documents("other", first))
            gate.check_in([CheckIn(document_id="original", text=self.victim.original)])
        self._attack = attack(kind, target)

    def flood(self, count: int) -> list[Verdict]:
        return self.attacked.check_in(self.prepared(count))

    def prepared(self, count: int) -> list[CheckIn]:
        """The next documents of the attacker."""
        self.sent += count
        return documents(f"attack-{self.sent}", islice(self._attack, count))

    def contenders(self, rounds: int) -> list[Contender]:
        """Batches to check in, written beforehand: what they cost to write is the sender's."""
        usual = [documents(f"other-{n}", list(islice(self._texts, BATCH))) for n in range(rounds)]
        attacks = [self.prepared(BATCH) for _ in range(rounds)]
        return [
            Contender("calm", lambda n: len(self.calm.check_in(usual[n]))),
            Contender("attacker", lambda n: len(self.attacked.check_in(attacks[n]))),
            Contender("others", lambda n: len(self.attacked.check_in(usual[n]))),
        ]

    def copy(self) -> Verdict:
        [verdict] = self.attacked.preview([CheckIn(document_id="copy", text=self.victim.copy)])
        return verdict


def others() -> Iterator[str]:
    """Documents of everybody else: unrelated, as long as the attacker's."""
    recipe = Recipe(words=255, copies=0, exact=0, parts=0)
    return (document.text for document in SyntheticCorpus(7, 1 << 20, recipe))


def attack(kind: str, target: Victim) -> Iterator[str]:
    if kind == "decoys":
        return decoys(target.copy, PROFILE)
    return halves(target.copy) if kind == "halves" else template_documents()


def documents(prefix: str, texts: Iterator[str] | Sequence[str]) -> list[CheckIn]:
    return [CheckIn(document_id=f"{prefix}-{n}", text=text) for n, text in enumerate(texts)]


def measure(kind: str, *, secret: bytes, url: str | None, count: int, rounds: int, words: int) -> dict[str, Any]:
    """One row of the table."""
    number = f"{kind}-{'secret' if secret else 'open'}"
    with ExitStack() as stack:
        attacked, calm = (
            stack.enter_context(Gate(structs.replace(PROFILE, name=f"{side}-{number}"), index=url, secret=secret))
            for side in ("attacked", "calm")
        )
        arena = Arena(kind, victim(words), attacked, calm)
        accepted = sum(not verdict.similar for verdict in arena.flood(count))
        contenders = arena.contenders(1 + rounds)
        timings = {t.name: t for t in interleave(contenders, rounds=rounds, reference="calm", clock="cpu")}
        batch = arena.prepared(BATCH)
        before = reset_peak()
        attacked.check_in(batch)
        peak = peak_bytes() - before
        copy = arena.copy()
    return {
        "attack": kind,
        "secret": bool(secret),
        "index": "redis" if url else "memory",
        "in the index": accepted,
        "normal us": timings["calm"].microseconds,
        "attacker x": 1 / timings["attacker"].speed,
        "others x": 1 / timings["others"].speed,
        "peak MB": max(peak, 0) / 1e6,
        "copy": "refused" if copy.similar else f"passed ({', '.join(copy.degraded)})",
    }


def false_refusal(*, secret: bytes, words: int) -> dict[str, Any]:
    """Whether a text that was forged after the sketch of an original and registered first has the original refused."""
    target = victim(words)
    with Gate(PROFILE, secret=secret) as gate:
        gate.check_in([CheckIn(document_id="forged", text=forged_sketch(target.original, PROFILE))])
        [verdict] = gate.check_in([CheckIn(document_id="original", text=target.original)])
    return {"attack": "forged", "secret": bool(secret), "original": verdict.relation.value}


def work_of(kind: str, *, count: int, words: int) -> tuple[Work, Verdict]:
    """What one batch of the attacker's makes an index in memory do, and the verdict on the copy after it."""
    gate = Gate(PROFILE)
    arena = Arena(kind, victim(words), gate, Gate(PROFILE), usual=BATCH)
    arena.flood(count)
    store = CountingStore(gate._store)
    gate._store = store
    gate.pipeline.index = gate._index(gate.profile)
    arena.flood(BATCH)
    return store.work, arena.copy()


def reset_peak() -> int:
    """Forget the highest memory of this process so far; the memory that it takes now."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    return resident_bytes()


def peak_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def run(*, redis: bool, count: int, rounds: int, words: int) -> BenchmarkReport:
    report = BenchmarkReport("attacks", {"decoys": count, "words of the original": words, "profile": PROFILE.ref})
    with ExitStack() as stack:
        urls = [None, stack.enter_context(redis_server()).url] if redis else [None]
        rows = [
            measure(kind, secret=secret, url=url, count=count, rounds=rounds, words=words)
            for url, kind, secret in product(urls, KINDS, (b"", SECRET))
        ]
    report.add("attacks", rows)
    report.add("forged sketches", [false_refusal(secret=secret, words=words) for secret in (b"", SECRET)])
    report.add(
        "goals",
        [
            target_row("attacker's documents, x a normal one", max(r["attacker x"] for r in rows), at_most=OWN_COST),
            target_row("others' documents, x without attack", max(r["others x"] for r in rows), at_most=OTHERS_COST),
            target_row("peak memory of a batch, MB", max(r["peak MB"] for r in rows), at_most=PEAK_MB),
            target_row("copies that passed", sum(r["copy"] != "refused" for r in rows), at_most=0),
        ],
    )
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--redis", action="store_true", help="on a Redis server too")
    parser.add_argument("--decoys", type=int, default=5000, help="documents of the attacker in the index")
    parser.add_argument("--words", type=int, default=20_000, help="of the original")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    report = run(redis=given.redis, count=given.decoys, rounds=given.rounds, words=given.words)
    report.show(as_json=given.json)


if __name__ == "__main__":
    main()
