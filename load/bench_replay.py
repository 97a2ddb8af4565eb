"""An archive into a topic: `gate replay` against a producer that sends the same bytes and does nothing else.

`python -m load.bench_replay [--documents 10000] [--rounds 3] [--clock wall|cpu] [--json]`. One broker of its own; the
same options of the producer for all (idempotent, acks=all, lz4, batches of 1 MB), every send awaited. The bare producer
has the records in memory. The replay reads them from a disk, unpacks, decodes and checks them, and keeps its journal.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer

from gate.archive.journal import Journal, ReplayJob
from gate.archive.replay import BATCH_DOCUMENTS, Replay
from gate.archive.replay_stats import ReplayStats
from gate.archive.source import Source
from gate.cli.replay_targets import open_kafka_target
from gate.limits import Limits
from gate.stream.check_in_producer import BATCH_BYTES, LINGER_MS, MAX_IN_FLIGHT
from gate.stream.client_options import producer_options
from gate.stream.settings import KafkaSettings, Topics
from gate.wire import CheckInEvent, encode
from load.corpus import SyntheticCorpus
from load.measure import CLOCKS, BenchmarkReport, Contender, interleave, timing_rows
from tests.support.brokers import TopicFactory, kafka_server

BARE = "bare producer"


def bare(kafka: KafkaSettings, records: Sequence[tuple[bytes, bytes]]) -> Callable[[int], int]:
    async def send() -> None:
        options = producer_options(kafka) | {"max_batch_size": BATCH_BYTES, "linger_ms": LINGER_MS}
        async with AIOKafkaProducer(**options) as producer:
            in_flight: deque[asyncio.Future[Any]] = deque()
            for key, value in records:
                in_flight.append(await producer.send(kafka.topics.check_ins[0], value, key=key))
                if len(in_flight) > MAX_IN_FLIGHT * BATCH_DOCUMENTS:
                    await in_flight.popleft()
            await asyncio.gather(*in_flight)

    def step(_: int) -> int:
        asyncio.run(send())
        return len(records)

    return step


def replayed(kafka: KafkaSettings, archive: Path, journals: Path) -> Callable[[int], int]:
    def step(number: int) -> int:
        tally = ReplayStats()
        task = ReplayJob(sources=(str(archive),), target=kafka.brokers)
        with (
            Journal(journals / f"{archive.name}-{number}", task, resume=False) as journal,
            open_kafka_target(kafka, tally, watch=False) as target,
            Source([archive]) as source,
        ):
            Replay(target, stats=tally, limits=Limits(), journal=journal, clock=time.monotonic).run(source)
        return tally.sent

    return step


def run(*, documents: int, rounds: int, clock: str) -> BenchmarkReport:
    report = BenchmarkReport("An archive into a topic", {"documents": documents, "rounds": rounds, "clock": clock})
    with kafka_server() as broker, tempfile.TemporaryDirectory(prefix="gate-replay-") as made:
        folder = Path(made)
        kafka = KafkaSettings(
            brokers=broker.brokers, topics=Topics(check_ins=(TopicFactory(broker.brokers, "bench").create(),))
        )
        records = [
            (one.document_id.encode(), encode(CheckInEvent(document_id=one.document_id, text=one.text)))
            for one in SyntheticCorpus(1, documents)
        ]
        lines = b"\n".join(value for _, value in records)
        (folder / "plain.jsonl").write_bytes(lines)
        (folder / "packed.jsonl.gz").write_bytes(gzip.compress(lines, 6))
        (folder / "files").mkdir()
        for one in SyntheticCorpus(1, documents):
            (folder / "files" / f"{one.document_id}.txt").write_text(one.text)
        (folder / "journals").mkdir()
        contenders = [Contender(BARE, bare(kafka, records))] + [
            Contender(f"replay of {name}", replayed(kafka, folder / name, folder / "journals"))
            for name in ("plain.jsonl", "packed.jsonl.gz", "files")
        ]
        timings = interleave(contenders, rounds=rounds, reference=BARE, clock=clock)
    report.add("Microseconds a document", timing_rows(timings, BARE))
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    run(documents=options.documents, rounds=options.rounds, clock=options.clock).show(as_json=options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
