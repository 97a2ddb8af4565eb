"""Records and documents of the memory store in few Python objects.

Each is kept as one flat tuple, and made into `Record` and `Held` when somebody asks for it:

    entry     ->  content, body, ticket, duplicate_of, dead, document_id, version [, document_id, version ...]
    document  ->  content, version, answer, stamp [, content, version, answer, stamp ...]

That takes two thirds of the memory. And the garbage collector lets go of a tuple that holds nothing but texts, bytes
and numbers; named tuples in tuples it would walk through again and again as the index grows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, MutableMapping
from itertools import chain
from typing import Any

from gate.index.store import Held, Holder, Record

Flat = tuple[Any, ...]

# Places in a record, before its holders; and in each of the contents of a document.
CONTENT, BODY, TICKET, DUPLICATE_OF, DEAD = RECORD = range(5)
ANSWER = Held._fields.index("answer")
HELD_FIELDS = len(Held._fields)


def record_of(entry: int, flat: Flat) -> Record:
    content, body, ticket, duplicate_of, dead = flat[: len(RECORD)]
    if len(flat) == len(RECORD) + 2:
        holders: tuple[Holder, ...] = (Holder(flat[-2], flat[-1]),)
    else:
        holders = tuple(map(Holder, flat[len(RECORD) :: 2], flat[len(RECORD) + 1 :: 2]))
    return Record(entry, content, holders, body, ticket, duplicate_of, dead)


def held_of(flat: Flat) -> tuple[Held, ...]:
    return tuple(Held(*flat[n : n + HELD_FIELDS]) for n in range(0, len(flat), HELD_FIELDS))


class Records(MutableMapping[int, Record]):
    """Records by entry."""

    def __init__(self) -> None:
        self.flat: dict[int, Flat] = {}

    def __getitem__(self, entry: int) -> Record:
        return record_of(entry, self.flat[entry])

    def find(self, entry: int) -> Record | None:
        flat = self.flat.get(entry)
        return None if flat is None else record_of(entry, flat)

    def __setitem__(self, entry: int, record: Record) -> None:
        _, content, holders, body, ticket, duplicate_of, dead = record
        self.flat[entry] = (content, body, ticket, duplicate_of, dead, *chain.from_iterable(holders))

    def __delitem__(self, entry: int) -> None:
        del self.flat[entry]

    def __iter__(self) -> Iterator[int]:
        return iter(self.flat)

    def __len__(self) -> int:
        return len(self.flat)

    def __contains__(self, entry: object) -> bool:
        return entry in self.flat

    def bytes(self) -> int:
        """What they take, their entries and bodies included, but not the texts and contents that documents have."""
        size = sys.getsizeof
        return size(self.flat) + sum(
            size(entry) + size(flat) + size(flat[BODY]) + size(flat[TICKET]) for entry, flat in self.flat.items()
        )


class Documents(MutableMapping[str, tuple[Held, ...]]):
    """What documents hold, by document id."""

    def __init__(self) -> None:
        self.flat: dict[str, Flat] = {}

    def __getitem__(self, document_id: str) -> tuple[Held, ...]:
        return held_of(self.flat[document_id])

    def find(self, document_id: str) -> tuple[Held, ...]:
        """Empty if there is no such document."""
        return held_of(self.flat.get(document_id, ()))

    def __setitem__(self, document_id: str, held: tuple[Held, ...]) -> None:
        self.flat[document_id] = tuple(chain.from_iterable(held))

    def __delitem__(self, document_id: str) -> None:
        del self.flat[document_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.flat)

    def __len__(self) -> int:
        return len(self.flat)

    def bytes(self) -> int:
        """What they take, their names and answers included, but not their contents."""
        size = sys.getsizeof
        return size(self.flat) + sum(
            size(name) + size(flat) + sum(size(answer) for answer in flat[ANSWER::HELD_FIELDS] if answer)
            for name, flat in self.flat.items()
        )
