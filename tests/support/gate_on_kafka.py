"""The gate on a real broker, as tests and fault runs use it: processes of `gate run`, and the records of its topics."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from gate.stream.settings import Topics
from tests.support.brokers import TopicFactory

WAIT_SECONDS = 60.0
SESSION_SECONDS = 3.0


@dataclass
class GateProcess:
    """One `gate run --kafka`, and the file that its log goes to."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def http_port(self) -> int:
        """The free port that the process chose, as its log says; 0: the log does not say so yet."""
        with self.log.open() as log:
            served = re.search(r'"port": (\d+), "event": "health_server.started"', log.read(2**16))
        return int(served[1]) if served else 0

    def stop(self, seconds: float = 30.0) -> int:
        """Stop as an orchestrator does, by SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        return self.process.wait(seconds)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def readiness(self) -> tuple[bool, Mapping[str, Any]]:
        """Whether /readyz says ready, and its reasons; not ready where the port does not answer yet."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/readyz", timeout=5) as answer:
                return True, json.load(answer)["reasons"]
        except urllib.error.HTTPError as unready:
            return False, json.load(unready)["reasons"]
        except OSError as exc:
            return False, {"http": str(exc)}

    def metrics(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/metrics", timeout=10) as answer:
            text: str = answer.read().decode()
            return text

    def events(self, name: str) -> list[dict[str, Any]]:
        """The lines of its log with this event."""
        lines = (line for line in self.log.read_text().splitlines() if f'"event": "{name}"' in line)
        return [json.loads(line) for line in lines]

    def assigned_partitions(self) -> dict[str, int]:
        """The number of partitions of each worker."""
        shown = re.findall(r'^gate_assigned_partitions\{worker="(\w+)"\} (\S+)$', self.metrics(), re.MULTILINE)
        return {worker: int(float(partitions)) for worker, partitions in shown}

    def wait_ready(self, *, ready: bool = True, seconds: float = WAIT_SECONDS) -> Mapping[str, Any]:
        """Wait until the process is ready, or until it is not; the reasons that /readyz gives then."""
        deadline = time.monotonic() + seconds
        while (found := self.readiness())[0] is not ready:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{found[1]}; exit code {self.process.poll()}\n{self.log.read_text()[-3000:]}")
            time.sleep(0.05)
        return found[1]


@dataclass(frozen=True)
class InputRecord:
    """A record to send to the topic of check-ins."""

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes]] = ()
    partition: int | None = None

    @classmethod
    def of(cls, document_id: str, text: str, *, partition: int | None = None, **fields: object) -> InputRecord:
        event = {"document_id": document_id, "text": text, **fields}
        return cls(json.dumps(event).encode(), document_id.encode(), partition=partition)


@dataclass
class GateOnKafka:
    """Topics, a group and an index of one test, and the processes of the gate that work on them."""

    brokers: str
    topics: Topics
    group: str
    folder: Path
    index: str
    processes: list[GateProcess] = field(default_factory=list)

    @classmethod
    def create(
        cls,
        topic_factory: TopicFactory,
        folder: Path,
        index: str,
        *,
        partitions: int = 3,
        verdict_partitions: int | None = None,
        routed: bool = False,
    ) -> GateOnKafka:
        """Create the topics. `routed`: with topics for accepted documents and for those in quarantine."""
        copies = len(topic_factory.brokers.split(","))
        topics = Topics(
            check_ins=(topic_factory.create("check-ins", partitions=partitions, copies=copies),),
            verdicts=topic_factory.create("verdicts", partitions=verdict_partitions or partitions, copies=copies),
            dead_letters=topic_factory.create("dead-letters", copies=copies),
            accepted=topic_factory.create("accepted", copies=copies) if routed else None,
            quarantine=topic_factory.create("quarantine", copies=copies) if routed else None,
        )
        return cls(topic_factory.brokers, topics, topic_factory.group(), folder, index)

    def start(
        self,
        *,
        wait: bool = True,
        workers: int = 1,
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        **settings: object,
    ) -> GateProcess:
        """Start another process of the gate. Settings by name, as in `delivery="exactly_once"`."""
        topics = self.topics
        given: dict[str, object] = {
            "kafka_group": self.group,
            "kafka_topics": ",".join(topics.check_ins),
            "kafka_verdict_topic": topics.verdicts,
            "kafka_dead_letter_topic": topics.dead_letters,
            "kafka_accepted_topic": topics.accepted,
            "kafka_quarantine_topic": topics.quarantine,
            "kafka_session_timeout_seconds": SESSION_SECONDS,
            "kafka_request_timeout_seconds": 5,
            "redis_timeout_seconds": 2,
            "drain_seconds": 10,
            **settings,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        log = self.folder / f"worker-{len(self.processes)}.log"
        command = [sys.executable, "-m", "gate", "run", "--kafka", self.brokers, "--index", self.index]
        command += ["--workers", str(workers), "--http-port", "0", *options]
        for key, value in given.items():
            command += ["--set", f"{key}={value}"] if value is not None else []
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("GATE_")}
        with log.open("ab") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, env=inherited | dict(environment or {}))
        started = GateProcess(process, log)
        self.processes.append(started)
        if wait:
            started.wait_ready()
        return started

    def close(self) -> None:
        """Kill the processes that still run."""
        for one in self.processes:
            if one.process.poll() is None:
                one.process.send_signal(signal.SIGCONT)
                one.kill()

    def logs(self) -> str:
        return "".join(one.log.read_text(errors="replace") for one in self.processes)

    # Records in and out

    def send(self, records: Iterable[InputRecord]) -> None:
        asyncio.run(self._send(records))

    async def _send(self, records: Iterable[InputRecord]) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.brokers, acks="all", enable_idempotence=True, max_request_size=40 * 2**20
        )
        await producer.start()
        try:
            futures = [
                await producer.send(
                    self.topics.check_ins[0],
                    record.value,
                    key=record.key,
                    headers=list(record.headers),
                    partition=record.partition,
                )
                for record in records
            ]
            await asyncio.gather(*futures)
        finally:
            await producer.stop()

    def all_records(self, topic: str | None) -> list[Any]:
        """The committed records that a topic holds now."""
        return asyncio.run(read_topic(self.brokers, topic or "", None))

    def read(self, topic: str | None, count: int, *, seconds: float = WAIT_SECONDS) -> list[Any]:
        """Wait for so many committed records of a topic; in the order of their partitions."""
        records = asyncio.run(read_topic(self.brokers, topic or "", count, seconds=seconds))
        if len(records) < count:
            raise AssertionError(f"{topic}: {len(records)} of {count} records\n{self.logs()[-4000:]}")
        return records

    def verdicts(self, count: int, *, seconds: float = WAIT_SECONDS) -> list[dict[str, Any]]:
        """Wait for so many verdicts."""
        return [json.loads(record.value) for record in self.read(self.topics.verdicts, count, seconds=seconds)]

    def committed_offsets(self) -> dict[int, int]:
        """The offset of the group in each partition of the check-ins."""
        return asyncio.run(self.fetch_committed())

    def wait_committed(self, records: int, *, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the offsets of the group add up to so many records."""
        deadline = time.monotonic() + seconds
        while (committed := sum(self.committed_offsets().values())) < records:
            if time.monotonic() > deadline:
                raise AssertionError(f"committed {committed} of {records} records\n{self.logs()[-4000:]}")
            time.sleep(0.2)

    async def fetch_committed(self) -> dict[int, int]:
        [topic] = self.topics.check_ins
        consumer = AIOKafkaConsumer(bootstrap_servers=self.brokers, group_id=self.group, enable_auto_commit=False)
        await consumer.start()
        try:
            partitions = await partitions_of(self.brokers, topic)
            return {one.partition: await consumer.committed(one) or 0 for one in partitions}
        finally:
            await consumer.stop()


GateFactory = Callable[..., GateOnKafka]  # the fixture `gate_on_kafka`: an index, and options of `GateOnKafka.create`


async def partitions_of(brokers: str, topic: str) -> list[TopicPartition]:
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=brokers)
    await consumer.start()
    try:
        return sorted(consumer.assignment())
    finally:
        await consumer.stop()


async def read_topic(brokers: str, topic: str, count: int | None, *, seconds: float = WAIT_SECONDS) -> list[Any]:
    """Committed records from the beginning: at least `count`, or fewer when the time is up; None: all there are now."""
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=brokers,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=8 * 2**20,
    )
    await consumer.start()
    found: list[Any] = []
    try:
        ends = await consumer.end_offsets(list(consumer.assignment()))
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and (count is None or len(found) < count):
            for records in (await consumer.getmany(timeout_ms=200)).values():
                found += records
            if count is None and all([await consumer.position(one) >= end for one, end in ends.items()]):
                break
    finally:
        await consumer.stop()
    return sorted(found, key=lambda record: (record.partition, record.offset))
