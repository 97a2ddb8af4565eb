"""Records and documents come back from their bytes as they were, and shards lie where a Cluster can share them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from redis.crc import key_slot

from gate.index.redis.layout import (
    SHARDS,
    SLOTS,
    by_shard,
    decode_held,
    decode_record,
    encode_held,
    encode_record,
    encode_unanswered,
    entry_of,
    hash_tags,
    packed,
    shards_of_contents,
    shards_of_entries,
    shares_of,
)
from gate.index.store import EntryRecord, HeldContent, Holder

CONTENTS = st.binary(min_size=16, max_size=16)
NAMES = st.text(max_size=20)
VERSIONS = st.none() | NAMES
NUMBERS = st.integers(1, 2**64 - 1)
ANSWERS = st.none() | st.binary(max_size=30)
REGISTRATIONS: st.SearchStrategy[dict[str, int]] = st.one_of(
    st.just({}), st.fixed_dictionaries({"ticket": NUMBERS}), st.fixed_dictionaries({"duplicate_of": NUMBERS})
)


@given(
    content=CONTENTS,
    life=st.integers(0, 2**32 - 1),
    holders=st.lists(st.builds(Holder, NAMES, VERSIONS), max_size=3),
    body=st.binary(max_size=200),
    registration=REGISTRATIONS,
    dead=st.booleans(),
)
def test_a_record_is_decoded_as_it_was_encoded(
    content: bytes, life: int, holders: list[Holder], body: bytes, registration: dict[str, int], dead: bool
) -> None:
    entry = int.from_bytes(content[:4], "big") << 32 | life
    record = EntryRecord(entry, content, tuple(holders), body, dead=dead, **registration)
    value = encode_record(record)
    assert decode_record(content[:4], value) == record
    assert entry_of(content[:4], value) == entry


@given(st.lists(st.builds(HeldContent, CONTENTS, VERSIONS, ANSWERS, NUMBERS, st.binary(max_size=30)), max_size=4))
def test_the_contents_of_a_document_are_decoded_as_they_were_encoded(contents: list[HeldContent]) -> None:
    assert decode_held(encode_held(tuple(contents))) == tuple(contents)


def test_the_contents_of_a_document_have_known_bytes() -> None:
    held = (HeldContent(b"c" * 16, None, None, 1), HeldContent(b"d" * 16, "v", b"yes", 2, b"title"))
    first, second = b"c" * 16 + b"\1" + bytes(7), b"d" * 16 + b"\2" + bytes(7)
    label = b"\x08\0" + b"\1\0v" + b"title"
    assert encode_held(held) == first + b"\xff\xff\xff\xff" + second + label + b"\3\0yes"
    only_details = (HeldContent(b"c" * 16, None, b"", 1, b"title"),)
    assert encode_held(only_details) == first + b"\7\0" + b"\xff\xff" + b"title" + bytes(2)
    assert first + encode_unanswered("v", b"title") == first + label + b"\xff\xff"


@given(st.lists(CONTENTS, min_size=1, max_size=20))
def test_an_entry_is_in_the_shard_of_its_content(contents: list[bytes]) -> None:
    entries = np.array([int.from_bytes(content[:4], "big") << 32 | 7 for content in contents], np.uint64)
    assert shards_of_entries(entries).tolist() == shards_of_contents(contents).tolist()


def test_each_shard_has_its_own_part_of_the_slots() -> None:
    parts = [key_slot(tag.encode()) * SHARDS // SLOTS for tag in hash_tags(SHARDS)]
    assert parts == list(range(SHARDS))


@given(st.lists(st.tuples(st.integers(0, SHARDS - 1), st.binary(max_size=5)), max_size=20))
def test_items_are_dealt_to_their_shards_in_their_order(items: list[tuple[int, bytes]]) -> None:
    shards = np.array([shard for shard, _ in items], np.int64)
    shares, order = shares_of(shards, (), ([value for _, value in items],))
    expected = {shard: packed([value for s, value in items if s == shard]) for shard, _ in items}
    assert dict(shares) == expected
    assert order == by_shard(shards)[0].tolist()
