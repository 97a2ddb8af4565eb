"""What a deduplication notes: documents, families, checkpoints, and who is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from gate.archive.dedupe_state import DedupedDocument, DedupeJob, DedupeState
from gate.archive.journal import Checkpoint
from gate.archive.parts import ArchiveFile
from gate.errors import ConfigError
from gate.model import Relation

FILES = [ArchiveFile(name=name, path=Path(name), size_bytes=1) for name in ("a", "b.jsonl")]
JOB = DedupeJob(sources=("x",), profile="standard@1", against=None, options="")
SECOND = 1 << 32


def document(number: int, family: int | None, **more: Any) -> DedupedDocument:
    like = None if family == number else "x"
    relation = Relation.NEW if family == number else Relation.NEAR
    row = DedupedDocument(number, f"d{number & 0xFF}", family, relation, like, None, None, 10, 100)
    return row._replace(**more)


def opened(
    folder: Path, *, resume: bool = False, files: list[ArchiveFile] = FILES, job: DedupeJob = JOB
) -> DedupeState:
    return DedupeState(folder / "state", job, files, resume=resume)


def test_documents_are_numbered_by_file_and_position(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        assert state.number(FILES[0].key, None) == 0
        assert state.number(FILES[1].key, 7) == SECOND | 7


def test_what_was_noted_is_known_when_the_run_is_resumed(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.add([document(SECOND | 1, SECOND | 1, claim=b"c")])
        state.append([Checkpoint(FILES[0].key), Checkpoint(FILES[1].key, 1)])
    with opened(tmp_path, resume=True) as state:
        assert (state.is_done(FILES[0].key), state.is_done(FILES[1].key)) == (True, False)
        assert (state.last_line(FILES[0].key), state.last_line(FILES[1].key)) == (0, 1)
        assert list(state.claims()) == [[b"c"]]
        assert state.known([SECOND | 1]) == {SECOND | 1: ("d1", SECOND | 1)}
    with opened(tmp_path) as state:
        assert (state.is_done(FILES[0].key), list(state.claims())) == (False, [])


def test_another_run_is_not_continued(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(ConfigError, match="another run works on it"):
        opened(tmp_path, resume=True)
    with pytest.raises(ConfigError, match="with other options"):
        opened(tmp_path, resume=True, job=structs.replace(JOB, profile="simhash@1"))
    with pytest.raises(ConfigError, match="the sources have changed"):
        opened(tmp_path, resume=True, files=FILES[:1])
    (tmp_path / "state" / "state.sqlite").write_bytes(b"no database, but long enough to be taken for one" * 10)
    with pytest.raises(ConfigError, match="start again without --resume"):
        opened(tmp_path, resume=True)


def test_a_copy_of_what_another_index_has_has_no_survivor(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.add([document(1, 1), document(2, 1, length=20), document(3, None)])
        state.choose("longest")
        assert list(state.survivors()) == [2]
        kept = [(one.document.number, one.is_kept, one.survivor) for one in state.decisions()]
        assert kept == [(1, False, "d2"), (2, True, "d2"), (3, False, None)]
        assert state.totals() == (3, 1, 200)
        assert state.relations() == {Relation.NEW: 1, Relation.NEAR: 2}


@pytest.mark.parametrize(("keep", "expected"), [("first", 1), ("oldest", 3), ("newest", 2), ("longest", 1)])
def test_a_document_without_a_date_is_neither_oldest_nor_newest(tmp_path: Path, keep: str, expected: int) -> None:
    with opened(tmp_path) as state:
        state.add([document(1, 1), document(2, 1, dated=20.0), document(3, 1, dated=10.0)])
        state.choose(keep)
        assert list(state.survivors()) == [expected]
        state.choose(keep, lambda name: name == "d3")
        assert list(state.survivors()) == [3]


def test_two_copies_never_have_one_path(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        assert [state.reserve_path("a", number) for number in (1, 2, 3, 1)] == ["a", "a~2", "a~3", "a"]
        state.remove()
    assert not (tmp_path / "state").exists()


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    with opened(tmp_path):
        assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "state" / "state.sqlite").stat().st_mode & 0o777 == 0o600
