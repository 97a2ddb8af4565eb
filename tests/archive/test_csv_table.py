"""CSV and TSV with named columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.extract.text_of import ReadOptions
from gate.stream.field_names import FieldNames
from tests.archive.archive_samples import COMPRESS, documents, read, rejections, write


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".csv", ";"), (".tsv", "\t"), ("", ","), ("", "|")])
def test_a_row_is_a_document(tmp_path: Path, suffix: str, delimiter: str) -> None:
    rows = [["document_id", "text", "n"], ["a", '"one,; two"', "1"], ["b", '"line\nand line"', "2"]]
    path = write(tmp_path / f"t{suffix}", "\n".join(delimiter.join(row) for row in rows))
    assert documents(path) == {"a": "one,; two", "b": "line\nand line"}


def test_columns_are_mapped_and_rows_are_numbered(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "key,body\nx,one\ny,two\n")
    assert documents(path, field_names=FieldNames(document_id="key", text="body")) == {"x": "one", "y": "two"}
    assert documents(path, field_names=FieldNames(text="body")) == {f"{path}:1": "one", f"{path}:2": "two"}


def test_a_table_without_a_column_of_texts_is_a_text(tmp_path: Path) -> None:
    assert len(documents(write(tmp_path / "t.csv", "a,b\n1,2\n"))) == 1
    assert [code for code, _ in rejections(tmp_path / "t.csv", format="csv")] == ["missing_field"]


def test_a_table_may_be_compressed_and_in_another_encoding(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv.gz", COMPRESS[".gz"]("id,text\n1,Grüße\n".encode("utf-16")))
    assert documents(path) == {f"{path}:1": "Grüße"}
    path = write(tmp_path / "u.csv", "id,text\n1,Grüße\n".encode("cp1252"))
    assert documents(path, read=ReadOptions(encoding="cp1252")) == {f"{path}:1": "Grüße"}
    [(code, message)] = rejections(path)
    assert (code, "--encoding" in message) == ("bad_encoding", True)


def test_a_quotation_mark_that_is_never_closed_ends_the_table_within_bounds(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'document_id,text\na,fine\nb,"' + "x\n" * 500_000)
    results = read(path)
    assert len(results) == 2
    assert [code for code, _ in rejections(path)] in (["damaged"], ["too_large"])


def test_a_line_without_an_end_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "document_id,text\na," + "x" * 10_000)
    assert [code for code, _ in rejections(path)] in (["damaged"], ["too_large"])


def test_an_empty_table_holds_nothing(tmp_path: Path) -> None:
    assert documents(write(tmp_path / "t.csv", "document_id,text\n")) == {}
    assert documents(write(tmp_path / "u.csv", ""), format="csv") == {}
