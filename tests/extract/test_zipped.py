"""Files within ZIP files."""

from __future__ import annotations

import io

import pytest

from gate.errors import BadDocument
from gate.extract.limits import ExtractLimits
from gate.extract.zipped import ZippedFiles
from tests.extract.office_samples import zipped


def opened(data: bytes, **limits: int) -> ZippedFiles:
    return ZippedFiles(io.BytesIO(data), ExtractLimits(**limits), what="test file")


@pytest.mark.parametrize(
    ("base", "target", "name"),
    [
        ("ppt/slides/s1.xml", "../notes/n.xml", "ppt/notes/n.xml"),
        ("ppt/p.xml", "slides/./s.xml", "ppt/slides/s.xml"),
        ("ppt/p.xml", "/word/a.xml", "word/a.xml"),
        ("a.xml", "../../../b.xml", "b.xml"),
        ("", "word/a.xml", "word/a.xml"),
    ],
)
def test_names_are_relative_to_the_file_that_says_them(base: str, target: str, name: str) -> None:
    assert opened(zipped({"a": ""})).resolve(base, target) == name


def test_the_bounds_hold_for_all_files_together() -> None:
    files = opened(zipped({"a": "x" * 60, "b": "x" * 60}), max_unpacked_bytes=100)
    assert len(files.read("a")) == 60
    with pytest.raises(BadDocument, match="unpacks to more than 100 bytes"):
        files.read("b")


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x03\x04" + bytes(100)])
def test_what_is_no_zip_file_is_damaged(data: bytes) -> None:
    with pytest.raises(BadDocument, match="damaged test file"):
        opened(data)


def test_a_file_with_a_password_says_so() -> None:
    data = bytearray(zipped({"a": "x"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(BadDocument) as caught:
        opened(bytes(data)).read("a")
    assert caught.value.code == "encrypted"
