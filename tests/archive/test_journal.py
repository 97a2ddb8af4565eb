"""The journal of a replay: checkpoints survive any crash, and a journal belongs to one job and one process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.archive.journal import Checkpoint, Journal, ReplayJob, default_journal_path
from gate.errors import ConfigError

JOB = ReplayJob(sources=("/archive",), target="localhost:9092 gate.check-ins")


def test_checkpoints_are_known_to_a_resumed_replay(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "journal"
    with Journal(path, JOB, resume=False) as journal:
        journal.append([Checkpoint("a"), Checkpoint("b", 7), Checkpoint("c", 3)])
        journal.append([Checkpoint("b", 9), Checkpoint("c")])
        assert (journal.is_done("a"), journal.is_done("b"), journal.is_done("c")) == (True, False, True)
    with Journal(path, JOB, resume=True) as journal:
        assert (journal.is_done("a"), journal.is_done("b"), journal.is_done("c")) == (True, False, True)
        assert (journal.last_line("b"), journal.last_line("c"), journal.last_line("unknown")) == (9, 0, 0)


def test_without_resume_the_journal_starts_empty(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", JOB, resume=False) as journal:
        journal.append([Checkpoint("a")])
    with Journal(tmp_path / "journal", JOB, resume=False) as journal:
        assert not journal.is_done("a")
    with Journal(tmp_path / "journal", JOB, resume=True) as journal:
        assert not journal.is_done("a")


@pytest.mark.slow
@given(st.integers(0, 400))
def test_a_journal_that_was_cut_off_anywhere_holds_only_true_checkpoints(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "journal"
    with Journal(path, JOB, resume=False) as journal:
        first = path.stat().st_size
        journal.append(Checkpoint("file", line) for line in range(1, 12))
    os.truncate(path, first + cut % (path.stat().st_size - first + 1))
    with Journal(path, JOB, resume=True) as journal:
        reached = journal.last_line("file")
        assert 0 <= reached <= 11
        journal.append([Checkpoint("other")])
    with Journal(path, JOB, resume=True) as journal:
        assert journal.last_line("file") == reached
        assert journal.is_done("other")


def test_the_journal_of_another_job_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path / "journal", JOB, resume=False).__exit__(None, None, None)
    other = ReplayJob(sources=("/other",), target=JOB.target)
    with pytest.raises(ConfigError, match="the journal of another replay"):
        Journal(tmp_path / "journal", other, resume=True)
    (tmp_path / "text").write_text("not a journal\n")
    with pytest.raises(ConfigError, match="is not a replay journal"):
        Journal(tmp_path / "text", JOB, resume=True)
    assert (tmp_path / "text").read_text() == "not a journal\n"


def test_two_replays_of_the_same_sources_do_not_share_a_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", JOB, resume=False) as journal:
        journal.append([Checkpoint("a")])
        with pytest.raises(ConfigError, match="another replay of the same sources is running"):
            Journal(tmp_path / "journal", JOB, resume=False)
    with Journal(tmp_path / "journal", JOB, resume=True) as journal:
        assert journal.is_done("a")


def test_a_journal_that_cannot_be_written_is_reported_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="name another by --journal"):
        Journal(tmp_path / "file" / "journal", JOB, resume=False)


def test_every_job_has_a_journal_of_its_own(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    paths = {
        default_journal_path(ReplayJob(sources=(name,), target=target), environ) for name in "ab" for target in "cd"
    }
    assert len(paths) == 4
    assert all(path.is_relative_to(tmp_path / "gate") for path in paths)
    assert default_journal_path(JOB, {}).is_relative_to(Path("~/.local/state").expanduser())
