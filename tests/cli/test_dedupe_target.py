"""The target of `gate dedupe`: families within a batch and across batches, and an index that is filled again."""

from __future__ import annotations

from pathlib import Path

from gate.api import Gate
from gate.archive.dedupe_state import DedupeJob, DedupeState
from gate.archive.journal import Checkpoint
from gate.archive.parts import ArchivedEvent, ArchiveFile
from gate.archive.replay import ReplayItem
from gate.archive.replay_stats import ReplayStats
from gate.cli.dedupe_target import DedupeTarget
from gate.demo import BREAD, LIGHTHOUSE
from gate.wire import CheckInEvent, DeleteEvent, Origin
from tests.cli.command import EDITED

FILE = ArchiveFile(name="f", path=Path("f"), size_bytes=1)
JOB = DedupeJob(sources=("f",), profile="standard@1", against=None, options="")


def item(position: int, text: str) -> ReplayItem:
    event = CheckInEvent(document_id=f"d{position}", text=text)
    return ReplayItem(ArchivedEvent(event=event, origin=Origin(file="f")), Checkpoint(FILE.key, position))


def families(state: DedupeState) -> dict[str, int | None]:
    return {one.document.id: one.document.family for one in state.decisions()}


def test_copies_join_the_family_of_the_first_within_and_across_batches(tmp_path: Path) -> None:
    with Gate() as gate, DedupeState(tmp_path / "s", JOB, [FILE], resume=False) as state:
        target = DedupeTarget(gate, state, ReplayStats(), against=None, keeps_claims=True)
        deleted = ReplayItem(
            ArchivedEvent(event=DeleteEvent(document_id="x", type="delete"), origin=Origin(file="f")),
            Checkpoint(FILE.key, 9),
        )
        target.send([item(1, LIGHTHOUSE), item(2, EDITED), deleted])
        target.send([item(3, BREAD), item(4, LIGHTHOUSE.upper()), item(2, EDITED)])
        assert families(state) == {"d1": 1, "d2": 1, "d3": 3, "d4": 1}
        assert [one.document.like for one in state.decisions()] == [None, "d1", None, "d1"]


def test_an_index_that_is_filled_again_gives_the_same_families(tmp_path: Path) -> None:
    with DedupeState(tmp_path / "s", JOB, [FILE], resume=False) as state:
        with Gate() as gate:
            DedupeTarget(gate, state, ReplayStats(), against=None, keeps_claims=True).send([item(1, LIGHTHOUSE)])
        with Gate() as gate:
            target = DedupeTarget(gate, state, ReplayStats(), against=None, keeps_claims=True)
            target.restore()
            target.send([item(2, EDITED)])
        assert families(state) == {"d1": 1, "d2": 1}


def test_what_cannot_be_judged_is_counted(tmp_path: Path) -> None:
    stats = ReplayStats()
    with Gate() as gate, DedupeState(tmp_path / "s", JOB, [FILE], resume=False) as state:
        target = DedupeTarget(gate, state, stats, against=None, keeps_claims=False)
        target.send([item(1, "half a character: \ud800"), item(2, LIGHTHOUSE)])
        assert (stats.dead_lettered, families(state), list(state.claims())) == ({"bad_text": 1}, {"d2": 2}, [])
