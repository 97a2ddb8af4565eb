"""The replay of an archive with a fake target and clock: no document is left out, wherever it is cut off."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.archive.files import FileSelection, Order
from gate.archive.journal import Checkpoint, Journal, ReplayJob
from gate.archive.parts import SourceOptions
from gate.archive.replay import Replay, ReplayItem
from gate.archive.replay_stats import ReplayStats
from gate.archive.source import Source
from gate.limits import Limits

BY_NAME = FileSelection(order=Order.NAME)
JOB = ReplayJob(sources=("archive",), target="here")


class CutOff(Exception):
    """As `kill -9` would."""


class FakeTarget:
    """Keeps what it is sent, and acknowledges a batch `delay` batches later. Fails after `ends_after` documents."""

    def __init__(self, *, delay: int = 0, ends_after: int | None = None) -> None:
        self.ids: list[str] = []
        self.batches: list[int] = []
        self.moments: list[tuple[float, int]] = []  # when a batch came, and how many documents before it
        self.now = 0.0
        self._delay = delay
        self._ends_after = ends_after
        self._in_flight: list[tuple[int, list[Checkpoint]]] = []

    def send(self, batch: Sequence[ReplayItem]) -> list[Checkpoint]:
        named = [item.archived.event.document_id for item in batch if item.archived is not None]
        if self._ends_after is not None and len(self.ids) + len(named) > self._ends_after:
            del self.ids[len(self.ids) - sum(count for count, _ in self._in_flight) :]  # what is not safe is lost
            raise CutOff
        self.moments.append((self.now, len(self.ids)))
        self.ids += named
        self.batches.append(len(named))
        self._in_flight.append((len(named), [item.checkpoint for item in batch]))
        return self._safe(self._delay)

    def drain(self) -> list[Checkpoint]:
        return self._safe(0)

    def _safe(self, left: int) -> list[Checkpoint]:
        count = max(0, len(self._in_flight) - left)
        safe, self._in_flight = self._in_flight[:count], self._in_flight[count:]
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


def replay(
    folder: Path,
    target: FakeTarget,
    *,
    journal: Journal | None = None,
    rate: float | None = None,
    selection: FileSelection = BY_NAME,
) -> ReplayStats:
    stats = ReplayStats()
    limits = Limits(batch_chars=40)  # ten documents of these
    with Source([folder], SourceOptions(limits=limits, selection=selection)) as source:
        Replay(target, stats=stats, limits=limits, journal=journal, clock=target.clock, rate=rate).run(source)
    return stats


@given(
    counts=st.lists(st.integers(0, 40), max_size=6),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    delay=st.integers(0, 4),
)
def test_however_often_a_replay_is_interrupted_no_document_is_left_out_and_the_order_is_kept(
    tmp_path_factory: pytest.TempPathFactory, counts: list[int], cuts: list[int], delay: int
) -> None:
    folder = tmp_path_factory.mktemp("archive")
    ids = archive(folder, counts)
    journal_path = tmp_path_factory.mktemp("state") / "journal"
    seen: list[str] = []
    for cut in [*cuts, None]:
        target = FakeTarget(delay=delay, ends_after=cut)
        with Journal(journal_path, JOB, resume=True) as journal:
            try:
                replay(folder, target, journal=journal)
            except CutOff:
                assert cut is not None
        begin = ids.index(target.ids[0]) if target.ids else 0
        assert target.ids == ids[begin : begin + len(target.ids)]  # one piece, in the order of the archive
        seen += target.ids
    assert set(seen) == set(ids)
    again = FakeTarget()
    with Journal(journal_path, JOB, resume=True) as journal:
        replay(folder, again, journal=journal)
    assert again.ids == []  # all of it is done


def test_a_file_that_was_changed_or_added_is_not_skipped(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    archive(folder, [0, 3, 0])
    with Journal(tmp_path / "journal", JOB, resume=False) as journal:
        replay(folder, FakeTarget(), journal=journal)
    (folder / "1.jsonl").write_text('{"document_id": "other", "text": "text"}')
    (folder / "0a.txt").write_text("text")
    target = FakeTarget()
    with Journal(tmp_path / "journal", JOB, resume=True) as journal:
        stats = replay(folder, target, journal=journal)
    assert target.ids == ["0a.txt", "other"]
    assert stats.skipped_files == 2


def test_a_file_that_could_not_be_read_is_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    (folder / "a").symlink_to(tmp_path / "b")
    following = FileSelection(follow_links=True)
    with Journal(tmp_path / "journal", JOB, resume=True) as journal:
        assert replay(folder, FakeTarget(), journal=journal, selection=following).unreadable == {"unreadable": 1}
    (tmp_path / "b").write_text("text")
    target = FakeTarget()
    with Journal(tmp_path / "journal", JOB, resume=True) as journal:
        assert not replay(folder, target, journal=journal, selection=following).unreadable
    assert target.ids == ["a"]


def test_batches_are_bounded_and_their_documents_counted(tmp_path: Path) -> None:
    ids = archive(tmp_path, [25, 0])
    target = FakeTarget()
    stats = replay(tmp_path, target)
    assert target.batches == [10, 10, 1]
    assert (stats.read, stats.characters) == (len(ids), 4 * len(ids))
    assert stats.as_json()["unreadable"] == {
        "bad_json": {"count": 5, "examples": [f"0.jsonl:{n}" for n in (4, 9, 14, 19, 24)]}
    }


@pytest.mark.parametrize("rate", [2.0, 30.0, 1000.0])
def test_no_more_documents_are_sent_than_the_rate_allows(tmp_path: Path, rate: float) -> None:
    archive(tmp_path, [40])
    target = FakeTarget()
    replay(tmp_path, target, rate=rate)
    assert all(before <= rate * now + 1e-6 for now, before in target.moments)
    assert max(target.batches) <= max(1.0, rate / 10)
    assert target.now == pytest.approx(target.moments[-1][1] / rate)  # and it waits no longer than that
