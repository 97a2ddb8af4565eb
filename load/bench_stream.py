"""The gate on a topic beside the least that a worker can do there: `python -m load.bench_stream [--documents 10000]`.

One broker, one Redis, documents of 2 KB, one worker. In each round every contender answers the same documents, from
topics of its own that are filled before. Throughput is measured by the timestamps of its answers, from the first to the
last, so that starting does not count. CPU is that of the worker's process.

Latency is measured from outside, by an open-loop generator: documents are due at fixed times, however slow the worker
is, and latency is the time from when a document was due to when its answer is read. The bare loop gets the same rates.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from load.corpus import Recipe, SyntheticCorpus
from load.measure import BenchmarkReport, target_row
from tests.support.brokers import TopicFactory, kafka_server
from tests.support.gate_on_kafka import GateOnKafka, InputRecord
from tests.support.servers import redis_server

RATE_SHARES = (0.25, 0.5, 0.75)  # of the highest throughput
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class StreamContender:
    name: str
    profile: str | None  # None: the bare loop
    delivery: str = "at_least_once"


BARE = StreamContender("bare loop", None)
CONTENDERS = (
    BARE,
    StreamContender("simhash", "simhash"),
    StreamContender("standard", "standard"),
    StreamContender("standard, exactly once", "standard", "exactly_once"),
)


@dataclass(slots=True)
class StreamMeasurement:
    documents_per_second: float
    cpu_microseconds: float
    stages: dict[str, float]


class StreamBenchmark:
    def __init__(self, brokers: str, redis: str, folder: Path, documents: int, partitions: int) -> None:
        self._brokers = brokers
        self._redis = redis
        self._folder = folder
        self._partitions = partitions
        corpus = SyntheticCorpus(1, documents, Recipe())
        self.documents = [InputRecord.of(one.document_id, one.text) for one in corpus]

    def create_gate(self, name: str) -> GateOnKafka:
        topic_factory = TopicFactory(self._brokers, name)
        return GateOnKafka.create(
            topic_factory, self._folder / topic_factory.name("logs"), self._redis, partitions=self._partitions
        )

    @contextmanager
    def running(self, contender: StreamContender, gate: GateOnKafka) -> Iterator[tuple[int, Any]]:
        """The process id of a contender; its `GateProcess`, unless it is the bare loop."""
        if contender.profile is not None:
            # The index is named by its profile: a profile of its own gives it an index of its own.
            profile = gate.folder / "profile.toml"
            gate.folder.mkdir(parents=True, exist_ok=True)
            name = f"{contender.profile}-{os.urandom(4).hex()}"
            profile.write_text(f'base = "{contender.profile}"\nname = "{name}"\n')
            worker = gate.start(profile=str(profile), delivery=contender.delivery)
            try:
                yield worker.process.pid, worker
            finally:
                worker.stop()
            return
        command = [sys.executable, "-m", "load.bare", "--brokers", gate.brokers, "--group", gate.group]
        command += ["--check-ins", gate.topics.check_ins[0], "--verdicts", gate.topics.verdicts]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process.pid, None
        finally:
            process.terminate()
            process.wait(30)

    def throughput(self, contender: StreamContender) -> StreamMeasurement:
        gate = self.create_gate("throughput")
        gate.send(self.documents)
        count = len(self.documents)
        with self.running(contender, gate) as (pid, worker):
            cpu_before = _cpu_seconds(pid)
            found = gate.read(gate.topics.verdicts, count, seconds=300)
            cpu = _cpu_seconds(pid) - cpu_before
            stages = _stages(worker.metrics(), count) if worker is not None else {}
        first = min(record.timestamp for record in found)
        last = max(record.timestamp for record in found)
        return StreamMeasurement(count / max((last - first) / 1000, 1e-3), 1e6 * cpu / count, stages)

    def latency(self, contender: StreamContender, rate: float, seconds: float) -> list[float]:
        """Milliseconds from when a document was due to when its answer was read."""
        gate = self.create_gate("latency")
        with self.running(contender, gate):
            return asyncio.run(self._latency(gate, rate, seconds))

    async def _latency(self, gate: GateOnKafka, rate: float, seconds: float) -> list[float]:
        producer = AIOKafkaProducer(bootstrap_servers=gate.brokers)
        reader = AIOKafkaConsumer(gate.topics.verdicts, bootstrap_servers=gate.brokers, auto_offset_reset="earliest")
        await producer.start()
        await reader.start()
        topic = gate.topics.check_ins[0]
        try:
            for one in self.documents[-20:]:  # connections are open and code is loaded when these are answered
                await producer.send_and_wait(topic, one.value, key=b"warm" + (one.key or b""))
            warm = 0
            while warm < 20:
                warm += sum(map(len, (await reader.getmany(timeout_ms=200)).values()))
            sent: dict[bytes, float] = {}
            done: list[float] = []
            count = min(int(rate * seconds), len(self.documents) - 20)
            reading = asyncio.create_task(self._read(reader, sent, done, count))
            begun = time.monotonic() + 0.2
            for number, one in enumerate(self.documents[:count]):
                due = begun + number / rate
                if (wait := due - time.monotonic()) > 0:
                    await asyncio.sleep(wait)
                sent[one.key or b""] = due
                await producer.send(topic, one.value, key=one.key)
            async with asyncio.timeout(60):
                await reading
            return done
        finally:
            await producer.stop()
            await reader.stop()

    async def _read(self, reader: Any, sent: dict[bytes, float], done: list[float], count: int) -> None:
        while len(done) < count:
            found = await reader.getmany(timeout_ms=200)
            now = time.monotonic()
            done += [1000 * (now - sent[record.key]) for records in found.values() for record in records]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _stages(metrics: str, documents: int) -> dict[str, float]:
    """Microseconds a document in each stage, by the worker's own clock."""
    found = re.findall(r'gate_stage_duration_seconds_sum\{stage="(\w+)"\} (\S+)', metrics)
    return {stage: 1e6 * float(seconds) / documents for stage, seconds in found}


def measure_throughput(benchmark: StreamBenchmark, rounds: int, report: BenchmarkReport) -> dict[str, float]:
    found: dict[str, list[StreamMeasurement]] = {one.name: [] for one in CONTENDERS}
    for number in range(rounds):
        in_turn = CONTENDERS[number % len(CONTENDERS) :] + CONTENDERS[: number % len(CONTENDERS)]
        for contender in in_turn:
            found[contender.name].append(benchmark.throughput(contender))
    rows: list[dict[str, Any]] = []
    for name, measured in found.items():
        ratios = [
            one.documents_per_second / bare.documents_per_second
            for one, bare in zip(measured, found[BARE.name], strict=True)
        ]
        rows.append(
            {
                "contender": name,
                "documents/s": statistics.median(one.documents_per_second for one in measured),
                "CPU us": statistics.median(one.cpu_microseconds for one in measured),
                "of the bare loop": statistics.median(ratios),
            }
        )
    report.add("throughput", rows)
    report.add(
        "where the time goes, us a document",
        [
            {
                "contender": name,
                **{key: statistics.median(one.stages[key] for one in measured) for key in measured[0].stages},
            }
            for name, measured in found.items()
            if measured[0].stages
        ],
    )
    by_name = {row["contender"]: row for row in rows}
    once = [
        one.documents_per_second / other.documents_per_second
        for one, other in zip(found["standard, exactly once"], found["standard"], strict=True)
    ]
    report.add(
        "targets",
        [
            target_row("simhash of the bare loop", by_name["simhash"]["of the bare loop"], at_least=0.5),
            target_row("standard of the bare loop", by_name["standard"]["of the bare loop"], at_least=0.3),
            target_row("exactly once of at least once", statistics.median(once)),
        ],
    )
    return {str(name): float(row["documents/s"]) for name, row in by_name.items()}


def measure_latency(
    benchmark: StreamBenchmark, fastest: dict[str, float], seconds: float, report: BenchmarkReport
) -> None:
    rows, targets = [], []
    for contender in CONTENDERS[1:3]:
        for share in RATE_SHARES:
            rate = share * fastest[contender.name]
            found = {one.name: benchmark.latency(one, rate, seconds) for one in (BARE, contender)}
            for name, measured in found.items():
                p50, p99, p999 = np.percentile(measured, (50, 99, 99.9))
                rows.append(
                    {
                        "contender": name,
                        "rate of": contender.name,
                        "share": share,
                        "documents/s": round(rate),
                        "p50 ms": float(p50),
                        "p99 ms": float(p99),
                        "p99.9 ms": float(p999),
                    }
                )
            if share == 0.5:
                ratio = float(np.percentile(found[contender.name], 99) / np.percentile(found[BARE.name], 99))
                targets.append(
                    target_row(f"p99 of {contender.name} at half its maximum, of the bare loop's", ratio, at_most=3)
                )
    report.add("latency from due to read", rows)
    report.tables["targets"] += targets


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each latency measurement; 0 leaves them out")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    report = BenchmarkReport(
        "The gate on a topic", {key: value for key, value in vars(options).items() if key != "json"}
    )
    with ExitStack() as opened:
        broker = opened.enter_context(kafka_server())
        redis = opened.enter_context(redis_server())
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="gate-stream-")))
        benchmark = StreamBenchmark(broker.brokers, redis.url, folder, options.documents, options.partitions)
        fastest = measure_throughput(benchmark, options.rounds, report)
        if options.seconds:
            measure_latency(benchmark, fastest, options.seconds, report)
    report.show(as_json=options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
