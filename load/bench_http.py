"""CPU of the service for each request, beside a bare endpoint: `python -m load.bench_http [--requests 3000] [--json]`.

Each contender is a process of its own. In each round all of them answer the same requests of 2 KB over 1, 32 and 256
connections, one after the other, in an order that turns. What counts is the CPU of the server's processes, not of the
client; a share of 0.5 means that the bare endpoint, which parses the same body, takes half as much. Batching is off
where a batch has one document.

Latency is measured by an open loop at half the highest throughput: requests are due at fixed times, however slow the
server is, and latency is the time from when a request was due to when its answer was read.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import msgspec
import numpy as np

from load.corpus import Recipe, SyntheticCorpus
from load.measure import BenchmarkReport, target_row
from tests.support.gate_service import service_process
from tests.support.servers import free_ports, redis_server, wait_until

CONNECTIONS = (1, 32, 256)
OPERATIONS = ("previews", "check-ins")
TICKS = os.sysconf("SC_CLK_TCK")
UNBATCHED = ("--set", "limits.batch_documents=1")
TARGETS = {"simhash, memory": 0.4, "standard, Redis": 0.25}  # of the bare endpoint, over TARGET_FROM connections
TARGET_FROM = 32


@dataclass(frozen=True, slots=True)
class ServerUnderLoad:
    """A contender that runs."""

    name: str
    host: str
    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """Of the process and its children, since they started."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return sum(map(_cpu_seconds, [self.pid, *map(int, children)]))


@dataclass(slots=True)
class HttpMeasurement:
    """What the rounds of one contender, operation and number of connections cost."""

    cpu_microseconds: list[float] = field(default_factory=list)
    per_second: list[float] = field(default_factory=list)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def request_bytes(operation: str, document_id: str, text: str) -> bytes:
    body = msgspec.json.encode({"document_id": document_id, "text": text})
    head = f"POST /v1/{operation} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    return f"{head}{len(body)}\r\n\r\n".encode() + body


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> None:
    """Send a request and read its answer, which has to be a verdict."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode("latin-1"))
    lower = head.lower()
    start = lower.index(b"content-length:") + len(b"content-length:")
    await reader.readexactly(int(lower[start : lower.index(b"\r", start)]))


async def send_all(server: ServerUnderLoad, requests: Sequence[bytes], connections: int) -> float:
    """Send requests over so many connections, each as soon as the one before it is answered; the seconds it took."""
    waiting = iter(requests)

    async def send_next() -> None:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        for request in waiting:
            await exchange(reader, writer, request)
        writer.close()

    begun = time.perf_counter()
    await asyncio.gather(*(send_next() for _ in range(connections)))
    return time.perf_counter() - begun


async def send_at_rate(server: ServerUnderLoad, requests: Sequence[bytes], rate: float) -> list[float]:
    """Send requests at fixed times; the seconds from when each was due to when its answer was read."""
    begun = time.perf_counter() + 0.1
    due = iter([(begun + number / rate, request) for number, request in enumerate(requests)])
    took: list[float] = []

    async def send_next() -> None:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        for at, request in due:
            await asyncio.sleep(max(0.0, at - time.perf_counter()))
            await exchange(reader, writer, request)
            took.append(time.perf_counter() - at)
        writer.close()

    await asyncio.gather(*(send_next() for _ in range(64)))
    return took


@contextmanager
def bare_server(folder: Path) -> Iterator[ServerUnderLoad]:
    [port] = free_ports()
    with (folder / "bare.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "load.bare_http", "--port", str(port)], stdout=log, stderr=log
        )
    try:
        wait_until(lambda: _answers(port), "the bare endpoint does not answer")
        yield ServerUnderLoad("bare endpoint", "127.0.0.1", port, process.pid)
    finally:
        process.terminate()
        process.wait(30)


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@contextmanager
def gate_server(name: str, folder: Path, *options: str) -> Iterator[ServerUnderLoad]:
    profile = options[options.index("--profile") + 1]
    path = folder / f"{name}.toml"  # an index of its own
    path.write_text(f'base = "{profile}"\nname = "b{os.urandom(6).hex()}"\n')
    options = tuple(str(path) if option == profile else option for option in options)
    with service_process(folder / f"{name}.log", *options) as service:
        parts = urlsplit(service.url)
        yield ServerUnderLoad(name, parts.hostname or "", parts.port or 0, service.process.pid)


def measured(
    servers: Sequence[ServerUnderLoad], texts: Sequence[str], *, connections: Sequence[int], rounds: int
) -> dict[tuple[str, str, int], HttpMeasurement]:
    """All contenders in each round; round 0 warms them up."""
    results: dict[tuple[str, str, int], HttpMeasurement] = {}
    for number in range(rounds + 1):
        for operation in OPERATIONS:
            for count in connections:
                requests = [
                    request_bytes(operation, f"{number}/{count}/{n}", f"{number} {count} {text}")
                    for n, text in enumerate(texts)
                ]
                turn = number % len(servers)
                for server in (*servers[turn:], *servers[:turn]):
                    before = server.cpu_seconds()
                    seconds = asyncio.run(send_all(server, requests, count))
                    cpu = server.cpu_seconds() - before
                    if number:
                        result = results.setdefault((server.name, operation, count), HttpMeasurement())
                        result.cpu_microseconds.append(1e6 * cpu / len(requests))
                        result.per_second.append(len(requests) / seconds)
    return results


def run(*, requests: int, rounds: int, connections: Sequence[int] = CONNECTIONS, redis: bool = True) -> BenchmarkReport:
    """Measure everything. `redis`: with the contenders that need one."""
    texts = [one.text for one in SyntheticCorpus(1, requests, Recipe())]
    report = BenchmarkReport(
        "The service beside a bare endpoint", {"requests": requests, "rounds": rounds, "text bytes": len(texts[0])}
    )
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        contenders: dict[str, tuple[str, ...]] = {"simhash, memory": ("--profile", "simhash")}
        if redis:
            url = stack.enter_context(redis_server()).url
            contenders["standard, Redis"] = ("--profile", "standard", "--index", url)
        bare = stack.enter_context(bare_server(folder))
        servers = [bare]
        for name, options in contenders.items():
            servers.append(stack.enter_context(gate_server(name, folder, *options)))
            unbatched = gate_server(f"{name}, unbatched", folder, *options, *UNBATCHED)
            servers.append(stack.enter_context(unbatched))
        results = measured(servers, texts, connections=connections, rounds=rounds)
        report.add("CPU per request", cost_rows(results, bare.name))
        report.add("latency at half load", latency_rows(servers, texts, results))
    report.add("targets", target_rows(results, bare.name, contenders))
    return report


def shares(results: dict[tuple[str, str, int], HttpMeasurement], bare: str, key: tuple[str, str, int]) -> float:
    """The CPU of the bare endpoint of that of a contender, by neighbours in time."""
    _, operation, count = key
    base = results[bare, operation, count].cpu_microseconds
    own = results[key].cpu_microseconds
    return statistics.median(one / max(other, 1e-9) for one, other in zip(base, own, strict=True))


def cost_rows(results: dict[tuple[str, str, int], HttpMeasurement], bare: str) -> list[dict[str, object]]:
    return [
        {
            "operation": key[1],
            "connections": key[2],
            "server": key[0],
            "CPU us": round(statistics.median(result.cpu_microseconds), 1),
            "share of bare": round(shares(results, bare, key), 3),
            "requests/s": round(statistics.median(result.per_second)),
        }
        for key, result in sorted(results.items(), key=lambda item: (item[0][1], item[0][2]))
    ]


def latency_rows(
    servers: Sequence[ServerUnderLoad], texts: Sequence[str], results: dict[tuple[str, str, int], HttpMeasurement]
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for server in servers:
        most = max(
            statistics.median(result.per_second)
            for key, result in results.items()
            if key[0] == server.name and key[1] == "check-ins"
        )
        requests = [request_bytes("check-ins", f"late/{n}", f"late {text}") for n, text in enumerate(texts)]
        took = 1000 * np.array(asyncio.run(send_at_rate(server, requests, most / 2)))
        p50, p99 = np.percentile(took, [50, 99])
        rows.append(
            {"server": server.name, "requests/s": round(most / 2), "p50 ms": round(p50, 2), "p99 ms": round(p99, 2)}
        )
    return rows


def target_rows(
    results: dict[tuple[str, str, int], HttpMeasurement], bare: str, contenders: Collection[str]
) -> list[dict[str, object]]:
    return [
        target_row(
            f"{key[0]}: {key[1]}, {key[2]} connections, share of bare",
            shares(results, bare, key),
            at_least=TARGETS[key[0]],
        )
        for key in sorted(results)
        if key[0] in contenders and key[2] >= TARGET_FROM
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=3000, help="of each contender, operation and round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-redis", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = run(requests=arguments.requests, rounds=arguments.rounds, redis=not arguments.no_redis)
    report.show(as_json=arguments.json)


if __name__ == "__main__":
    main()
