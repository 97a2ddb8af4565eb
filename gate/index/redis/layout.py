"""Where things stand in Redis, byte by byte. Pure: the store and the tools that walk an index both read it here.

    gate:standard@1:{5}:             the prefix of a shard; its hash tag keeps all of it in one slot of a Cluster
    gate:standard@1:{5}:v            the view: what the index means and which generations live (see `View`)
    gate:standard@1:{5}:t            tickets drawn (in the first shard only)
    gate:standard@1:{5}:l  :a        the latest appends, and the number of those that were dropped before them
    gate:standard@1:{5}:h            the names of crowded buckets
    gate:standard@1:{5}:0b<4 bytes>  a bucket of generation 0: table and number; postings back to back, oldest first
    gate:standard@1:{5}:0r<4 bytes>  a page of the registry: entries by content
    gate:standard@1:{5}:0d<4 bytes>  a page of documents, by document id

A posting is an entry (8 bytes) and as many bytes of its tag as the table needs. Pages are hashes of a few dozen small
fields, which Redis keeps as one packed list; a larger field would cost several times its size, so a body is cut.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise, repeat
from typing import Final, NamedTuple

import mmh3
import msgspec
import numpy as np
from numpy.typing import NDArray
from redis.crc import key_slot

from gate.index.store import Held, Holder, Record

FORMAT = 1
SHARDS = 16  # a Cluster of up to as many masters; each costs one script call a batch
SLOTS = 16384
CHUNK_BYTES = 64  # hash-max-listpack-value of every Redis: a longer value turns the whole page into a hash table
LARGEST_TABLE = 255
LARGEST_BUCKET = (1 << 24) - 1
# Fields of a page that Redis keeps packed: 128. Pages fill unevenly, so the plan stays well below.
FIELDS_PER_PAGE = 80

TICKET, DUPLICATE, DEAD = 1, 2, 4
_NONE = 0xFFFF
_LENGTHS = [length.to_bytes(3, "little") for length in range(1024)]
Share = tuple[int, bytes]  # a shard, and the items for it
_SHORT = struct.Struct("<H")
_RECORD = struct.Struct("<12s4sBQH")
_REGISTRATION = struct.Struct("<BQ")
_HELD = struct.Struct("<16sQ")


class View(msgspec.Struct, frozen=True, array_like=True):
    """What a process must know of an index to work on it. It stands in every shard, and every call is checked
    against it: whoever has another view can neither read nor write."""

    format: int
    digest: str  # of the profile's meaning
    page_bits: int  # pages of a shard
    read: str  # the live generations, the one that is written to first
    epoch: int = 0  # of changes to the view: the higher one is the later
    started: float = 0.0  # when the generation that is written to began, by the clock of whoever began it
    announced: bool = False  # the second generation is still empty, and about to be written to

    def encode(self) -> bytes:
        return msgspec.json.encode(self)


class Places(NamedTuple):
    shards: NDArray[np.int64]
    pages: list[bytes]


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


def page_bits_for(documents: int, fields_each: int) -> int:
    """How many bits number the pages of a shard, so that a page of an index of that size stays packed."""
    pages = documents * fields_each / (FIELDS_PER_PAGE * SHARDS)
    return max(0, round(pages).bit_length())


@dataclass(frozen=True, slots=True)
class Layout:
    """Keys of one index."""

    prefix: str
    page_bits: int

    @property
    def prefixes(self) -> tuple[bytes, ...]:
        return tuple(f"{self.prefix}:{{{tag}}}:".encode() for tag in hash_tags(SHARDS))

    def place_of_entry(self, entry: int) -> tuple[int, bytes]:
        """Shard and page of one entry."""
        [shard], [page] = self.places_of_entries(np.array([entry], np.uint64))
        return int(shard), page

    def place_of_document(self, name: bytes) -> tuple[int, bytes]:
        """Shard and page of one document."""
        [shard], [page] = self.places_of_documents([name])
        return int(shard), page

    def places(self, numbers: NDArray[np.uint64]) -> Places:
        """Shard and page of each 32-bit number; they spread evenly."""
        wide = numbers * np.uint64(SHARDS)
        pages = (wide & np.uint64(0xFFFFFFFF)) >> np.uint64(32 - self.page_bits)
        return Places((wide >> np.uint64(32)).astype(np.int64), four_bytes(pages))

    def places_of_entries(self, entries: NDArray[np.uint64]) -> Places:
        return self.places(entries >> np.uint64(32))

    def places_of_contents(self, contents: Sequence[bytes]) -> Places:
        return self.places(np.frombuffer(b"".join(contents), ">u4")[::4].astype(np.uint64))

    def places_of_documents(self, names: Sequence[bytes]) -> Places:
        hashes = map(mmh3.hash, names, repeat(0), repeat(False))
        return self.places(np.fromiter(hashes, np.uint64, len(names)))


def packed(fields: Iterable[bytes]) -> bytes:
    """Fields as a script reads them: each behind its length."""
    return b"".join([part for field in fields for part in (len(field).to_bytes(3, "little"), field)])


def shares_of(shards: NDArray[np.int64], columns: Sequence[Sequence[bytes]]) -> tuple[list[Share], list[int]]:
    """Items, a field a column, as each shard reads its own; and which items these are, one shard after another.

    Nothing here is done item by item: a batch has thousands of fields.
    """
    order = np.argsort(shards, kind="stable")
    touched, starts = np.unique(shards[order], return_index=True)
    parts: list[Sequence[bytes]] = []
    for column in columns:
        ordered = [column[i] for i in order.tolist()]
        parts += (_lengths_of(ordered), ordered)
    flat = list(chain.from_iterable(zip(*parts, strict=True)))
    bounds = [*(len(parts) * starts).tolist(), len(flat)]
    shares = [(shard, b"".join(flat[a:b])) for shard, (a, b) in zip(touched.tolist(), pairwise(bounds), strict=True)]
    return shares, order.tolist()


def _lengths_of(fields: Sequence[bytes]) -> Sequence[bytes]:
    sizes = list(map(len, fields))
    if max(sizes, default=0) >= len(_LENGTHS):
        return [size.to_bytes(3, "little") for size in sizes]
    return list(map(_LENGTHS.__getitem__, sizes))


def four_bytes(numbers: NDArray[np.uint64]) -> list[bytes]:
    listed: list[bytes] = numbers.astype(">u4").view("V4").tolist()
    return listed


# Records.


def names_and_lives(entries: NDArray[np.uint64]) -> tuple[list[bytes], list[bytes]]:
    """The field that each entry stands in, and what tells it from others there."""
    return four_bytes(entries >> np.uint64(32)), four_bytes(entries & np.uint64(0xFFFFFFFF))


def life_of(entry: int) -> bytes:
    return (entry & 0xFFFFFFFF).to_bytes(4, "big")


def field_of(entry: int) -> bytes:
    return (entry >> 32).to_bytes(4, "big")


def chunks_of(body_bytes: int) -> int:
    """How many chunks a body of that size has beside its head."""
    return body_bytes // CHUNK_BYTES


def cut(body: bytes, chunks: int) -> tuple[bytes, list[bytes]]:
    """A body as a head and so many whole chunks; a body that is too short for them is all head."""
    head = len(body) - chunks * CHUNK_BYTES
    if head < 0:
        return body, [b""] * chunks
    return body[:head], [body[at : at + CHUNK_BYTES] for at in range(head, len(body), CHUNK_BYTES)]


def encode_record(record: Record, head: bytes) -> bytes:
    flags = (TICKET if record.ticket else 0) | (DUPLICATE if record.duplicate_of else 0) | (DEAD if record.dead else 0)
    registration = record.ticket or record.duplicate_of
    fixed = _RECORD.pack(record.content[4:], life_of(record.entry), flags, registration, len(head))
    return fixed + head + b"".join(map(_encode_holder, record.holders))


def decode_record(field: bytes, value: bytes, chunks: bytes) -> Record:
    content, life, flags, registration, size = _RECORD.unpack_from(value)
    head = value[_RECORD.size : _RECORD.size + size]
    return Record(
        int.from_bytes(field[:4] + life, "big"),
        field[:4] + content,
        _decode_holders(value, _RECORD.size + size),
        head + chunks,
        registration if flags & TICKET else 0,
        registration if flags & DUPLICATE else 0,
        bool(flags & DEAD),
    )


def encode_registration(*, ticket: int, duplicate_of: int) -> bytes:
    return _REGISTRATION.pack(TICKET if ticket else DUPLICATE, ticket or duplicate_of)


def _encode_holder(holder: Holder) -> bytes:
    name = holder.document_id.encode()
    return _SHORT.pack(len(name)) + name + _encode_optional(None if holder.version is None else holder.version.encode())


def _decode_holders(value: bytes, at: int) -> tuple[Holder, ...]:
    holders = []
    while at < len(value):
        past = at + 2 + _SHORT.unpack_from(value, at)[0]
        version, after = _decode_optional(value, past)
        holders.append(Holder(value[at + 2 : past].decode(), None if version is None else version.decode()))
        at = after
    return tuple(holders)


# Documents.


def encode_held(held: tuple[Held, ...]) -> bytes:
    parts = []
    for one in held:
        parts.append(_HELD.pack(one.content, one.stamp))
        parts.append(_encode_optional(None if one.version is None else one.version.encode()))
        parts.append(_encode_optional(one.answer))
    return b"".join(parts)


def unanswered(version: str | None) -> bytes:
    """What follows content and stamp in a record of a document that has no answer yet."""
    return b"\xff\xff\xff\xff" if version is None else _encode_optional(version.encode()) + b"\xff\xff"


def decode_held(value: bytes) -> tuple[Held, ...]:
    held, at = [], 0
    while at < len(value):
        content, stamp = _HELD.unpack_from(value, at)
        version, after = _decode_optional(value, at + _HELD.size)
        answer, at = _decode_optional(value, after)
        held.append(Held(content, None if version is None else version.decode(), answer, stamp))
    return tuple(held)


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
