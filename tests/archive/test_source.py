"""Sources: all documents in their order, files of any format, and what is said of those without text."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from gate.archive.parts import ArchivedEvent, EndOfFile, SourceOptions
from gate.archive.source import Source
from gate.extract.limits import ExtractLimits
from gate.extract.text_of import ReadOptions
from gate.wire import CheckInEvent
from tests.archive.archive_samples import documents, problems, read, write
from tests.extract.office_samples import docx_of


def events(*paths: Path, **options: Any) -> list[CheckInEvent]:
    results = [one for one in read(*paths, **options) if isinstance(one, ArchivedEvent)]
    return [one.event for one in results if isinstance(one.event, CheckInEvent)]


def test_documents_of_all_formats_come_in_the_order_of_their_files(tmp_path: Path) -> None:
    for number in range(30):
        content = docx_of(f"text {number}") if number % 3 == 1 else f"text {number}".encode()
        write(tmp_path / f"{number:02}", content)
    found = documents(tmp_path)
    assert list(found) == [f"{number:02}" for number in range(30)]
    assert [text and text.strip() for text in found.values()] == [f"text {number}" for number in range(30)]


def test_a_document_has_the_title_size_and_type_of_its_file(tmp_path: Path) -> None:
    [event] = events(write(tmp_path / "a.docx", docx_of("text")))
    assert event.mime_type == "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    assert event.size_bytes == (tmp_path / "a.docx").stat().st_size
    assert event.checked_in_at is not None


def test_a_file_without_text_has_the_hash_of_its_bytes_and_the_reason(tmp_path: Path) -> None:
    content = b"\x89PNG\r\n\0\0" * 100
    [event] = events(write(tmp_path / "a.png", content))
    assert (event.text, event.unreadable_reason) == (None, "binary")
    assert event.content_sha256 == hashlib.sha256(content).hexdigest()
    assert problems(tmp_path / "a.png") == [("binary", f"{tmp_path}/a.png: is not a text file")]


def test_an_encoding_that_is_named_overrides_what_a_text_looks_like(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "Grüße".encode())
    assert documents(path) == {str(path): "Grüße"}
    assert documents(path, read=ReadOptions(encoding="cp1252")) == {str(path): "Grüße".encode().decode("cp1252")}


def test_a_file_has_an_end_that_says_whether_all_of_it_was_read(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", '{"document_id": "a", "text": "x"}\nno json\n')
    (tmp_path / "b").symlink_to("/proc/self/mem")
    write(tmp_path / "c", "x")
    write(tmp_path / "d", "x")
    with Source([tmp_path, tmp_path / "b"], SourceOptions()) as source:
        items = [item for item in source.after(lambda file: None if file.name.endswith("d") else 0) if item is not None]
    ends = {Path(item.file.name).name: item.result for item in items if isinstance(item.result, EndOfFile)}
    assert ends == {"a.jsonl": EndOfFile.READ, "b": EndOfFile.UNREADABLE, "c": EndOfFile.READ, "d": EndOfFile.SKIPPED}
    assert [item.position for item in items if item.file.name.endswith("a.jsonl")] == [1, 2, None]


def test_a_file_that_cannot_be_opened_in_a_child_is_rejected(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    path = write(tmp_path / "a.docx", docx_of("text"))
    with Source([path], SourceOptions()) as source:
        reading = iter(source)
        path.unlink()
        [item, end] = [item for item in reading if item is not None]
    assert end.result is EndOfFile.UNREADABLE
    assert not isinstance(item.result, ArchivedEvent)


@pytest.mark.parametrize("name", ["a.docx", "a.html"])
def test_a_limit_that_is_hit_is_named(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, docx_of("text") if name == "a.docx" else b"<html>text</html>")
    [(code, message)] = problems(path, read=ReadOptions(limits=ExtractLimits(max_file_bytes=10)))
    assert code == "too_large"
    assert message.startswith(f"{path}: has more than 10 bytes; raise extract.max_file_bytes")
