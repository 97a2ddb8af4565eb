"""The most memory that a worker has, and the bound of it: `python -m load.peak_memory [--scale 1.0] [--json]`.

A worker on a real broker gets what takes most memory for each kind of limit: records that unpack to as much as they
may, padded events, the longest texts in wide and in escaped characters, metadata, keys and headers. The most memory
that its process had resident is compared with `bound_bytes`, which needs the limits alone. `--scale 0.1` makes all
limits smaller. The exit code is 1 if a worker had more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from aiokafka import AIOKafkaProducer

from gate.limits import Limits
from gate.stream.settings import KafkaSettings, WorkerSettings
from gate.wire import max_event_bytes
from load.hostile import peak_bytes
from load.measure import BenchmarkReport
from tests.support.brokers import KafkaServer, TopicFactory, kafka_server
from tests.support.gate_on_kafka import GateOnKafka

BASE_BYTES = 110 * 2**20  # interpreter, libraries, tables of code points, kernels
SIGNING_BYTES = 40  # for each character of the longest document, or of a part of a batch
SIGNED_CHARS = 600_000
RECORDS = 12  # of each kind


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """The settings that bound the memory of a worker."""

    fetch_bytes: int
    unpacked_bytes: int
    batch_bytes: int
    max_document_chars: int

    @classmethod
    def scaled(cls, scale: float) -> MemoryLimits:
        kafka, worker = KafkaSettings(brokers=""), WorkerSettings()
        return cls(
            int(kafka.fetch_bytes * scale),
            int(kafka.unpacked_bytes * scale),
            int(worker.batch_bytes * scale),
            int(Limits().max_document_chars * scale),
        )

    def options(self) -> list[str]:
        settings = {
            "kafka_fetch_bytes": self.fetch_bytes,
            "kafka_unpacked_bytes": self.unpacked_bytes,
            "batch_bytes": self.batch_bytes,
            "limits.max_document_chars": self.max_document_chars,
        }
        return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def bound_bytes(limits: MemoryLimits, *, brokers: int = 1) -> int:
    """What a worker has at most, beside its index and what the library of Redis keeps.

    fetched     a response of each broker, and the next one; of one record it may be larger
    unpacking   the batch that is read, and the copy that the decoder makes
    records     a poll, and the batches between poll and commit: each `batch_bytes`, or one record, with its text
    signing     the kernels, on the longest document or on a part of a batch
    """
    event = max_event_bytes(Limits(max_document_chars=limits.max_document_chars))
    record = max(limits.batch_bytes, min(event, limits.unpacked_bytes))
    fetched = 2 * brokers * max(limits.fetch_bytes, event)
    unpacking = 2 * limits.unpacked_bytes
    records = (WorkerSettings().in_flight_batches + 1) * 2 * record + limits.unpacked_bytes
    signing = SIGNING_BYTES * max(limits.max_document_chars, SIGNED_CHARS)
    return BASE_BYTES + fetched + unpacking + records + signing


Kind = Callable[[MemoryLimits, random.Random], bytes]


def _bomb(limits: MemoryLimits, rng: random.Random) -> bytes:
    return b" " * (limits.unpacked_bytes * 9 // 10)


def _padded(limits: MemoryLimits, rng: random.Random) -> bytes:
    event = json.dumps({"document_id": f"p{rng.getrandbits(40):x}", "text": "a few words of text " * 9}).encode()
    return event + b" " * (max_event_bytes(Limits(max_document_chars=limits.max_document_chars)) * 9 // 10)


def _wide(limits: MemoryLimits, rng: random.Random, *, escaped: bool = False, first: int = 0x4E00) -> bytes:
    text = "".join(map(chr, rng.choices(range(first, first + 0x5000), k=limits.max_document_chars)))
    return json.dumps({"document_id": f"w{rng.getrandbits(40):x}", "text": text}, ensure_ascii=escaped).encode()


def _escaped(limits: MemoryLimits, rng: random.Random) -> bytes:
    return _wide(limits, rng, escaped=True)


def _outside_the_first_plane(limits: MemoryLimits, rng: random.Random) -> bytes:
    return _wide(limits, rng, first=0x20000)


def _metadata(limits: MemoryLimits, rng: random.Random) -> bytes:
    size = max_event_bytes(Limits(max_document_chars=limits.max_document_chars)) * 8 // 10
    objects = b'{"b":[]},' * (size // 9)
    return b'{"document_id": "m%d", "text": "a few words", "metadata": {"a": [%s0]}}' % (rng.getrandbits(40), objects)


KINDS: Mapping[str, Kind] = {
    "bombs": _bomb,
    "padded events": _padded,
    "wide characters": _wide,
    "escaped characters": _escaped,
    "characters outside of the first plane": _outside_the_first_plane,
    "metadata": _metadata,
}


def measure(
    server: KafkaServer, limits: MemoryLimits, kinds: Sequence[str], folder: Path, *, records: int = RECORDS
) -> int:
    """The most memory of a worker that gets records of these kinds."""
    factory = TopicFactory(server.brokers, "peak")
    gate = GateOnKafka.create(factory, folder, "memory", partitions=2)
    try:
        rng = random.Random(1)
        sent = asyncio.run(_send(gate, (KINDS[kind](limits, rng) for kind in kinds for _ in range(records))))
        process = gate.start(options=limits.options())
        gate.wait_committed(sent, seconds=300)
        peak = peak_bytes(process.process.pid)
        process.stop()
        return peak
    finally:
        gate.close()


async def _send(gate: GateOnKafka, values: Iterator[bytes]) -> int:
    count = 0
    async with AIOKafkaProducer(
        bootstrap_servers=gate.brokers, compression_type="zstd", max_request_size=2**30, max_batch_size=2**28
    ) as producer:
        for value in values:
            await producer.send_and_wait(gate.topics.check_ins[0], value)
            count += 1
    return count


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="of all limits")
    parser.add_argument("--records", type=int, default=RECORDS, help="of each kind")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    limits = MemoryLimits.scaled(options.scale)
    report = BenchmarkReport("The most memory of a worker", asdict(limits))
    bound, rows = bound_bytes(limits), []
    with kafka_server() as server, tempfile.TemporaryDirectory(prefix="gate-peak-") as folder:
        for kind in KINDS:
            place = Path(folder, kind.replace(" ", "-"))
            peak = measure(server, limits, [kind], place, records=options.records)
            rows.append(
                {"records": kind, "peak_mb": peak // 2**20, "bound_mb": bound // 2**20, "within": peak <= bound}
            )
    report.add("peaks", rows)
    report.show(as_json=options.json)
    return 0 if all(row["within"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
