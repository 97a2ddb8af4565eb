"""What `redis_wait_replicas` costs, and what a failover loses without it: `python -m load.bench_wait [--seconds 5]`.

    cost        batches on a master with a replica, with the setting and without it in turn, until the time is up:
                check-ins per second, and the time of a batch
    failover    the replica of a master under Sentinels is cut off half a second before the master dies: what documents
                had passed and then lack, and how many copies of them would pass (columns as in `load.redis_faults`)

With `--json` one object is printed. At the default it takes about a minute.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import Any

import msgspec
import numpy as np

from gate.api import Gate
from gate.core.builtin_profiles import BUILT_IN
from gate.index.redis.url import RedisSettings
from load.feed import SETTINGS, stream
from load.measure import BenchmarkReport
from load.redis_faults import PROFILE, WAITING, measure, watched
from tests.support.servers import is_in_sync, redis_server, wait_until

SIZES = (16, 256)
SHOWN = ("passed", "longest_wait", "retries", "lost", "oldest_seconds", "let_through", "wrong", "changed")


def cost(seconds: float) -> list[dict[str, Any]]:
    """Rows by batch size and setting; each pair of gates takes turns on the same servers."""
    with ExitStack() as stack:
        master = stack.enter_context(redis_server())
        replica = stack.enter_context(redis_server("--replicaof", "127.0.0.1", str(master.port)))
        wait_until(partial(is_in_sync, replica), "the replica did not synchronise")
        return [row for size in SIZES for row in _cost_of_size(master.url, size, seconds)]


def _cost_of_size(url: str, size: int, seconds: float) -> list[dict[str, Any]]:
    profile = BUILT_IN[PROFILE]
    times: dict[int, list[float]] = {0: [], 1: []}
    with ExitStack() as stack:
        gates, feeds = {}, {}
        for replicas in times:
            own = msgspec.structs.replace(profile, name=f"wait-{size}-{replicas}")
            settings = RedisSettings(wait_replicas=replicas)
            gates[replicas] = stack.enter_context(Gate(own, index=url, redis=settings))
            feeds[replicas] = stream(size)
            gates[replicas].check_in(list(islice(feeds[replicas], size)))  # it connects, and loads the scripts
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            for replicas, gate in gates.items():
                signed = gate.signer.sign(list(islice(feeds[replicas], size)))
                begun = time.perf_counter()
                gate.check_in_signed(signed)
                times[replicas].append(time.perf_counter() - begun)
    return [
        {
            "batch": size,
            "redis_wait_replicas": replicas,
            "batches": len(taken),
            "check-ins/s": round(size * len(taken) / sum(taken)),
            "median ms": round(1000 * float(np.median(taken)), 2),
            "p99 ms": round(1000 * float(np.percentile(taken, 99)), 2),
        }
        for replicas, taken in times.items()
    ]


def failover() -> list[dict[str, Any]]:
    rows = []
    for settings in (SETTINGS, WAITING):
        with watched(behind_seconds=0.5, settings=settings) as case:
            damage = asdict(measure("failover", case, may_lose=not settings.wait_replicas))
        rows.append({"redis_wait_replicas": settings.wait_replicas} | {name: damage[name] for name in SHOWN})
    return rows


def report(seconds: float) -> BenchmarkReport:
    made = BenchmarkReport("Waiting for replicas", {"profile": PROFILE, "seconds": seconds})
    made.add("cost", cost(seconds))
    made.add("failover", failover())
    return made


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m load.bench_wait", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seconds", type=float, default=10.0, help="for each size of batch")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report(options.seconds).show(as_json=options.json)


if __name__ == "__main__":
    main()
