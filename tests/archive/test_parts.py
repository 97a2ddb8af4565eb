"""What readers give: keys of files, and ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.archive.parts import ArchiveFile, SourceOptions, valid_id
from gate.archive.readers import archive_files
from gate.errors import BadDocument
from tests.archive.archive_samples import write


def test_the_key_of_a_file_depends_on_its_name_size_and_date(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "text")
    [before] = archive_files([path], SourceOptions())
    assert [before] == list(archive_files([path], SourceOptions()))
    write(path, "other")
    [after] = archive_files([path], SourceOptions())
    assert before.key != after.key
    assert ArchiveFile(name="a", path=path).key != ArchiveFile(name="b", path=path).key


def test_a_path_that_is_too_long_for_an_id_is_refused() -> None:
    assert valid_id("x" * 1024) == "x" * 1024
    with pytest.raises(BadDocument, match="more than 1,024 characters"):
        valid_id("x" * 1025)
