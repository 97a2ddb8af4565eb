"""Counts of a replay: verdicts, rejections, the largest groups of similar documents, throughput. No clock is read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gate.model import Relation
from gate.stream.jsonl import STDIN
from gate.wire import RejectedMessage

# So many groups are counted; at twice as many the smaller half is dropped, so that memory is bounded and the large
# groups stay.
MAX_GROUPS = 100_000
MAX_EXAMPLES = 5  # origins of files and lines that could not be read, for each reason
SHOWN_GROUPS = 10


@dataclass
class ReplayStats:
    """Counts of one replay."""

    read: int = 0  # documents and deletes
    deletes: int = 0
    characters: int = 0
    sent: int = 0  # acknowledged by the target
    skipped_files: int = 0  # done by an earlier replay
    links: int = 0  # further names of files, which are no documents
    hidden: int = 0  # files and folders that were left out
    relations: Counter[str] = field(default_factory=Counter)
    dead_lettered: Counter[str] = field(default_factory=Counter)
    unreadable: Counter[str] = field(default_factory=Counter)
    bad_lines: int = 0  # of what is unreadable: events, not whole files
    examples: dict[str, list[str]] = field(default_factory=dict)
    without_text: Counter[str] = field(default_factory=Counter)  # files that are compared by their bytes
    groups: Counter[str] = field(default_factory=Counter)  # by original: how many documents are similar to it

    @property
    def judged(self) -> int:
        return self.relations.total()

    def count_verdict(self, relation: Relation, group: str, *, similar: bool) -> None:
        self.relations[relation.value] += 1
        if similar:
            self.groups[group] += 1
            if len(self.groups) > 2 * MAX_GROUPS:
                self.groups = Counter(dict(self.groups.most_common(MAX_GROUPS)))

    def count_rejected(self, rejected: RejectedMessage) -> None:
        reason = rejected.error.code
        self.unreadable[reason] += 1
        origin = rejected.origin
        self.bad_lines += origin is not None and (origin.line is not None or origin.file == STDIN)
        examples = self.examples.setdefault(reason, [])
        if len(examples) < MAX_EXAMPLES:
            examples.append(str(rejected.origin))

    def count_without_text(self, reason: str, origin: str) -> None:
        self.without_text[reason] += 1
        examples = self.examples.setdefault(f"without text: {reason}", [])
        if len(examples) < MAX_EXAMPLES:
            examples.append(origin)

    def largest_groups(self) -> list[tuple[str, int]]:
        """The originals of the largest groups, and how many documents each group has, the original included."""
        ordered = sorted(self.groups.items(), key=lambda group: (-group[1], group[0]))
        return [(original, count + 1) for original, count in ordered[:SHOWN_GROUPS]]

    def as_json(self) -> dict[str, object]:
        """All counts, for programs."""
        return {
            "read": self.read,
            "deletes": self.deletes,
            "characters": self.characters,
            "sent": self.sent,
            "done_before": self.skipped_files,
            "links": self.links,
            "hidden": self.hidden,
            "judged": self.judged,
            "relations": {one.value: self.relations[one.value] for one in Relation if self.relations[one.value]},
            "dead_lettered": dict(self.dead_lettered),
            "unreadable": {
                reason: {"count": count, "examples": self.examples[reason]}
                for reason, count in sorted(self.unreadable.items())
            },
            "without_text": {
                reason: {"count": count, "examples": self.examples[f"without text: {reason}"]}
                for reason, count in sorted(self.without_text.items())
            },
            "groups": [{"original": original, "documents": count} for original, count in self.largest_groups()],
        }


@dataclass(frozen=True, slots=True)
class Throughput:
    """How fast a replay is, and how long it will still take. Times are seconds of the caller's clock."""

    started: float
    total_bytes: int | None

    def documents_per_second(self, documents: int, now: float) -> float:
        return documents / max(now - self.started, 1e-9)

    def seconds_left(self, read_bytes: int, now: float) -> float | None:
        """None where the size of the input is not known."""
        if not self.total_bytes or not read_bytes:
            return None
        return (now - self.started) * max(self.total_bytes - read_bytes, 0) / read_bytes


def pause_seconds(sent: int, rate: float, started: float, now: float) -> float:
    """How long to wait before the next document, so that at most `rate` a second are sent, counted from the start."""
    return max(0.0, started + sent / rate - now)
