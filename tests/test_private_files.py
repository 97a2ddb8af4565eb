"""Files that only their owner may read."""

from __future__ import annotations

import stat
from pathlib import Path

from gate.private_files import create_private


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
