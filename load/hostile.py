"""Malformed and malicious records: fuzzed JSON, wrong types, huge fields, bytes that are no text, keys that are no id,
headers that fill the topics of the answers, texts that are slow to normalise, batches that are damaged.

`python -m load.hostile [--events 100000] [--delivery both] [--json]` sends them through a gate on a real broker and
compares what comes out with what went in. It must not happen

    that a record has neither a verdict nor a dead letter                    lost
    that answers are sent again and again, because one of them does not fit  copies, over MOST_COPIES for each answer
    that the gate ends by itself                                             crashes

The topics of the answers take records of VERDICT_BYTES and DEAD_LETTER_BYTES at most. The exit code is 1 if any of it
happened. Beside that: the time, and the most memory that the process of the gate had.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gate.stream.settings import Topics
from load.hostile_records import WORDS, hostile_batches, hostile_records
from load.measure import BenchmarkReport
from tests.support.brokers import KafkaServer, TopicFactory, kafka_server
from tests.support.gate_on_kafka import GateOnKafka, InputRecord
from tests.support.raw_batches import damage_on_disk, send_raw_batches

SENT_AT_ONCE = 2000
BATCHES = 1000  # events, for each set of batches that no ordinary client sends
VERDICT_BYTES = 20_000
DEAD_LETTER_BYTES = 300_000
TRACE_HEADER_BYTES = 40_000  # of the gate: more than a verdict may have
MOST_COPIES = 4.0
WAIT_SECONDS = 1800.0
DELIVERIES = ("at_least_once", "exactly_once")


@dataclass(slots=True, kw_only=True)
class HostileTally:
    """What was sent, and what came out."""

    delivery: str
    records: int = 0
    deletes: int = 0
    judged: int = 0
    dead_lettered: int = 0
    lost: int = 0
    copies: float = 0.0  # sent for each answer
    crashes: int = 0
    peak_mb: int = 0
    seconds: float = 0.0

    @property
    def is_correct(self) -> bool:
        return not self.lost and not self.crashes and self.copies <= MOST_COPIES


class HostileRun:
    """One run on topics of its own."""

    def __init__(self, server: KafkaServer, folder: Path, delivery: str) -> None:
        self._server = server
        factory = TopicFactory(server.brokers, "hostile")
        topics = Topics(
            check_ins=(factory.create("in", partitions=3),),
            verdicts=factory.create("verdicts", partitions=3, max_message_bytes=str(VERDICT_BYTES)),
            dead_letters=factory.create("dead", max_message_bytes=str(DEAD_LETTER_BYTES)),
        )
        self.gate = GateOnKafka(server.brokers, topics, factory.group(), folder, "memory")
        self.tally = HostileTally(delivery=delivery)
        self.reasons: Counter[str] = Counter()

    def run(self, events: int, *, seed: int) -> HostileTally:
        try:
            self._send(events, seed)
            started = time.monotonic()
            process = self.gate.start(delivery=self.tally.delivery, trace_header_bytes=TRACE_HEADER_BYTES)
            self.gate.wait_committed(self.tally.records, seconds=WAIT_SECONDS)
            self.tally.seconds = round(time.monotonic() - started, 1)
            self.tally.peak_mb = peak_bytes(process.process.pid) // 2**20
            self.tally.crashes = int(process.process.poll() is not None)
            process.stop()
            self._compare()
        finally:
            self.gate.close()
        return self.tally

    def _send(self, events: int, seed: int) -> None:
        [topic] = self.gate.topics.check_ins
        for first in range(0, events, SENT_AT_ONCE):
            part = list(hostile_records(min(SENT_AT_ONCE, events - first), first=first, seed=seed))
            self.gate.send(part)
            self.tally.records += len(part)
            self.tally.deletes += sum(record.is_delete for record in part)
        rng = random.Random(seed)
        for _ in range(max(1, events // BATCHES)):
            batches = hostile_batches(rng)
            offsets = asyncio.run(send_raw_batches(self.gate.brokers, topic, batches))
            damage_on_disk(self._server, topic, 0, offsets[-1:])
            self.tally.records += sum(len(batch.records) for batch in batches)
        self.gate.send([InputRecord.of("last", " ".join(WORDS))])
        self.tally.records += 1

    def _compare(self) -> None:
        tally, topics = self.tally, self.gate.topics
        verdicts = [json.loads(record.value) for record in self.gate.all_records(topics.verdicts)]
        letters = [json.loads(record.value) for record in self.gate.all_records(topics.dead_letters)]
        judged, dead = ({_position(one) for one in answers} for answers in (verdicts, letters))
        tally.judged, tally.dead_lettered = len(judged), len(dead)
        tally.lost = tally.records - tally.deletes - len(judged | dead)
        tally.copies = round((len(verdicts) + len(letters)) / max(len(judged) + len(dead), 1), 2)
        reasons = {_position(letter): letter["reason"] for letter in letters}
        self.reasons = Counter(reasons.values())


def _position(answer: dict[str, Any]) -> tuple[int, int]:
    return answer["origin"]["partition"], answer["origin"]["offset"]


def peak_bytes(pid: int) -> int:
    """The most memory that a process has had resident."""
    status = Path("/proc", str(pid), "status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1]) * 1024


def run(events: int, delivery: str, *, seed: int, folder: Path, server: KafkaServer) -> HostileRun:
    one = HostileRun(server, folder, delivery)
    one.run(events, seed=seed)
    return one


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delivery", choices=(*DELIVERIES, "both"), default="both")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    report = BenchmarkReport("Hostile records", {"events": options.events, "seed": options.seed})
    deliveries = DELIVERIES if options.delivery == "both" else (options.delivery,)
    runs = []
    with kafka_server() as server, tempfile.TemporaryDirectory(prefix="gate-hostile-") as folder:
        for delivery in deliveries:
            place = Path(folder, delivery)
            runs.append(run(options.events, delivery, seed=options.seed, folder=place, server=server))
    report.add("outcomes", [asdict(one.tally) for one in runs])
    for one in runs:
        rows = [{"reason": reason, "records": count} for reason, count in one.reasons.most_common()]
        report.add(f"dead letters, {one.tally.delivery}", rows)
    report.show(as_json=options.json)
    return 0 if all(one.tally.is_correct for one in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
