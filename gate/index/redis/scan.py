"""`gate.index.scan.Walk` of an index in Redis: its hashes are gone through a page at a time, of all shards at once, so
that the server is never held up for long.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from gate.index.redis.bucket_reader import CROWDED, OVERFLOW
from gate.index.redis.buckets import rows_by_shard, unpack, unpack_rows, unpacked
from gate.index.redis.client import Script, load_script
from gate.index.redis.generations import current_view
from gate.index.redis.layout import (
    SHARDS,
    decode_held,
    decode_record,
    encode_held,
    encode_record,
    names_and_lives,
    packed,
    shards_of_documents,
    shards_of_entries,
    shares_of,
)
from gate.index.scan import Document, Triples, added
from gate.index.store import Held, Keys, Record

if TYPE_CHECKING:
    from gate.index.redis.store import RedisStore

SCAN, MISSING = load_script("scan"), load_script("missing")
ENTER, RESTORE = load_script("enter"), load_script("restore")
FIELDS_AT_ONCE = 256  # of each shard: some thousands in all, a few milliseconds of the server
NO_LIMIT = 1 << 40


async def pages(store: RedisStore, script: Script, kind: bytes, *head: bytes | int) -> AsyncIterator[list[Any]]:
    """What a script tells of a kind of hash, page by page: one of each shard and generation that is not at its end."""
    view = await current_view(store._link.client, store._prefixes)
    cursors = dict.fromkeys(product(range(SHARDS), view.read.encode()), b"0")
    while cursors:
        places = list(cursors)
        shards, names = np.array([shard for shard, _ in places]), [bytes([g]) + kind for _, g in places]
        shares, order = shares_of(shards, (names,), ([cursors[place] for place in places],))
        replies = [reply for replies in await store._call(script, shares, FIELDS_AT_ONCE, *head) for reply in replies]
        for i, (cursor, _) in zip(order, replies, strict=True):
            cursors[places[i]] = cursor
        yield [page for _, page in replies]
        cursors = {place: cursor for place, cursor in cursors.items() if cursor != b"0"}


class RedisScan:
    """A friend of the store: it makes its calls, under its view."""

    def __init__(self, store: RedisStore) -> None:
        self._store = store

    async def entries(self) -> AsyncIterator[Sequence[Record]]:
        async for fields in self._fields(b"r"):
            if fields:
                yield [decode_record(name, value) for name, value in fields]

    async def documents(self) -> AsyncIterator[Sequence[Document]]:
        async for fields in self._fields(b"d"):
            if fields:
                yield [Document(name.decode(), decode_held(value)) for name, value in fields]

    async def _fields(self, kind: bytes) -> AsyncIterator[list[tuple[bytes, bytes]]]:
        async for found in pages(self._store, SCAN, kind):
            yield [pair for page in found for pair in zip(page[::2], page[1::2], strict=True)]

    async def postings(self) -> AsyncIterator[Triples]:
        async for fields in self._fields(b"b"):
            if fields:
                yield self._unpacked(*zip(*fields, strict=True))
        everywhere = [(shard, b"") for shard in range(SHARDS)]
        crowded = await self._store._call(CROWDED, everywhere)
        shares = [(shard, b"".join(names)) for shard, names in enumerate(crowded) if names]
        rests = await self._store._call(OVERFLOW, shares, NO_LIMIT, self._store._widths.sizes)
        for names, found in zip(filter(None, crowded), rests, strict=True):
            yield self._unpacked([name[1:] for name in names], found)

    def _unpacked(self, names: Sequence[bytes], buckets: Sequence[bytes]) -> Triples:
        keys = unpacked(np.frombuffer(b"".join(names), ">u4"))
        (which, entries, tags), _ = unpack(buckets, self._store._widths.of(keys), NO_LIMIT)
        return keys[which], entries, tags

    async def missing(self, keys: Keys, entries: Keys, tags: Keys) -> Triples:
        store = self._store
        told = rows_by_shard(keys, entries, tags, store._widths.of(keys))
        replies = await store._call(MISSING, [(shard, packed(parts)) for shard, parts in told.items()])
        found = [unpack_rows(item) for reply in replies for item in reply]
        if not found:
            return keys[:0], entries[:0], tags[:0]
        lost_keys, lost_entries, lost_tags = (np.concatenate(column) for column in zip(*found, strict=True))
        return lost_keys, lost_entries, lost_tags

    async def restore(self, records: Sequence[Record]) -> list[Record]:
        store = self._store
        if not records:
            return []
        entries = np.array([record.entry for record in records], np.uint64)
        columns = (names_and_lives(entries)[0],), ([encode_record(record) for record in records],)
        replies = await store._columns(ENTER, shards_of_entries(entries), *columns)
        return [store._decoded(reply) if reply else record for record, reply in zip(records, replies, strict=True)]

    async def restore_documents(self, documents: Sequence[Document]) -> list[Document]:
        store = self._store
        names = [document.document_id.encode() for document in documents]
        values = [encode_held(document.held) for document in documents]
        replies = await store._columns(RESTORE, shards_of_documents(names), (), (names, values))
        behind = [
            document
            for document, reply in zip(documents, replies, strict=True)
            if (held := decode_held(reply)) != added(held, document.held)
        ]
        await store._change_documents([(document.document_id, _more(document)) for document in behind])
        asked = [document.document_id for document in documents]
        return [Document(*pair) for pair in zip(asked, await store.documents(asked), strict=True)]

    async def pass_ticket(self, ticket: int) -> None:
        self._store._highest_ticket = max(self._store._highest_ticket, ticket)
        await self._store.draw(0)


def _more(document: Document) -> Callable[[tuple[Held, ...]], tuple[Held, ...]]:
    return lambda held: added(held, document.held)
