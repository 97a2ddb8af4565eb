"""A gate on a real broker, as tests and fault runs see it: processes of the real command, and what topics hold."""

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from gate.stream.settings import Topics
from tests.support.brokers import TopicFactory

PATIENCE_SECONDS = 60.0
SESSION_SECONDS = 3.0


@dataclass
class Worker:
    """`gate run --kafka` in a process of its own."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def http_port(self) -> int:
        """Any that was free when it began; its log says which. 0: it has not said so yet."""
        with self.log.open() as log:
            told = re.search(r'"port": (\d+), "event": "health_server.started"', log.read(2**16))
        return int(told[1]) if told else 0

    def stop(self, seconds: float = 30.0) -> int:
        """As an orchestrator would: told to, and waited for."""
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        return self.process.wait(seconds)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def ready(self) -> tuple[bool, Mapping[str, Any]]:
        """What /readyz says; not ready where nobody answers yet."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/readyz", timeout=5) as answer:
                return True, json.load(answer)["reasons"]
        except urllib.error.HTTPError as refusal:
            return False, json.load(refusal)["reasons"]
        except OSError as exc:
            return False, {"http": str(exc)}

    def metrics(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/metrics", timeout=10) as answer:
            text: str = answer.read().decode()
            return text

    def until_ready(self, *, ready: bool = True, seconds: float = PATIENCE_SECONDS) -> Mapping[str, Any]:
        deadline = time.monotonic() + seconds
        while (found := self.ready())[0] is not ready:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{found[1]}; exit code {self.process.poll()}\n{self.log.read_text()[-3000:]}")
            time.sleep(0.05)
        return found[1]


@dataclass
class Stage:
    """Topics and a group of one test, and the workers on them."""

    brokers: str
    topics: Topics
    group: str
    folder: Path
    index: str
    workers: list[Worker] = field(default_factory=list)

    @classmethod
    def fresh(
        cls,
        topic_factory: TopicFactory,
        folder: Path,
        index: str,
        *,
        partitions: int = 3,
        verdict_partitions: int | None = None,
        routed: bool = False,
    ) -> Stage:
        copies = len(topic_factory.brokers.split(","))
        topics = Topics(
            check_ins=(topic_factory.create("check-ins", partitions=partitions, copies=copies),),
            verdicts=topic_factory.create("verdicts", partitions=verdict_partitions or partitions, copies=copies),
            dead_letters=topic_factory.create("dead-letters", copies=copies),
            accepted=topic_factory.create("accepted", copies=copies) if routed else None,
            quarantine=topic_factory.create("quarantine", copies=copies) if routed else None,
        )
        return cls(topic_factory.brokers, topics, topic_factory.group(), folder, index)

    def start(self, *, wait: bool = True, workers: int = 1, **settings: object) -> Worker:
        """One more process of the gate. Settings by name, as in `delivery="exactly_once"`."""
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
        log = self.folder / f"worker-{len(self.workers)}.log"
        command = [sys.executable, "-m", "gate", "run", "--kafka", self.brokers, "--index", self.index]
        command += ["--workers", str(workers), "--http-port", "0"]
        for key, value in given.items():
            command += ["--set", f"{key}={value}"] if value is not None else []
        environment = {key: value for key, value in os.environ.items() if not key.startswith("GATE_")}
        with log.open("ab") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
        worker = Worker(process, log)
        self.workers.append(worker)
        if wait:
            worker.until_ready()
        return worker

    def close(self) -> None:
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.send_signal(signal.SIGCONT)
                worker.kill()

    def logs(self) -> str:
        return "".join(worker.log.read_text(errors="replace") for worker in self.workers)

    # What goes in and what comes out

    def send(self, values: Iterable[Sent]) -> None:
        asyncio.run(self._send(values))

    async def _send(self, values: Iterable[Sent]) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.brokers, acks="all", enable_idempotence=True, max_request_size=40 * 2**20
        )
        await producer.start()
        try:
            futures = [
                await producer.send(
                    self.topics.check_ins[0], one.value, key=one.key, headers=list(one.headers), partition=one.partition
                )
                for one in values
            ]
            await asyncio.gather(*futures)
        finally:
            await producer.stop()

    def everything(self, topic: str | None) -> list[Any]:
        """The committed records that a topic holds now."""
        return asyncio.run(read_topic(self.brokers, topic or "", None))

    def read(self, topic: str | None, count: int, *, seconds: float = PATIENCE_SECONDS) -> list[Any]:
        """So many committed records of a topic, in the order of their partitions. Fails if there are fewer."""
        found = asyncio.run(read_topic(self.brokers, topic or "", count, seconds=seconds))
        if len(found) < count:
            raise AssertionError(f"{topic}: {len(found)} of {count} records\n{self.logs()[-4000:]}")
        return found

    def verdicts(self, count: int, *, seconds: float = PATIENCE_SECONDS) -> list[dict[str, Any]]:
        return [json.loads(record.value) for record in self.read(self.topics.verdicts, count, seconds=seconds)]

    def committed(self) -> dict[int, int]:
        """By partition of the check-ins, how far the group has come."""
        return asyncio.run(self._committed())

    def until_committed(self, records: int, *, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until the group has come that far, over all partitions."""
        deadline = time.monotonic() + seconds
        while (found := sum(self.committed().values())) < records:
            if time.monotonic() > deadline:
                raise AssertionError(f"committed {found} of {records} records\n{self.logs()[-4000:]}")
            time.sleep(0.2)

    async def _committed(self) -> dict[int, int]:
        [topic] = self.topics.check_ins
        consumer = AIOKafkaConsumer(bootstrap_servers=self.brokers, group_id=self.group, enable_auto_commit=False)
        await consumer.start()
        try:
            partitions = await partitions_of(self.brokers, topic)
            return {one.partition: await consumer.committed(one) or 0 for one in partitions}
        finally:
            await consumer.stop()


@dataclass(frozen=True)
class Sent:
    """A record to check in."""

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes]] = ()
    partition: int | None = None

    @classmethod
    def of(cls, document_id: str, text: str, *, partition: int | None = None, **fields: object) -> Sent:
        event = {"document_id": document_id, "text": text, **fields}
        return cls(json.dumps(event).encode(), document_id.encode(), partition=partition)


async def partitions_of(brokers: str, topic: str) -> list[TopicPartition]:
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=brokers)
    await consumer.start()
    try:
        return sorted(consumer.assignment())
    finally:
        await consumer.stop()


async def read_topic(brokers: str, topic: str, count: int | None, *, seconds: float = PATIENCE_SECONDS) -> list[Any]:
    """Committed records from the beginning: so many as wanted, or, where nobody knows how many, all there are now."""
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
