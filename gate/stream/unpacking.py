"""A bound on what a compressed batch of records may unpack to.

A batch of a few hundred kilobytes may hold gigabytes of zeros. The library unpacks it whole, whatever the limits of a
fetch are, and would do so again after every restart. Here its decoders are replaced by ones that stop at a limit, and
a batch that does not unpack is told record by record as too large, so that it is dead-lettered and the next one read.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import cramjam
import numpy as np
from aiokafka import ConsumerRecord
from aiokafka.consumer import fetcher

from gate.stream.events import UNPACKS_TOO_LARGE

Decoder = Callable[[Any], bytes]

_GZIP = 16 + zlib.MAX_WBITS
_XERIAL = b"\x82SNAPPY\x00"  # blocks of their own length each, behind a header of 16 bytes
_XERIAL_HEADER = 16
# The library has its records in C, and again in Python for where that cannot be built.
_MODULES = ("aiokafka.record._crecords.default_records", "aiokafka.record.default_records")


class TooMuch(Exception):
    """A batch that does not unpack within the limit, or at all."""


def install(max_bytes: int) -> None:
    """Bound every consumer of this process. Called again, it replaces the limit."""
    made = decoders(max_bytes)
    for name in _MODULES:
        try:
            module = import_module(name)
        except ImportError:
            continue
        for codec, decode in made.items():
            setattr(module, f"{codec}_decode", decode)
    fetcher.PartitionRecords = BoundedRecords


def decoders(max_bytes: int) -> dict[str, Decoder]:
    """By the name of the codec."""

    def gzip(payload: Any) -> bytes:
        unpacker = zlib.decompressobj(_GZIP)
        try:
            unpacked = unpacker.decompress(bytes(payload), max_bytes)
        except zlib.error as exc:
            raise TooMuch("gzip") from exc
        if not unpacker.eof:
            raise TooMuch("gzip")
        return unpacked

    def into(unpack: Callable[[Any, Any], int]) -> Decoder:
        def decode(payload: Any) -> bytes:
            room = np.empty(max_bytes, np.uint8)  # memory that is not written to is not taken
            try:
                size = unpack(bytes(payload), room)
            except cramjam.DecompressionError as exc:
                raise TooMuch("compressed") from exc
            return room[:size].tobytes()

        return decode

    raw = into(cramjam.snappy.decompress_raw_into)

    def snappy(payload: Any) -> bytes:
        packed = bytes(payload)
        if not packed.startswith(_XERIAL):
            return raw(packed)
        blocks, size, at = [], 0, _XERIAL_HEADER
        while at < len(packed):
            end = at + 4 + int.from_bytes(packed[at : at + 4], "big")
            blocks.append(raw(packed[at + 4 : end]))
            size, at = size + len(blocks[-1]), end
            if size > max_bytes:
                raise TooMuch("snappy")
        return b"".join(blocks)

    return {
        "gzip": gzip,
        "snappy": snappy,
        "lz4": into(cramjam.lz4.decompress_into),
        "zstd": into(cramjam.zstd.decompress_into),
    }


class _Watched:
    """Batches of records, and which of them was taken last."""

    def __init__(self, records: Any) -> None:
        self._records = records
        self.last: Any = None

    def has_next(self) -> bool:
        return bool(self._records.has_next())

    def next_batch(self) -> Any:
        self.last = self._records.next_batch()
        return self.last


class BoundedRecords(fetcher.PartitionRecords):  # type: ignore[misc]  # the library has no types
    """The records of a partition; of a batch that does not unpack, empty ones that say so."""

    _tp: Any
    _records: Any
    next_fetch_offset: int

    def _unpack_records(self) -> Iterator[Any]:
        watched = self._records = _Watched(self._records)
        while True:
            try:
                yield from super()._unpack_records()
            except TooMuch:
                yield from self._stand_in(watched.last)
            else:
                return

    def _stand_in(self, batch: Any) -> Iterator[Any]:
        topic, partition = self._tp
        for offset in range(max(self.next_fetch_offset, batch.base_offset), batch.next_offset):
            self.next_fetch_offset = offset + 1
            yield ConsumerRecord(
                topic=topic,
                partition=partition,
                offset=offset,
                timestamp=batch.max_timestamp or 0,
                timestamp_type=batch.timestamp_type,
                key=None,
                value=None,
                checksum=None,
                serialized_key_size=-1,
                serialized_value_size=UNPACKS_TOO_LARGE,
                headers=(),
            )
