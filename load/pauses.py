"""How long healthy workers pause when another one dies, restarts, joins or leaves: `python -m load.pauses [--json]`.

Check-ins come at a steady rate in every partition, and workers share the partitions. Then something happens to the
last one. A pause is the longest time between two verdicts of a partition, from shortly before the event until the group
is settled, by the time stamps of the verdicts:

    healthy   of the partitions that belonged to the other workers before the event
    group     of all partitions together: nobody delivered anything
    moved     of the partitions of the worker that it happens to

`dynamic`: each worker is a process of `gate run`. `static`: each has a `kafka_group_instance_id`. `one run`: they are
the workers of one `gate run --workers N`, which restarts what dies. `--short` is for tests; all of it takes less than
four minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from gate.stream.settings import KafkaSettings
from load.measure import BenchmarkReport
from tests.support.brokers import TopicFactory, kafka_server
from tests.support.gate_on_kafka import GateOnKafka, GateProcess
from tests.support.servers import redis_server

TEXT = (
    "A keeper of bees writes down each spring when the first blossom opens and how many frames the colony covers. " * 3
)
BEFORE_SECONDS = 1.0  # of steady work before an event, which belong to its window
OVERHEAD_SECONDS = 5.0  # to start a process, and to move the partitions
SETTLE_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class PausePlan:
    """What is measured, and how fast check-ins come."""

    workers: int = 3
    partitions: int = 6
    rate: float = 10.0  # check-ins a second, in each partition
    session_seconds: float = KafkaSettings().session_timeout_seconds
    down_seconds: float = 1.0  # from the death of a worker to its restart
    scenarios: tuple[tuple[str, str], ...] = (
        ("dynamic", "dies, restarted"),
        ("dynamic", "restarts"),
        ("dynamic", "leaves"),
        ("dynamic", "joins"),
        ("dynamic", "dies"),
        ("static", "dies, restarted"),
        ("static", "restarts"),
        ("static", "leaves"),
        ("static", "joins"),
        ("static", "dies"),
        ("one run", "dies, restarted"),
    )


SHORT = PausePlan(
    workers=2,
    partitions=2,
    session_seconds=10.0,
    scenarios=(("dynamic", "dies, restarted"), ("static", "dies, restarted")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """When a verdict was delivered, and the partition of its check-in."""

    at: float
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseRow:
    membership: str
    event: str
    healthy_seconds: float | None
    group_seconds: float
    moved_seconds: float | None


def longest_gap(times: Iterable[float], start: float, end: float) -> float:
    """The longest time without any of these, between `start` and `end`."""
    inside = sorted(moment for moment in times if start < moment < end)
    return max(later - earlier for earlier, later in zip([start, *inside], [*inside, end], strict=True))


@dataclass
class Workers:
    """The workers of one membership: processes of their own, or those of one run."""

    gate: GateOnKafka
    plan: PausePlan
    membership: str
    processes: list[GateProcess] = field(default_factory=list)

    def start(self, number: int) -> None:
        settings: dict[str, Any] = {"kafka_session_timeout_seconds": self.plan.session_seconds}
        if self.membership == "static":
            settings["kafka_group_instance_id"] = f"worker-{number}"
        count = self.plan.workers if self.membership == "one run" else 1
        process = self.gate.start(wait=False, workers=count, **settings)
        self.processes[number : number + 1] = [process]

    def start_all(self) -> None:
        for number in range(1 if self.membership == "one run" else self.plan.workers):
            self.start(number)

    def owners(self) -> dict[int, tuple[int, str]]:
        """The process and the worker of each partition that has one."""
        owners: dict[int, tuple[int, str]] = {}
        for number, process in enumerate(self.processes):
            if process.process.poll() is None:
                for worker, partitions in _assigned(process.log).items():
                    owners |= dict.fromkeys(partitions, (number, worker))
        return owners

    async def settle(self, workers: int) -> None:
        """Wait until so many workers share all partitions evenly."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            owners = self.owners()
            if len(owners) == self.plan.partitions and len(set(owners.values())) == workers:
                return
            if time.monotonic() > deadline:
                raise RuntimeError(f"{workers} workers did not share the partitions: {owners}")
            await asyncio.sleep(0.1)

    def stop(self) -> None:
        for process in self.processes:
            if process.process.poll() is None:
                process.stop()


def _log_events(log: Path) -> Iterator[dict[str, Any]]:
    for line in log.read_text(errors="replace").splitlines():
        with suppress(ValueError):
            yield json.loads(line)


def _assigned(log: Path) -> dict[str, set[int]]:
    """The partitions of each worker of a process, by its log."""
    partitions: dict[str, set[int]] = defaultdict(set)
    for event in _log_events(log):
        worker = event.get("worker", "0")
        named = {int(name.rpartition("[")[2].rstrip("]")) for name in event.get("partitions", ())}
        if event["event"] == "partitions.assigned":
            partitions[worker] |= named
        elif event["event"] == "partitions.revoked":
            partitions[worker] -= named
        elif event["event"] == "process.restarted":
            partitions[worker] = set()
    return partitions


def worker_pid(log: Path, worker: str) -> int:
    """The process id of a worker, by the log of its supervisor."""
    started = ("process.started", "process.restarted")
    pids = [event["pid"] for event in _log_events(log) if event["event"] in started and event["worker"] == worker]
    return int(pids[-1])


class PauseRun:
    """A gate under steady load, and what happens to its workers."""

    def __init__(self, gate: GateOnKafka, plan: PausePlan, membership: str) -> None:
        self._gate = gate
        self._plan = plan
        self._workers = Workers(gate, plan, membership)
        self._sent = 0  # check-ins, in each partition
        self._answered = [0] * plan.partitions
        self._delivered: list[Delivered] = []

    async def run(self, events: Sequence[str]) -> list[PauseRow]:
        await asyncio.to_thread(self._workers.start_all)
        background = [asyncio.create_task(self._send()), asyncio.create_task(self._read())]
        try:
            rows = []
            for event in events:
                await self._workers.settle(self._plan.workers)
                rows.append(await self._measure(event))
            return rows
        finally:
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            await asyncio.to_thread(self._workers.stop)

    # Check-ins and verdicts

    async def _send(self) -> None:
        plan, topic = self._plan, self._gate.topics.check_ins[0]
        async with AIOKafkaProducer(bootstrap_servers=self._gate.brokers) as producer:
            started = time.monotonic()
            while True:
                for partition in range(plan.partitions):
                    event = {"document_id": f"{partition}-{self._sent}", "text": f"{self._sent} {TEXT}"}
                    await producer.send(topic, json.dumps(event).encode(), partition=partition)
                self._sent += 1
                await asyncio.sleep(max(started + self._sent / plan.rate - time.monotonic(), 0))

    async def _read(self) -> None:
        async with AIOKafkaConsumer(
            self._gate.topics.verdicts, bootstrap_servers=self._gate.brokers, auto_offset_reset="earliest"
        ) as consumer:
            async for record in consumer:
                origin = json.loads(record.value)["origin"]
                partition = origin["partition"]
                self._delivered.append(Delivered(at=record.timestamp / 1000, partition=partition))
                self._answered[partition] = max(self._answered[partition], origin["offset"] + 1)

    async def _catch_up(self) -> None:
        """Wait until all that was sent by now is answered."""
        sent, deadline = self._sent, time.monotonic() + SETTLE_SECONDS
        while min(self._answered) < sent:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{sent} check-ins were sent in each partition, and answered {self._answered}")
            await asyncio.sleep(0.1)

    # Events

    async def _measure(self, event: str) -> PauseRow:
        workers, plan = self._workers, self._plan
        await self._catch_up()
        start = time.time()
        await asyncio.sleep(BEFORE_SECONDS)
        owners = workers.owners()
        concerned = max(owners.values())
        moved = {partition for partition, owner in owners.items() if owner == concerned and event != "joins"}
        await self._cause(event, *concerned)
        goes = event in ("dies", "leaves")
        await asyncio.sleep(OVERHEAD_SECONDS + plan.session_seconds * goes)
        await workers.settle(plan.workers - goes + (event == "joins"))
        await self._catch_up()
        end = time.time()
        row = PauseRow(
            membership=workers.membership,
            event=event,
            healthy_seconds=self._longest_pause(set(owners) - moved, start, end),
            group_seconds=round(longest_gap((one.at for one in self._delivered), start, end), 2),
            moved_seconds=self._longest_pause(moved, start, end),
        )
        await self._restore(event)
        return row

    def _longest_pause(self, partitions: set[int], start: float, end: float) -> float | None:
        times: dict[int, list[float]] = {partition: [] for partition in partitions}
        for one in self._delivered:
            if one.partition in times:
                times[one.partition].append(one.at)
        return max((round(longest_gap(each, start, end), 2) for each in times.values()), default=None)

    async def _cause(self, event: str, number: int, worker: str) -> None:
        """What happens to a worker, the last one of all; where one joins, it comes after it."""
        workers, process = self._workers, self._workers.processes[number]
        if workers.membership == "one run":
            os.kill(worker_pid(process.log, worker), signal.SIGKILL)
        elif event == "joins":
            workers.start(number + 1)
        elif event == "restarts":
            await asyncio.to_thread(process.stop)
            workers.start(number)
        elif event == "leaves":
            await asyncio.to_thread(process.stop)
        else:
            process.kill()
            if event == "dies, restarted":
                await asyncio.sleep(self._plan.down_seconds)
                workers.start(number)

    async def _restore(self, event: str) -> None:
        """Have as many workers as before."""
        workers = self._workers
        if event == "joins":
            await asyncio.to_thread(workers.processes.pop().stop)
        elif event in ("dies", "leaves"):
            workers.start(self._plan.workers - 1)


def run(plan: PausePlan, folder: Path) -> list[PauseRow]:
    """All events, on servers of their own."""
    rows = []
    with ExitStack() as opened:
        broker = opened.enter_context(kafka_server())
        redis = opened.enter_context(redis_server())
        for membership in dict.fromkeys(membership for membership, _ in plan.scenarios):
            topic_factory = TopicFactory(broker.brokers, "pauses")
            place = folder / membership.replace(" ", "-")
            gate = GateOnKafka.create(topic_factory, place, redis.url, partitions=plan.partitions)
            opened.callback(gate.close)
            events = [event for of, event in plan.scenarios if of == membership]
            rows += asyncio.run(PauseRun(gate, plan, membership).run(events))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="two workers, two events")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    plan = SHORT if options.short else PausePlan()
    settings = {key: value for key, value in asdict(plan).items() if key != "scenarios"}
    report = BenchmarkReport("Pauses of workers", settings)
    with tempfile.TemporaryDirectory(prefix="gate-pauses-") as folder:
        rows = run(plan, Path(folder))
    report.add("longest pauses, in seconds", [asdict(row) for row in rows])
    report.show(as_json=options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
