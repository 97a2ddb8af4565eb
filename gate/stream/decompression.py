"""Limit the decompressed size of a record batch.

A batch of a few hundred kilobytes may decompress to gigabytes of zeros. The library decompresses it whole, whatever the
fetch limits are, and would again after every restart. Here its decoders are replaced by ones that stop at a limit. Each
record of a batch beyond it becomes a placeholder that is dead-lettered as too large, and the next batch is read.
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

from gate.stream.records import DECOMPRESSES_TOO_LARGE

Decoder = Callable[[Any], bytes]

_GZIP = 16 + zlib.MAX_WBITS
_XERIAL = b"\x82SNAPPY\x00"  # then the rest of a header of 16 bytes, and blocks with their lengths
_XERIAL_HEADER = 16
# The record parser of the library in C, and its fallback in Python.
_MODULES = ("aiokafka.record._crecords.default_records", "aiokafka.record.default_records")


class DecompressionFailed(Exception):
    """A batch is corrupt, or exceeds the limit."""


def install_limit(max_bytes: int) -> None:
    """Limit every consumer of this process. A second call replaces the limit."""
    limited = limited_decoders(max_bytes)
    for name in _MODULES:
        try:
            module = import_module(name)
        except ImportError:
            continue
        for codec, decode in limited.items():
            setattr(module, f"{codec}_decode", decode)
    fetcher.PartitionRecords = BoundedRecords


def limited_decoders(max_bytes: int) -> dict[str, Decoder]:
    """A decoder for each codec. DecompressionFailed: corrupt, or larger than `max_bytes` decompressed."""

    def gzip(payload: Any) -> bytes:
        decompressor = zlib.decompressobj(_GZIP)
        try:
            data = decompressor.decompress(bytes(payload), max_bytes)
        except zlib.error as exc:
            raise DecompressionFailed("gzip") from exc
        if not decompressor.eof:
            raise DecompressionFailed("gzip")
        return data

    def into_buffer(decompress_into: Callable[[Any, Any], int]) -> Decoder:
        def decode(payload: Any) -> bytes:
            buffer = np.empty(max_bytes, np.uint8)  # pages that are not written to are not allocated
            try:
                size = decompress_into(bytes(payload), buffer)
            except cramjam.DecompressionError as exc:
                raise DecompressionFailed("compressed") from exc
            return buffer[:size].tobytes()

        return decode

    decode_block = into_buffer(cramjam.snappy.decompress_raw_into)

    def snappy(payload: Any) -> bytes:
        compressed = bytes(payload)
        if not compressed.startswith(_XERIAL):
            return decode_block(compressed)
        blocks, size, position = [], 0, _XERIAL_HEADER
        while position < len(compressed):
            end = position + 4 + int.from_bytes(compressed[position : position + 4], "big")
            blocks.append(decode_block(compressed[position + 4 : end]))
            size, position = size + len(blocks[-1]), end
            if size > max_bytes:
                raise DecompressionFailed("snappy")
        return b"".join(blocks)

    return {
        "gzip": gzip,
        "snappy": snappy,
        "lz4": into_buffer(cramjam.lz4.decompress_into),
        "zstd": into_buffer(cramjam.zstd.decompress_into),
    }


class _LastBatch:
    """Iterates over the batches of a fetch, and remembers the last one."""

    def __init__(self, records: Any) -> None:
        self._records = records
        self.last: Any = None

    def has_next(self) -> bool:
        return bool(self._records.has_next())

    def next_batch(self) -> Any:
        self.last = self._records.next_batch()
        return self.last


class BoundedRecords(fetcher.PartitionRecords):  # type: ignore[misc]  # the library has no types
    """The records of one partition in a fetch, with placeholders for those of a batch that cannot be decompressed."""

    _tp: Any
    _records: Any
    next_fetch_offset: int

    def _unpack_records(self) -> Iterator[Any]:
        batches = self._records = _LastBatch(self._records)
        while True:
            try:
                yield from super()._unpack_records()
            except DecompressionFailed:
                yield from self._placeholders(batches.last)
            else:
                return

    def _placeholders(self, batch: Any) -> Iterator[Any]:
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
                serialized_value_size=DECOMPRESSES_TOO_LARGE,
                headers=(),
            )
