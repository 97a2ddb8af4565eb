"""Files that only their owner may read."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gate.private_files import create_private, open_replacement, part_of


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    create_private(tmp_path / "new")
    assert mode(tmp_path / "new") == 0o600


def test_an_existing_file_keeps_its_content_and_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_text("kept")
    path.chmod(0o640)
    create_private(path)
    assert (path.read_text(), mode(path)) == ("kept", 0o640)


def test_a_folder_that_is_missing_is_left_to_the_open_that_follows(tmp_path: Path) -> None:
    create_private(tmp_path / "missing" / "new")
    assert not (tmp_path / "missing").exists()


def test_a_replacement_takes_its_place_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_text("old")
    with open_replacement(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert (path.read_text(), mode(path)) == ("new", 0o600)
    assert not part_of(path).exists()


def test_a_replacement_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_text("old")
    with pytest.raises(TypeError), open_replacement(path) as file:
        file.write("no bytes")  # type: ignore[call-overload]
    assert [one.name for one in tmp_path.iterdir()] == ["report"]
    assert path.read_text() == "old"
