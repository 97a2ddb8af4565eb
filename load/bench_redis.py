"""The gate on Redis beside its peers: `python -m load.bench_redis [--n 1000000] [--json]`.

Signatures are drawn at random, so that only the index is measured: every contender gets batches of 256 signed
documents, one in ten a near copy of an earlier one, and says of each whether something like it came before. The gate
runs the whole protocol, to the verdicts, with two batches in flight as a service has them; `redis-py bands` only reads
and appends the four blocks of each fingerprint in a pipeline, verifies nothing and decides nothing. datasketch stores
and looks up MinHash signatures as its documentation proposes, one document at a time, and in its buffered session for
inserts; it starts from an empty index, which is to its advantage. Large indexes are not claimed but written as claims
would have left them (`load.bench_redis_stock`), but for `memory` and `templates`.

Parts: `speed`, `growth`, `cluster`, `templates`, `memory`, `recall`; all by default.
"""

from __future__ import annotations

import argparse
import gc
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

from gate.api import Gate
from gate.model import CheckIn
from load.bench_redis_contenders import (
    BATCH,
    BATCHES_IN_FLIGHT,
    COPIES,
    PERMUTATIONS,
    Bands,
    DatasketchOnRedis,
    GateOnRedis,
)
from load.corpus import Kind, PlantedDocument, Recipe, SyntheticCorpus
from load.measure import BenchmarkReport, Contender, Step, interleave
from tests.support.servers import RedisServer, redis_cluster, redis_server

PROFILES = ("simhash", "standard")
PARTS = ("speed", "growth", "cluster", "templates", "memory", "recall")


def stepping(contender: GateOnRedis | Bands, batches: int, rounds: int) -> Step:
    """So many batches a round, drawn before the clock runs."""
    prepared = [[contender.drawn.batch() for _ in range(batches)] for _ in range(rounds + 1)]

    def step(number: int) -> int:
        contender.take(prepared[number])
        return batches * BATCH

    return step


def server_cpu(servers: Sequence[RedisServer]) -> float:
    """CPU seconds of the servers."""
    total = 0.0
    for server in servers:
        with server.client() as client:
            cpu = client.info("cpu")
            total += cpu["used_cpu_user"] + cpu["used_cpu_sys"]
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


def _watched(contender: Contender, servers: Sequence[RedisServer], worked: list[tuple[float, float]]) -> Step:
    """The same step; the time of client and server for a unit of it is recorded, in microseconds."""

    def step(number: int) -> int:
        client, served = time.process_time(), server_cpu(servers)
        units = contender.step(number)
        scale = 1e6 / units
        worked.append(((time.process_time() - client) * scale, (server_cpu(servers) - served) * scale))
        return units

    return step


def met(ratio: float, target: float) -> str:
    return "yes" if ratio >= target else "no"


def speed(report: BenchmarkReport, count: int, rounds: int) -> None:
    """Check-ins at `count` documents, beside the peers."""
    with redis_server() as server:
        light, full = (GateOnRedis(server.url, profile) for profile in ("simhash", "standard"))
        bands = Bands(server, "bands")
        plain, buffered = (
            DatasketchOnRedis(server, name, buffered=name == b"session") for name in (b"plain", b"session")
        )
        for contender in (light, full, bands):
            contender.stock(count)
        few = BATCH // 4
        contenders = [
            Contender("gate simhash", stepping(light, 8, rounds)),
            Contender("gate standard", stepping(full, 4, rounds)),
            Contender("redis-py bands", stepping(bands, 4, rounds)),
            Contender("datasketch", lambda _: plain.take(few)),
            Contender("datasketch session", lambda _: buffered.take(few)),
        ]
        worked: dict[str, list[tuple[float, float]]] = {}
        watched = [Contender(c.name, _watched(c, [server], worked.setdefault(c.name, []))) for c in contenders]
        timings = {t.name: t for t in interleave(watched, rounds=rounds, reference="gate simhash")}
        cost = {name: timing.microseconds for name, timing in timings.items()}
        report.add(
            f"check-ins at {count:,} documents",
            [
                {
                    "contender": name,
                    "us each": round(us, 1),
                    "documents/s": round(1e6 / us),
                    "client us": round(statistics.median(client for client, _ in worked[name][1:]), 1),
                    "server us": round(statistics.median(served for _, served in worked[name][1:]), 1),
                }
                for name, us in cost.items()
            ],
        )
        targets = [
            ("simhash", "redis-py bands", 4.0),
            ("simhash", "datasketch", 100.0),
            ("simhash", "datasketch session", 30.0),
            ("standard", "datasketch", 20.0),
        ]
        work = {name: sum(map(statistics.median, zip(*costs[1:], strict=True))) for name, costs in worked.items()}
        rows = []
        for profile, peer, target in targets:
            ours = f"gate {profile}"
            ratio = timings[ours].speed / timings[peer].speed
            rows.append(
                {
                    "ratio": f"{profile} to {peer}",
                    "times": round(ratio, 1),
                    "by work of client and server": round(work[peer] / work[ours], 1),
                    "target": target,
                    "met": met(ratio, target),
                }
            )
        report.add("ratios", rows)
        light.close()
        full.close()


def growth(report: BenchmarkReport, profiles: Sequence[str], sizes: Sequence[int]) -> None:
    """Work of client and server per check-in as an index grows."""
    rows: list[dict[str, Any]] = []
    for profile, size in product(profiles, sizes):
        with redis_server() as server:
            ours = GateOnRedis(server.url, profile)
            ours.stock(size)
            ours.fill(16 * BATCH)  # what the hashes were made for is not what they grow by
            batches = [ours.drawn.batch() for _ in range(64)]
            gc.freeze()
            cost = spent([server], partial(ours.take, batches), 64 * BATCH)
            rows.append({"profile": profile, "documents": size, **cost})
            print(rows[-1], file=sys.stderr)
            ours.close()
    report.add("work per check-in as the index grows", rows)


def cluster(report: BenchmarkReport, count: int, rounds: int) -> None:
    """Three masters beside one server, on the same cores."""
    rows = []
    for profile in ("simhash", "standard"):
        with redis_server() as server, redis_cluster(3) as masters:
            one, three = (GateOnRedis(url, profile) for url in (server.url, masters.url))
            for contender in (one, three):
                contender.stock(count)
            worked: dict[str, list[tuple[float, float]]] = {"one": [], "three": []}
            contenders = [
                Contender(name, _watched(Contender(name, stepping(ours, 8, rounds)), servers, worked[name]))
                for name, ours, servers in (("one", one, [server]), ("three", three, masters.servers))
            ]
            first, second = interleave(contenders, rounds=rounds, reference="one")
            cost = {
                name: [statistics.median(side) for side in zip(*costs[1:], strict=True)]
                for name, costs in worked.items()
            }
            rows.append(
                {
                    "profile": profile,
                    "one: us each": round(first.microseconds, 1),
                    "client, server": "{:.0f}, {:.0f}".format(*cost["one"]),
                    "three: us each": round(second.microseconds, 1),
                    "client, servers": "{:.0f}, {:.0f}".format(*cost["three"]),
                    "three of one": round(second.speed, 2),
                    "by work": round(sum(cost["one"]) / sum(cost["three"]), 2),
                    "target": 0.75,
                    "met": met(second.speed, 0.75),
                }
            )
            one.close()
            three.close()
    report.add(f"a Cluster of three masters, {count:,} documents", rows)


def templates(report: BenchmarkReport, count: int) -> None:
    """A stream of letters from one template: they share a third of their features, and are not alike."""
    rows: list[dict[str, Any]] = []
    for name, shared in (("unrelated", 0.0), ("templates", 0.35)):
        with redis_server() as server:
            ours = GateOnRedis(server.url, "standard", shared=shared)
            ours.fill(count)
            batches = [ours.drawn.batch() for _ in range(16)]
            cost = spent([server], partial(ours.take, batches), 16 * BATCH)
            sizes = ours.runner.run(ours.store.info())
            rows.append({"stream": name, **cost, "largest bucket": sizes["largest_bucket"]})
            ours.close()
    slower = rows[1]["us each"] / rows[0]["us each"]
    rows[1] |= {"slower": round(slower, 2), "target": 3.0, "met": "yes" if slower <= 3.0 else "no"}
    report.add(f"after {count:,} documents of one template", rows)


def memory(report: BenchmarkReport, count: int) -> None:
    """Bytes a document, by part, with ids of 16 characters."""
    rows: list[dict[str, Any]] = []
    for profile, parts, target in (("simhash", ("buckets", "entries"), 200), ("standard", (), 700)):
        with redis_server() as server:
            ours = GateOnRedis(server.url, profile)
            before = used_memory(server)
            ours.fill(count)
            info = ours.runner.run(ours.store.info())
            each = {part: info[f"bytes_{part}"] / info["documents"] for part in ("buckets", "entries", "documents")}
            whole = (used_memory(server) - before) / info["documents"]
            counted = sum(each[part] for part in parts) if parts else whole
            rows.append(
                {
                    "index": profile,
                    "documents": info["documents"],
                    **{f"{part} B": round(size) for part, size in each.items()},
                    "all in": round(whole),
                    "counted": round(counted),
                    "target": target,
                    "met": "yes" if counted <= target else "no",
                }
            )
            ours.close()
    with redis_server() as server:
        before, peer = used_memory(server), DatasketchOnRedis(server, b"weighed", buffered=True)
        peer.take(4096)
        each_of_theirs = (used_memory(server) - before) / 4096
    rows.append({"index": "datasketch", "documents": 4096, "all in": round(each_of_theirs)})
    rows[1]["of datasketch"] = round(rows[1]["all in"] / each_of_theirs, 3)
    report.add("bytes a document (simhash: buckets and registry are counted; standard: everything)", rows)


def recall(report: BenchmarkReport, count: int) -> None:
    """Of planted copies, by their exact resemblance: `standard` on Redis and datasketch on Redis."""
    from datasketch import MinHash, MinHashLSH

    documents = list(
        SyntheticCorpus(5, count, Recipe(copies=0.3, exact=0.0, parts=0.0, edit_shares=(0.01, 0.03, 0.05, 0.08)))
    )
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


def _check_in(document: PlantedDocument) -> CheckIn:
    return CheckIn(document_id=document.document_id, text=document.text)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--n", type=int, default=100_000, help="documents in the index before anything is measured")
    parser.add_argument("--grow", type=int, nargs="+", default=None, help="sizes for `growth`")
    parser.add_argument("--profile", action="append", choices=PROFILES, help="of `growth`; both by default")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", action="append", choices=PARTS, help="a part; may be repeated")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = BenchmarkReport(
        "redis", {"n": arguments.n, "batch": BATCH, "in flight": BATCHES_IN_FLIGHT, "copies": COPIES}
    )
    parts: dict[str, Callable[[], None]] = {
        "speed": lambda: speed(report, arguments.n, arguments.rounds),
        "growth": lambda: growth(
            report, arguments.profile or PROFILES, arguments.grow or [arguments.n // 10, arguments.n]
        ),
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
