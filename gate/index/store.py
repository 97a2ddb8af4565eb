"""What an index backend must supply: a handful of batch primitives, and nothing that decides.

    documents   document id -> its contents, each with the answer it was given
    contents    content id  -> entry                    (set if absent)
    entries     entry       -> record: owner, body, and a registration that is written once
    buckets     key         -> postings (entry, tag)    (append only, until the entry dies)
    tickets     a counter

An entry is one life of one content in the index. Its number is never used twice, so whoever meets a posting
whose record is gone may throw the posting away: that entry cannot come back. A content that is checked in
again after a delete gets a new entry. Its upper 32 bits are those of its content id: a backend may keep both together.

A key is the number of a table (8 bits) above 32 bits, of which the lower 24 number a bucket.

Each primitive is atomic per record (with its content's pointer), per bucket and per document, not across them; the
items of one call may be done in any order, and others may come in between. All are idempotent: a call that is sent
twice changes nothing, and answers what stands. `gate.index.protocol.claim` relies on no more than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

# In the place of an answer: it was taken back. Whoever was about to answer cannot, until it enrols again.
VOID = b""


class Value(msgspec.Struct, frozen=True, order=True, array_like=True, gc=False):
    """What goes into a store and comes out: taken apart, changed and compared like a named tuple, but made in a third
    of the time, and not walked through by the garbage collector again and again as an index in memory grows."""

    def __iter__(self) -> Iterator[Any]:
        return iter(msgspec.structs.astuple(self))

    def _replace(self, **changes: Any) -> Self:
        return msgspec.structs.replace(self, **changes)


class Holder(Value, frozen=True, order=True):
    """A document that brought a content."""

    document_id: str
    version: str | None


class Record(Value, frozen=True, order=True):
    """One entry. Of `ticket` and `duplicate_of` at most one is set, once, for the life of the entry."""

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


class Enrolment(Value, frozen=True, order=True):
    """A wish to enter: it is granted if nobody holds the content yet."""

    document_id: str
    version: str | None
    content: bytes
    entry: int
    body: bytes
    share: bool = False  # join the holders of a content that is there already


class Standing(Value, frozen=True, order=True):
    """What stands after an enrolment: the record of the content, or the answer that the document was given before
    (then nothing was entered and there is no record); the document's other contents; and its stamp on this one."""

    record: Record | None
    answer: bytes | None
    others: tuple[bytes, ...]
    stamp: int = 0


class Registration(Value, frozen=True, order=True):
    entry: int
    ticket: int = 0
    duplicate_of: int = 0


class Memory(Value, frozen=True, order=True):
    """An answer to keep, or VOID. It replaces `replacing` and nothing else (None: only if there is no answer yet), and
    only under the stamp that the enrolment was shown: one from before a delete tells nothing of what came after."""

    document_id: str
    content: bytes
    answer: bytes
    replacing: bytes | None = None
    stamp: int | None = None  # None: whatever it is


class Held(Value, frozen=True, order=True):
    """One content of a document, as the document's own record has it. The stamp is the entry number of the wish that
    brought it, or of the first one after its answer was taken back: a delete takes away no more than it has seen, and
    what was begun before a delete cannot be finished after it."""

    content: bytes
    version: str | None
    answer: bytes | None
    stamp: int


@dataclass(frozen=True, slots=True)
class Postings:
    """Postings of many buckets, flat: `counts[i]` of them belong to the i-th key asked for."""

    counts: NDArray[np.int64]
    entries: Keys
    tags: Keys
    mark: int  # hand it back as `since` to read only what came after; opaque, not to be compared
    capped: NDArray[np.bool_]  # the bucket was longer than the limit


@dataclass(frozen=True, slots=True)
class Answers:
    """Postings that answer probes: the i-th, of `entries[i]`, answers the probe numbered `probes[i]`."""

    probes: NDArray[np.int64]
    entries: Keys
    mark: int
    capped: NDArray[np.bool_]


@runtime_checkable
class Answering(Protocol):
    """A store that looks at the tags itself, where that saves fetching all that is in the way."""

    async def answer(self, keys: Keys, tags: Keys, radii: NDArray[np.uint8], *, since: int | None = None) -> Answers:
        """As `Store.read`, but only the postings whose tags differ from the probe's in at most `radii` bits."""


class Store(Protocol):
    """The primitives. Coroutines, because one backend waits for a network; the embedded ones never suspend."""

    async def enrol(self, wishes: Sequence[Enrolment]) -> list[Standing]:
        """1. Add the content to the document's record; an answer there that is VOID is none from now on, and stamped.
        2. Unless the document was answered: set content -> entry and its record if absent."""

    async def read(self, keys: Keys, *, since: int | None = None) -> Postings:
        """The postings of each key; those that were there when `since` was read may be left out."""

    async def records(self, entries: Sequence[int]) -> list[Record | None]: ...

    async def append(self, keys: Keys, entries: Keys, tags: Keys) -> None:
        """Add each posting to its bucket if it is not there."""

    async def draw(self, count: int) -> int:
        """Take `count` tickets; the first of them. Tickets only ever rise."""

    async def register(self, registrations: Sequence[Registration]) -> list[Record | None]:
        """Set if absent; the record that stands, or None where the entry is dead or gone."""

    async def remember(self, memories: Sequence[Memory]) -> list[bytes | None]:
        """Keep answers; the answer that stands, or None where the document no longer has that content."""

    async def contents(self, contents: Sequence[bytes]) -> list[int | None]:
        """The living or dying entry of each content."""

    async def documents(self, document_ids: Sequence[str]) -> list[tuple[Held, ...]]:
        """The contents of each document; empty if it is unknown."""

    async def recall(self, document_ids: Sequence[str]) -> list[tuple[Held, ...]]:
        """Make every answer of each document VOID; its contents afterwards."""

    async def disown(self, holdings: Sequence[tuple[int, str]]) -> list[Record | None]:
        """Take a document from the holders of an entry, which dies with its last one. The record afterwards (`dead` if
        it died; a dead record keeps its body and its last holder, so that its postings are found). None: no entry."""

    async def bury(self, entries: Sequence[int]) -> list[Record | None]:
        """Let each entry die, whoever holds it. The record afterwards; None: no such entry."""

    async def withdraw(self, keys: Keys, entries: Keys) -> None:
        """Remove each entry from its bucket."""

    async def erase(self, entries: Sequence[int]) -> None:
        """Remove the records of dead entries, each with its content's pointer if that still points to it."""

    async def forget(self, holdings: Sequence[tuple[str, Sequence[Held]]]) -> list[bool]:
        """Remove contents from a document's record where the stamp is still the one given, and the record with its last
        one. Whether the document is gone."""

    async def info(self) -> dict[str, int]:
        """Counts, and bytes by part, for people. May walk the whole index."""

    async def close(self) -> None: ...
