"""`gate.index.store.Store` in Redis. Each primitive is one script call per shard and batch, sent in one pipeline; whole
buckets are read by plain commands.

What is immutable is remembered here (the body of an entry), and what only saves work (marks, the bytes of records).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gate.core.method_registry import Room
from gate.errors import Stale
from gate.index.redis import bucket_reader
from gate.index.redis.buckets import Widths, entries_by_shard, repeats, rows_by_shard
from gate.index.redis.client import Argument, RedisClient, Script, load_script
from gate.index.redis.compare_and_set import Item, until_swapped
from gate.index.redis.generations import current_view, keep_window, rotate
from gate.index.redis.layout import (
    CONTENT_BYTES,
    FIXED_BYTES,
    SPLIT,
    UNREGISTERED,
    Numbers,
    Share,
    View,
    decode_held,
    decode_record,
    eight_bytes,
    encode_held,
    encode_holder,
    encode_record,
    encode_registrations,
    entry_of,
    names_and_lives,
    packed,
    prefixes_of,
    shards_of_contents,
    shards_of_documents,
    shards_of_entries,
    shares_of,
    shares_of_rows,
    sized,
    unanswered,
)
from gate.index.redis.records import Seen, joined, may_join, registered, told, unchanged
from gate.index.redis.scan import RedisScan
from gate.index.redis.stats import survey
from gate.index.store import (
    VOID,
    Answers,
    Enrolment,
    Held,
    Holder,
    Keys,
    Memory,
    Postings,
    Record,
    Registration,
    Standing,
)

APPEND, WITHDRAW, DRAW = load_script("append"), load_script("withdraw"), load_script("draw")
HOLD, DOCUMENTS, REMEMBER = load_script("hold"), load_script("documents"), load_script("remember")
ENTER, FIND, REGISTER = load_script("enter"), load_script("find"), load_script("register")
ERASE, SWAP = load_script("erase"), load_script("swap")

LOGGED_APPENDS = 64  # of one shard, for tail reads: more than racing processes append between two reads of a batch
LOOK_SECONDS = 60.0  # between two looks at the age of a generation; windows are hours and days
KEPT_RECORDS = 16_384  # some 10 MB; a template has thousands that are met again and again


class RedisStore:
    """One index under one view."""

    def __init__(
        self,
        link: RedisClient,
        *,
        prefix: str,
        view: View,
        room: Room,
        max_bucket: int,
        window_seconds: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._link = link
        self._prefixes = prefixes_of(prefix)
        self._limit = max_bucket
        self._widths = Widths(room.tags)
        self._highest_ticket = 0
        self._unappended: set[int] = set()  # entries that this process made and has not appended yet
        self._seen: dict[int, Seen] = {}
        self._seen_before: dict[int, Seen] = {}
        self._marks: OrderedDict[int, dict[int, bytes]] = OrderedDict()  # where the log of each shard stood
        self._next_mark = 0
        self._window_seconds = window_seconds
        self._clock = clock
        self._looked = 0.0  # when the age of the generation was last looked at
        self._use(view)

    def _use(self, view: View) -> None:
        self._generations = view.read.encode()
        self._head: tuple[Argument, ...] = (view.encode(), view.read)
        self._marks.clear()

    # Enrolling.

    async def enrol(self, wishes: Sequence[Enrolment]) -> list[Standing]:
        if self._window_seconds is not None and self._clock() - self._looked >= LOOK_SECONDS:
            await self._keep_window(self._window_seconds)
        # 1. The document knows its content before the content knows the document: a delete that comes now finds both.
        before = await self._hold(wishes)
        # 2. The content, unless the document was answered.
        asking = [i for i, (answer, *_) in enumerate(before) if answer is None]
        entered = dict(zip(asking, await self._enter([wishes[i] for i in asking]), strict=True))
        return [Standing(entered.get(i), *told) for i, told in enumerate(before)]

    async def _hold(self, wishes: Sequence[Enrolment]) -> list[tuple[bytes | None, tuple[bytes, ...], int]]:
        """The answer of each document to its content, its other contents, and its stamp."""
        if not wishes:
            return []
        names = [wish.document_id.encode() for wish in wishes]
        contents, entries = [wish.content for wish in wishes], [wish.entry for wish in wishes]
        stamps = eight_bytes(np.array(entries, np.uint64))
        rest = [unanswered(wish.version) for wish in wishes]
        held = list(map(b"".join, zip(contents, stamps, rest, strict=True)))
        replies = await self._columns(HOLD, shards_of_documents(names), (), (names, held))
        return [
            told(content, entry, reply) if reply else (None, (), entry)
            for content, entry, reply in zip(contents, entries, replies, strict=True)
        ]

    async def _enter(self, wishes: Sequence[Enrolment]) -> list[Record]:
        if not wishes:
            return []
        entries = np.array([wish.entry for wish in wishes], np.uint64)
        names, lives = names_and_lives(entries)
        made, tails, values = [], [], []
        for wish, name, life in zip(wishes, names, lives, strict=True):
            if wish.content[:4] != name:
                raise ValueError("the upper half of an entry's number must be that of its content id")
            made.append(Record(wish.entry, wish.content, (Holder(wish.document_id, wish.version),), wish.body))
            tails.append(tail := sized(wish.body) + encode_holder(wish.document_id.encode(), wish.version))
            values.append(wish.content[4:CONTENT_BYTES] + life + UNREGISTERED + tail)
        replies = await self._columns(ENTER, shards_of_entries(entries), (names,), (values,))
        joining = {}
        for i, reply in enumerate(replies):
            if not reply:
                self._unappended.add(made[i].entry)
                self._note(made[i], tails[i])
                continue
            made[i] = self._decoded(reply)
            if wishes[i].share and may_join(made[i], wishes[i].document_id):
                joining[i] = Holder(wishes[i].document_id, wishes[i].version)
        changes = [(made[i].entry, joined(holder)) for i, holder in joining.items()]
        for i, grown in zip(joining, await self._change_records(changes), strict=True):
            made[i] = grown or made[i]
        return made

    # Buckets.

    async def read(self, keys: Keys, *, since: int | None = None) -> Postings:
        return await bucket_reader.read(self, keys, since)

    async def answer(self, keys: Keys, tags: Keys, radii: NDArray[np.uint8], *, since: int | None = None) -> Answers:
        return await bucket_reader.answer(self, keys, tags, radii, since)

    async def append(self, keys: Keys, entries: Keys, tags: Keys) -> None:
        if not len(keys):
            return
        owners = set(entries.tolist())
        new = owners <= self._unappended and not repeats(keys, entries, tags)
        self._unappended -= owners  # should the call fail, the next one has to look what is there already
        rows = rows_by_shard(keys, entries, tags, self._widths.of(keys))
        shares = [(shard, packed(parts)) for shard, parts in rows.items()]
        head = (SPLIT, LOGGED_APPENDS, "new" if new else "again")
        await self._call(APPEND, shares, *head, again=(*head[:-1], "again"))

    async def withdraw(self, keys: Keys, entries: Keys) -> None:
        shares = [(shard, packed((rows,))) for shard, rows in entries_by_shard(keys, entries)]
        await self._call(WITHDRAW, shares, self._widths.sizes)

    # Tickets and registrations.

    async def draw(self, count: int) -> int:
        [first] = await self._call(DRAW, [(0, b"")], count, self._highest_ticket)
        self._highest_ticket = max(self._highest_ticket, int(first) + count - 1)
        return int(first)

    async def register(self, registrations: Sequence[Registration]) -> list[Record | None]:
        if any(one.ticket and one.duplicate_of for one in registrations):
            raise ValueError("a registration is a ticket or a duplicate, not both")
        self._unappended.difference_update(one.entry for one in registrations)  # a duplicate never appends
        entries = np.array([one.entry for one in registrations], np.uint64)
        replies = await self._rows(REGISTER, shards_of_entries(entries), encode_registrations(registrations))
        standing: list[Record | None] = []
        unknown: dict[int, int] = {}
        for i, (one, reply) in enumerate(zip(registrations, replies, strict=True)):
            seen = (self._seen.get(one.entry) or self._seen_before.get(one.entry)) if reply else None
            if reply and seen is None:
                unknown[i] = one.entry
            standing.append(None if seen is None else registered(seen, one, reply))
        for i, record in zip(unknown, await self.records(list(unknown.values())), strict=True):
            standing[i] = record
        return standing

    async def records(self, entries: Sequence[int]) -> list[Record | None]:
        return [self._decoded(reply) if reply else None for reply in await self._find_entries(entries)]

    async def contents(self, contents: Sequence[bytes]) -> list[int | None]:
        columns = ([content[:4] for content in contents],), ([content[4:] for content in contents],)
        replies = await self._columns(FIND, shards_of_contents(contents), *columns)
        return [decode_record(reply[1], reply[2]).entry if reply else None for reply in replies]

    async def _find_entries(self, entries: Sequence[int]) -> list[Sequence[bytes]]:
        numbers = np.array(entries, np.uint64)
        names, lives = names_and_lives(numbers)
        return await self._columns(FIND, shards_of_entries(numbers), (names,), (lives,))

    def _decoded(self, reply: Sequence[bytes]) -> Record:
        _, field, value = reply
        entry = entry_of(field, value)
        record = unchanged(self._seen.get(entry) or self._seen_before.get(entry), value) or decode_record(field, value)
        self._highest_ticket = max(self._highest_ticket, record.ticket)
        self._note(record, value[FIXED_BYTES:])
        return record

    def _note(self, record: Record, tail: bytes) -> None:
        self._seen[record.entry] = (record, tail)
        if len(self._seen) > KEPT_RECORDS:
            self._seen, self._seen_before = {}, self._seen

    # Answers and documents.

    async def remember(self, memories: Sequence[Memory]) -> list[bytes | None]:
        if not memories:
            return []
        names = [memory.document_id.encode() for memory in memories]
        marks = [
            memory.content if memory.stamp is None else memory.content + memory.stamp.to_bytes(8, "little")
            for memory in memories
        ]
        replaced = [b"-" if memory.replacing is None else b"=" + memory.replacing for memory in memories]
        columns = (names, marks, [memory.answer for memory in memories], replaced)
        replies = await self._columns(REMEMBER, shards_of_documents(names), (), columns)
        return [
            memory.answer if reply == b"+" else None if reply == b"-" else reply[1:]
            for memory, reply in zip(memories, replies, strict=True)
        ]

    async def documents(self, document_ids: Sequence[str]) -> list[tuple[Held, ...]]:
        return [decode_held(reply[1:]) if reply else () for reply in await self._find_documents(document_ids)]

    async def _find_documents(self, document_ids: Sequence[str]) -> list[bytes]:
        names = [document_id.encode() for document_id in document_ids]
        return await self._columns(DOCUMENTS, shards_of_documents(names), (), (names,))

    async def recall(self, document_ids: Sequence[str]) -> list[tuple[Held, ...]]:
        def recalled(held: tuple[Held, ...]) -> tuple[Held, ...]:
            return tuple(one._replace(answer=VOID) for one in held)

        return await self._change_documents([(document_id, recalled) for document_id in document_ids])

    async def forget(self, holdings: Sequence[tuple[str, Sequence[Held]]]) -> list[bool]:
        def without(gone: set[tuple[bytes, int]]) -> Callable[[tuple[Held, ...]], tuple[Held, ...]]:
            return lambda held: tuple(one for one in held if (one.content, one.stamp) not in gone)

        changes = [(document_id, without({(o.content, o.stamp) for o in held})) for document_id, held in holdings]
        return [not left for left in await self._change_documents(changes)]

    # Dying.

    async def disown(self, holdings: Sequence[tuple[int, str]]) -> list[Record | None]:
        def disowned(document_id: str) -> Callable[[Record], Record]:
            def change(record: Record) -> Record:
                left = tuple(holder for holder in record.holders if holder.document_id != document_id)
                return record if record.dead else record._replace(holders=left or record.holders, dead=not left)

            return change

        return await self._change_records([(entry, disowned(document_id)) for entry, document_id in holdings])

    async def bury(self, entries: Sequence[int]) -> list[Record | None]:
        return await self._change_records([(entry, lambda record: record._replace(dead=True)) for entry in entries])

    async def erase(self, entries: Sequence[int]) -> None:
        numbers = np.array(entries, np.uint64)
        rows = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
        await self._rows(ERASE, shards_of_entries(numbers), rows)

    async def info(self) -> dict[str, int]:
        return await survey(self)

    async def rotate(self, *, now: float) -> None:
        """Begin a new generation, and drop the one before the last (see `gate.index.redis.generations`)."""
        self._use(await rotate(self._link.client, self._prefixes, now=now))

    async def _keep_window(self, seconds: float) -> None:
        self._looked = self._clock()
        self._use(await keep_window(self._link.client, self._prefixes, seconds, now=self._looked))

    def scan(self) -> RedisScan:
        return RedisScan(self)

    async def close(self) -> None:
        await self._link.close()

    # Calls.

    async def _change_records(self, changes: Sequence[tuple[int, Callable[[Record], Record]]]) -> list[Record | None]:
        """Read, change and write back records. None: there is no such entry."""

        async def read(chosen: Sequence[int]) -> list[Record | None]:
            seen.clear()
            replies = await self._find_entries([changes[i][0] for i in chosen])
            seen.update(zip(chosen, replies, strict=True))
            return [self._decoded(reply) if reply else None for reply in replies]

        def swap(i: int, record: Record) -> tuple[int, Item]:
            generation, field, value = seen[i]
            shard = int(shards_of_entries(np.array([record.entry], np.uint64))[0])
            return shard, (generation + b"r", field, value, encode_record(record))

        seen: dict[int, Sequence[bytes]] = {}
        return await until_swapped([change for _, change in changes], read, swap, self._swap)

    async def _change_documents(
        self, changes: Sequence[tuple[str, Callable[[tuple[Held, ...]], tuple[Held, ...]]]]
    ) -> list[tuple[Held, ...]]:
        """Read, change and write back what documents hold; a document that holds nothing is gone."""

        async def read(chosen: Sequence[int]) -> list[tuple[Held, ...] | None]:
            replies = await self._find_documents([changes[i][0] for i in chosen])
            seen.update(zip(chosen, replies, strict=True))
            return [decode_held(reply[1:]) if reply else None for reply in replies]

        def swap(i: int, held: tuple[Held, ...]) -> tuple[int, Item]:
            name = changes[i][0].encode()
            return int(shards_of_documents([name])[0]), (seen[i][:1] + b"d", name, seen[i][1:], encode_held(held))

        seen: dict[int, bytes] = {}
        return [held or () for held in await until_swapped([change for _, change in changes], read, swap, self._swap)]

    async def _swap(self, swaps: Sequence[tuple[int, Item]]) -> list[Any]:
        shards = np.array([shard for shard, _ in swaps], np.int64)
        return await self._columns(SWAP, shards, (), list(zip(*(item for _, item in swaps), strict=True)))

    async def _columns(
        self, script: Script, shards: Numbers, fixed: Sequence[Sequence[bytes]], varying: Sequence[Sequence[bytes]]
    ) -> list[Any]:
        """Hand each item to its shard, and give the replies in the order of the items. A column is a field of all."""
        return await self._dealt(script, *shares_of(shards, fixed, varying))

    async def _rows(self, script: Script, shards: Numbers, rows: NDArray[np.uint8]) -> list[Any]:
        """The same for items of a fixed width."""
        return await self._dealt(script, *shares_of_rows(shards, rows))

    async def _dealt(self, script: Script, shares: Sequence[Share], order: Sequence[int]) -> list[Any]:
        answers: list[Any] = [None] * len(order)
        for i, reply in zip(order, chain.from_iterable(await self._call(script, shares)), strict=True):
            answers[i] = reply
        return answers

    async def _call(
        self,
        script: Script,
        shares: Sequence[tuple[int, bytes]],
        *head: Argument,
        again: Sequence[Argument] = (),
    ) -> list[Any]:
        """Run a script on each shard with its share of the items; what each shard returned."""
        keyed = [(self._prefixes[shard], items) for shard, items in shares]
        async with self._viewing():
            return await self._link.call(script, (*self._head, *head), keyed, again=(*self._head, *(again or head)))

    @asynccontextmanager
    async def _viewing(self) -> AsyncIterator[None]:
        """Learn the view of the index where it is another one by now. Whoever claims begins again then: what it has
        read was read under another view."""
        try:
            yield
        except Stale:
            self._use(await current_view(self._link.client, self._prefixes))
            raise
