"""The targets of a replay that need no broker; the topic is tested with the command, on a real one."""

from __future__ import annotations

from gate import Gate, Limits
from gate.archive.journal import Checkpoint
from gate.archive.parts import ArchivedEvent
from gate.archive.replay import ReplayItem
from gate.archive.replay_stats import ReplayStats
from gate.cli.replay_targets import GateTarget, NullTarget
from gate.demo import BREAD, LIGHTHOUSE
from gate.wire import CheckInEvent, DeleteEvent, Event, Origin


def items(*events: Event) -> list[ReplayItem]:
    return [
        ReplayItem(ArchivedEvent(event=event, origin=Origin(file="e.jsonl", line=number)), Checkpoint("key", number))
        for number, event in enumerate(events, 1)
    ]


def check_in(document_id: str, text: str) -> CheckInEvent:
    return CheckInEvent(document_id=document_id, text=text)


def test_a_delete_takes_effect_in_its_place() -> None:
    stats = ReplayStats()
    with Gate() as gate:
        batch = items(check_in("a", BREAD), DeleteEvent(document_id="a", type="delete"), check_in("b", BREAD))
        assert GateTarget(gate, stats).send(batch) == [item.checkpoint for item in batch]
    assert (stats.sent, dict(stats.relations)) == (3, {"new": 2})


def test_a_document_beyond_the_limits_is_counted_and_the_others_are_judged() -> None:
    stats = ReplayStats()
    with Gate(limits=Limits(max_document_chars=1000)) as gate:
        GateTarget(gate, stats).send(items(check_in("a", BREAD * 5), check_in("b", LIGHTHOUSE)))
    assert (stats.sent, dict(stats.dead_lettered), dict(stats.relations)) == (1, {"too_large": 1}, {"new": 1})


def test_a_checkpoint_without_a_document_is_safe_with_its_batch() -> None:
    with Gate() as gate:
        last = ReplayItem(None, Checkpoint("key"))
        assert GateTarget(gate, ReplayStats()).send([last]) == [last.checkpoint]


def test_a_dry_run_marks_nothing_as_safe() -> None:
    target = NullTarget()
    assert target.send(items(check_in("a", BREAD))) == []
    assert (target.drain(), target.unanswered()) == ([], 0)
