"""Parquet: each row is a document, and what is hostile ends a child process."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from gate.archive.parts import ArchivedEvent
from gate.extract.limits import ExtractLimits
from gate.extract.text_of import ReadOptions
from gate.stream.field_names import FieldNames
from tests.archive.archive_samples import NOON, documents, read, rejections, write
from tests.archive.packed_samples import tar_of


def table(path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, **options)
    return path


ROWS = [
    {"id": number, "body": f"text {number}", "day": datetime(2020, 5, 17, 12), "tags": ["a"]} for number in range(600)
]
NAMES = FieldNames(document_id="id", text="body", date="day")


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip"])
def test_a_row_is_a_document(tmp_path: Path, compression: str) -> None:
    path = table(tmp_path / "t", ROWS, compression=compression, row_group_size=100)
    found = documents(path, field_names=NAMES)
    assert found == {str(row["id"]): row["body"] for row in ROWS}


def test_rows_are_kept_with_all_their_columns_where_that_is_asked_for(tmp_path: Path) -> None:
    path = table(tmp_path / "t.parquet", ROWS[:1])
    [result] = read(path, field_names=NAMES, keep_records=True)
    assert isinstance(result, ArchivedEvent)
    assert result.record == ROWS[0]
    assert result.event.checked_in_at == NOON.replace(tzinfo=None)  # type: ignore[union-attr]


def test_a_table_in_an_archive_is_read_and_its_rows_are_numbered(tmp_path: Path) -> None:
    data = table(tmp_path / "t.parquet", [{"text": "a"}, {"text": "b"}]).read_bytes()
    path = write(tmp_path / "all.tar", tar_of({"t": data}))
    assert documents(path) == {"t:1": "a", "t:2": "b"}
    assert list(documents(path, after=1)) == ["t:2"]


def test_a_column_of_texts_has_to_be_there(tmp_path: Path) -> None:
    [(code, message)] = rejections(table(tmp_path / "t", ROWS))
    assert (code, "--text-field" in message) == ("missing_field", True)


@pytest.mark.parametrize("damage", ["cut", "footer", "pages", "mark"])
def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path, damage: str) -> None:
    data = bytearray(table(tmp_path / "t", ROWS).read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "footer":
        data[-20:-8] = b"?" * 12
    elif damage == "pages":
        data[4:600] = b"\xff" * 596
    else:
        data = bytearray(b"PARE") + data[4:]
    results = [code for code, _ in rejections(write(tmp_path / "u", bytes(data)), field_names=NAMES)]
    assert results == ["encrypted" if damage == "mark" else "damaged"]


def test_a_table_that_needs_too_much_memory_ends_its_child_alone(tmp_path: Path) -> None:
    path = tmp_path / "t"
    columns = {"text": pyarrow.array(["x" * 900_000] * 300)}
    parquet.write_table(pyarrow.table(columns), path, compression="zstd", use_dictionary=True)
    options = ReadOptions(limits=ExtractLimits(memory_bytes=50 * 2**20))
    [(code, message)] = rejections(path, read=options)
    assert (code, "extract.memory_bytes" in message) == ("too_costly", True)
