"""The story of a replay, with a target and a clock of our own: nothing is left out, wherever it is cut off."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.archive.journal import Fact, Journal, Task
from gate.archive.readers import items
from gate.archive.replay import Entry, Replay
from gate.archive.tally import Pace, Tally
from gate.limits import Limits
from gate.model import Relation

TASK = Task(sources=("archive",), target="here")


class CutOff(Exception):
    """As `kill -9` would."""


class Target:
    """Keeps what it takes. It knows of a batch that it is safe a while after it took it, or never."""

    def __init__(self, *, delay: int = 0, ends_after: int | None = None) -> None:
        self.ids: list[str] = []
        self.batches: list[int] = []
        self.moments: list[tuple[float, int]] = []  # when a batch came, and how many documents before it
        self.now = 0.0
        self._delay = delay
        self._ends_after = ends_after
        self._under_way: list[tuple[int, list[Fact]]] = []

    def take(self, batch: Sequence[Entry]) -> list[Fact]:
        named = [entry.found.event.document_id for entry in batch if entry.found is not None]
        if self._ends_after is not None and len(self.ids) + len(named) > self._ends_after:
            del self.ids[len(self.ids) - sum(count for count, _ in self._under_way) :]  # what is not safe is lost
            raise CutOff
        self.moments.append((self.now, len(self.ids)))
        self.ids += named
        self.batches.append(len(named))
        self._under_way.append((len(named), [entry.fact for entry in batch]))
        return self._safe(self._delay)

    def drain(self) -> list[Fact]:
        return self._safe(0)

    def _safe(self, left: int) -> list[Fact]:
        count = max(0, len(self._under_way) - left)
        safe, self._under_way = self._under_way[:count], self._under_way[count:]
        return [fact for _, facts in safe for fact in facts]

    def pause(self, seconds: float) -> None:
        self.now += seconds

    def clock(self) -> float:
        return self.now


def archive(folder: Path, counts: Sequence[int]) -> list[str]:
    """Files of texts (0) and of so many events, some of them wrong; the ids that are in them, in their order."""
    ids = []
    for n, count in enumerate(counts):
        if not count:
            (folder / f"{n}.txt").write_text("text")
            ids.append(f"{n}.txt")
            continue
        lines = []
        for i in range(count):
            lines.append(json.dumps({"document_id": f"{n}-{i}", "text": "text"}) if i % 5 != 3 else "no json")
            ids += [f"{n}-{i}"] * (i % 5 != 3)
        (folder / f"{n}.jsonl").write_text("\n".join(lines))
    return ids


def replay(folder: Path, target: Target, *, journal: Journal | None = None, rate: float | None = None) -> Tally:
    tally = Tally()
    limits = Limits(batch_chars=40)  # ten documents of these
    Replay(target, tally=tally, limits=limits, journal=journal, clock=target.clock, rate=rate).run(items([folder]))
    return tally


@given(
    counts=st.lists(st.integers(0, 40), max_size=6),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    delay=st.integers(0, 4),
)
def test_however_often_it_is_cut_off_nothing_is_left_out_and_the_order_is_kept(
    tmp_path_factory: pytest.TempPathFactory, counts: list[int], cuts: list[int], delay: int
) -> None:
    folder = tmp_path_factory.mktemp("archive")
    ids = archive(folder, counts)
    journal_path = tmp_path_factory.mktemp("state") / "journal"
    seen: list[str] = []
    for cut in [*cuts, None]:
        target = Target(delay=delay, ends_after=cut)
        with Journal(journal_path, TASK, resume=True) as journal:
            try:
                replay(folder, target, journal=journal)
            except CutOff:
                assert cut is not None
        begin = ids.index(target.ids[0]) if target.ids else 0
        assert target.ids == ids[begin : begin + len(target.ids)]  # one piece, in the order of the archive
        seen += target.ids
    assert set(seen) == set(ids)
    again = Target()
    with Journal(journal_path, TASK, resume=True) as journal:
        replay(folder, again, journal=journal)
    assert again.ids == []  # all of it is done


def test_a_file_that_was_changed_or_added_is_not_taken_for_done(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    archive(folder, [0, 3, 0])
    with Journal(tmp_path / "journal", TASK, resume=False) as journal:
        replay(folder, Target(), journal=journal)
    (folder / "1.jsonl").write_text('{"document_id": "other", "text": "text"}')
    (folder / "0a.txt").write_text("text")
    target = Target()
    with Journal(tmp_path / "journal", TASK, resume=True) as journal:
        tally = replay(folder, target, journal=journal)
    assert target.ids == ["0a.txt", "other"]
    assert tally.skipped == 2


def test_what_could_not_be_read_is_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    (folder / "a").symlink_to("b")
    with Journal(tmp_path / "journal", TASK, resume=True) as journal:
        assert replay(folder, Target(), journal=journal).unreadable == {"unreadable": 1}
    (folder / "b").write_text("text")
    target = Target()
    with Journal(tmp_path / "journal", TASK, resume=True) as journal:
        assert not replay(folder, target, journal=journal).unreadable
    assert target.ids == ["a", "b"]


def test_batches_are_bounded_and_counted(tmp_path: Path) -> None:
    ids = archive(tmp_path, [25, 0])
    target = Target()
    tally = replay(tmp_path, target)
    assert target.batches == [10, 10, 1]
    assert (tally.read, tally.characters) == (len(ids), 4 * len(ids))
    assert tally.told()["unreadable"] == {
        "bad_json": {"count": 5, "examples": [f"0.jsonl:{n}" for n in (4, 9, 14, 19, 24)]}
    }


@pytest.mark.parametrize("rate", [2.0, 30.0, 1000.0])
def test_no_more_than_the_pace_allows_are_handed_over(tmp_path: Path, rate: float) -> None:
    archive(tmp_path, [40])
    target = Target()
    replay(tmp_path, target, rate=rate)
    assert all(before <= rate * now + 1e-6 for now, before in target.moments)
    assert max(target.batches) <= max(1.0, rate / 10)
    assert target.now == pytest.approx(target.moments[-1][1] / rate)  # and it waits no longer than that


def test_families_are_told_by_size_with_their_first_document() -> None:
    tally = Tally()
    tally.judge(Relation.NEW, "a", similar=False)
    for group, count in (("a", 2), ("b", 3), ("c", 2)):
        for _ in range(count):
            tally.judge(Relation.NEAR, group, similar=True)
    assert tally.largest() == [("b", 4), ("a", 3), ("c", 3)]
    assert tally.judged == 8


def test_many_families_are_counted_in_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gate.archive.tally.MOST_FAMILIES", 10)
    tally = Tally()
    for n in range(1000):
        tally.judge(Relation.NEAR, "large", similar=True)
        tally.judge(Relation.NEAR, f"small {n}", similar=True)
    assert len(tally.families) <= 21
    assert tally.largest()[0] == ("large", 1001)


def test_the_pace_tells_how_long_it_takes_still() -> None:
    pace = Pace(10.0, 1000)
    assert pace.left_seconds(250, 20.0) == 30.0
    assert pace.rate(50, 20.0) == 5.0
    assert (pace.left_seconds(0, 20.0), Pace(10.0, None).left_seconds(5, 20.0)) == (None, None)
