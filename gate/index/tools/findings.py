"""What may be wrong with an index, and the report of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class Fault(StrEnum):
    """In the order in which they are checked."""

    MISSING_SHARD = "missing_shard"  # a shard of the index is gone, with everything in it
    UNFINISHED = "unfinished"  # an entry that died is still there
    BROKEN = "broken"  # the body of an entry is not whole
    UNLISTED = "unlisted"  # an entry is missing from some of its buckets
    UNREACHABLE = "unreachable"  # a content does not point to its entry
    UNHELD = "unheld"  # a document's record lacks a content that it holds
    TICKETS = "tickets"  # the next ticket is not above all that are held
    LOST = "lost"  # a document passed, and has no entry
    ORPHANED = "orphaned"  # a posting of an entry that is gone
    MISPLACED = "misplaced"  # a posting where its entry should have none
    SPARE = "spare"  # a posting of a refused copy


# What racing deliveries of one document may leave behind in an index that is whole. It only takes room.
HARMLESS = frozenset({Fault.SPARE})


class Note(StrEnum):
    WAITING = "waiting"  # entries without a registration
    FREED = "freed"  # duplicates whose original is gone
    UNANSWERED = "unanswered"  # contents of documents


class Finding(NamedTuple):
    """One fault, so described that it is equal at a second check."""

    fault: Fault
    entry: int = 0
    content: bytes = b""
    document_id: str = ""
    key: int = 0
    tag: int = 0

    def __str__(self) -> str:
        parts = {
            "document": self.document_id,
            "entry": f"{self.entry:016x}" if self.entry else "",
            "content": self.content.hex(),
            "bucket": f"{self.key:010x}" if self.fault in (Fault.ORPHANED, Fault.MISPLACED, Fault.SPARE) else "",
        }
        return ", ".join(f"{name} {value}" for name, value in parts.items() if value)


@dataclass(slots=True)
class Report:
    """What was checked, what was wrong, and what of it was repaired."""

    checked: Counter[str] = field(default_factory=Counter)  # entries, documents, postings
    found: Counter[Fault] = field(default_factory=Counter)
    repaired: Counter[Fault] = field(default_factory=Counter)
    notes: Counter[Note] = field(default_factory=Counter)
    examples: dict[Fault, list[str]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of_missing(cls, shards: Sequence[str]) -> Report:
        """The report on an index of which these shards are gone: the rest of it is not checked."""
        report = cls()
        report.found[Fault.MISSING_SHARD] = len(shards)
        report.examples[Fault.MISSING_SHARD] = [f"shard {shard}" for shard in shards]
        return report

    @property
    def problems(self) -> dict[Fault, int]:
        """What was wrong and does harm."""
        return {fault: count for fault, count in self.found.items() if fault not in HARMLESS}

    @property
    def left(self) -> int:
        """How many of the problems are still there."""
        return sum(count - self.repaired[fault] for fault, count in self.problems.items())
