"""Unpack record batches: limit their decompressed size, and replace what cannot be read.

A batch of a few hundred kilobytes may decompress to gigabytes of zeros. The library decompresses it whole, whatever the
fetch limits are, and would again after every restart. Here its decoders are replaced by ones that stop at a limit. Each
record of a batch beyond it becomes a placeholder that is dead-lettered as too large, and the next batch is read.

A poll returns at most so many records, however large each of them is, and a fetch of a few megabytes may hold hundreds
that unpack to tens of megabytes each. `poll_limit` bounds what a poll returns in bytes.

The library also gives up on a whole fetch for one record that it cannot parse, such as one with a header whose name is
not UTF-8. Such a batch is parsed again here, record by record, and only those records are dead-lettered.

A batch with a wrong checksum is fetched again, since it may have been damaged in transit. One that comes damaged each
time is so on the disk of the broker: it would stop its partition for good, so its offsets are dead-lettered. Nothing in
it can be trusted, hence no letter quotes it, and only what is known to be of it is passed over. Nothing is raised for
it: an error while records are unpacked makes the library drop those of other partitions, which it counts as read.
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import cramjam
import numpy as np
from aiokafka import ConsumerRecord
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException, UnsupportedCodecError
from aiokafka.record import default_records
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c, decode_varint

from gate.stream.records import BAD_HEADER_NAME, DECOMPRESSES_TOO_LARGE, UNREADABLE, size_bytes

Decoder = Callable[[Any], bytes]

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_PIECE = 1024  # read first of a member; doubled while it goes on
_XERIAL = b"\x82SNAPPY\x00"  # then the rest of a header of 16 bytes, and blocks with their lengths
_XERIAL_HEADER = 16
# Of a batch of records: its first offset, length, checksum, codec and number of records.
_OFFSET, _LENGTH, _CRC, _COUNT = (struct.Struct(form) for form in (">q", ">i", ">I", ">i"))
_HEADER_BYTES = 61
DAMAGED_FETCHES = 3  # of a batch, after which it is damaged where it is stored
_CODECS = (None, "gzip", "snappy", "lz4", "zstd")
# The record parser of the library in C, and its fallback in Python.
_MODULES = ("aiokafka.record._crecords.default_records", "aiokafka.record.default_records")


class DecompressionFailed(Exception):
    """A batch is corrupt, or exceeds the limit."""


class TooLarge(DecompressionFailed):
    """A batch exceeds the limit."""


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
    fetcher.FetchResult = ReleasedResult
    fetcher.MemoryRecords = FetchedBatches


def limited_decoders(max_bytes: int) -> dict[str, Decoder]:
    """A decoder for each codec. DecompressionFailed: corrupt, or larger than `max_bytes` decompressed."""

    def gzip(payload: Any) -> bytes:
        # A stream of several members, one after another, is as good as one. Small pieces: what a member leaves of its
        # piece is copied, and there may be a member for each 20 bytes.
        rest, unpacked, position = memoryview(payload).cast("B"), bytearray(), 0
        while position == 0 or bytes(rest[position : position + 2]) == _GZIP_MAGIC:
            member, piece = zlib.decompressobj(_GZIP), _GZIP_PIECE
            while not member.eof:
                taken = rest[position : position + piece]
                if not taken:
                    raise DecompressionFailed("gzip")
                try:
                    unpacked += member.decompress(taken, max_bytes + 1 - len(unpacked))
                except zlib.error as exc:
                    raise DecompressionFailed("gzip") from exc
                if len(unpacked) > max_bytes:
                    raise TooLarge("gzip")
                position += len(taken) - len(member.unused_data)
                piece *= 2
        return bytes(unpacked)

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
                raise TooLarge("snappy")
        return b"".join(blocks)

    return {
        "gzip": gzip,
        "snappy": snappy,
        "lz4": into_buffer(cramjam.lz4.decompress_into),
        "zstd": into_buffer(cramjam.zstd.decompress_into),
    }


class FetchedBatches:
    """The batches of a fetch, with the bytes of the last one: the library's own parser does not hand them out."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._records = MemoryRecords(data)
        self._next = 0
        self.raw = memoryview(b"")
        self.last: Any = None

    def size_in_bytes(self) -> int:
        return int(self._records.size_in_bytes())

    def has_next(self) -> bool:
        return bool(self._records.has_next())

    def next_batch(self) -> Any:
        start = self._next
        self._next += _LENGTH.unpack_from(self._data, start + 8)[0] + 12
        self.raw = memoryview(self._data)[start : self._next]
        self.last = self._records.next_batch()
        return self.last

    def following_offset(self) -> int | None:
        """The first offset of the batch behind the last one; None: this fetch has none."""
        if not self.has_next():
            return None
        offset: int = _OFFSET.unpack_from(self._data, self._next)[0]
        return offset


@dataclass(slots=True)
class _Budget:
    left: int


_poll_budget: ContextVar[_Budget | None] = ContextVar("poll_budget", default=None)


@contextmanager
def poll_limit(max_bytes: int) -> Iterator[None]:
    """Polls within return records of at most so many bytes together, or one record."""
    token = _poll_budget.set(_Budget(max_bytes))
    try:
        yield
    finally:
        _poll_budget.reset(token)


class ReleasedResult(fetcher.FetchResult):  # type: ignore[misc]  # the library has no types
    """A fetch of one partition that returns no more than the poll may, and frees its records when it is dropped before
    they were read.

    They refer to an iterator that refers to them. As a cycle they would stay until a full garbage collection, of which
    a worker has few, with megabytes of records each.
    """

    def __init__(self, *arguments: Any, partition_records: Any, **options: Any) -> None:
        self._released = partition_records
        super().__init__(*arguments, partition_records=partition_records, **options)

    def getall(self, max_records: int | None = None) -> list[Any]:
        budget = _poll_budget.get() or _Budget(sys.maxsize)
        records: list[Any] = []
        most = sys.maxsize if max_records is None else max_records
        while budget.left > 0 and len(records) < most and (record := self.getone()) is not None:
            records.append(record)
            budget.left -= size_bytes(record)
        return records

    def __del__(self) -> None:
        self._released._records_iterator = None


class BoundedRecords(fetcher.PartitionRecords):  # type: ignore[misc]  # the library has no types
    """The records of one partition in a fetch, with placeholders for those of a batch that cannot be decompressed."""

    _tp: Any
    _records: Any
    next_fetch_offset: int

    def _unpack_records(self) -> Iterator[Any]:
        while True:
            try:
                yield from super()._unpack_records()
            except TooLarge:
                yield from self._placeholders(DECOMPRESSES_TOO_LARGE)
            except DecompressionFailed:
                yield from self._placeholders(UNREADABLE)
            except (CorruptRecordException, UnsupportedCodecError, ValueError, IndexError):
                raw = self._records.raw
                if _CRC.unpack_from(raw, 17)[0] == calc_crc32c(bytes(raw[21:])):
                    yield from self._parse_batch()
                    continue
                if self._count_damaged() < DAMAGED_FETCHES:
                    return  # perhaps in transit: it is fetched again
                end = self._end_of_damaged()
                yield from self._placeholders(UNREADABLE, end or max(self.next_fetch_offset, self._first()) + 1)
                if end is None:
                    return  # what follows is fetched from there
            else:
                return

    def _first(self) -> int:
        return int(self._records.last.base_offset)

    def _count_damaged(self) -> int:
        """How often the last batch came damaged, by now."""
        offset, count = _damaged.get(self._tp, (-1, 0))
        count = count + 1 if offset == self._first() else 1
        _damaged[self._tp] = self._first(), count
        return count

    def _end_of_damaged(self) -> int | None:
        """Where the last batch ends, whose header may be damaged too: where its two numbers of records agree, and never
        behind the batch that follows. None: unknown."""
        batch, following = self._records.last, self._records.following_offset()
        count = _COUNT.unpack_from(self._records.raw, _HEADER_BYTES - 4)[0]
        ends = [following] if following is not None else []
        if batch.next_offset - batch.base_offset == count > 0:
            ends.append(batch.next_offset)
        end = min(ends, default=None)
        return end if end is not None and end > self.next_fetch_offset else None

    def _parse_batch(self) -> Iterator[Any]:
        """The records of a batch that the library's parser gives up on, each by itself: those that cannot be parsed
        are replaced, and no other."""
        batch, raw = self._records.last, self._records.raw
        position = 0
        # What follows cannot be told apart: placeholders for all of it.
        with suppress(IndexError, ValueError, DecompressionFailed):
            data, codec = bytes(raw[_HEADER_BYTES:]), _CODECS[batch.compression_type]
            if codec is not None:
                data = getattr(default_records, f"{codec}_decode")(data)
            for _ in range(_COUNT.unpack_from(raw, _HEADER_BYTES - 4)[0]):
                length, position = decode_varint(data, position)
                if length < 0 or position + length > len(data):
                    break
                parsed = _parse_record(data[position : position + length])
                position += length
                if parsed is None:
                    continue
                offset = batch.base_offset + parsed.offset_delta
                if self.next_fetch_offset <= offset < batch.next_offset:
                    yield from self._placeholders(UNREADABLE, offset)  # for what could not be parsed before it
                    self.next_fetch_offset = offset + 1
                    yield self._record(offset, batch.first_timestamp + parsed.timestamp_delta, parsed)
        yield from self._placeholders(UNREADABLE)

    def _placeholders(self, size: int, end: int | None = None) -> Iterator[Any]:
        """One for each offset of the last batch from here on; `size` says why."""
        batch = self._records.last
        first = max(self.next_fetch_offset, batch.base_offset)
        for offset in range(first, batch.next_offset if end is None else end):
            self.next_fetch_offset = offset + 1
            yield self._record(offset, batch.max_timestamp or 0, _Parsed(size=size))

    def _record(self, offset: int, timestamp: int, parsed: _Parsed) -> Any:
        topic, partition = self._tp
        return ConsumerRecord(
            topic=topic,
            partition=partition,
            offset=offset,
            timestamp=timestamp,
            timestamp_type=self._records.last.timestamp_type,
            key=parsed.key,
            value=parsed.value,
            checksum=None,
            serialized_key_size=-1 if parsed.key is None else len(parsed.key),
            serialized_value_size=parsed.size,
            headers=parsed.headers,
        )


_damaged: dict[Any, tuple[int, int]] = {}  # by partition, the last batch that came damaged, and how often it did


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parsed:
    """The fields of a record in a batch; `size` is that of its value, or says what is wrong with it."""

    size: int
    timestamp_delta: int = 0
    offset_delta: int = 0
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


def _parse_record(data: bytes) -> _Parsed | None:
    """Parse a record without its length. None: it is damaged. A header's name that is not UTF-8 is escaped."""
    position = 0

    def number() -> int:
        nonlocal position
        value, position = decode_varint(data, position)
        return int(value)

    def field() -> bytes | None:
        nonlocal position
        length = number()
        if length < 0:
            return None
        if position + length > len(data):
            raise ValueError("a field ends behind its record")
        position += length
        return data[position - length : position]

    try:
        number()  # attributes: none are defined
        timestamp_delta, offset_delta = number(), number()
        key, value = field(), field()
        headers = [(field() or b"", field() or b"") for _ in range(number())]
    except (IndexError, ValueError):
        return None
    if position != len(data):
        return None
    try:
        names, size = [name.decode() for name, _ in headers], -1 if value is None else len(value)
    except UnicodeDecodeError:
        names, size = [name.decode(errors="backslashreplace") for name, _ in headers], BAD_HEADER_NAME
    return _Parsed(
        size=size,
        timestamp_delta=timestamp_delta,
        offset_delta=offset_delta,
        key=key,
        value=value,
        headers=tuple([(name, content) for name, (_, content) in zip(names, headers, strict=True)]),
    )
