"""Survivors as records and as files."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyarrow import parquet

from gate.archive.dedupe_output import FileCopies, open_records, relative_path
from gate.archive.parts import ArchivedEvent
from gate.errors import ConfigError, Unavailable
from gate.wire import CheckInEvent, Origin


def archived(record: bytes | Mapping[str, object] | None, text: str = "text") -> ArchivedEvent:
    return ArchivedEvent(event=CheckInEvent(document_id="a", text=text), origin=Origin(file="f"), record=record)


def test_lines_stay_as_they_were_rows_become_objects_and_files_records(tmp_path: Path) -> None:
    for name in ("out.jsonl", "out.jsonl.gz"):
        with open_records(tmp_path / name) as records:
            for record in (b' {"x":  1} \r', {"y": [1]}, None):
                records.write(archived(record))
    first, second, third = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert (first, second) == (b'{"x":  1}', b'{"y":[1]}')
    assert b'"document_id":"a"' in third
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()) == (tmp_path / "out.jsonl").read_bytes()


def test_a_table_has_the_columns_of_the_records(tmp_path: Path) -> None:
    with open_records(tmp_path / "out.parquet") as records:
        records.write(archived(b'{"x": 1, "y": "a"}'))
        records.write(archived(b'{"x": 2}'))
    assert parquet.read_table(tmp_path / "out.parquet").to_pylist() == [{"x": 1, "y": "a"}, {"x": 2, "y": None}]
    with open_records(tmp_path / "files.parquet") as records:
        records.write(archived(None))
    assert parquet.read_table(tmp_path / "files.parquet").to_pylist()[0]["text"] == "text"


def write_all(path: Path, *written: bytes) -> None:
    with open_records(path) as records:
        for record in written:
            records.write(archived(record))


def test_what_was_there_stays_where_the_writing_fails(tmp_path: Path) -> None:
    (tmp_path / "out.parquet").write_text("before")
    with pytest.raises(ConfigError, match="write JSON Lines instead"):
        write_all(tmp_path / "out.parquet", b'{"x": 1}', b'{"x": "text"}')
    assert (tmp_path / "out.parquet").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("new")
    (tmp_path / "out" / "sub").mkdir(parents=True)
    (tmp_path / "out" / "sub" / "a").write_text("complete")
    copies = FileCopies(tmp_path / "out", link=False)
    with pytest.raises(ConfigError, match="holds files already"):
        copies.prepare(resume=False)
    copies.prepare(resume=True)
    copies.add(tmp_path / "source", "sub/a")
    copies.add(tmp_path / "source", "sub/b")
    assert {path.name: path.read_text() for path in (tmp_path / "out" / "sub").iterdir()} == {
        "a": "complete",
        "b": "new",
    }
    with pytest.raises(Unavailable, match="cannot be written"):
        copies.add(tmp_path / "missing", "sub/c")
    assert not (tmp_path / "out" / "sub" / "c.part").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a/b", "a/b"), ("/etc/passwd", "etc/passwd"), ("../../a", "a"), ("a/../b", "a/b"), ("..", "_"), ("a\0b", "a_b")],
)
def test_a_name_leads_nowhere_else(name: str, expected: str) -> None:
    assert relative_path(name) == expected
