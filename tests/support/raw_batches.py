"""Batches of records as no ordinary client makes them: changed after they were packed, or damaged on a disk."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.record.util import calc_crc32c

from tests.support.brokers import KafkaServer
from tests.support.gate_on_kafka import InputRecord

HEADER_BYTES = 61
_OFFSET_AND_LENGTH = struct.Struct(">qi")


def unchanged(records: bytes) -> bytes:
    return records


class RawBatch(NamedTuple):
    """Records that are packed, changed by a function, and sent under the number of a codec."""

    records: Sequence[InputRecord]
    change: Callable[[bytes], bytes] = unchanged
    codec: int = 0


async def send_raw_batches(brokers: str, topic: str, batches: Sequence[RawBatch], *, partition: int = 0) -> list[int]:
    """Send batches; the offset of the first record of each."""
    offsets = []
    async with AIOKafkaProducer(bootstrap_servers=brokers, acks="all") as producer:
        for records, change, codec in batches:
            batch = producer.create_batch()
            for record in records:
                batch.append(key=record.key, value=record.value, timestamp=None, headers=list(record.headers))
            built = bytearray(batch._build())
            built[HEADER_BYTES:] = change(bytes(built[HEADER_BYTES:]))
            built[22] |= codec
            built[8:12] = (len(built) - 12).to_bytes(4, "big")
            built[17:21] = calc_crc32c(bytes(built[21:])).to_bytes(4, "big")
            batch._buffer = built
            sent = await (await producer.send_batch(batch, topic, partition=partition))
            offsets.append(sent.offset)
    return offsets


def damage_on_disk(server: KafkaServer, topic: str, partition: int, offsets: Sequence[int]) -> None:
    """Change the last byte but one of the batches that begin at these offsets, in the files of a broker that runs."""
    for path in sorted((server.folder / "data" / f"{topic}-{partition}").glob("*.log")):
        with path.open("r+b") as file:
            for place, offset, length in _batches(path.read_bytes()):
                if offset in offsets:
                    file.seek(place + length - 2)
                    last = file.read(1)[0]
                    file.seek(place + length - 2)
                    file.write(bytes([last ^ 1]))


def _batches(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Place, first offset and length of each batch of a segment."""
    place = 0
    while place + _OFFSET_AND_LENGTH.size <= len(data):
        offset, length = _OFFSET_AND_LENGTH.unpack_from(data, place)
        if not length:
            return  # the rest is not written yet
        yield place, offset, length + _OFFSET_AND_LENGTH.size
        place += length + _OFFSET_AND_LENGTH.size
