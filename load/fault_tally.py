"""What `load.faults` sends, and how it compares inputs with answers."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from gate.core.builtin_profiles import BUILT_IN
from load.races import Group, groups
from tests.support.gate_on_kafka import InputRecord

PROFILE = "standard"
MALFORMED = 0.02  # share of documents that are followed by an event that cannot be judged
REPEATED = 0.03  # share of documents that are sent again later
BAD_KEY = b"bad"
COPY = "copy of "  # before the ids of copies that are sent after the index was lost

Position = tuple[int, int]  # partition and offset


@dataclass(frozen=True, kw_only=True)
class FaultPlan:
    """The number of documents and of faults."""

    documents: int = 50_000
    rate: float = 250.0  # events a second
    kills: int = 30
    freezes: int = 4
    broker_restarts: int = 3
    redis_restarts: int = 3
    empties: int = 2  # of Redis, or of one master of a Cluster, with the next worker started before it is filled
    clocks: int = 2  # workers whose clock is hours ahead
    deletions: int = 2  # of check-ins that were not read
    brokers: int = 3
    cluster: bool = False  # the index is on a Redis Cluster that keeps nothing on disk
    seed: int = 1


@dataclass(slots=True, kw_only=True)
class FaultTally:
    """What was sent, which faults there were, and which promises were broken."""

    delivery: str
    check_ins: int = 0
    bad_events: int = 0
    groups: int = 0
    kills: int = 0
    freezes: int = 0
    broker_restarts: int = 0
    redis_restarts: int = 0
    empties: int = 0
    clocks: int = 0
    deletions: int = 0
    deleted: int = 0  # check-ins that were deleted unread
    lost: int = 0
    unreported: int = 0
    repeated: int = 0
    changed: int = 0
    none_survived: int = 0
    two_survived: int = 0
    copies: int = 0
    copies_passed: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    @property
    def is_correct(self) -> bool:
        violations = self.lost + self.unreported + self.changed + self.none_survived + self.two_survived
        return not (violations + self.copies_passed) and not (self.delivery == "exactly_once" and self.repeated)

    def row(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key != "problems"}


def events(plan: FaultPlan) -> tuple[list[Group], list[InputRecord]]:
    """Groups of near-duplicates, and their documents in an order in which those of a group are close to each other."""
    rng = random.Random(plan.seed)
    made = list(groups(max(plan.documents * 2 // 7, 1), plan.seed, BUILT_IN[PROFILE]))
    placed: list[tuple[float, InputRecord]] = []
    for number, group in enumerate(made):
        for document in group.documents:
            sent = InputRecord.of(document.document_id, document.text)
            placed.append((number + rng.uniform(0, 4), sent))
            if rng.random() < REPEATED:
                placed.append((number + rng.uniform(0, 200), sent))
            if rng.random() < MALFORMED:
                broken = InputRecord(b'{"document_id": "bad", "text": ' + str(rng.random()).encode(), BAD_KEY)
                placed.append((number + rng.uniform(0, 4), broken))
    return made, [sent for _, sent in sorted(placed, key=lambda pair: pair[0])]


class SentRecord(NamedTuple):
    """A record that was acknowledged. `epoch` counts how often the index had been lost by then."""

    document_id: str  # or BAD_KEY
    epoch: int


class Answers:
    """Verdicts and dead letters, by the positions of the records that they answer."""

    def __init__(self, verdicts: Iterable[Any], letters: Iterable[Any]) -> None:
        self.by_position: dict[Position, list[bytes]] = defaultdict(list)
        self.verdicts: dict[Position, dict[str, Any]] = {}
        for record in verdicts:
            verdict = json.loads(record.value)
            place = _position(verdict.pop("origin"))
            self.verdicts.setdefault(place, verdict)
            self.by_position[place].append(record.value)
        for record in letters:
            self.by_position[_position(json.loads(record.value)["origin"])].append(record.value)


def _position(origin: Mapping[str, Any]) -> Position:
    return origin["partition"], origin["offset"]


def compare(
    tally: FaultTally,
    made: Sequence[Group],
    sent: Mapping[Position, SentRecord],
    answers: Answers,
    *,
    starts: Mapping[int, int],
    reported: Sequence[tuple[int, range]],
) -> None:
    """Count what was lost, repeated or changed. `starts`: the first offset of each partition that is not deleted.
    `reported`: partitions and offsets that workers reported as deleted unread."""
    unanswered = {place for place in sent if place not in answers.by_position}
    deleted = {(partition, offset) for partition, offset in unanswered if offset < starts.get(partition, 0)}
    tally.deleted = len(deleted)
    tally.lost = len(unanswered - deleted)
    named = {(partition, offset) for partition, offsets in reported for offset in offsets}
    tally.unreported = len(deleted - named)
    tally.repeated = sum(len(values) - 1 for values in answers.by_position.values())
    tally.changed = sum(len(set(values)) > 1 for values in answers.by_position.values())
    tally.bad_events = sum(record.document_id == BAD_KEY.decode() for record in sent.values())
    tally.check_ins = len(sent) - tally.bad_events
    judged: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for place in sorted(sent.keys() & answers.verdicts.keys()):
        judged[sent[place].document_id].append((sent[place].epoch, answers.verdicts[place]))
    _compare_documents(tally, judged)
    _compare_groups(tally, made, judged)


Judged = Mapping[str, Sequence[tuple[int, dict[str, Any]]]]  # by document, each verdict with its epoch


def _compare_documents(tally: FaultTally, judged: Judged) -> None:
    """A document has one verdict, unless it was sent again after the index was lost: the one that replaces it judges in
    the order of the records' times, which of documents that raced may be another."""
    for document_id, verdicts in judged.items():
        if any(one[0] == other[0] and one[1] != other[1] for one, other in pairwise(sorted(verdicts, key=_epoch))):
            tally.changed += 1
            tally.problems.append(f"{document_id}: two different verdicts")
        if document_id.startswith(COPY):
            tally.copies += 1
            if not verdicts[0][1]["similar"]:
                tally.copies_passed += 1
                tally.problems.append(f"{document_id}: passed")


def _epoch(judged: tuple[int, dict[str, Any]]) -> int:
    return judged[0]


def _compare_groups(tally: FaultTally, made: Sequence[Group], judged: Judged) -> None:
    """Of a group that was not divided by the loss of the index, and whose documents were all judged."""
    for group in made:
        verdicts = [judged.get(document.document_id) for document in group.documents]
        known = [one[0] for one in verdicts if one]
        if len({epoch for epoch, _ in known}) > 1:
            continue
        name = group.documents[0].document_id
        if len(known) == len(verdicts) and all(verdict["similar"] for _, verdict in known):
            tally.none_survived += 1
            tally.problems.append(f"{name}: none of its group survived")
        passed = [one is not None and bool(one) and not one[0][1]["similar"] for one in verdicts]
        if any(passed[a] and passed[b] for a, b in group.alike):
            tally.two_survived += 1
            tally.problems.append(f"{name}: two of its group survived")
