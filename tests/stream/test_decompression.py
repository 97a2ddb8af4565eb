"""Decompression stops at a limit; each record of a batch beyond it becomes a placeholder that is dead-lettered."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator

import aiokafka.codec
import pytest
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from gate.errors import BadDocument
from gate.limits import Limits
from gate.stream import decompression
from gate.stream.decompression import DecompressionFailed, limited_decoders
from gate.stream.records import decode_record
from gate.wire import RejectedMessage

LIMIT = 100_000
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "snappy": aiokafka.codec.snappy_encode,
    "lz4": aiokafka.codec.lz4_encode,
    "zstd": aiokafka.codec.zstd_encode,
}


@pytest.fixture(autouse=True)
def restore_library() -> Iterator[None]:
    original = fetcher.PartitionRecords
    yield
    decompression.install_limit(2**30)
    fetcher.PartitionRecords = original


def batch(codec: str, base: int, *values: bytes) -> bytes:
    builder = DefaultRecordBatchBuilder(
        2, CODECS[codec], is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=0, batch_size=2**30
    )
    for number, value in enumerate(values):
        builder.append(number, 1000, key=b"k", value=value, headers=[])
    built = builder.build()
    built[:8] = base.to_bytes(8, "big")
    return bytes(built)


def records(*batches: bytes, fetch_offset: int = 0) -> list[object]:
    decompression.install_limit(LIMIT)
    made = fetcher.PartitionRecords(
        TopicPartition("t", 0), MemoryRecords(b"".join(batches)), None, fetch_offset, None, None, True, 1
    )
    return list(made)


@pytest.mark.parametrize("codec", ENCODERS)
@pytest.mark.parametrize("value", [b"", b"short", bytes(LIMIT), bytes(range(256)) * 300])
def test_a_payload_within_the_limit_is_decompressed(codec: str, value: bytes) -> None:
    assert limited_decoders(LIMIT)[codec](ENCODERS[codec](value)) == value


@pytest.mark.parametrize("codec", ENCODERS)
def test_a_payload_beyond_the_limit_is_not_decompressed(codec: str) -> None:
    with pytest.raises(DecompressionFailed):
        limited_decoders(LIMIT)[codec](ENCODERS[codec](bytes(LIMIT + 1)))


@pytest.mark.parametrize("codec", ENCODERS)
def test_a_truncated_payload_is_not_decompressed(codec: str) -> None:
    with pytest.raises(DecompressionFailed):
        limited_decoders(LIMIT)[codec](ENCODERS[codec](b"some text" * 100)[:-9])


def test_raw_snappy_without_blocks_is_limited_too() -> None:
    raw = aiokafka.codec.snappy_encode(bytes(LIMIT + 1), xerial_compatible=False)
    with pytest.raises(DecompressionFailed):
        limited_decoders(LIMIT)["snappy"](raw)
    assert limited_decoders(LIMIT + 1)["snappy"](raw) == bytes(LIMIT + 1)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_only_the_offsets_of_a_bomb_get_placeholders(codec: str) -> None:
    found = records(batch("none", 0, b"a"), batch(codec, 1, b"b", bytes(10 * LIMIT), b"c"), batch(codec, 4, b"d", b"e"))
    assert [one.offset for one in found] == [0, 1, 2, 3, 4, 5]  # type: ignore[attr-defined]
    assert [one.value for one in found] == [b"a", None, None, None, b"d", b"e"]  # type: ignore[attr-defined]


def test_a_bomb_that_is_fetched_from_its_middle_gets_placeholders_from_there() -> None:
    found = records(batch("zstd", 10, b"a", bytes(10 * LIMIT), b"c"), fetch_offset=11)
    assert [one.offset for one in found] == [11, 12]  # type: ignore[attr-defined]


def test_a_placeholder_is_rejected_as_too_large_with_its_origin() -> None:
    [first, *_] = records(batch("gzip", 7, bytes(10 * LIMIT)))
    rejected = decode_record(first, limits=Limits())  # type: ignore[arg-type]
    assert isinstance(rejected, RejectedMessage)
    assert isinstance(rejected.error, BadDocument)
    assert (rejected.error.code, str(rejected.origin), rejected.raw) == ("too_large", "t[0]@7", None)
