"""A store in single steps: at each of them a scheduler may let another process go first.

A primitive of `gate.index.store` is atomic per record, per bucket and per document, and no more. So here it is a number
of asks, one per key, and between two of them the world may change. The coroutines of the claim yield the asks that
they would make next and are sent the answer to one of them; the `World` that answers is a value, so a scheduler can go
back to any of them.
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Collection, Coroutine, Generator, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gate.index.reading import ReadLimit, ranges
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
    Registration,
)

T = TypeVar("T")
Pairs = tuple[tuple[Any, Any], ...]
Posting = tuple[int, int]  # entry, tag
Place = tuple[int, ...]
Mark = frozenset[tuple[int, frozenset[Posting]]]  # what was read in each bucket


class Ask(NamedTuple):
    """One atomic step: what is done to which key."""

    what: str
    key: Any
    how: Any = None


class Offer(NamedTuple):
    """An ask that is open, and its place in the process that makes it: the same in whatever order asks are granted."""

    place: Place
    ask: Ask


class Reply(NamedTuple):
    """The place of the ask that was granted, and its answer."""

    place: Place
    answer: Any


class World(NamedTuple):
    """All that is stored, as a value. Each field maps keys to values, in the order of the keys."""

    documents: Pairs = ()
    contents: Pairs = ()
    records: Pairs = ()
    buckets: Pairs = ()
    tickets: int = 0

    def get(self, field: str, key: Any) -> Any:
        return next((value for known, value in getattr(self, field) if known == key), None)

    def put(self, field: str, key: Any, value: Any) -> World:
        """The world with one value changed; a value that is None or empty is removed."""
        others = [pair for pair in getattr(self, field) if pair[0] != key]
        fields: dict[str, Any] = {field: tuple(sorted([*others, (key, value)] if value else others))}
        return self._replace(**fields)


def answered(world: World, ask: Ask) -> tuple[World, Any]:
    """The world after a step, and what it answers."""
    step: Any = _STEPS[ask.what]
    after, answer = step(world, ask.key, ask.how)
    return after, answer


def _add_content(world: World, document_id: str, new: NewEntry) -> tuple[World, Any]:
    held: tuple[HeldContent, ...] = world.get("documents", document_id) or ()
    others = tuple(one.content for one in held if one.content != new.content)
    mine = next((one for one in held if one.content == new.content), None)
    if mine is None:
        held = (*held, HeldContent(new.content, new.version, None, new.entry, new.details))
        return world.put("documents", document_id, held), (None, others, new.entry)
    if mine.answer != VOID:
        return world, (mine.answer, others, mine.stamp)
    kept = mine._replace(answer=None, stamp=new.entry)
    held = tuple(kept if one is mine else one for one in held)
    return world.put("documents", document_id, held), (None, others, new.entry)


def _add_entry(world: World, content: bytes, new: NewEntry) -> tuple[World, Any]:
    holder = Holder(new.document_id, new.version)
    entry = world.get("contents", content)
    if entry is None:
        if world.get("records", new.entry):
            raise ValueError(f"entry {new.entry} is in use; an entry's number is never used twice")
        record = EntryRecord(new.entry, content, (holder,), new.body)
        return world.put("contents", content, new.entry).put("records", new.entry, record), record
    record = world.get("records", entry)
    if new.share and not record.dead and all(one.document_id != new.document_id for one in record.holders):
        record = record._replace(holders=(*record.holders, holder))
    return world.put("records", entry, record), record


def _bucket(world: World, key: int, seen: frozenset[Posting]) -> tuple[World, Any]:
    return world, tuple(posting for posting in world.get("buckets", key) or () if posting not in seen)


def _post(world: World, key: int, postings: Sequence[Posting]) -> tuple[World, Any]:
    there: tuple[Posting, ...] = world.get("buckets", key) or ()
    return world.put("buckets", key, tuple(dict.fromkeys((*there, *postings)))), None


def _pull(world: World, key: int, entries: Sequence[int]) -> tuple[World, Any]:
    there: tuple[Posting, ...] = world.get("buckets", key) or ()
    return world.put("buckets", key, tuple(one for one in there if one[0] not in entries)), None


def _record(world: World, entry: int, _: None) -> tuple[World, Any]:
    return world, world.get("records", entry)


def _pointer(world: World, content: bytes, _: None) -> tuple[World, Any]:
    return world, world.get("contents", content)


def _draw(world: World, _: None, count: int) -> tuple[World, Any]:
    return world._replace(tickets=world.tickets + count), world.tickets + 1


def _register(world: World, entry: int, wanted: Registration) -> tuple[World, Any]:
    record: EntryRecord | None = world.get("records", entry)
    if wanted.ticket and wanted.duplicate_of:
        raise ValueError("a registration is a ticket or a duplicate, not both")
    if record is None or record.dead:
        return world, None
    if not record.registered:
        record = record._replace(ticket=wanted.ticket, duplicate_of=wanted.duplicate_of)
    return world.put("records", entry, record), record


def _convert(world: World, entry: int, wanted: Conversion) -> tuple[World, Any]:
    record: EntryRecord | None = world.get("records", entry)
    if record is None or record.dead:
        return world, None
    if record.ticket and record.ticket == wanted.ticket:
        record = record._replace(ticket=0, duplicate_of=wanted.duplicate_of)
    return world.put("records", entry, record), record


def _save_answer(world: World, document_id: str, update: AnswerUpdate) -> tuple[World, Any]:
    held: tuple[HeldContent, ...] = world.get("documents", document_id) or ()
    mine = next((one for one in held if one.content == update.content), None)
    if mine is None or mine.answer != update.replacing or update.stamp not in (None, mine.stamp):
        return world, mine and mine.answer
    kept = mine._replace(answer=update.answer)
    return world.put("documents", document_id, tuple(kept if one is mine else one for one in held)), kept.answer


def _document(world: World, document_id: str, _: None) -> tuple[World, Any]:
    return world, world.get("documents", document_id) or ()


def _void_answers(world: World, document_id: str, _: None) -> tuple[World, Any]:
    held = tuple(one._replace(answer=VOID) for one in world.get("documents", document_id) or ())
    return world.put("documents", document_id, held), held


def _remove_holder(world: World, entry: int, document_id: str) -> tuple[World, Any]:
    record: EntryRecord | None = world.get("records", entry)
    if record is None or record.dead:
        return world, record
    left = tuple(holder for holder in record.holders if holder.document_id != document_id)
    record = record._replace(holders=left or record.holders, dead=not left)
    return world.put("records", entry, record), record


def _mark_dead(world: World, entry: int, _: None) -> tuple[World, Any]:
    record: EntryRecord | None = world.get("records", entry)
    record = record and record._replace(dead=True)
    return world.put("records", entry, record), record


def _delete_record(world: World, entry: int, _: None) -> tuple[World, Any]:
    record: EntryRecord | None = world.get("records", entry)
    if record is not None and record.dead:
        world = world.put("records", entry, None)
        if world.get("contents", record.content) == entry:
            world = world.put("contents", record.content, None)
    return world, None


def _remove_contents(world: World, document_id: str, held: Sequence[HeldContent]) -> tuple[World, Any]:
    gone = {(one.content, one.stamp) for one in held}
    left = tuple(one for one in world.get("documents", document_id) or () if (one.content, one.stamp) not in gone)
    return world.put("documents", document_id, left), not left


_STEPS = {
    "add_content": _add_content, "add_entry": _add_entry, "bucket": _bucket, "post": _post, "pull": _pull,
    "record": _record,
    "pointer": _pointer, "draw": _draw, "register": _register, "convert": _convert,
    "save_answers": _save_answer, "document": _document,
    "void_answers": _void_answers, "remove_holders": _remove_holder, "mark_dead": _mark_dead,
    "delete_records": _delete_record, "remove_contents": _remove_contents,
}  # fmt: skip


@types.coroutine
def granted(offers: tuple[Offer, ...]) -> Generator[tuple[Offer, ...], Reply, Reply]:
    """Wait until one of the asks is granted."""
    return (yield offers)


class StepwiseStore:
    """`gate.index.store.Store` as asks, for one run of one process.

    The steps of one call come in any order, or, to have less to explore, in turn. A mark names exactly what each bucket
    showed, and a read since then leaves all of that out: as little as a store may tell.
    """

    def __init__(self, marks: list[Mark], *, any_order: bool = False, max_bucket: int = 4096) -> None:
        self._limit = max_bucket
        self._marks = marks
        self._any_order = any_order
        self._branch: Place = ()
        self._calls: Counter[Place] = Counter()

    def _call(self) -> Place:
        """The place of the next call of this branch."""
        self._calls[self._branch] += 1
        return (*self._branch, self._calls[self._branch])

    async def _each(self, what: str, arguments: Iterable[tuple[Any, Any]]) -> list[Any]:
        call = self._call()
        open_ = {(*call, n): Ask(what, key, how) for n, (key, how) in enumerate(arguments)}
        answers = dict.fromkeys(open_)
        while open_:
            offers = tuple(Offer(*item) for item in open_.items())
            place, answer = await granted(offers if self._any_order else offers[:1])
            answers[place] = answer
            del open_[place]
        return list(answers.values())

    async def side_by_side(self, *steps: Coroutine[Any, Any, Any]) -> list[Any]:
        """Run coroutines in any interleaving of their steps: all that they ask for is open at once."""
        call, parent = self._call(), self._branch
        results: list[Any] = [None] * len(steps)
        waiting: dict[int, tuple[Offer, ...]] = {}

        def resume(n: int, reply: Reply | None) -> None:
            waiting.pop(n, None)
            self._branch = (*call, n)
            try:
                waiting[n] = steps[n].send(reply)
            except StopIteration as done:
                results[n] = done.value
            finally:
                self._branch = parent

        try:
            for n in range(len(steps)):
                resume(n, None)
            while waiting:
                reply = await granted(tuple(offer for n in sorted(waiting) for offer in waiting[n]))
                resume(reply.place[len(call)], reply)
            return results
        finally:
            for step in steps:
                step.close()

    async def register_content(self, new: Sequence[NewEntry]) -> list[ContentState]:
        before = await self._each("add_content", ((one.document_id, one) for one in new))
        unanswered = [one for one, (answer, *_) in zip(new, before, strict=True) if answer is None]
        records = iter(await self._each("add_entry", ((one.content, one) for one in unanswered)))
        return [ContentState(None if state[0] else next(records), *state) for state in before]

    async def read(
        self, keys: Keys, *, since: int | None = None, limit: ReadLimit | None = None, ignoring: Collection[int] = ()
    ) -> Postings:
        distinct = list(dict.fromkeys(keys.tolist()))
        seen = {} if since is None else dict(self._marks[since])
        answers = await self._each("bucket", ((key, seen.get(key, frozenset())) for key in distinct))
        found = dict(zip(distinct, answers, strict=True))
        if since is not None:
            found = {key: tuple(p for p in postings if p[0] not in ignoring) for key, postings in found.items()}
        mark = frozenset((key, seen.get(key, frozenset()) | frozenset(postings)) for key, postings in found.items())
        if mark not in self._marks:
            self._marks.append(mark)
        capped = np.array([len(found[key]) > self._limit for key in keys.tolist()], np.bool_)
        each = [found[key][: self._limit] for key in keys.tolist()]
        flat = np.array([posting for postings in each for posting in postings], np.uint64).reshape(-1, 2)
        counts = np.array([len(postings) for postings in each], np.int64)
        shares = counts if limit is None else limit.of_lengths(counts)
        flat = flat[ranges(np.cumsum(counts) - counts, shares)]
        return Postings(shares, flat[:, 0], flat[:, 1], self._marks.index(mark), capped | (shares < counts))

    async def records(self, entries: Sequence[int]) -> list[EntryRecord | None]:
        return await self._each("record", ((entry, None) for entry in entries))

    async def append(self, keys: Keys, entries: Keys, tags: Keys) -> None:
        buckets: dict[int, list[Posting]] = {}
        for key, entry, tag in zip(keys.tolist(), entries.tolist(), tags.tolist(), strict=True):
            buckets.setdefault(key, []).append((entry, tag))
        await self._each("post", ((key, tuple(postings)) for key, postings in buckets.items()))

    async def draw(self, count: int) -> int:
        [first] = await self._each("draw", [(None, count)])
        return int(first)

    async def register(self, registrations: Sequence[Registration]) -> list[EntryRecord | None]:
        return await self._each("register", ((one.entry, one) for one in registrations))

    async def convert(self, conversions: Sequence[Conversion]) -> list[EntryRecord | None]:
        return await self._each("convert", ((one.entry, one) for one in conversions))

    async def save_answers(self, updates: Sequence[AnswerUpdate]) -> list[bytes | None]:
        return await self._each("save_answers", ((update.document_id, update) for update in updates))

    async def contents(self, contents: Sequence[bytes]) -> list[int | None]:
        return await self._each("pointer", ((content, None) for content in contents))

    async def documents(self, document_ids: Sequence[str]) -> list[tuple[HeldContent, ...]]:
        return await self._each("document", ((document_id, None) for document_id in document_ids))

    async def void_answers(self, document_ids: Sequence[str]) -> list[tuple[HeldContent, ...]]:
        return await self._each("void_answers", ((document_id, None) for document_id in document_ids))

    async def remove_holders(self, holdings: Sequence[tuple[int, str]]) -> list[EntryRecord | None]:
        return await self._each("remove_holders", holdings)

    async def mark_dead(self, entries: Sequence[int]) -> list[EntryRecord | None]:
        return await self._each("mark_dead", ((entry, None) for entry in entries))

    async def remove_postings(self, keys: Keys, entries: Keys) -> None:
        buckets: dict[int, list[int]] = {}
        for key, entry in zip(keys.tolist(), entries.tolist(), strict=True):
            buckets.setdefault(key, []).append(entry)
        await self._each("pull", ((key, tuple(gone)) for key, gone in buckets.items()))

    async def delete_records(self, entries: Sequence[int]) -> None:
        await self._each("delete_records", ((entry, None) for entry in entries))

    async def remove_contents(self, holdings: Sequence[tuple[str, Sequence[HeldContent]]]) -> list[bool]:
        return await self._each("remove_contents", ((document_id, tuple(held)) for document_id, held in holdings))

    async def info(self) -> dict[str, int]:
        return {}

    async def confirm(self) -> None:
        """Nothing to wait for."""

    async def close(self) -> None:
        """Nothing to close."""
