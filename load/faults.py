"""The stream under faults: `python -m load.faults [--documents 50000] [--kills 30] [--delivery both] [--json]`.

Check-ins with planted truth are fed to a topic while workers are killed (-9) and restarted, frozen (SIGSTOP) beyond
their session and continued, brokers are restarted and Redis is restarted. Among them are events that cannot be judged
and documents that are sent twice. Afterwards inputs and answers are compared. It must not happen

    that a check-in has no verdict, or a bad event no dead letter            lost
    that one record was answered twice, with different bytes                 changed
    that a document that was sent twice got two different verdicts           changed
    that all of a group of near-duplicates were refused                      none survived
    that two near-duplicates passed                                          two survived
    with exactly-once delivery, that a record was answered twice at all      repeated

The exit code is 1 if any of it did.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from gate.core.builtin_profiles import BUILT_IN
from load.measure import BenchmarkReport
from load.races import Group, groups
from tests.support.brokers import KafkaServer, TopicFactory, kafka_cluster
from tests.support.gate_on_kafka import SESSION_SECONDS, GateOnKafka, GateProcess, InputRecord, read_topic
from tests.support.servers import RedisServer, redis_server

PROFILE = "standard"
WORKERS = 3
PARTITIONS = 6
MALFORMED = 0.02  # share of documents that are followed by an event that cannot be judged
REPEATED = 0.03  # share of documents that are sent again later
ANSWER_SECONDS = 180.0  # from the last fault to the last answer


@dataclass(frozen=True, kw_only=True)
class FaultPlan:
    """The number of documents and of faults."""

    documents: int = 50_000
    rate: float = 250.0  # events a second
    kills: int = 30
    freezes: int = 4
    broker_restarts: int = 3
    redis_restarts: int = 3
    brokers: int = 3
    seed: int = 1


@dataclass(slots=True, kw_only=True)
class FaultTally:
    """What was sent, which faults there were, and which promises were broken."""

    delivery: str
    check_ins: int = 0
    bad_events: int = 0
    groups: int = 0
    kills: int = 0
    freezes: int = 0
    broker_restarts: int = 0
    redis_restarts: int = 0
    lost: int = 0
    repeated: int = 0
    changed: int = 0
    none_survived: int = 0
    two_survived: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    @property
    def is_correct(self) -> bool:
        violations = self.lost + self.changed + self.none_survived + self.two_survived
        return not violations and not (self.delivery == "exactly_once" and self.repeated)

    def row(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key != "problems"}


def events(plan: FaultPlan) -> tuple[list[Group], list[InputRecord]]:
    """Groups of near-duplicates, and their documents in an order in which those of a group are close to each other."""
    rng = random.Random(plan.seed)
    made = list(groups(max(plan.documents * 2 // 7, 1), plan.seed, BUILT_IN[PROFILE]))
    placed: list[tuple[float, InputRecord]] = []
    for number, group in enumerate(made):
        for document in group.documents:
            sent = InputRecord.of(document.document_id, document.text)
            placed.append((number + rng.uniform(0, 4), sent))
            if rng.random() < REPEATED:
                placed.append((number + rng.uniform(0, 200), sent))
            if rng.random() < MALFORMED:
                broken = InputRecord(b'{"document_id": "bad", "text": ' + str(rng.random()).encode(), b"bad")
                placed.append((number + rng.uniform(0, 4), broken))
    return made, [sent for _, sent in sorted(placed, key=lambda pair: pair[0])]


class FaultRun:
    """One run: check-ins are sent at a rate, while faults happen to the workers and the servers."""

    def __init__(
        self, gate: GateOnKafka, plan: FaultPlan, delivery: str, nodes: Sequence[KafkaServer], redis: RedisServer
    ) -> None:
        self._gate = gate
        self._plan = plan
        self._delivery = delivery
        self._nodes = nodes
        self._redis = redis
        self._rng = random.Random(plan.seed + 1)
        self._workers: list[GateProcess] = []
        self.tally = FaultTally(delivery=delivery)

    def _start_worker(self) -> GateProcess:
        return self._gate.start(wait=False, delivery=self._delivery, profile=PROFILE)

    async def run(self) -> FaultTally:
        started = time.monotonic()
        made, records = events(self._plan)
        self.tally.groups = len(made)
        self._workers = [self._start_worker() for _ in range(WORKERS)]
        for worker in self._workers:
            await asyncio.to_thread(worker.wait_ready)
        sending = asyncio.create_task(self._send(records))
        await self._cause_faults()
        await sending
        await self._compare(made)
        self.tally.seconds = round(time.monotonic() - started, 1)
        return self.tally

    async def _send(self, records: Sequence[InputRecord]) -> None:
        producer = await self._producer()
        started = time.monotonic()
        topic = self._gate.topics.check_ins[0]
        unacknowledged: list[tuple[InputRecord, asyncio.Future[Any]]] = []
        for number, record in enumerate(records):
            if (late := started + number / self._plan.rate - time.monotonic()) > 0:
                await asyncio.sleep(late)
            unacknowledged.append((record, await producer.send(topic, record.value, key=record.key)))
        for record, future in unacknowledged:
            try:
                await future
            except KafkaError:  # the broker was unavailable for too long: sent again, which is one more check-in
                await producer.send_and_wait(topic, record.value, key=record.key)
        await producer.stop()

    async def _producer(self) -> Any:
        producer = AIOKafkaProducer(
            bootstrap_servers=self._gate.brokers, acks="all", enable_idempotence=True, request_timeout_ms=60_000
        )
        await producer.start()
        return producer

    async def _cause_faults(self) -> None:
        """All faults in random order, spread over the time of sending, the last ones after it."""
        plan = self._plan
        faults: list[Callable[[], Coroutine[Any, Any, None]]] = [
            *[self._kill] * plan.kills,
            *[self._freeze] * plan.freezes,
            *[self._restart_broker] * plan.broker_restarts,
            *[self._restart_redis] * plan.redis_restarts,
        ]
        self._rng.shuffle(faults)
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
        await asyncio.to_thread(self._rng.choice((self._redis.stop, self._redis.kill)))
        await asyncio.sleep(self._rng.uniform(0, 2))
        await asyncio.to_thread(self._redis.start)
        self.tally.redis_restarts += 1

    # Comparing

    async def _compare(self, made: Sequence[Group]) -> None:
        """Wait for the last answer, then count what was lost, repeated or changed."""
        gate, brokers = self._gate, self._gate.brokers
        inputs = await read_topic(brokers, gate.topics.check_ins[0], None)
        wanted = {(record.partition, record.offset): record for record in inputs}
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            verdicts = await read_topic(brokers, gate.topics.verdicts, None)
            letters = await read_topic(brokers, gate.topics.dead_letters, None)
            answers: dict[tuple[int, int], list[bytes]] = defaultdict(list)
            for record in verdicts:
                answers[_position(json.loads(record.value)["origin"])].append(record.value)
            for record in letters:
                answers[_position(json.loads(record.value)["origin"])].append(record.value)
            if answers.keys() >= wanted.keys() or time.monotonic() > deadline:
                break
            self._restart_dead_workers()
            await asyncio.sleep(1)
        tally = self.tally
        tally.lost = len(wanted.keys() - answers.keys())
        tally.repeated = sum(len(values) - 1 for values in answers.values())
        tally.changed = sum(len(set(values)) > 1 for values in answers.values())
        tally.bad_events = sum(record.key == b"bad" for record in inputs)
        tally.check_ins = len(inputs) - tally.bad_events
        self._compare_with_groups(made, [json.loads(record.value) for record in verdicts])
        if not tally.is_correct:
            tally.problems = [*tally.problems, f"the logs of the workers are in {gate.folder}"]

    def _compare_with_groups(self, made: Sequence[Group], verdicts: Sequence[dict[str, Any]]) -> None:
        first_verdicts: dict[str, dict[str, Any]] = {}
        for verdict in verdicts:
            del verdict["origin"]
            first = first_verdicts.setdefault(verdict["document_id"], verdict)
            if first != verdict:
                self.tally.changed += 1
                self.tally.problems.append(f"{verdict['document_id']}: two different verdicts")
        for group in made:
            similar = [
                first_verdicts.get(document.document_id, {}).get("similar", True) for document in group.documents
            ]
            if all(similar):
                self.tally.none_survived += 1
                self.tally.problems.append(f"{group.documents[0].document_id}: none of its group survived")
            if any(not similar[a] and not similar[b] for a, b in group.alike):
                self.tally.two_survived += 1
                self.tally.problems.append(f"{group.documents[0].document_id}: two of its group survived")


def _position(origin: dict[str, Any]) -> tuple[int, int]:
    return origin["partition"], origin["offset"]


def run(plan: FaultPlan, delivery: str, folder: Path) -> FaultTally:
    """One run on servers of its own."""
    with ExitStack() as opened:
        cluster = opened.enter_context(kafka_cluster(plan.brokers))
        redis = opened.enter_context(redis_server("--appendonly", "yes", "--appendfsync", "always"))
        gate = GateOnKafka.create(TopicFactory(cluster.brokers, delivery), folder, redis.url, partitions=PARTITIONS)
        opened.callback(gate.close)
        return asyncio.run(FaultRun(gate, plan, delivery, cluster.servers, redis).run())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=FaultPlan.documents)
    parser.add_argument("--rate", type=float, default=FaultPlan.rate, help="events a second")
    parser.add_argument("--kills", type=int, default=FaultPlan.kills)
    parser.add_argument("--freezes", type=int, default=FaultPlan.freezes)
    parser.add_argument("--broker-restarts", type=int, default=FaultPlan.broker_restarts)
    parser.add_argument("--redis-restarts", type=int, default=FaultPlan.redis_restarts)
    parser.add_argument("--brokers", type=int, default=FaultPlan.brokers)
    parser.add_argument("--seed", type=int, default=FaultPlan.seed)
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
