"""The one text that a command is about: a file, or standard input."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gate.cli.text_argument import read_text_argument
from gate.errors import ConfigError
from gate.extract.limits import ExtractLimits
from gate.extract.text_of import ReadOptions
from tests.extract.office_samples import docx_of

OPTIONS = ReadOptions(limits=ExtractLimits(max_chars=10))


def test_a_file_is_read_without_its_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbftext")
    assert read_text_argument(tmp_path / "a.txt", OPTIONS) == "text"


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("é".encode())))
    assert read_text_argument("-", OPTIONS) == "é"


def test_a_text_that_is_too_long_is_a_wrong_use_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 11)
    with pytest.raises(ConfigError, match=r"a\.txt: has more than 10 characters"):
        read_text_argument(tmp_path / "a.txt", OPTIONS)


def test_a_file_of_any_format_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(docx_of("text"))
    assert read_text_argument(tmp_path / "a.docx", OPTIONS).strip() == "text"
    (tmp_path / "a.txt").write_bytes("é".encode("latin-1"))
    assert read_text_argument(tmp_path / "a.txt", OPTIONS) == "é"


def test_what_has_no_text_is_a_wrong_use_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\0")
    with pytest.raises(ConfigError, match=r"a\.png: is not a text file"):
        read_text_argument(tmp_path / "a.png", OPTIONS)
