"""What an index backend must supply: a handful of batch primitives, and nothing that decides.

    documents   document id -> the contents it holds, each with the answer that the document was given
    contents    content id  -> entry                    (set if absent)
    entries     entry       -> record: owner, body, and a registration: a ticket, which may be lost, or an original
    buckets     key         -> postings (entry, tag)    (append only, until the entry dies)
    tickets     a counter

An entry is one life of one content in the index. Its number is never used twice, so a posting whose record is gone may
be removed by any process that finds it: that entry cannot come back. A content that is checked in again after a delete
gets a new entry. Its upper 32 bits are those of its content id: a backend may keep both together.

A key is the number of a table (8 bits) above 32 bits, of which the lower 24 number a bucket.

Each primitive is atomic per record (with its content's pointer), per bucket and per document, not across them; the
items of one call may be done in any order, and other calls may come in between. All are idempotent: a call that is sent
twice changes nothing, and returns what is stored. `gate.index.protocol.claim` relies on no more than that.
"""

from __future__ import annotations

import os
import random
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from gate.core.profile import Decisions
from gate.errors import ConfigError, Stale, Unavailable
from gate.index.reading import ReadLimit, ranges

Keys = NDArray[np.uint64]
T = TypeVar("T")

# In the place of an answer: it was taken back, and none can be saved until the content is registered again.
VOID = b""

STALE_ATTEMPTS = 8  # a rotation of generations changes the view three times


class Value(msgspec.Struct, frozen=True, order=True, array_like=True, gc=False):
    """What goes into a store and comes out: unpacked, changed and compared like a named tuple, but made in a third of
    the time, and not traversed by the garbage collector again and again as an index in memory grows."""

    def __iter__(self) -> Iterator[Any]:
        return iter(msgspec.structs.astuple(self))

    def _replace(self, **changes: Any) -> Self:
        return msgspec.structs.replace(self, **changes)


class Holder(Value, frozen=True, order=True):
    """A document that holds a content: it was checked in with it."""

    document_id: str
    version: str | None


class EntryRecord(Value, frozen=True, order=True):
    """What is stored of an entry. Of `ticket` and `duplicate_of` at most one is set. A duplicate stays one for the
    entry's life, and a ticket stays the same until the entry becomes a duplicate."""

    entry: int
    content: bytes
    holders: tuple[Holder, ...]  # the first is the owner
    body: bytes
    ticket: int = 0
    duplicate_of: int = 0
    dead: bool = False

    @property
    def owner(self) -> Holder:
        return self.holders[0]

    @property
    def registered(self) -> bool:
        return bool(self.ticket or self.duplicate_of)


class NewEntry(Value, frozen=True, order=True):
    """A content to register for a document. The entry is made if the content has none yet."""

    document_id: str
    version: str | None
    content: bytes
    entry: int
    body: bytes
    share: bool = False  # join the holders of an entry that is there already
    details: bytes = b""  # of the document, kept with the content in its record (see `gate.core.document_details`)


class ContentState(Value, frozen=True, order=True):
    """What is stored after a content was registered for a document: the content's record, or the answer that the
    document was given before (then no entry was made and there is no record); the document's other contents; and its
    stamp on this one."""

    record: EntryRecord | None
    answer: bytes | None
    others: tuple[bytes, ...]
    stamp: int = 0


class Registration(Value, frozen=True, order=True):
    """The ticket of an entry, or the entry that it is a duplicate of."""

    entry: int
    ticket: int = 0
    duplicate_of: int = 0


class Conversion(Value, frozen=True, order=True):
    """An entry that holds a ticket, and what it lost to."""

    entry: int
    ticket: int
    duplicate_of: int


class AnswerUpdate(Value, frozen=True, order=True):
    """An answer to save, or VOID. It replaces `replacing` and nothing else (None: only if there is no answer yet), and
    only under the stamp that registering the content returned: one from before a delete is no longer valid."""

    document_id: str
    content: bytes
    answer: bytes
    replacing: bytes | None = None
    stamp: int | None = None  # None: any


class HeldContent(Value, frozen=True, order=True):
    """One content in a document's own record. The stamp is the entry number of the `NewEntry` that added it, or of the
    first one after its answer was taken back: a delete removes no more than it has seen, and a claim that began before
    a delete cannot save its answer after it."""

    content: bytes
    version: str | None
    answer: bytes | None
    stamp: int
    details: bytes = b""  # as the first `NewEntry` had them


@dataclass(frozen=True, slots=True)
class Postings:
    """Postings of many buckets, flat: `counts[i]` of them belong to the i-th key."""

    counts: NDArray[np.int64]
    entries: Keys
    tags: Keys
    mark: int  # pass it as `since` to read only what came after; opaque, not to be compared
    capped: NDArray[np.bool_]  # the bucket was not read whole


@dataclass(frozen=True, slots=True)
class ProbeMatches:
    """Postings that match probes: the i-th, of `entries[i]`, matches the probe numbered `probes[i]`."""

    probes: NDArray[np.int64]
    entries: Keys
    tags: Keys
    mark: int
    capped: NDArray[np.bool_]
    cut: NDArray[np.bool_]  # more postings of the bucket match than the limit lets through

    def within(self, limit: ReadLimit) -> ProbeMatches:
        """Those within the limit, where a backend compared some of the tables by themselves."""
        numbers = np.bincount(self.probes, minlength=len(self.cut))
        shares = limit.of_matches(numbers)
        if shares is numbers:
            return self
        places = ranges(np.cumsum(numbers) - numbers, shares)
        cut = self.cut | (shares < numbers)
        return ProbeMatches(self.probes[places], self.entries[places], self.tags[places], self.mark, self.capped, cut)


@runtime_checkable
class ProbingStore(Protocol):
    """A store that compares tags itself, where that saves fetching every posting of a bucket."""

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
        """As `Store.read`, but only the postings whose tags differ from the probe's in at most `radii` bits; the lowest
        `any_bits` of a tag do not count."""


class Store(Protocol):
    """The primitives. Coroutines, because one backend waits for a network; the embedded ones never suspend."""

    async def register_content(self, new: Sequence[NewEntry]) -> list[ContentState]:
        """1. Add the content to the document's record; an answer there that is VOID is removed, and the stamp renewed.
        2. Unless the document was answered: set content -> entry and its record if absent."""

    async def read(
        self,
        keys: Keys,
        *,
        since: int | None = None,
        limit: ReadLimit | None = None,
        ignoring: Collection[int] = (),
    ) -> Postings:
        """The postings of each key, the oldest of them within the limit; those that were there when `since` was read
        may be left out, and so may be later postings of entries to ignore."""

    async def records(self, entries: Sequence[int]) -> list[EntryRecord | None]: ...

    async def append(self, keys: Keys, entries: Keys, tags: Keys) -> None:
        """Add each posting to its bucket if it is not there."""

    async def draw(self, count: int) -> int:
        """Take `count` tickets; the first of them. Tickets only ever rise."""

    async def register(self, registrations: Sequence[Registration]) -> list[EntryRecord | None]:
        """Set each registration if absent; the record afterwards, or None where the entry is dead or gone."""

    async def convert(self, conversions: Sequence[Conversion]) -> list[EntryRecord | None]:
        """Make each entry that holds that very ticket a duplicate instead; the record afterwards, or None where the
        entry is dead or gone."""

    async def save_answers(self, updates: Sequence[AnswerUpdate]) -> list[bytes | None]:
        """Save answers; the answer afterwards, or None where the document no longer holds that content."""

    async def contents(self, contents: Sequence[bytes]) -> list[int | None]:
        """The entry of each content, which may be dead."""

    async def documents(self, document_ids: Sequence[str]) -> list[tuple[HeldContent, ...]]:
        """The contents of each document; empty if it is unknown."""

    async def void_answers(self, document_ids: Sequence[str]) -> list[tuple[HeldContent, ...]]:
        """Make every answer of each document VOID; its contents afterwards."""

    async def remove_holders(self, holdings: Sequence[tuple[int, str]]) -> list[EntryRecord | None]:
        """Take a document from the holders of an entry, which dies with its last one. The record afterwards (`dead` if
        it died; a dead record keeps its body and its last holder, so that its postings are found). None: no entry."""

    async def mark_dead(self, entries: Sequence[int]) -> list[EntryRecord | None]:
        """Let each entry die, whatever holds it. The record afterwards; None: no such entry."""

    async def remove_postings(self, keys: Keys, entries: Keys) -> None:
        """Remove each entry from its bucket."""

    async def delete_records(self, entries: Sequence[int]) -> None:
        """Remove the records of dead entries, each with its content's pointer if that still points to it."""

    async def remove_contents(self, holdings: Sequence[tuple[str, Sequence[HeldContent]]]) -> list[bool]:
        """Remove contents from a document's record where the stamp is still the one given, and the record with its last
        one. Whether the document is gone."""

    async def info(self) -> dict[str, int]:
        """Counts, and bytes by part, for people. May scan the whole index."""

    async def confirm(self) -> None:
        """Return once all that was written and read so far is kept as safely as the settings ask for. Unavailable: it
        is not, so no answer may be given yet."""

    async def close(self) -> None: ...


def require_same_decisions(stored: Decisions, own: Decisions, index: str) -> None:
    """Refuse an index that was made by other thresholds than a profile has. ConfigError: it names both."""
    if differences := stored.differences(own):
        raise ConfigError(
            f"{index} was made with {'; '.join(differences)}: where gates decide differently, none or both of two "
            "near-duplicates pass. Give the profile the values of the index; or carry the index over to a new version "
            "of the profile, or to a new file, with `gate index export` and `gate index import`"
        )


def new_entry_id(content: bytes) -> int:
    """A number for an entry: 32 bits of its content id, so that a backend may keep both together, and 32 at random."""
    return int.from_bytes(content[:4], "big") << 32 | _random.getrandbits(32) or 1


# Not for secrets, and seeded by the system: a system call for each document takes five times as long. A forked process
# would draw the numbers of its parent, so it is seeded again.
_random = random.Random()  # noqa: S311
os.register_at_fork(after_in_child=_random.seed)


async def retry_stale(operation: Callable[[], Awaitable[T]]) -> T:
    """Run an operation, and again from its beginning where the generations of the index changed during it: a store that
    raises `Stale` has decided nothing."""
    for _ in range(STALE_ATTEMPTS):
        try:
            return await operation()
        except Stale:
            continue
    raise Unavailable(f"the index changed during each of {STALE_ATTEMPTS} attempts; try again")
