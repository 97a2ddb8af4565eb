"""The layout of an index in Redis, byte by byte. Pure: for the store and for the tools that scan an index.

    gate:standard@1:{5}:             the prefix of a shard; its hash tag keeps all of it in one slot of a Cluster
    gate:standard@1:{5}:v            the view: which index it is, what it means, which generations live (see `View`)
    gate:standard@1:{5}:i            identities of indexes that this one replaces (in the first shard only)
    gate:standard@1:{5}:t            tickets drawn (in the first shard only)
    gate:standard@1:{5}:g  :p        generations that are filled aside, and the one that is being promoted (likewise)
    gate:standard@1:{5}:l  :a        the latest appends, and the number of those that were dropped before them
    gate:standard@1:{5}:h            the crowded buckets: generation and name
    gate:standard@1:{5}:0b           the buckets of generation 0: a name is table and number in four bytes; postings
                                     back to back, oldest first
    gate:standard@1:{5}:0o<4 bytes>  what overflowed from a crowded bucket
    gate:standard@1:{5}:0r           the registry: entries by content
    gate:standard@1:{5}:0d           documents, by document id

A posting is an entry (8 bytes) and as many bytes of its tag as the table needs. Buckets, registry and documents are one
hash each: a script then reads and writes what a batch needs of them in two calls, and a bucket takes half of the memory
that a key of its own would.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, pairwise, repeat
from operator import itemgetter
from typing import Final

import mmh3
import msgspec
import numpy as np
from numpy.typing import NDArray
from redis.crc import key_slot

from gate.core.profile import Decisions
from gate.index.store import EntryRecord, HeldContent, Holder, Registration

FORMAT = 2
SHARD_BITS = 4
SHARDS = 1 << SHARD_BITS  # a Cluster of up to as many masters; each costs one script call a batch
SLOTS = 16384
CONTENT_BYTES = 16
LARGEST_TABLE = 255
LARGEST_BUCKET = (1 << 24) - 1
SPLIT = 1024  # postings of a bucket before it overflows: each append copies the bucket, and none its overflow

TICKET, DUPLICATE, DEAD = 1, 2, 4
_NONE = 0xFFFF
_LENGTHS = [length.to_bytes(3, "little") for length in range(1024)]
Numbers = NDArray[np.int64]
Share = tuple[int, bytes]  # a shard, and the items for it
_SHORT = struct.Struct("<H")
_RECORD = struct.Struct("<12s4sBQH")
_REGISTRATION = struct.Struct("<BQ")
UNREGISTERED = bytes(_REGISTRATION.size)
REGISTRATION_AT = 16  # in a record: behind content and life
FIXED_BYTES = _RECORD.size - _SHORT.size  # of a record, before its body: content, life and registration
_HELD = struct.Struct("<16sQ")


class View(msgspec.Struct, frozen=True, array_like=True):
    """What a process must know of an index to work on it. It is in every shard, and every call is checked against it: a
    process with another view can neither read nor write."""

    format: int
    digest: str  # of the profile's meaning
    read: str  # the live generations, the one that is written to first
    epoch: int = 0  # of changes to the view: the higher one is the later
    started: float = 0.0  # when the generation that is written to began, by the clock of the process that began it
    announced: bool = False  # the second generation is still empty, and about to be written to
    identity: str = ""  # of the index: drawn at random when it was created, and never used for another one
    creating: bool = False  # in the first shard, until all of them have the view (see `gate.index.redis.creation`)
    decisions: Decisions = Decisions()  # by which every process decides

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    @property
    def promoting(self) -> bool:
        """Another generation is being moved in beside the one that lives, and no rotation may begin."""
        return self.announced and len(self.read) == 1


@lru_cache(maxsize=8)
def hash_tags(shards: int) -> tuple[str, ...]:
    """One tag a shard, such that shard i lies in the i-th part of the slots: masters share the shards evenly."""
    tags = []
    for shard in range(shards):
        number = 0
        while key_slot(f"{number:x}".encode()) * shards // SLOTS != shard or f"{number:x}" in tags:
            number += 1
        tags.append(f"{number:x}")
    return tuple(tags)


@lru_cache(maxsize=8)
def prefixes_of(prefix: str) -> tuple[bytes, ...]:
    """What the keys of each shard of an index begin with."""
    return tuple(f"{prefix}:{{{tag}}}:".encode() for tag in hash_tags(SHARDS))


def shards_of_entries(entries: NDArray[np.uint64]) -> Numbers:
    """The shard of each entry: its upper four bits are those of its content."""
    return (entries >> np.uint64(64 - SHARD_BITS)).astype(np.int64)


def shards_of_contents(contents: Sequence[bytes]) -> Numbers:
    return np.frombuffer(b"".join(contents), np.uint8)[::CONTENT_BYTES].astype(np.int64) >> (8 - SHARD_BITS)


def shards_of_documents(names: Sequence[bytes]) -> Numbers:
    hashes = map(mmh3.hash, names, repeat(0), repeat(False))
    return np.fromiter(hashes, np.int64, len(names)) >> (32 - SHARD_BITS)


def packed(fields: Iterable[bytes]) -> bytes:
    """Fields as a script reads them: each behind its length."""
    return b"".join([part for field in fields for part in (len(field).to_bytes(3, "little"), field)])


def by_shard(shards: Numbers) -> tuple[Numbers, Numbers]:
    """Which items there are, one shard after another, and how many before each shard."""
    # Of bytes, numpy sorts a batch in a quarter of the time.
    order = np.argsort(shards.astype(np.uint8), kind="stable")
    return order, np.concatenate([[0], np.cumsum(np.bincount(shards, minlength=SHARDS))])


def shares_of(
    shards: Numbers, fixed: Sequence[Sequence[bytes]], varying: Sequence[Sequence[bytes]]
) -> tuple[list[Share], list[int]]:
    """Items, a field a column, as each shard reads its own; and which items these are, one shard after another. Fields
    of a fixed width come first, without their lengths.

    Nothing here is done item by item: a batch has thousands of fields.
    """
    order, before = by_shard(shards)
    listed: list[int] = order.tolist()
    if not listed:
        return [], listed
    parts = [_chosen(column, listed) for column in fixed]
    for column in varying:
        ordered = _chosen(column, listed)
        parts += (_lengths_of(ordered), ordered)
    flat = list(chain.from_iterable(zip(*parts, strict=True)))
    bounds = (len(parts) * before).tolist()
    shares = [(shard, b"".join(flat[a:b])) for shard, (a, b) in enumerate(pairwise(bounds)) if a < b]
    return shares, listed


def _chosen(column: Sequence[bytes], places: Sequence[int]) -> Sequence[bytes]:
    return itemgetter(*places)(column) if len(places) > 1 else [column[places[0]]]


def shares_of_rows(shards: Numbers, rows: NDArray[np.uint8]) -> tuple[list[Share], list[int]]:
    """The same where every field has a fixed width, and items are rows of bytes."""
    order, before = by_shard(shards)
    bounds = (rows.shape[1] * before).tolist()
    joined = rows[order].tobytes()
    return [(shard, joined[a:b]) for shard, (a, b) in enumerate(pairwise(bounds)) if a < b], order.tolist()


def _lengths_of(fields: Sequence[bytes]) -> Sequence[bytes]:
    sizes = list(map(len, fields))
    if max(sizes, default=0) >= len(_LENGTHS):
        return [size.to_bytes(3, "little") for size in sizes]
    return list(map(_LENGTHS.__getitem__, sizes))


def four_bytes(numbers: NDArray[np.uint64]) -> list[bytes]:
    listed: list[bytes] = numbers.astype(">u4").view("V4").tolist()
    return listed


def eight_bytes(numbers: NDArray[np.uint64]) -> list[bytes]:
    listed: list[bytes] = numbers.astype("<u8").view("V8").tolist()
    return listed


# Records.


def names_and_lives(entries: NDArray[np.uint64]) -> tuple[list[bytes], list[bytes]]:
    """The field that each entry is in, and what distinguishes it from others there."""
    return four_bytes(entries >> np.uint64(32)), four_bytes(entries & np.uint64(0xFFFFFFFF))


def life_of(entry: int) -> bytes:
    return (entry & 0xFFFFFFFF).to_bytes(4, "big")


def sized(body: bytes) -> bytes:
    """A body as it is in a record."""
    return _SHORT.pack(len(body)) + body


def encode_record(record: EntryRecord) -> bytes:
    flags = (TICKET if record.ticket else 0) | (DUPLICATE if record.duplicate_of else 0) | (DEAD if record.dead else 0)
    registration = record.ticket or record.duplicate_of
    fixed = _RECORD.pack(record.content[4:], life_of(record.entry), flags, registration, len(record.body))
    holders = [encode_holder(holder.document_id.encode(), holder.version) for holder in record.holders]
    return b"".join((fixed, record.body, *holders))


def entry_of(field: bytes, value: bytes) -> int:
    """The entry of a record."""
    return int.from_bytes(field[:4] + value[12:REGISTRATION_AT], "big")


def decode_record(field: bytes, value: bytes) -> EntryRecord:
    content, life, flags, registration, size = _RECORD.unpack_from(value)
    past = _RECORD.size + size
    return EntryRecord(
        int.from_bytes(field[:4] + life, "big"),
        field[:4] + content,
        decode_holders(value, past),
        value[_RECORD.size : past],
        registration if flags & TICKET else 0,
        registration if flags & DUPLICATE else 0,
        bool(flags & DEAD),
    )


def encode_registrations(registrations: Sequence[Registration]) -> NDArray[np.uint8]:
    """Rows of name, life, flags and registration."""
    rows = np.zeros(len(registrations), [("entry", ">u8"), ("flags", np.uint8), ("registration", "<u8")])
    rows["entry"] = [registration.entry for registration in registrations]
    rows["flags"] = [TICKET if registration.ticket else DUPLICATE for registration in registrations]
    rows["registration"] = [registration.ticket or registration.duplicate_of for registration in registrations]
    return rows.view(np.uint8).reshape(len(rows), rows.itemsize)


def decode_registration(encoded: bytes) -> tuple[int, int]:
    """Ticket and original; one of them is 0."""
    flags, registration = _REGISTRATION.unpack(encoded)
    return (registration, 0) if flags & TICKET else (0, registration)


def encode_holder(name: bytes, version: str | None) -> bytes:
    return _SHORT.pack(len(name)) + name + (b"\xff\xff" if version is None else _encode_optional(version.encode()))


def decode_holders(value: bytes, at: int) -> tuple[Holder, ...]:
    holders = []
    while at < len(value):
        past = at + 2 + _SHORT.unpack_from(value, at)[0]
        version, after = _decode_optional(value, past)
        holders.append(Holder(value[at + 2 : past].decode(), None if version is None else version.decode()))
        at = after
    return tuple(holders)


# Documents.


# What does not change of a content that a document holds is one field, which scripts pass over: the version behind its
# length, then the details. Without either the field is absent.


def _encode_label(version: str | None, details: bytes) -> bytes:
    if version is None and not details:
        return b"\xff\xff"
    return _encode_optional(_encode_optional(None if version is None else version.encode()) + details)


def _decode_label(label: bytes | None) -> tuple[str | None, bytes]:
    if label is None:
        return None, b""
    version, past = _decode_optional(label, 0)
    return None if version is None else version.decode(), label[past:]


def encode_held(contents: tuple[HeldContent, ...]) -> bytes:
    parts = []
    for stored in contents:
        parts.append(_HELD.pack(stored.content, stored.stamp))
        parts.append(_encode_label(stored.version, stored.details))
        parts.append(_encode_optional(stored.answer))
    return b"".join(parts)


def encode_unanswered(version: str | None, details: bytes) -> bytes:
    """What follows content and stamp in a record of a document that has no answer yet."""
    return _encode_label(version, details) + b"\xff\xff"


def decode_held(value: bytes) -> tuple[HeldContent, ...]:
    contents, at = [], 0
    while at < len(value):
        content, stamp = _HELD.unpack_from(value, at)
        label, after = _decode_optional(value, at + _HELD.size)
        answer, at = _decode_optional(value, after)
        version, details = _decode_label(label)
        contents.append(HeldContent(content, version, answer, stamp, details))
    return tuple(contents)


def _encode_optional(value: bytes | None) -> bytes:
    if value is None:
        return b"\xff\xff"
    if len(value) >= _NONE:
        raise ValueError(f"{len(value)} bytes are too long for a field of an index")
    return _SHORT.pack(len(value)) + value


def _decode_optional(value: bytes, at: int) -> tuple[bytes | None, int]:
    size: int = _SHORT.unpack_from(value, at)[0]
    return (None, at + 2) if size == _NONE else (value[at + 2 : at + 2 + size], at + 2 + size)


GENERATIONS: Final = "01"
