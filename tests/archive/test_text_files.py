"""Texts of files: the encodings that are read, and what is reported of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.limits import Limits
from tests.archive.archive_samples import documents, problems, read, rejections, write


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_text_is_read_in_every_encoding_that_can_be_recognised(tmp_path: Path, encoding: str) -> None:
    text = "Grüße, 東京 und 🗼\n"
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    write(tmp_path / "a.txt", mark + text.encode(encoding))
    assert documents(tmp_path) == {"a.txt": text}


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        ("odd".encode("utf-16")[:-1], "bad_encoding", "is no text in utf-16"),
        (b"\x89PNG\r\n\0\0", "binary", "is not a text file"),
        ("a\0b".encode("utf-16"), "binary", "is not a text file"),
        ("x" * 1001, "too_large", "has more than 1,000 characters"),
        ("é" * 1001, "too_large", "has more than 1,000 characters"),
        (b"x" * 100_000, "too_large", "has more than 1,000 characters"),
    ],
)
def test_a_file_that_is_not_text_is_compared_by_its_bytes_and_the_others_are_read(
    tmp_path: Path, content: bytes | str, code: str, said: str
) -> None:
    write(tmp_path / "bad.txt", content)
    write(tmp_path / "good.txt", "x" * 1000)
    [(reason, message)] = problems(tmp_path)
    assert reason == code
    assert message.startswith(f"bad.txt: {said}")
    assert len(read(tmp_path)) == 2


def test_a_file_that_fails_while_it_is_read_is_reported(tmp_path: Path) -> None:
    for name in ("a.txt", "b.jsonl", "c.gz"):
        (tmp_path / name).symlink_to("/proc/self/mem")  # the first page of a process is never there to be read
        assert [code for code, _ in rejections(tmp_path / name)] == ["unreadable"]


def test_a_long_text_is_read_to_its_end(tmp_path: Path) -> None:
    text = "x" * 200_000
    assert documents(write(tmp_path / "a.txt", text), limits=Limits()) == {f"{tmp_path}/a.txt": text}
