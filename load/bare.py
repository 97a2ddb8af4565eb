"""The least that a worker on Kafka can do: consume, produce as many records of a verdict's size, commit.

`python -m load.bare --brokers B --check-ins T --verdicts T --group G [--records 256]`. The same batches and the same
guarantees as the gate (idempotent, acks=all, every send awaited, then the commit), one batch after another, no work.
"""

from __future__ import annotations

import argparse
import asyncio
import signal

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from gate.stream.client_options import consumer_options, producer_options
from gate.stream.settings import KafkaSettings

VALUE = b"x" * 480  # what a verdict without matches takes
HEADERS = [("ce_specversion", b"1.0"), ("ce_id", b"0" * 32), ("ce_type", b"gate.verdict"), ("ce_source", b"/gate/x@1")]


async def loop(kafka: KafkaSettings, check_ins: str, verdicts: str, records: int) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    options = consumer_options(kafka, rebalance_seconds=30, instance_id=None) | {"auto_offset_reset": "earliest"}
    consumer = AIOKafkaConsumer(check_ins, **options)
    producer = AIOKafkaProducer(**producer_options(kafka))
    await producer.start()
    await consumer.start()
    print("ready", flush=True)
    try:
        while not stop.is_set():
            polled = await consumer.getmany(timeout_ms=200, max_records=records)
            if not polled:
                continue
            futures = [
                await producer.send(verdicts, VALUE, key=record.key, headers=[*HEADERS, ("ce_subject", record.key)])
                for found in polled.values()
                for record in found
            ]
            await asyncio.gather(*futures)
            await consumer.commit({partition: found[-1].offset + 1 for partition, found in polled.items()})
    finally:
        await consumer.stop()
        await producer.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("brokers", "check-ins", "verdicts", "group"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--records", type=int, default=256)
    arguments = parser.parse_args()
    kafka = KafkaSettings(brokers=arguments.brokers, group=arguments.group)
    asyncio.run(loop(kafka, arguments.check_ins, arguments.verdicts, arguments.records))


if __name__ == "__main__":
    main()
