"""A `gate.index.store.Store` in Redis. Each primitive is one script call per shard and batch, sent in one pipeline;
whole buckets are read by plain commands.

Kept here: what is immutable (the body of an entry), and what only saves work (marks, the bytes of records).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from gate.core.method_registry import BodyLayout
from gate.index.reading import ReadLimit
from gate.index.redis.bucket_reader import BucketReader
from gate.index.redis.client import RedisClient, load_script, translate_errors
from gate.index.redis.compare_and_set import Item, update_with_cas
from gate.index.redis.generations import keep_window, rotate
from gate.index.redis.layout import (
    CONTENT_BYTES,
    DEAD,
    FIXED_BYTES,
    REGISTRATION_AT,
    SPLIT,
    UNREGISTERED,
    View,
    decode_held,
    decode_holders,
    decode_record,
    decode_registration,
    eight_bytes,
    encode_held,
    encode_holder,
    encode_record,
    encode_registrations,
    encode_unanswered,
    entry_of,
    names_and_lives,
    packed,
    shards_of_contents,
    shards_of_documents,
    shards_of_entries,
    sized,
)
from gate.index.redis.packing import Widths, entries_by_shard, repeats, rows_by_shard
from gate.index.redis.record_cache import CachedRecord, RecordCache
from gate.index.redis.replication import ReplicaBarrier
from gate.index.redis.scan import RedisScan
from gate.index.redis.shards import Shards
from gate.index.redis.stats import measure_index
from gate.index.store import (
    VOID,
    AnswerUpdate,
    ContentState,
    Conversion,
    EntryRecord,
    HeldContent,
    Holder,
    Keys,
    NewEntry,
    Postings,
    ProbeMatches,
    Registration,
)

ADD_CONTENTS, READ_DOCUMENTS = load_script("add_contents"), load_script("read_documents")
ADD_ENTRIES, FIND_ENTRIES = load_script("add_entries"), load_script("find_entries")
APPEND_POSTINGS, REMOVE_POSTINGS = load_script("append_postings"), load_script("remove_postings")
DRAW_TICKETS, REGISTER = load_script("draw_tickets"), load_script("register")
SAVE_ANSWERS, DELETE_RECORDS = load_script("save_answers"), load_script("delete_records")

LOGGED_APPENDS = 64  # of one shard, for tail reads: more than racing processes append between two reads of a batch
WINDOW_CHECK_SECONDS = 60.0  # between two checks of the age of a generation; windows are hours and days


class RedisStore:
    """One index under one view."""

    def __init__(
        self,
        client: RedisClient,
        *,
        prefix: str,
        view: View,
        layout: BodyLayout,
        max_bucket: int,
        window_seconds: float | None = None,
        barrier: ReplicaBarrier | None = None,
        clock: Callable[[], float] = time.time,
        tickets: Shards | None = None,
    ) -> None:
        self.shards = Shards(client, prefix=prefix, view=view)
        self.widths = Widths(layout.tag_bytes)
        self._reader = BucketReader(self.shards, self.widths, max_bucket)
        self._tickets = tickets or self.shards  # a generation that is filled aside draws those of the live index
        self._highest_ticket = 0
        self._unappended: set[int] = set()  # entries that this process made and has not appended yet
        self._cache = RecordCache()
        self._window_seconds = window_seconds
        self._barrier = barrier
        self._clock = clock
        self._window_checked = 0.0  # when the age of the generation was last checked

    # Contents.

    async def register_content(self, new: Sequence[NewEntry]) -> list[ContentState]:
        if self._window_seconds is not None and self._clock() - self._window_checked >= WINDOW_CHECK_SECONDS:
            await self._keep_window(self._window_seconds)
        # 1. The document's record has the content before the content's record has the document: a delete that comes in
        # between finds both.
        before = await self._add_contents(new)
        # 2. The content, unless the document was answered.
        unanswered = [i for i, (answer, *_) in enumerate(before) if answer is None]
        records = dict(zip(unanswered, await self._add_entries([new[i] for i in unanswered]), strict=True))
        return [ContentState(records.get(i), *state) for i, state in enumerate(before)]

    async def _add_contents(self, new: Sequence[NewEntry]) -> list[tuple[bytes | None, tuple[bytes, ...], int]]:
        """The answer of each document to its content, its other contents, and its stamp."""
        if not new:
            return []
        names = [new_entry.document_id.encode() for new_entry in new]
        contents, entries = [new_entry.content for new_entry in new], [new_entry.entry for new_entry in new]
        stamps = eight_bytes(np.array(entries, np.uint64))
        rest = [encode_unanswered(new_entry.version, new_entry.details) for new_entry in new]
        values = list(map(b"".join, zip(contents, stamps, rest, strict=True)))
        replies = await self.shards.call_items(ADD_CONTENTS, shards_of_documents(names), (), (names, values))
        return [
            _state_of(content, entry, reply) if reply else (None, (), entry)
            for content, entry, reply in zip(contents, entries, replies, strict=True)
        ]

    async def _add_entries(self, new: Sequence[NewEntry]) -> list[EntryRecord]:
        if not new:
            return []
        entries = np.array([new_entry.entry for new_entry in new], np.uint64)
        names, lives = names_and_lives(entries)
        records, tails, values = [], [], []
        for new_entry, name, life in zip(new, names, lives, strict=True):
            if new_entry.content[:4] != name:
                raise ValueError("the upper half of an entry's number must be that of its content id")
            records.append(
                EntryRecord(
                    new_entry.entry,
                    new_entry.content,
                    (Holder(new_entry.document_id, new_entry.version),),
                    new_entry.body,
                )
            )
            tails.append(
                tail := sized(new_entry.body) + encode_holder(new_entry.document_id.encode(), new_entry.version)
            )
            values.append(new_entry.content[4:CONTENT_BYTES] + life + UNREGISTERED + tail)
        replies = await self.shards.call_items(ADD_ENTRIES, shards_of_entries(entries), (names,), (values,))
        joining = {}
        for i, reply in enumerate(replies):
            if not reply:
                self._unappended.add(records[i].entry)
                self._cache.add(records[i], tails[i])
                continue
            records[i] = self.decode(reply)
            if new[i].share and _may_join(records[i], new[i].document_id):
                joining[i] = Holder(new[i].document_id, new[i].version)
        if joining:
            changes = [(records[i].entry, _joined(holder)) for i, holder in joining.items()]
            for i, shared in zip(joining, await self._change_records(changes), strict=True):
                records[i] = shared or records[i]
        return records

    # Buckets.

    async def read(
        self,
        keys: Keys,
        *,
        since: int | None = None,
        limit: ReadLimit | None = None,
        ignoring: Collection[int] = (),
    ) -> Postings:
        return await self._reader.read(keys, since, limit, ignoring)

    async def probe(
        self,
        keys: Keys,
        tags: Keys,
        radii: NDArray[np.uint8],
        *,
        any_bits: int = 0,
        since: int | None = None,
        limit: ReadLimit | None = None,
        ignoring: Collection[int] = (),
    ) -> ProbeMatches:
        return await self._reader.probe(keys, tags, radii, any_bits, since, limit, ignoring)

    async def append(self, keys: Keys, entries: Keys, tags: Keys) -> None:
        if not len(keys):
            return
        owners = set(entries.tolist())
        new = owners <= self._unappended and not repeats(keys, entries, tags)
        self._unappended -= owners  # should the call fail, the next one has to look what is there already
        rows = rows_by_shard(keys, entries, tags, self.widths.of(keys))
        shares = [(shard, packed(parts)) for shard, parts in rows.items()]
        head = (SPLIT, LOGGED_APPENDS, "new" if new else "again")
        await self.shards.call(APPEND_POSTINGS, shares, *head, again=(*head[:-1], "again"))

    async def remove_postings(self, keys: Keys, entries: Keys) -> None:
        shares = [(shard, packed((rows,))) for shard, rows in entries_by_shard(keys, entries)]
        await self.shards.call(REMOVE_POSTINGS, shares, self.widths.sizes)

    # Tickets and registrations.

    async def draw(self, count: int) -> int:
        [first] = await self._tickets.call(DRAW_TICKETS, [(0, b"")], count, self._highest_ticket)
        self._highest_ticket = max(self._highest_ticket, int(first) + count - 1)
        return int(first)

    async def register(self, registrations: Sequence[Registration]) -> list[EntryRecord | None]:
        if any(registration.ticket and registration.duplicate_of for registration in registrations):
            raise ValueError("a registration is a ticket or a duplicate, not both")
        self._unappended.difference_update(
            registration.entry for registration in registrations
        )  # a duplicate never appends
        entries = np.array([registration.entry for registration in registrations], np.uint64)
        replies = await self.shards.call_rows(REGISTER, shards_of_entries(entries), encode_registrations(registrations))
        records: list[EntryRecord | None] = []
        unknown: dict[int, int] = {}
        for i, (registration, reply) in enumerate(zip(registrations, replies, strict=True)):
            cached = self._cache.get(registration.entry) if reply else None
            if reply and cached is None:
                unknown[i] = registration.entry
            records.append(None if cached is None else _registered(cached, registration, reply))
        for i, record in zip(unknown, await self.records(list(unknown.values())), strict=True):
            records[i] = record
        return records

    async def convert(self, conversions: Sequence[Conversion]) -> list[EntryRecord | None]:
        def lost(conversion: Conversion) -> Callable[[EntryRecord], EntryRecord]:
            def change(record: EntryRecord) -> EntryRecord:
                if record.dead or not record.ticket or record.ticket != conversion.ticket:
                    return record
                return record._replace(ticket=0, duplicate_of=conversion.duplicate_of)

            return change

        records = await self._change_records([(conversion.entry, lost(conversion)) for conversion in conversions])
        return [None if record is None or record.dead else record for record in records]

    async def records(self, entries: Sequence[int]) -> list[EntryRecord | None]:
        return [self.decode(reply) if reply else None for reply in await self._find_entries(entries)]

    async def contents(self, contents: Sequence[bytes]) -> list[int | None]:
        columns = ([content[:4] for content in contents],), ([content[4:] for content in contents],)
        replies = await self.shards.call_items(FIND_ENTRIES, shards_of_contents(contents), *columns)
        return [decode_record(reply[1], reply[2]).entry if reply else None for reply in replies]

    async def _find_entries(self, entries: Sequence[int]) -> list[Sequence[bytes]]:
        numbers = np.array(entries, np.uint64)
        names, lives = names_and_lives(numbers)
        return await self.shards.call_items(FIND_ENTRIES, shards_of_entries(numbers), (names,), (lives,))

    def decode(self, reply: Sequence[bytes]) -> EntryRecord:
        """The record in a reply of generation, field and value; it is cached."""
        _, field, value = reply
        record = _unchanged(self._cache.get(entry_of(field, value)), value) or decode_record(field, value)
        self._highest_ticket = max(self._highest_ticket, record.ticket)
        self._cache.add(record, value[FIXED_BYTES:])
        return record

    # Answers and documents.

    async def save_answers(self, updates: Sequence[AnswerUpdate]) -> list[bytes | None]:
        if not updates:
            return []
        names = [update.document_id.encode() for update in updates]
        stamped = [
            update.content if update.stamp is None else update.content + update.stamp.to_bytes(8, "little")
            for update in updates
        ]
        replaced = [b"-" if update.replacing is None else b"=" + update.replacing for update in updates]
        columns = (names, stamped, [update.answer for update in updates], replaced)
        replies = await self.shards.call_items(SAVE_ANSWERS, shards_of_documents(names), (), columns)
        return [
            update.answer if reply == b"+" else None if reply == b"-" else reply[1:]
            for update, reply in zip(updates, replies, strict=True)
        ]

    async def documents(self, document_ids: Sequence[str]) -> list[tuple[HeldContent, ...]]:
        return [decode_held(reply[1:]) if reply else () for reply in await self._find_documents(document_ids)]

    async def _find_documents(self, document_ids: Sequence[str]) -> list[bytes]:
        names = [document_id.encode() for document_id in document_ids]
        return await self.shards.call_items(READ_DOCUMENTS, shards_of_documents(names), (), (names,))

    async def void_answers(self, document_ids: Sequence[str]) -> list[tuple[HeldContent, ...]]:
        def voided(contents: tuple[HeldContent, ...]) -> tuple[HeldContent, ...]:
            return tuple(stored._replace(answer=VOID) for stored in contents)

        return await self.change_documents([(document_id, voided) for document_id in document_ids])

    async def remove_contents(self, holdings: Sequence[tuple[str, Sequence[HeldContent]]]) -> list[bool]:
        def without(removed: set[tuple[bytes, int]]) -> Callable[[tuple[HeldContent, ...]], tuple[HeldContent, ...]]:
            return lambda contents: tuple(
                stored for stored in contents if (stored.content, stored.stamp) not in removed
            )

        changes = [
            (document_id, without({(h.content, h.stamp) for h in contents})) for document_id, contents in holdings
        ]
        return [not left for left in await self.change_documents(changes)]

    # Dying.

    async def remove_holders(self, holdings: Sequence[tuple[int, str]]) -> list[EntryRecord | None]:
        def without(document_id: str) -> Callable[[EntryRecord], EntryRecord]:
            def change(record: EntryRecord) -> EntryRecord:
                left = tuple(holder for holder in record.holders if holder.document_id != document_id)
                return record if record.dead else record._replace(holders=left or record.holders, dead=not left)

            return change

        return await self._change_records([(entry, without(document_id)) for entry, document_id in holdings])

    async def add_holders(self, holdings: Sequence[tuple[int, Holder]]) -> None:
        """Make documents hold entries that others made."""
        await self._change_records([(entry, _joined(holder)) for entry, holder in holdings])

    async def mark_dead(self, entries: Sequence[int]) -> list[EntryRecord | None]:
        return await self._change_records([(entry, lambda record: record._replace(dead=True)) for entry in entries])

    async def delete_records(self, entries: Sequence[int]) -> None:
        numbers = np.array(entries, np.uint64)
        rows = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
        await self.shards.call_rows(DELETE_RECORDS, shards_of_entries(numbers), rows)

    async def info(self) -> dict[str, int]:
        return await measure_index(self.shards, self.widths)

    async def rotate(self, *, now: float) -> None:
        """Begin a new generation, and drop the one before the last (see `gate.index.redis.generations`)."""
        shards = self.shards
        shards.use(await rotate(shards.library_client, shards.prefixes, now=now, identity=self.identity))

    async def _keep_window(self, seconds: float) -> None:
        self._window_checked = self._clock()
        shards = self.shards
        view = await keep_window(
            shards.library_client, shards.prefixes, seconds, now=self._window_checked, identity=self.identity
        )
        shards.use(view)

    @property
    def identity(self) -> str:
        return self.shards.view.identity

    async def replaced(self) -> frozenset[str]:
        with translate_errors():
            members: set[bytes] = await self.shards.library_client.smembers(self._replaced_key)  # type: ignore[assignment]
        return frozenset(member.decode() for member in members)

    async def replace(self, identities: Collection[str]) -> None:
        if identities:
            with translate_errors():
                await self.shards.library_client.sadd(self._replaced_key, *sorted(identities))

    @property
    def _replaced_key(self) -> bytes:
        return self.shards.prefixes[0] + b"i"

    async def pass_ticket(self, ticket: int) -> None:
        """Draw only tickets above this one from now on."""
        self._highest_ticket = max(self._highest_ticket, ticket)
        await self.draw(0)

    def scan(self) -> RedisScan:
        return RedisScan(self, self.shards, self._reader, self.widths)

    async def confirm(self) -> None:
        if self._barrier is not None:
            await self._barrier.wait()

    async def close(self) -> None:
        await self.shards.client.close()

    # Changes by compare-and-set.

    async def _change_records(
        self, changes: Sequence[tuple[int, Callable[[EntryRecord], EntryRecord]]]
    ) -> list[EntryRecord | None]:
        """Read, change and write back records. None: there is no such entry."""

        async def read(indices: Sequence[int]) -> list[EntryRecord | None]:
            reply_of.clear()
            replies = await self._find_entries([changes[i][0] for i in indices])
            reply_of.update(zip(indices, replies, strict=True))
            return [self.decode(reply) if reply else None for reply in replies]

        def item_of(i: int, record: EntryRecord) -> tuple[int, Item]:
            generation, field, value = reply_of[i]
            shard = int(shards_of_entries(np.array([record.entry], np.uint64))[0])
            return shard, (generation + b"r", field, value, encode_record(record))

        reply_of: dict[int, Sequence[bytes]] = {}
        return await update_with_cas(self.shards, [change for _, change in changes], read, item_of)

    async def change_documents(
        self, changes: Sequence[tuple[str, Callable[[tuple[HeldContent, ...]], tuple[HeldContent, ...]]]]
    ) -> list[tuple[HeldContent, ...]]:
        """Read, change and write back what documents hold; a document that holds nothing is gone."""

        async def read(indices: Sequence[int]) -> list[tuple[HeldContent, ...] | None]:
            replies = await self._find_documents([changes[i][0] for i in indices])
            value_of.update(zip(indices, replies, strict=True))
            return [decode_held(reply[1:]) if reply else None for reply in replies]

        def item_of(i: int, contents: tuple[HeldContent, ...]) -> tuple[int, Item]:
            name = changes[i][0].encode()
            return int(shards_of_documents([name])[0]), (
                value_of[i][:1] + b"d",
                name,
                value_of[i][1:],
                encode_held(contents),
            )

        value_of: dict[int, bytes] = {}
        changed = await update_with_cas(self.shards, [change for _, change in changes], read, item_of)
        return [contents or () for contents in changed]


# What the bytes of records say, compared with what is known already.


def _state_of(content: bytes, entry: int, value: bytes) -> tuple[bytes | None, tuple[bytes, ...], int]:
    """What a document's record said of a content before it was added with that entry: the answer to it, the other
    contents, and the stamp that it has now."""
    contents = decode_held(value)
    others = tuple(current.content for current in contents if current.content != content)
    current = next((stored for stored in contents if stored.content == content), None)
    if current is None or current.answer == VOID:
        return None, others, entry
    return current.answer, others, current.stamp


def _registered(cached: CachedRecord, requested: Registration, reply: bytes | Sequence[bytes]) -> EntryRecord:
    """The record by what `register` returned; its body is the one that is cached, because that never changes."""
    record, tail = cached
    ticket, duplicate_of = requested.ticket, requested.duplicate_of
    if not isinstance(reply, bytes):
        ticket, duplicate_of = decode_registration(reply[0])
        reply = reply[1]
    holders = record.holders if reply == tail else decode_holders(reply, 2 + len(record.body))
    return EntryRecord(record.entry, record.content, holders, record.body, ticket, duplicate_of)


def _unchanged(cached: CachedRecord | None, value: bytes) -> EntryRecord | None:
    """The cached record, where its bytes are still the same: most are candidates again and again."""
    if cached is None or value[FIXED_BYTES:] != cached[1]:
        return None
    record, flags = cached[0], value[REGISTRATION_AT]
    if flags >= DEAD or record.dead:
        return None
    ticket, duplicate_of = decode_registration(value[REGISTRATION_AT:FIXED_BYTES]) if flags else (0, 0)
    same = (record.ticket, record.duplicate_of) == (ticket, duplicate_of)
    return record if same else record._replace(ticket=ticket, duplicate_of=duplicate_of)


def _may_join(record: EntryRecord, document_id: str) -> bool:
    return not record.dead and all(holder.document_id != document_id for holder in record.holders)


def _joined(holder: Holder) -> Callable[[EntryRecord], EntryRecord]:
    def change(record: EntryRecord) -> EntryRecord:
        return record._replace(holders=(*record.holders, holder)) if _may_join(record, holder.document_id) else record

    return change
