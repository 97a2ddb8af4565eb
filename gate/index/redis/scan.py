"""The `gate.index.scan.Scan` of an index in Redis: its hashes are scanned a page at a time, of all shards at once, so
that the server is never held up for long."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from gate.index.redis.bucket_reader import BucketReader
from gate.index.redis.client import Script, load_script
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
from gate.index.redis.packing import Widths, rows_by_shard, unpack, unpack_rows, unpacked
from gate.index.redis.shards import Shards
from gate.index.scan import Document, DocumentSlice, PostingRows, merge_contents
from gate.index.store import EntryRecord, HeldContent, Keys

if TYPE_CHECKING:
    from gate.index.redis.store import RedisStore

SCAN_HASH, MISSING_POSTINGS = load_script("scan_hash"), load_script("missing_postings")
ADD_ENTRIES, RESTORE_DOCUMENTS = load_script("add_entries"), load_script("restore_documents")
FIELDS_AT_ONCE = 256  # of each shard: some thousands in all, a few milliseconds of the server
PASSED_AT_ONCE = 1024  # of which most are passed over: the fields of another table
ANY_NAME = b"*"
_GLOB = re.compile(rb"[*?\[\]\\^]")
NO_LIMIT = (1 << 32) - 1  # postings of a bucket
_CURSOR = re.compile(r"([0-9]{1,18})\.([01][0-9a-f])\.(0|[1-9][0-9]{0,19})\.(.*)", re.DOTALL)


async def pages(
    shards: Shards, script: Script, kind: bytes, *arguments: bytes | int, count: int = FIELDS_AT_ONCE
) -> AsyncIterator[list[Any]]:
    """What a script returns of a kind of hash, page by page: one of each shard and generation that has more."""
    view = await shards.current_view()
    cursors = dict.fromkeys(product(range(SHARDS), view.read.encode()), b"0")
    while cursors:
        places = list(cursors)
        numbers, names = np.array([shard for shard, _ in places]), [bytes([g]) + kind for _, g in places]
        shares, order = shares_of(numbers, (names,), ([cursors[place] for place in places],))
        returned = await shards.call(script, shares, count, *arguments)
        replies = [reply for replies in returned for reply in replies]
        for i, (cursor, _) in zip(order, replies, strict=True):
            cursors[places[i]] = cursor
        yield [page for _, page in replies]
        cursors = {place: cursor for place, cursor in cursors.items() if cursor != b"0"}


class RedisScan:
    """Scans the shards of a store, under its view."""

    def __init__(self, store: RedisStore, shards: Shards, reader: BucketReader, widths: Widths) -> None:
        self._store = store
        self._shards = shards
        self._reader = reader
        self._widths = widths

    async def entries(self) -> AsyncIterator[Sequence[EntryRecord]]:
        async for fields in self._fields(b"r"):
            if fields:
                yield [decode_record(name, value) for name, value in fields]

    async def documents(self) -> AsyncIterator[Sequence[Document]]:
        async for fields in self._fields(b"d"):
            if fields:
                yield [Document(name.decode(), decode_held(value)) for name, value in fields]

    async def documents_after(self, cursor: str, count: int, *, id_prefix: str = "") -> DocumentSlice:
        # A cursor names a page of one generation and shard, and the last document of it that was returned. Under
        # another view than it was made under, generations may have other names: the list begins anew and misses none.
        view = await self._shards.current_view()
        # The older generation first: a document that moves meanwhile goes to the newer one.
        places = [f"{generation}{shard:x}" for generation in reversed(view.read) for shard in range(SHARDS)]
        epoch, place, page, last = _parsed(cursor) if cursor else (view.epoch, places[0], b"0", "")
        if epoch != view.epoch:
            place, page, last = places[0], b"0", ""
        numbers, kind = np.array([int(place[1:], 16)]), place[0].encode() + b"d"
        shares, _ = shares_of(numbers, ([kind],), ([page],))
        [[(next_page, fields)]] = await self._shards.call(SCAN_HASH, shares, count, ANY_NAME)
        values = {name.decode(): value for name, value in zip(fields[::2], fields[1::2], strict=True)}
        names = sorted(name for name in values if name > last and name.startswith(id_prefix))
        following = places[places.index(place) + (next_page == b"0") :]
        return DocumentSlice(
            [Document(name, decode_held(values[name])) for name in names],
            f"{view.epoch}.{following[0]}.{next_page.decode()}." if following else "",
            f"{view.epoch}.{place}.{page.decode()}.",
            len(values),
        )

    async def _fields(
        self, kind: bytes, pattern: bytes = ANY_NAME, *, count: int = FIELDS_AT_ONCE
    ) -> AsyncIterator[list[tuple[bytes, bytes]]]:
        async for hash_pages in pages(self._shards, SCAN_HASH, kind, pattern, count=count):
            yield [pair for page in hash_pages for pair in zip(page[::2], page[1::2], strict=True)]

    async def postings(self, table: int | None = None) -> AsyncIterator[PostingRows]:
        first = b"" if table is None else bytes([table])  # of the name of a bucket
        every = _GLOB.sub(rb"\\\g<0>", first) + ANY_NAME
        count = FIELDS_AT_ONCE if table is None else PASSED_AT_ONCE
        async for fields in self._fields(b"b", every, count=count):
            if fields:
                yield self._unpacked(*zip(*fields, strict=True))
        full = enumerate(await self._reader.crowded(range(SHARDS)))
        named = ((shard, [name for name in names if name[1:].startswith(first)]) for shard, names in full)
        crowded = [(shard, names) for shard, names in named if names]
        limits = [[NO_LIMIT] * len(names) for _, names in crowded]
        for (_, names), overflow in zip(crowded, await self._reader.overflow(crowded, limits), strict=True):
            yield self._unpacked([name[1:] for name in names], overflow)

    def _unpacked(self, names: Sequence[bytes], buckets: Sequence[bytes]) -> PostingRows:
        keys = unpacked(np.frombuffer(b"".join(names), ">u4"))
        (which, entries, tags), _ = unpack(buckets, self._widths.of(keys), NO_LIMIT)
        return keys[which], entries, tags

    async def missing(self, keys: Keys, entries: Keys, tags: Keys) -> PostingRows:
        rows = rows_by_shard(keys, entries, tags, self._widths.of(keys))
        replies = await self._shards.call(MISSING_POSTINGS, [(shard, packed(parts)) for shard, parts in rows.items()])
        missing_rows = [unpack_rows(item) for reply in replies for item in reply]
        if not missing_rows:
            return keys[:0], entries[:0], tags[:0]
        missing_keys, missing_entries, missing_tags = (
            np.concatenate(column) for column in zip(*missing_rows, strict=True)
        )
        return missing_keys, missing_entries, missing_tags

    async def restore(self, records: Sequence[EntryRecord]) -> list[EntryRecord]:
        if not records:
            return []
        entries = np.array([record.entry for record in records], np.uint64)
        columns = (names_and_lives(entries)[0],), ([encode_record(record) for record in records],)
        replies = await self._shards.call_items(ADD_ENTRIES, shards_of_entries(entries), *columns)
        return [self._store.decode(reply) if reply else record for record, reply in zip(records, replies, strict=True)]

    async def restore_documents(self, documents: Sequence[Document]) -> list[Document]:
        store = self._store
        names = [document.document_id.encode() for document in documents]
        values = [encode_held(document.contents) for document in documents]
        replies = await self._shards.call_items(RESTORE_DOCUMENTS, shards_of_documents(names), (), (names, values))
        behind = [
            document
            for document, reply in zip(documents, replies, strict=True)
            if (current := decode_held(reply)) != merge_contents(current, document.contents)
        ]
        await store.change_documents([(document.document_id, _merged(document)) for document in behind])
        document_ids = [document.document_id for document in documents]
        return [Document(*pair) for pair in zip(document_ids, await store.documents(document_ids), strict=True)]

    async def pass_ticket(self, ticket: int) -> None:
        await self._store.pass_ticket(ticket)


def _parsed(cursor: str) -> tuple[int, str, bytes, str]:
    """The epoch of the view, the generation and shard, the page there, and the last document of a cursor."""
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise ValueError("is none of an index in Redis")
    return int(match[1]), match[2], match[3].encode(), match[4]


def _merged(document: Document) -> Callable[[tuple[HeldContent, ...]], tuple[HeldContent, ...]]:
    return lambda current: merge_contents(current, document.contents)
