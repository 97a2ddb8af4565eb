"""A worker at half of its highest rate for a long time: `make soak`, or `python -m load.soak [--minutes 30] [--json]`.

Documents of 2 KB come at half of the rate that the worker was measured with before, on one broker and one Redis. Its
resident memory, its open file descriptors and its connections are read from /proc all the time. None of them may grow:
the median of the last third of the time is compared with that of the third before. The exit code is 1 if one grew by
more than a twentieth.

It writes soak.json, soak-memory.png and soak-descriptors.png into the folder of `--out`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer

from gate.lab.draw import draw_png
from gate.lab.experiment import Plot, Series
from load.corpus import Recipe, SyntheticCorpus
from load.measure import BenchmarkReport
from tests.support.brokers import TopicFactory, kafka_server
from tests.support.gate_on_kafka import GateOnKafka, GateProcess, InputRecord
from tests.support.servers import redis_server

SAMPLES = 300  # in the whole time, at most one a second
GROWTH = 0.05
SOME_DESCRIPTORS = 3  # that come and go: a connection that is renewed, a file that is read
ESTABLISHED = "01"  # the state of a connection in /proc/PID/net/tcp


@dataclass(frozen=True, kw_only=True)
class SoakPlan:
    minutes: float = 30.0
    rate: float | None = None  # documents a second; None: half of what the worker was measured with
    measured_documents: int = 10_000  # to find that
    partitions: int = 4
    delivery: str = "at_least_once"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSample:
    """What a process holds at a moment."""

    seconds: float
    answered: int
    resident_mb: float
    descriptors: int
    connections: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Medians of the second and of the last third of the time."""

    what: str
    before: float
    after: float
    is_flat: bool


def sample_process(pid: int, *, seconds: float, answered: int) -> ProcessSample:
    proc = Path("/proc", str(pid))
    resident = next(line for line in (proc / "status").read_text().splitlines() if line.startswith("VmRSS:"))
    targets = []
    for descriptor in (proc / "fd").iterdir():
        try:
            targets.append(str(descriptor.readlink()))
        except FileNotFoundError:  # closed meanwhile
            continue
    rows = [line.split() for name in ("tcp", "tcp6") for line in (proc / "net" / name).read_text().splitlines()[1:]]
    established = {f"socket:[{row[9]}]" for row in rows if row[3] == ESTABLISHED}
    return ProcessSample(
        seconds=round(seconds, 1),
        answered=answered,
        resident_mb=int(resident.split()[1]) / 1024,
        descriptors=len(targets),
        connections=len(established.intersection(targets)),
    )


def growth(samples: Sequence[ProcessSample]) -> list[Growth]:
    third = len(samples) // 3
    rows = []
    for what, spare in (("resident_mb", 0.0), ("descriptors", SOME_DESCRIPTORS), ("connections", SOME_DESCRIPTORS)):
        values = [float(getattr(sample, what)) for sample in samples]
        before, after = statistics.median(values[third : 2 * third]), statistics.median(values[2 * third :])
        rows.append(Growth(what=what, before=before, after=after, is_flat=after <= before * (1 + GROWTH) + spare))
    return rows


def plots(samples: Sequence[ProcessSample], title: str) -> list[Plot]:
    minutes = [sample.seconds / 60 for sample in samples]

    def line(label: str, name: str) -> Series:
        return Series(label=label, x=minutes, y=[float(getattr(sample, name)) for sample in samples])

    resident = line("resident memory", "resident_mb")
    counted = (line("file descriptors", "descriptors"), line("connections", "connections"))
    return [
        Plot(
            name="soak-memory",
            title=title,
            x_label="minutes",
            y_label="MB",
            series=[resident],
            y_range=(0.0, 1.25 * max(resident.y)),
        ),
        Plot(
            name="soak-descriptors",
            title=title,
            x_label="minutes",
            y_label="open",
            series=counted,
            y_range=(0.0, 1.25 * max(counted[0].y)),
        ),
    ]


class Soak:
    """A gate of one worker, and the documents that it gets."""

    def __init__(self, gate: GateOnKafka, plan: SoakPlan) -> None:
        self._gate = gate
        self._plan = plan
        self._number = 0

    def run(self) -> tuple[float, list[ProcessSample]]:
        """The rate, and what the process held."""
        process = self._gate.start(delivery=self._plan.delivery)
        rate = self._plan.rate or self._highest_rate() / 2
        return rate, asyncio.run(self._soak(process, rate))

    def _highest_rate(self) -> float:
        count = self._plan.measured_documents
        self._gate.send(self._documents(count))
        stamps = [record.timestamp for record in self._gate.read(self._gate.topics.verdicts, count, seconds=300)]
        return float(count / max((max(stamps) - min(stamps)) / 1000, 1e-3))

    def _documents(self, count: int) -> list[InputRecord]:
        """The next ones, of a corpus of their own each time: ids and texts that did not come before."""
        self._number += 1
        corpus = SyntheticCorpus(self._number, count, Recipe())
        return [InputRecord.of(f"{self._number}-{one.document_id}", one.text) for one in corpus]

    async def _soak(self, process: GateProcess, rate: float) -> list[ProcessSample]:
        seconds = 60 * self._plan.minutes
        every = max(seconds / SAMPLES, 1.0)
        sending = asyncio.create_task(self._send(rate))
        samples: list[ProcessSample] = []
        started = time.monotonic()
        try:
            while (now := time.monotonic() - started) < seconds:
                if sending.done():
                    sending.result()
                answered = await asyncio.to_thread(_answered, process)
                samples.append(sample_process(process.process.pid, seconds=now, answered=answered))
                await asyncio.sleep(max(started + len(samples) * every - time.monotonic(), 0))
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        return samples

    async def _send(self, rate: float) -> None:
        topic, sent, started = self._gate.topics.check_ins[0], 0, time.monotonic()
        async with AIOKafkaProducer(bootstrap_servers=self._gate.brokers, linger_ms=5) as producer:
            while True:
                for record in await asyncio.to_thread(self._documents, max(int(rate * 5), 1)):
                    await producer.send(topic, record.value, key=record.key)
                    sent += 1
                    if (early := started + sent / rate - time.monotonic()) > 0:
                        await asyncio.sleep(early)


def _answered(process: GateProcess) -> int:
    lines = process.metrics().splitlines()
    return int(sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("gate_verdicts_total")))


def run(plan: SoakPlan, folder: Path) -> tuple[float, list[ProcessSample]]:
    with ExitStack() as opened:
        broker = opened.enter_context(kafka_server())
        redis = opened.enter_context(redis_server())
        topic_factory = TopicFactory(broker.brokers, "soak")
        gate = GateOnKafka.create(topic_factory, folder, redis.url, partitions=plan.partitions)
        opened.callback(gate.close)
        return Soak(gate, plan).run()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=SoakPlan.minutes)
    parser.add_argument("--rate", type=float, help="documents a second, instead of half of the highest")
    parser.add_argument("--delivery", choices=("at_least_once", "exactly_once"), default=SoakPlan.delivery)
    parser.add_argument("--out", type=Path, default=Path("soak"), help="the folder for the results")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    plan = SoakPlan(minutes=options.minutes, rate=options.rate, delivery=options.delivery)
    with tempfile.TemporaryDirectory(prefix="gate-soak-") as folder:
        rate, samples = run(plan, Path(folder))
    settings: dict[str, Any] = asdict(plan) | {"rate": round(rate), "answered": samples[-1].answered}
    grown = growth(samples)
    options.out.mkdir(parents=True, exist_ok=True)
    title = f"One worker at {rate:,.0f} documents a second"
    for plot in plots(samples, title):
        (options.out / f"{plot.name}.png").write_bytes(draw_png(plot))
    result = {"settings": settings, "samples": [asdict(sample) for sample in samples]}
    (options.out / "soak.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    report = BenchmarkReport(title, settings)
    report.add("medians of the second and the last third", [asdict(row) for row in grown])
    report.show(as_json=options.json)
    return 0 if all(row.is_flat for row in grown) else 1


if __name__ == "__main__":
    sys.exit(main())
