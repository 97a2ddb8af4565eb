"""The stream under faults: `python -m load.faults [--documents 50000] [--kills 30] [--delivery both] [--json]`.

Check-ins with planted truth are fed to a topic while workers are killed (-9) and restarted, frozen (SIGSTOP) beyond
their session and continued, brokers are restarted and Redis is restarted, workers start whose clocks are hours ahead,
Redis is emptied and the next worker starts before the index is filled again, and check-ins are deleted before they are
read. Among them are events that cannot be judged and documents that are sent twice. Afterwards inputs and answers are
compared. It must not happen

    that a check-in has no verdict, or a bad event no dead letter            lost
    that a check-in was deleted unread, and no worker reported it            unreported
    that one record was answered twice, with different bytes                 changed
    that a document that was sent twice got two different verdicts           changed
    that all of a group of near-duplicates were refused                      none survived
    that two near-duplicates passed                                          two survived
    that a copy passed of what passed before the index was lost              copies passed
    with exactly-once delivery, that a record was answered twice at all      repeated

With --cluster the index is on a Redis Cluster of three masters, one of which is emptied. The exit code is 1 if any of
it did.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

from load.fault_feed import FaultFeed
from load.fault_tally import (
    COPY,
    PROFILE,
    Answers,
    FaultPlan,
    FaultTally,
    compare,
    events,
)
from load.measure import BenchmarkReport
from tests.support.brokers import KafkaServer, TopicFactory, kafka_cluster
from tests.support.gate_on_kafka import SESSION_SECONDS, GateOnKafka, GateProcess, InputRecord, read_topic
from tests.support.servers import RedisServer, redis_cluster, redis_server
from tests.support.wrong_clock import clock_ahead

WORKERS = 3
PARTITIONS = 6
ANSWER_SECONDS = 180.0  # from the last fault to the last answer
CLOCK_SECONDS = 2 * 3600
COPIES = 100  # of documents that had passed, sent after the index was lost
UNREAD = 60  # documents that are sent again, and of which some are deleted unread


class FaultRun:
    """One run: check-ins are sent at a rate, while faults happen to the workers and the servers."""

    def __init__(
        self,
        gate: GateOnKafka,
        plan: FaultPlan,
        delivery: str,
        nodes: Sequence[KafkaServer],
        redis: Sequence[RedisServer],
        wait_complete: Callable[[], None],
    ) -> None:
        self._gate = gate
        self._plan = plan
        self._delivery = delivery
        self._nodes = nodes
        self._redis = redis
        self._wait_complete = wait_complete  # for the Redis servers to be one Cluster
        self._rng = random.Random(plan.seed + 1)
        self._workers: list[GateProcess] = []
        self._made, records = events(plan)
        self._texts = {document.document_id: document.text for group in self._made for document in group.documents}
        self._feed = FaultFeed(gate.brokers, gate.topics.check_ins[0], records, plan.rate)
        self.tally = FaultTally(delivery=delivery, groups=len(self._made))

    def _start_worker(self, **options: Any) -> GateProcess:
        return self._gate.start(wait=False, delivery=self._delivery, profile=PROFILE, **options)

    async def run(self) -> FaultTally:
        started = time.monotonic()
        self._workers = [self._start_worker() for _ in range(WORKERS)]
        for worker in self._workers:
            await asyncio.to_thread(worker.wait_ready)
        async with self._feed.running() as sending:
            await self._cause_faults()
            await sending
            await self._compare()
        self.tally.seconds = round(time.monotonic() - started, 1)
        return self.tally

    # Faults

    async def _cause_faults(self) -> None:
        """All faults in random order, spread over the time of sending, the last ones after it. Check-ins are deleted
        last: an index cannot be filled again with what is gone."""
        plan = self._plan
        faults: list[Callable[[], Coroutine[Any, Any, None]]] = [
            *[self._kill] * plan.kills,
            *[self._freeze] * plan.freezes,
            *[self._restart_broker] * plan.broker_restarts,
            *[self._restart_redis] * (0 if plan.cluster else plan.redis_restarts),
            *[self._start_with_wrong_clock] * plan.clocks,
            *[self._empty_redis] * plan.empties,
        ]
        self._rng.shuffle(faults)
        faults += [self._delete_unread] * plan.deletions
        pause = plan.documents / plan.rate / max(len(faults), 1)
        for fault in faults:
            await asyncio.sleep(pause * self._rng.uniform(0.2, 1.0))
            await fault()
            self._restart_dead_workers()

    def _restart_dead_workers(self) -> None:
        """Replace the workers that were killed or ended by themselves."""
        self._workers = [worker if worker.process.poll() is None else self._start_worker() for worker in self._workers]

    async def _kill(self) -> None:
        self._rng.choice(self._workers).kill()
        self.tally.kills += 1

    async def _freeze(self) -> None:
        worker = self._rng.choice(self._workers)
        worker.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(SESSION_SECONDS * 1.7)
        worker.process.send_signal(signal.SIGCONT)
        self.tally.freezes += 1

    async def _restart_broker(self) -> None:
        node = self._rng.choice(list(self._nodes))
        await asyncio.to_thread(self._rng.choice((node.stop, node.kill)))
        await asyncio.sleep(self._rng.uniform(0, 2))
        await asyncio.to_thread(node.start)
        self.tally.broker_restarts += 1

    async def _restart_redis(self) -> None:
        [redis] = self._redis
        await asyncio.to_thread(self._rng.choice((redis.stop, redis.kill)))
        await asyncio.sleep(self._rng.uniform(0, 2))
        await asyncio.to_thread(redis.start)
        self.tally.redis_restarts += 1

    async def _start_with_wrong_clock(self) -> None:
        """A worker that the broker takes no record of: it waits and says why, and goes again."""
        worker = self._start_worker(environment=clock_ahead(CLOCK_SECONDS, self._gate.folder / "clock"))
        repeating = asyncio.create_task(self._repeat())
        await self._wait_reason(worker, "broker", "check the clock")
        repeating.cancel()
        worker.kill()
        self.tally.clocks += 1

    async def _repeat(self) -> None:
        """Send documents again, one after another, as the feed may be at its end."""
        while True:
            await self._feed.send(self._rng.choice(self._feed.records))
            await asyncio.sleep(1 / self._plan.rate)

    async def _empty_redis(self) -> None:
        """All is lost that the index knew, or a part of it. The feed goes on while nothing is judged; then the one
        command of the runbook fills the index."""
        await self._feed.drain(self._gate, self._restart_dead_workers, seconds=ANSWER_SECONDS)
        passed = await self._passed_documents()
        redis = self._rng.choice(self._redis)
        await asyncio.to_thread(redis.kill)
        shutil.rmtree(redis.folder / "appendonlydir", ignore_errors=True)
        await asyncio.to_thread(redis.start)
        await asyncio.to_thread(self._wait_complete)
        self.tally.empties = self._feed.epoch = self._feed.epoch + 1
        copied = self._rng.sample(passed, min(COPIES, len(passed)))
        copies = [InputRecord.of(f"{COPY}{one} {self.tally.empties}", self._texts[one]) for one in copied]
        sending = asyncio.gather(*(self._feed.send(copy) for copy in copies))
        self._feed.resume()
        worker = self._start_worker()
        await self._wait_reason(worker, "index", "")
        await asyncio.to_thread(self._fill_index)
        await sending
        worker.kill()

    async def _passed_documents(self) -> list[str]:
        records = await read_topic(self._gate.brokers, self._gate.topics.verdicts, None)
        verdicts = [json.loads(record.value) for record in records]
        return sorted({one["document_id"] for one in verdicts if not one["similar"]} & self._texts.keys())

    def _fill_index(self) -> None:
        command = [sys.executable, "-m", "gate", "index", "rebuild", "--from-topic", "--recover", "--profile", PROFILE]
        command += ["--kafka", self._gate.brokers, "--index", self._gate.index]
        for setting in (f"kafka_group={self._gate.group}", f"kafka_topics={self._gate.topics.check_ins[0]}"):
            command += ["--set", setting]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("GATE_")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):  # 1: some of the check-ins are bad events
            raise RuntimeError(done.stderr[-2000:])

    async def _wait_reason(self, worker: GateProcess, part: str, message: str) -> None:
        deadline = time.monotonic() + ANSWER_SECONDS
        while message not in (await asyncio.to_thread(worker.readiness))[1].get(part, "\0"):
            if worker.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{part}: a worker does not say {message!r}: {worker.log}")
            self._restart_dead_workers()
            await asyncio.sleep(0.05)

    async def _delete_unread(self) -> None:
        """While no worker runs, documents are sent again, and deleted in one partition, with all that it held."""
        for worker in self._workers:
            worker.kill()
        self.tally.kills += len(self._workers)
        repeated = self._rng.sample(self._feed.records, UNREAD)
        places = await asyncio.gather(*(self._feed.send(record) for record in repeated))
        partition, last = max(places, key=lambda place: place[1])
        place = TopicPartition(self._gate.topics.check_ins[0], partition)
        admin = AIOKafkaAdminClient(bootstrap_servers=self._gate.brokers)
        await admin.start()
        try:
            await admin.delete_records({place: RecordsToDelete(last)})
        finally:
            await admin.close()
        self.tally.deletions += 1

    # Comparing

    async def _compare(self) -> None:
        """Wait for the last answer, then count what was lost, repeated or changed."""
        gate, deadline = self._gate, time.monotonic() + ANSWER_SECONDS
        [topic] = gate.topics.check_ins
        self._feed.add_unacknowledged(await read_topic(gate.brokers, topic, None))
        sent = self._feed.sent
        starts = await self._first_offsets(topic)
        while True:
            verdicts = await read_topic(gate.brokers, gate.topics.verdicts, None)
            answers = Answers(verdicts, await read_topic(gate.brokers, gate.topics.dead_letters, None))
            missing = sent.keys() - answers.by_position.keys()
            if all(offset < starts[partition] for partition, offset in missing) or time.monotonic() > deadline:
                break
            self._restart_dead_workers()
            await asyncio.sleep(1)
        reported = [
            (event["partition"], range(event["first_offset"], event["last_offset"] + 1))
            for process in gate.processes
            for event in process.events("records.lost")
        ]
        compare(self.tally, self._made, sent, answers, starts=starts, reported=reported)
        if not self.tally.is_correct:
            self.tally.problems = [*self.tally.problems, f"the logs of the workers are in {gate.folder}"]

    async def _first_offsets(self, topic: str) -> dict[int, int]:
        async with AIOKafkaConsumer(bootstrap_servers=self._gate.brokers) as consumer:
            starts = await consumer.beginning_offsets([TopicPartition(topic, n) for n in range(PARTITIONS)])
            return {partition.partition: offset for partition, offset in starts.items()}


def run(plan: FaultPlan, delivery: str, folder: Path) -> FaultTally:
    """One run on servers of its own."""
    with ExitStack() as opened:
        brokers = opened.enter_context(kafka_cluster(plan.brokers))
        if plan.cluster:
            redis = opened.enter_context(redis_cluster(3))
            url, servers, wait_complete = redis.url, redis.servers, redis.wait_complete
        else:
            server = opened.enter_context(redis_server("--appendonly", "yes", "--appendfsync", "always"))
            url, servers, wait_complete = server.url, [server], server.wait
        gate = GateOnKafka.create(TopicFactory(brokers.brokers, delivery), folder, url, partitions=PARTITIONS)
        opened.callback(gate.close)
        return asyncio.run(FaultRun(gate, plan, delivery, brokers.servers, servers, wait_complete).run())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for one in fields(FaultPlan):
        name = f"--{one.name.replace('_', '-')}"
        if one.name == "cluster":
            parser.add_argument(name, action="store_true")
        else:
            parser.add_argument(name, type=type(one.default), default=one.default)
    parser.add_argument("--delivery", choices=("at_least_once", "exactly_once", "both"), default="both")
    parser.add_argument("--json", action="store_true")
    options = vars(parser.parse_args(arguments))
    as_json, delivery = options.pop("json"), options.pop("delivery")
    plan = FaultPlan(**options)
    report = BenchmarkReport("The stream under faults", asdict(plan))
    tallies = []
    for mode in ("at_least_once", "exactly_once") if delivery == "both" else (delivery,):
        folder = Path(tempfile.mkdtemp(prefix="gate-faults-"))
        tallies.append(run(plan, mode, folder))
        for problem in tallies[-1].problems[:20]:
            print(problem, file=sys.stderr)
    report.add("runs", [tally.row() for tally in tallies])
    report.show(as_json=as_json)
    return 0 if all(tally.is_correct for tally in tallies) else 1


if __name__ == "__main__":
    sys.exit(main())
