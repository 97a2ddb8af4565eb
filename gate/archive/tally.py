"""What a replay has come to: counts of verdicts, of what could not be read, and the largest families. No clock here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from gate.model import Relation
from gate.wire import Rejected

MOST_FAMILIES = 100_000  # are counted; beyond, the smaller half is forgotten now and then, so large ones stay
EXAMPLES = 5  # of files and lines that could not be read, for each reason
SHOWN_FAMILIES = 10


@dataclass
class Tally:
    """Counts of one run."""

    read: int = 0  # documents and deletes
    deletes: int = 0
    characters: int = 0
    sent: int = 0  # that the target has for certain
    skipped: int = 0  # files that were done before
    relations: Counter[str] = field(default_factory=Counter)
    dead_lettered: Counter[str] = field(default_factory=Counter)
    unreadable: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    families: Counter[str] = field(default_factory=Counter)  # by their first document: how many are like it

    @property
    def judged(self) -> int:
        return self.relations.total()

    def judge(self, relation: Relation, group: str, *, similar: bool) -> None:
        self.relations[relation.value] += 1
        if similar:
            self.families[group] += 1
            if len(self.families) > 2 * MOST_FAMILIES:
                self.families = Counter(dict(self.families.most_common(MOST_FAMILIES)))

    def refuse(self, rejected: Rejected) -> None:
        reason = rejected.error.code
        self.unreadable[reason] += 1
        named = self.examples.setdefault(reason, [])
        if len(named) < EXAMPLES:
            named.append(str(rejected.origin))

    def largest(self) -> list[tuple[str, int]]:
        """The largest families, and how many documents each has with its first."""
        ordered = sorted(self.families.items(), key=lambda family: (-family[1], family[0]))
        return [(name, count + 1) for name, count in ordered[:SHOWN_FAMILIES]]

    def told(self) -> dict[str, object]:
        """All of it, for programs."""
        return {
            "read": self.read,
            "deletes": self.deletes,
            "characters": self.characters,
            "sent": self.sent,
            "done_before": self.skipped,
            "judged": self.judged,
            "relations": {one.value: self.relations[one.value] for one in Relation if self.relations[one.value]},
            "dead_lettered": dict(self.dead_lettered),
            "unreadable": {
                reason: {"count": count, "examples": self.examples[reason]}
                for reason, count in sorted(self.unreadable.items())
            },
            "families": [{"first": name, "documents": count} for name, count in self.largest()],
        }


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast, and for how long still. Times are seconds of a clock that somebody else reads."""

    began: float
    total_bytes: int | None

    def rate(self, documents: int, now: float) -> float:
        return documents / max(now - self.began, 1e-9)

    def left_seconds(self, read_bytes: int, now: float) -> float | None:
        """None where nobody can know."""
        if not self.total_bytes or not read_bytes:
            return None
        return (now - self.began) * max(self.total_bytes - read_bytes, 0) / read_bytes


def due(sent: int, rate: float, began: float, now: float) -> float:
    """How long to wait before the next, so that no more than `rate` a second have been sent since the beginning."""
    return max(0.0, began + sent / rate - now)


def sentence(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts if count)
