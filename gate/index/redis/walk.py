"""`gate.index.walk.Walk` of an index in Redis.

Pages are numbered, so all of them are asked for one after another; buckets are found by SCAN, which never holds the
server up for long.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from redis.asyncio.cluster import RedisCluster

from gate.index.redis.buckets import rows_by_shard, unpack, unpack_rows, unpacked
from gate.index.redis.layout import (
    SHARDS,
    cut,
    decode_held,
    decode_record,
    encode_held,
    encode_record,
    names_and_lives,
    packed,
)
from gate.index.redis.link import Client, pipeline_of, script, translating
from gate.index.redis.views import current_view, scan
from gate.index.store import Held, Keys, Record
from gate.index.walk import Document, Triples, added

if TYPE_CHECKING:
    from gate.index.redis.store import RedisStore

PAGES, MISSING, ENTER, RESTORE = script("pages"), script("missing"), script("enter"), script("restore")
PAGES_AT_ONCE = 8  # of each shard: some ten thousand fields, a few milliseconds of the server
RECORD_FIELD_BYTES = (4, 5)  # the pieces of bodies have longer names
BUCKETS_AT_ONCE = 4096
NO_LIMIT = 1 << 62


class RedisWalk:
    """A friend of the store: it makes its calls, under its view."""

    def __init__(self, store: RedisStore) -> None:
        self._store = store

    async def entries(self) -> AsyncIterator[Sequence[Record]]:
        async for pages in self._pages(b"r"):
            yield [record for fields in pages for record in self._records(fields)]

    def _records(self, fields: dict[bytes, bytes]) -> list[Record]:
        found = []
        for name, value in fields.items():
            if len(name) in RECORD_FIELD_BYTES:
                pieces = [fields.get(b"%sb%d" % (name, n), b"") for n in range(1, self._store._chunks + 1)]
                found.append(decode_record(name, value, b"".join(pieces)))
        return found

    async def documents(self) -> AsyncIterator[Sequence[Document]]:
        async for pages in self._pages(b"d"):
            yield [Document(name.decode(), decode_held(value)) for fields in pages for name, value in fields.items()]

    async def _pages(self, kind: bytes) -> AsyncIterator[list[dict[bytes, bytes]]]:
        count = 1 << self._store._layout.page_bits
        for first in range(0, count, PAGES_AT_ONCE):
            numbers = range(first, min(first + PAGES_AT_ONCE, count))
            asked = packed([kind + number.to_bytes(4, "big") for number in numbers])
            replies = await self._store._call(PAGES, [(shard, asked) for shard in range(SHARDS)])
            pages = [dict(zip(one[::2], one[1::2], strict=True)) for reply in replies for one in reply if one]
            if pages:
                yield pages

    async def postings(self) -> AsyncIterator[Triples]:
        client, widths = self._store._link.client, self._store._widths
        in_a_cluster = isinstance(client, RedisCluster)

        def shard_of(name: bytes) -> bytes:
            """Names of one shard go together; without a Cluster, all do."""
            return name[: name.index(b"}")] if in_a_cluster else b""

        with translating():
            async for names in self._buckets(client):
                names.sort()
                pipe = pipeline_of(client)
                for _, some in groupby(names, shard_of):
                    pipe.execute_command("MGET", *some)
                buckets = [bucket or b"" for found in await pipe.execute() for bucket in found]
                keys = unpacked(np.frombuffer(b"".join(name[-4:] for name in names), ">u4"))
                (which, entries, tags), _ = unpack(buckets, widths.of(keys), NO_LIMIT)
                yield keys[which], entries, tags

    async def _buckets(self, client: Client) -> AsyncIterator[list[bytes]]:
        """Names of buckets, of all shards that a server has at a time."""
        view = await current_view(client, self._store._prefixes)
        pattern = f"{self._store._layout.prefix}:{{*}}:[{view.read}]b*".encode()
        nodes = client.get_primaries() if isinstance(client, RedisCluster) else [None]
        for node in nodes:
            names: list[bytes] = []
            async for found in scan(client, pattern, node=node):
                names += found
                if len(names) >= BUCKETS_AT_ONCE:
                    yield names
                    names = []
            if names:
                yield names

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
        shards, pages = store._layout.places_of_entries(entries)
        cuts = [cut(record.body, store._chunks) for record in records]
        values = [encode_record(record, head) for record, (head, _) in zip(records, cuts, strict=True)]
        columns = (pages, names_and_lives(entries)[0], values, *zip(*(pieces for _, pieces in cuts), strict=True))
        replies = await store._columns(ENTER, shards, columns, store._chunks)
        return [store._decoded(reply) if reply else record for record, reply in zip(records, replies, strict=True)]

    async def restore_documents(self, documents: Sequence[Document]) -> list[Document]:
        store = self._store
        names = [document.document_id.encode() for document in documents]
        shards, pages = store._layout.places_of_documents(names)
        values = [encode_held(document.held) for document in documents]
        replies = await store._columns(RESTORE, shards, (pages, names, values))
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
