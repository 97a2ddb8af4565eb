"""The gate on Redis beside its peers: `python -m load.bench_redis [--n 1000000] [--json]`.

Signatures are drawn at random, so that only the index is measured: every contender gets batches of 256 signed
documents, one in ten a near copy of an earlier one, and says of each whether something like it came before. Ours runs
the whole protocol, to the verdicts, with two batches under way as a service has them; `redis-py bands` only reads and
appends the four blocks of each fingerprint in a pipeline, verifies nothing and decides nothing. datasketch stores and
looks up MinHash signatures as its documentation proposes, one document at a time, and in its buffered session for
inserts; it starts from an empty index, which is to its advantage.

Parts: `speed`, `growth`, `cluster`, `templates`, `memory`, `recall`; all by default.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import redis

from gate.core.methods import method_of
from gate.core.profiles import BUILT_IN
from gate.index.claim import Claim, Index
from gate.index.redis.connect import Redising, open_store
from gate.index.redis.store import RedisStore
from gate.limits import Limits
from gate.model import CheckIn
from gate.pipeline import Pipeline, Signed
from gate.service import Gate, new_entry
from load.corpus import Corpus, Kind, Planted, Recipe
from load.measure import Contender, Report, Step, interleave
from load.servers import RedisServer, redis_cluster, redis_server

BATCH = 256
UNDER_WAY = 2
COPIES = 0.1
PERMUTATIONS = 128
FEATURES = 300
PARTS = ("speed", "growth", "cluster", "templates", "memory", "recall")


class Drawn:
    """Signed documents without their texts: random bodies, and near copies of earlier ones."""

    def __init__(self, profile: str, *, seed: int = 1, shared: float = 0.0) -> None:
        self.width = method_of(BUILT_IN[profile]).room.body
        self._rng = np.random.default_rng(seed)
        self._earlier = np.empty((0, self.width), np.uint8)
        self._template = self._rng.integers(0, 256, self.width, np.uint8)
        self._shared = shared  # of the bins that every document has in common, as letters from one template do
        self._count = 0

    def batch(self, size: int = BATCH) -> list[Claim]:
        bodies = self._rng.integers(0, 256, (size, self.width), np.uint8)
        if self.width > 8:
            bodies[:, 8:12] = np.frombuffer(FEATURES.to_bytes(4, "little"), np.uint8)
            common = self._rng.random((size, self.width - 12)) < self._shared
            bodies[:, 12:] = np.where(common, self._template[12:], bodies[:, 12:])
        if len(self._earlier):
            chosen = np.flatnonzero(self._rng.random(size) < COPIES)
            bodies[chosen] = self._earlier[self._rng.integers(0, len(self._earlier), len(chosen))]
            bodies[chosen, 0] ^= np.uint8(1)  # one bit of the fingerprint
        self._earlier = np.concatenate([self._earlier[-4 * BATCH :], bodies])
        contents = self._rng.bytes(16 * size)
        flat = bodies.tobytes()
        first, self._count = self._count, self._count + size
        return [
            Claim(
                document_id=f"document-{first + i:07d}",
                version=None,
                content=contents[16 * i : 16 * i + 16],
                body=flat[self.width * i : self.width * (i + 1)],
            )
            for i in range(size)
        ]


class Ours:
    """A gate's pipeline on Redis, without the signing."""

    def __init__(self, url: str, profile: str, *, expected: int, name: str | None = None, shared: float = 0.0) -> None:
        self.runner = asyncio.Runner()
        self.profile, self.method = BUILT_IN[profile], method_of(BUILT_IN[profile])
        self.drawn = Drawn(profile, shared=shared)
        self.store: RedisStore = self.runner.run(
            open_store(
                url,
                profile_ref=name or self.profile.ref,
                digest=self.profile.digest(),
                room=self.method.room,
                max_bucket=Limits().max_bucket,
                settings=Redising(expected_documents=expected),
            )
        )
        index = Index(self.store, self.method, self.profile, Limits(), new_entry=new_entry, together=asyncio.gather)
        self.pipeline = Pipeline(index, self.method, self.profile)
        self.flagged = 0

    def take(self, batches: Sequence[list[Claim]]) -> None:
        self.runner.run(self._take(batches))

    async def _take(self, batches: Sequence[list[Claim]]) -> None:
        waiting = list(reversed(batches))

        async def work() -> None:
            while waiting:
                batch = waiting.pop()
                verdicts = await self.pipeline.check_in(Signed((), batch, [FEATURES] * len(batch)))
                self.flagged += sum(verdict.similar for verdict in verdicts)

        await asyncio.gather(*(work() for _ in range(UNDER_WAY)))

    def fill(self, count: int) -> None:
        """Check so many documents in."""
        for _ in range(0, count, 16 * BATCH):
            self.take([self.drawn.batch() for _ in range(16)])

    def close(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()


class Bands:
    """What a redis-py user writes first: GET and APPEND per block, in a pipeline."""

    def __init__(self, server: RedisServer, prefix: str) -> None:
        self.client = redis.Redis(host="127.0.0.1", port=server.port)
        self.prefix = prefix
        self.drawn = Drawn("simhash", seed=2)

    def take(self, batches: Sequence[list[Claim]]) -> None:
        for batch in batches:
            prints = np.frombuffer(b"".join(claim.body for claim in batch), "<u8").tolist()
            pipe = self.client.pipeline(transaction=False)
            for number in prints:
                for block in range(4):
                    key = f"{self.prefix}:{block}:{number >> 16 * block & 0xFFFF:04x}"
                    pipe.get(key)
                    pipe.append(key, number.to_bytes(8, "little") * 2)
            pipe.execute()

    def fill(self, count: int) -> None:
        for _ in range(0, count, 16 * BATCH):
            self.take([self.drawn.batch() for _ in range(16)])


class Datasketch:
    """MinHashLSH with its Redis storage."""

    def __init__(self, server: RedisServer, name: bytes, *, buffered: bool) -> None:
        from datasketch import MinHash, MinHashLSH

        storage = {"type": "redis", "basename": name, "redis": {"host": "127.0.0.1", "port": server.port}}
        self.lsh: Any = MinHashLSH(threshold=0.7, num_perm=PERMUTATIONS, storage_config=storage)
        self.sign: Any = MinHash
        self.buffered = buffered
        self.rng = np.random.default_rng(3)
        self.count = 0

    def take(self, size: int) -> None:
        values = self.rng.integers(0, 2**32, (size, PERMUTATIONS), np.uint64)
        signatures = [self.sign(num_perm=PERMUTATIONS, hashvalues=row, scheme="legacy") for row in values]
        names = [f"document-{self.count + i:07d}" for i in range(size)]
        self.count += size
        if self.buffered:
            with self.lsh.insertion_session(buffer_size=50_000) as session:
                for name, signature in zip(names, signatures, strict=True):
                    self.lsh.query(signature)
                    session.insert(name, signature)
            return
        for name, signature in zip(names, signatures, strict=True):
            if not self.lsh.query(signature):
                self.lsh.insert(name, signature)


def stepping(contender: Ours | Bands, batches: int, rounds: int) -> Step:
    """So many batches a round, drawn before the clock runs."""
    prepared = [[contender.drawn.batch() for _ in range(batches)] for _ in range(rounds + 1)]

    def step(number: int) -> int:
        contender.take(prepared[number])
        return batches * BATCH

    return step


def server_cpu(servers: Sequence[RedisServer]) -> float:
    """Seconds that the servers have worked."""
    total = 0.0
    for server in servers:
        with server.client() as client:
            told = client.info("cpu")
            total += told["used_cpu_user"] + told["used_cpu_sys"]
    return total


def used_memory(server: RedisServer) -> int:
    with server.client() as client:
        return int(client.info("memory")["used_memory"])


def spent(servers: Sequence[RedisServer], work: Callable[[], None], documents: int) -> dict[str, float]:
    """Microseconds a document of what the work took: by the clock, of this process, of the servers."""
    wall, client, served = time.perf_counter(), time.process_time(), server_cpu(servers)
    work()
    scale = 1e6 / documents
    return {
        "us each": round((time.perf_counter() - wall) * scale, 1),
        "client us": round((time.process_time() - client) * scale, 1),
        "server us": round((server_cpu(servers) - served) * scale, 1),
    }


def met(ratio: float, target: float) -> str:
    return "yes" if ratio >= target else "no"


def speed(report: Report, count: int, rounds: int) -> None:
    """Check-ins at `count` documents, beside the peers."""
    with redis_server() as server:
        light, full = (Ours(server.url, profile, expected=count) for profile in ("simhash", "standard"))
        bands = Bands(server, "bands")
        plain, buffered = (Datasketch(server, name, buffered=name == b"session") for name in (b"plain", b"session"))
        for contender in (light, full, bands):
            contender.fill(count)
        few = BATCH // 4
        contenders = [
            Contender("gate simhash", stepping(light, 8, rounds)),
            Contender("gate standard", stepping(full, 4, rounds)),
            Contender("redis-py bands", stepping(bands, 4, rounds)),
            Contender("datasketch", lambda _: plain.take(few) or few),  # type: ignore[func-returns-value]
            Contender("datasketch session", lambda _: buffered.take(few) or few),  # type: ignore[func-returns-value]
        ]
        timings = {t.name: t for t in interleave(contenders, rounds=rounds, reference="gate simhash")}
        cost = {name: timing.microseconds for name, timing in timings.items()}
        report.add(
            f"check-ins at {count:,} documents",
            [{"contender": name, "us each": round(us, 1), "documents/s": round(1e6 / us)} for name, us in cost.items()],
        )
        asked = [
            ("simhash", "redis-py bands", 4.0),
            ("simhash", "datasketch", 100.0),
            ("simhash", "datasketch session", 30.0),
            ("standard", "datasketch", 20.0),
        ]
        rows = []
        for profile, peer, target in asked:
            ratio = cost[peer] / cost[f"gate {profile}"]
            rows.append(
                {"ratio": f"{profile} to {peer}", "times": round(ratio, 1), "target": target, "met": met(ratio, target)}
            )
        report.add("ratios", rows)
        light.close()
        full.close()


def growth(report: Report, sizes: Sequence[int]) -> None:
    """Work of client and server per check-in as an index grows."""
    rows: list[dict[str, Any]] = []
    for profile in ("simhash", "standard"):
        with redis_server() as server:
            ours, held = Ours(server.url, profile, expected=max(sizes)), 0
            for size in sizes:
                ours.fill(size - held)
                batches = [ours.drawn.batch() for _ in range(32)]
                told = spent([server], lambda ours=ours, batches=batches: ours.take(batches), 32 * BATCH)  # type: ignore[misc]
                held = size + 32 * BATCH
                rows.append({"profile": profile, "documents": size, **told})
            ours.close()
    report.add("work per check-in as the index grows", rows)


def cluster(report: Report, count: int, rounds: int) -> None:
    """Three masters beside one server, on the same cores."""
    rows = []
    for profile in ("simhash", "standard"):
        with redis_server() as server, redis_cluster(3) as masters:
            one, three = (Ours(url, profile, expected=count) for url in (server.url, masters.url))
            for contender in (one, three):
                contender.fill(count)
            contenders = [Contender("one", stepping(one, 8, rounds)), Contender("three", stepping(three, 8, rounds))]
            first, second = interleave(contenders, rounds=rounds, reference="one")
            rows.append(
                {
                    "profile": profile,
                    "one: us each": round(first.microseconds, 1),
                    "three: us each": round(second.microseconds, 1),
                    "three of one": round(second.speed, 2),
                    "target": 0.75,
                    "met": met(second.speed, 0.75),
                }
            )
            one.close()
            three.close()
    report.add(f"a Cluster of three masters, {count:,} documents", rows)


def templates(report: Report, count: int) -> None:
    """A stream of letters from one template: they share a third of their features, and are not alike."""
    rows = []
    for name, shared in (("strangers", 0.0), ("templates", 0.35)):
        with redis_server() as server:
            ours = Ours(server.url, "standard", expected=count, shared=shared)
            ours.fill(count)
            batches = [ours.drawn.batch() for _ in range(16)]
            told = spent([server], lambda ours=ours, batches=batches: ours.take(batches), 16 * BATCH)  # type: ignore[misc]
            sizes = ours.runner.run(ours.store.info())
            rows.append({"stream": name, **told, "largest bucket": sizes["largest_bucket"]})
            ours.close()
    slower = rows[1]["us each"] / rows[0]["us each"]
    rows[1] |= {"slower": round(slower, 2), "target": 3.0, "met": "yes" if slower <= 3.0 else "no"}
    report.add(f"after {count:,} documents of one template", rows)


def memory(report: Report, count: int) -> None:
    """Bytes a document, by part, with ids of 16 characters."""
    rows: list[dict[str, Any]] = []
    for profile, parts, target in (("simhash", ("buckets", "entries"), 200), ("standard", (), 700)):
        with redis_server() as server:
            ours = Ours(server.url, profile, expected=count)
            before = used_memory(server)
            ours.fill(count)
            told = ours.runner.run(ours.store.info())
            each = {part: told[f"bytes_{part}"] / told["documents"] for part in ("buckets", "entries", "documents")}
            whole = (used_memory(server) - before) / told["documents"]
            counted = sum(each[part] for part in parts) if parts else whole
            rows.append(
                {
                    "index": profile,
                    "documents": told["documents"],
                    **{f"{part} B": round(size) for part, size in each.items()},
                    "all in": round(whole),
                    "counted": round(counted),
                    "target": target,
                    "met": "yes" if counted <= target else "no",
                }
            )
            ours.close()
    with redis_server() as server:
        before, peer = used_memory(server), Datasketch(server, b"weighed", buffered=True)
        peer.take(4096)
        each_of_theirs = (used_memory(server) - before) / 4096
    rows.append({"index": "datasketch", "documents": 4096, "all in": round(each_of_theirs)})
    rows[1]["of datasketch"] = round(rows[1]["all in"] / each_of_theirs, 3)
    report.add("bytes a document (simhash: buckets and registry are counted; standard: everything)", rows)


def recall(report: Report, count: int) -> None:
    """Of planted copies, by their exact resemblance: `standard` on Redis and datasketch on Redis."""
    from datasketch import MinHash, MinHashLSH

    documents = list(Corpus(5, count, Recipe(copies=0.3, exact=0.0, parts=0.0, edit_shares=(0.01, 0.03, 0.05, 0.08))))
    with redis_server() as server:
        with Gate("standard", index=server.url) as gate:
            ours = [v.similar for v in gate.check_in([_check_in(d) for d in documents])]
        storage = {"type": "redis", "basename": b"recall", "redis": {"host": "127.0.0.1", "port": server.port}}
        lsh = MinHashLSH(threshold=0.7, num_perm=PERMUTATIONS, storage_config=storage)
        theirs = []
        for document in documents:
            words = re.findall(r"\w+", document.text.lower())
            signature = MinHash(num_perm=PERMUTATIONS)
            signature.update_batch([" ".join(gram).encode() for gram in zip(words, words[1:], words[2:])])
            theirs.append(bool(lsh.query(signature)))
            if not theirs[-1]:
                lsh.insert(document.document_id, signature)
    rows = []
    for low, high in ((0.9, 1.01), (0.8, 0.9), (0.7, 0.8)):
        chosen = [i for i, d in enumerate(documents) if d.kind is Kind.COPY and low <= d.jaccard < high]
        rows.append(
            {
                "resemblance": f"{low} to {min(high, 1.0)}",
                "copies": len(chosen),
                "gate standard": round(sum(ours[i] for i in chosen) / max(len(chosen), 1), 4),
                "datasketch": round(sum(theirs[i] for i in chosen) / max(len(chosen), 1), 4),
            }
        )
    report.add("recall of planted copies", rows)


def _check_in(document: Planted) -> CheckIn:
    return CheckIn(document_id=document.document_id, text=document.text)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--n", type=int, default=100_000, help="documents in the index before anything is measured")
    parser.add_argument("--grow", type=int, nargs="+", default=None, help="sizes for `growth`")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", action="append", choices=PARTS, help="a part; may be repeated")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = Report("redis", {"n": arguments.n, "batch": BATCH, "under way": UNDER_WAY, "copies": COPIES})
    parts: dict[str, Callable[[], None]] = {
        "speed": lambda: speed(report, arguments.n, arguments.rounds),
        "growth": lambda: growth(report, arguments.grow or [arguments.n // 10, arguments.n]),
        "cluster": lambda: cluster(report, arguments.n // 4, arguments.rounds),
        "templates": lambda: templates(report, min(arguments.n, 100_000)),
        "memory": lambda: memory(report, arguments.n),
        "recall": lambda: recall(report, 2000),
    }
    for name in arguments.only or PARTS:
        print(f"measuring {name} ...", file=sys.stderr)
        parts[name]()
    report.show(as_json=arguments.json)


if __name__ == "__main__":
    main()
