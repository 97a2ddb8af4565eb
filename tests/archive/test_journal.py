"""How far a replay has come: facts outlive any end, and a journal belongs to one task and one process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.archive.journal import Fact, Journal, Task, default_path
from gate.errors import ConfigError

TASK = Task(sources=("/archive",), target="localhost:9092 gate.check-ins")


def test_what_was_noted_is_known_to_whoever_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "journal"
    with Journal(path, TASK, resume=False) as journal:
        journal.note([Fact("a"), Fact("b", 7), Fact("c", 3)])
        journal.note([Fact("b", 9), Fact("c")])
        assert (journal.is_done("a"), journal.is_done("b"), journal.is_done("c")) == (True, False, True)
    with Journal(path, TASK, resume=True) as journal:
        assert (journal.is_done("a"), journal.is_done("b"), journal.is_done("c")) == (True, False, True)
        assert (journal.line("b"), journal.line("c"), journal.line("nobody")) == (9, 0, 0)


def test_without_resume_everything_begins_again(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", TASK, resume=False) as journal:
        journal.note([Fact("a")])
    with Journal(tmp_path / "journal", TASK, resume=False) as journal:
        assert not journal.is_done("a")
    with Journal(tmp_path / "journal", TASK, resume=True) as journal:
        assert not journal.is_done("a")


@given(st.integers(0, 400))
def test_a_journal_that_was_cut_off_anywhere_tells_only_what_is_true(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "journal"
    with Journal(path, TASK, resume=False) as journal:
        first = path.stat().st_size
        journal.note(Fact("file", line) for line in range(1, 12))
    os.truncate(path, first + cut % (path.stat().st_size - first + 1))
    with Journal(path, TASK, resume=True) as journal:
        reached = journal.line("file")
        assert 0 <= reached <= 11
        journal.note([Fact("other")])
    with Journal(path, TASK, resume=True) as journal:
        assert journal.line("file") == reached
        assert journal.is_done("other")


def test_the_journal_of_another_task_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path / "journal", TASK, resume=False).__exit__(None, None, None)
    other = Task(sources=("/other",), target=TASK.target)
    with pytest.raises(ConfigError, match="the journal of another replay"):
        Journal(tmp_path / "journal", other, resume=True)
    (tmp_path / "text").write_text("not a journal\n")
    with pytest.raises(ConfigError, match="no journal of a replay"):
        Journal(tmp_path / "text", TASK, resume=True)
    assert (tmp_path / "text").read_text() == "not a journal\n"


def test_two_replays_of_the_same_do_not_share_a_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", TASK, resume=False) as journal:
        journal.note([Fact("a")])
        with pytest.raises(ConfigError, match="another replay of the same is at work"):
            Journal(tmp_path / "journal", TASK, resume=False)
    with Journal(tmp_path / "journal", TASK, resume=True) as journal:
        assert journal.is_done("a")


def test_a_journal_that_cannot_be_written_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="name another by --journal"):
        Journal(tmp_path / "file" / "journal", TASK, resume=False)


def test_every_task_has_a_journal_of_its_own(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    paths = {default_path(Task(sources=(name,), target=target), environ) for name in "ab" for target in "cd"}
    assert len(paths) == 4
    assert all(path.is_relative_to(tmp_path / "gate") for path in paths)
    assert default_path(TASK, {}).is_relative_to(Path("~/.local/state").expanduser())
