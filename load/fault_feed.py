"""Feeds the check-ins of `load.faults` to a topic, and knows what was acknowledged."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from load.fault_tally import BAD_KEY, Position, SentRecord
from tests.support.gate_on_kafka import GateOnKafka, InputRecord


class FaultFeed:
    """Sends records at a rate, and others beside them. `epoch` is how often the index has been lost."""

    def __init__(self, brokers: str, topic: str, records: Sequence[InputRecord], rate: float) -> None:
        self.records = records
        self.sent: dict[Position, SentRecord] = {}
        self.epoch = 0
        self._brokers = brokers
        self._topic = topic
        self._rate = rate
        self._producer: Any = None
        self._going = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        """Feed meanwhile; the task ends when all is acknowledged."""
        async with AIOKafkaProducer(
            bootstrap_servers=self._brokers, acks="all", enable_idempotence=True, request_timeout_ms=60_000
        ) as self._producer:
            self.resume()
            yield asyncio.create_task(self._feed())

    async def _feed(self) -> None:
        waiting: set[asyncio.Task[Position]] = set()
        for record in self.records:
            await self._going.wait()
            task = asyncio.create_task(self.send(record))
            waiting.add(task)
            task.add_done_callback(waiting.discard)
            await asyncio.sleep(1 / self._rate)
        await asyncio.gather(*waiting)

    async def send(self, record: InputRecord) -> Position:
        name = (record.key or b"").decode()
        while True:
            try:
                sent = await self._producer.send_and_wait(self._topic, record.value, key=record.key)
            except KafkaError:  # the broker was unavailable for too long: sent again, which is one more check-in
                continue
            place = sent.partition, sent.offset
            self.sent[place] = SentRecord(name, self.epoch)
            return place

    def resume(self) -> None:
        self._going.set()

    async def drain(self, gate: GateOnKafka, restart_workers: Callable[[], None], *, seconds: float) -> None:
        """Stop feeding, and wait until all that was sent is committed."""
        self._going.clear()
        deadline, before = time.monotonic() + seconds, -1
        while sum((await gate.fetch_committed()).values()) < len(self.sent) or len(self.sent) != before:
            before = len(self.sent)
            if time.monotonic() > deadline:
                raise TimeoutError(f"not all was answered; the logs of the workers are in {gate.folder}")
            restart_workers()
            await asyncio.sleep(0.5)

    def add_unacknowledged(self, records: Iterable[Any]) -> None:
        """Records of the topic whose acknowledgement was lost count too."""
        for record in records:
            name = (record.key or BAD_KEY).decode()
            self.sent.setdefault((record.partition, record.offset), SentRecord(name, self.epoch))
