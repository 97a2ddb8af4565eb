"""The one text that a command is about: a file, or standard input."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gate.cli.text_argument import read_text_argument
from gate.errors import ConfigError


def test_a_file_is_read_without_its_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbftext")
    assert read_text_argument(tmp_path / "a.txt", max_chars=10) == "text"


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("é".encode())))
    assert read_text_argument("-", max_chars=10) == "é"


def test_a_text_that_is_too_long_is_a_wrong_use_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 11)
    with pytest.raises(ConfigError, match=r"a\.txt: has more than 10 characters"):
        read_text_argument(tmp_path / "a.txt", max_chars=10)
