"""`gate.index.walk.Walk` of an index in Redis.

Pages are numbered, so all of them are asked for one after another; buckets are found by SCAN, which never holds the
server up for long.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gate.index.redis.buckets import rows_by_shard, unpack, unpack_rows, unpacked
from gate.index.redis.layout import SHARDS, cut, decode_held, decode_record, encode_held, encode_record, packed
from gate.index.redis.link import pipeline_of, script, translating
from gate.index.redis.views import scan
from gate.index.store import Keys, Record
from gate.index.walk import POSTINGS, Document, Triples, added

if TYPE_CHECKING:
    from gate.index.redis.store import RedisStore

PAGES, MISSING, RESTORE = script("pages"), script("missing"), script("restore")
PAGES_AT_ONCE = 8  # of each shard: some ten thousand fields, a few milliseconds of the server
RECORD_FIELD_BYTES = (4, 5)  # the pieces of bodies have longer names
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
