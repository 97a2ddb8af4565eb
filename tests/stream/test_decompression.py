"""Decompression stops at a limit; each record of a batch beyond it becomes a placeholder that is dead-lettered."""

from __future__ import annotations

import gc
import gzip
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import aiokafka.codec
import pytest
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c

from gate.errors import BadDocument
from gate.limits import Limits
from gate.stream import decompression
from gate.stream.decompression import DAMAGED_FETCHES, DecompressionFailed, FetchedBatches, limited_decoders
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
    original = fetcher.PartitionRecords, fetcher.MemoryRecords, fetcher.FetchResult
    yield
    decompression.install_limit(2**30)
    fetcher.PartitionRecords, fetcher.MemoryRecords, fetcher.FetchResult = original


def batch(codec: str, base: int, *values: bytes) -> bytes:
    builder = DefaultRecordBatchBuilder(
        2, CODECS[codec], is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=0, batch_size=2**30
    )
    for number, value in enumerate(values):
        builder.append(number, 1000, key=b"k", value=value, headers=[])
    built = builder.build()
    built[:8] = base.to_bytes(8, "big")
    return bytes(built)


def records(*batches: bytes, fetch_offset: int = 0, topic: str = "t") -> list[Any]:
    decompression.install_limit(LIMIT)
    made = fetcher.PartitionRecords(
        TopicPartition(topic, 0), FetchedBatches(b"".join(batches)), None, fetch_offset, None, None, True, 1
    )
    return list(made)


@pytest.mark.parametrize("read", [0, 1])
def test_fetched_records_that_are_dropped_unread_are_freed_without_a_garbage_collection(read: int) -> None:
    decompression.install_limit(LIMIT)
    partition = TopicPartition("t", 0)
    made = fetcher.PartitionRecords(
        partition, FetchedBatches(batch("none", 0, b"a", b"b")), None, 0, None, None, True, 1
    )
    for _ in range(read):
        next(made)
    freed = weakref.ref(made)
    result = fetcher.FetchResult(partition, assignment=None, partition_records=made, backoff=0)
    gc.disable()
    try:
        del made, result
        assert freed() is None
    finally:
        gc.enable()


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
    assert [one.offset for one in found] == [0, 1, 2, 3, 4, 5]
    assert [one.value for one in found] == [b"a", None, None, None, b"d", b"e"]


def test_a_bomb_that_is_fetched_from_its_middle_gets_placeholders_from_there() -> None:
    found = records(batch("zstd", 10, b"a", bytes(10 * LIMIT), b"c"), fetch_offset=11)
    assert [one.offset for one in found] == [11, 12]


def test_a_placeholder_is_rejected_as_too_large_with_its_origin() -> None:
    [first, *_] = records(batch("gzip", 7, bytes(10 * LIMIT)))
    rejected = decode_record(first, limits=Limits())
    assert isinstance(rejected, RejectedMessage)
    assert isinstance(rejected.error, BadDocument)
    assert (rejected.error.code, str(rejected.origin), rejected.raw) == ("too_large", "t[0]@7", None)


def resealed(built: bytearray) -> bytes:
    """A batch whose bytes were changed, with the length and the checksum that belong to them."""
    built[8:12] = (len(built) - 12).to_bytes(4, "big")
    built[17:21] = calc_crc32c(bytes(built[21:])).to_bytes(4, "big")
    return bytes(built)


def with_header(name: bytes, codec: str = "none") -> bytes:
    """Three records; the second has a header of this name of two bytes."""
    builder = DefaultRecordBatchBuilder(
        2, 0, is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=0, batch_size=2**30
    )
    for number, headers in enumerate(([("ok", b"1")], [("@@", b"2")], [])):
        builder.append(number, 1000, key=b"k", value=b"v%d" % number, headers=headers)
    built = bytearray(bytes(builder.build()).replace(b"@@", name))
    if codec != "none":
        built[61:] = ENCODERS[codec](bytes(built[61:]))
        built[22] |= CODECS[codec]
    return resealed(built)


@pytest.mark.parametrize("codec", CODECS)
def test_only_the_record_with_a_header_name_that_is_not_utf8_is_rejected(codec: str) -> None:
    found = records(with_header(b"\xff\xfe", codec))
    assert [(one.offset, one.value) for one in found] == [(0, b"v0"), (1, b"v1"), (2, b"v2")]
    assert [one.headers for one in found] == [(("ok", b"1"),), (("\\xff\\xfe", b"2"),), ()]
    rejected = [decode_record(one, limits=Limits()) for one in found]
    codes = [one.error.code for one in rejected if isinstance(one, RejectedMessage)]
    assert codes == ["bad_json", "unreadable_record", "bad_json"]


def test_only_a_damaged_record_gets_a_placeholder() -> None:
    built = bytearray(batch("none", 0, b"a", b"@@@@", b"c"))
    built[built.index(b"@@@@") - 1] = 2 * 100  # the length of its value
    found = records(resealed(built), batch("none", 3, b"d"))
    assert [(one.offset, one.value) for one in found] == [(0, b"a"), (1, None), (2, b"c"), (3, b"d")]


def damaged(base: int, *values: bytes, place: int = -2) -> bytes:
    built = bytearray(batch("none", base, *values))
    built[place] ^= 1
    return bytes(built)


def fetched_again(topic: str, *batches: bytes, fetch_offset: int = 0) -> list[Any]:
    """What the last fetch of a batch gives that comes damaged each time; the others end before it."""
    for _ in range(DAMAGED_FETCHES - 1):
        assert records(*batches, topic=topic, fetch_offset=fetch_offset) == []
    return records(*batches, topic=topic, fetch_offset=fetch_offset)


def test_a_batch_that_was_damaged_in_transit_is_fetched_again() -> None:
    for _ in range(3 * DAMAGED_FETCHES):
        assert records(damaged(0, b"a"), topic="transit") == []
        before = records(batch("none", 0, b"a"), damaged(1, b"b"), topic="transit")
        after = records(batch("none", 0, b"a"), batch("none", 1, b"b"), topic="transit")
        assert [[one.offset for one in found] for found in (before, after)] == [[0], [0, 1]]


def test_a_batch_of_an_unknown_codec_gets_placeholders() -> None:
    built = bytearray(batch("none", 0, b"a", b"b"))
    built[22] |= 7
    found = records(resealed(built), batch("none", 2, b"c"))
    assert [(one.offset, one.value) for one in found] == [(0, None), (1, None), (2, b"c")]


def test_a_batch_that_comes_damaged_each_time_gets_placeholders_and_the_next_is_read() -> None:
    found = fetched_again("disk", damaged(5, b"a", b"b"), batch("none", 7, b"c"), fetch_offset=5)
    assert [(one.offset, one.value) for one in found] == [(5, None), (6, None), (7, b"c")]
    rejected = decode_record(found[0], limits=Limits())
    assert isinstance(rejected, RejectedMessage)
    assert rejected.error.code == "unreadable_record"


def test_a_damaged_header_hides_no_batch_that_follows() -> None:
    last_offset = damaged(5, b"a", b"b", place=24)  # says that it goes far beyond the next batch
    found = fetched_again("far", last_offset, batch("none", 7, b"c"), fetch_offset=5)
    assert [(one.offset, one.value) for one in found] == [(5, None), (6, None), (7, b"c")]


def test_of_a_damaged_batch_with_an_unknown_end_one_offset_is_passed_with_each_fetch() -> None:
    last_offset = damaged(5, b"a", b"b", place=24)
    assert [one.offset for one in fetched_again("alone", last_offset, fetch_offset=5)] == [5]
    assert [one.offset for one in records(last_offset, topic="alone", fetch_offset=6)] == [6]


def test_gzip_members_are_unpacked_up_to_the_limit_over_all_of_them() -> None:
    gzip_decode = limited_decoders(LIMIT)["gzip"]
    members = gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two" * 5000)
    assert gzip_decode(members) == b"one " + b"two" * 5000
    with pytest.raises(DecompressionFailed):
        gzip_decode(gzip.compress(bytes(LIMIT)) + gzip.compress(b"x"))


class Assignment:
    """What a result of a fetch asks about its partition."""

    active = True
    paused = False

    def __init__(self, position: int = 0) -> None:
        self.position = position

    def state_value(self, partition: TopicPartition) -> Assignment:
        return self

    def consumed_to(self, position: int) -> None:
        self.position = position


def fetched(*values: bytes) -> Any:
    decompression.install_limit(LIMIT)
    partition = TopicPartition("t", 0)
    made = fetcher.PartitionRecords(partition, FetchedBatches(batch("zstd", 0, *values)), None, 0, None, None, True, 1)
    return fetcher.FetchResult(partition, assignment=Assignment(), partition_records=made, backoff=0)


def test_a_poll_returns_no_more_bytes_than_it_may_and_at_least_one_record() -> None:
    result, other = fetched(*[bytes(1000)] * 5), fetched(bytes(5000))
    with decompression.poll_limit(2500):
        assert len(result.getall(256)) == 3
        assert other.getall(256) == []  # of another partition, in the same poll
    with decompression.poll_limit(2500):
        assert len(result.getall(256)) == 2
        assert not result.has_more()
        assert len(other.getall(256)) == 1
    assert [len(fetched(*[bytes(1000)] * 5).getall(most)) for most in (2, None)] == [2, 5]  # without a limit
