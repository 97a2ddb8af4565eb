"""Files that are one document: as a text, as bytes, or as a hash."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

from gate.archive.parts import ArchivedEvent, SourceOptions, UnreadDocument
from gate.archive.readers import FileReader, archive_files
from gate.extract.limits import ExtractLimits
from gate.extract.text_of import ReadOptions
from gate.wire import CheckInEvent
from tests.archive.archive_samples import read, write
from tests.extract.office_samples import docx_of


def test_a_file_on_a_disk_is_read_by_the_child_and_a_compressed_one_is_sent_to_it(tmp_path: Path) -> None:
    data = docx_of("text")
    write(tmp_path / "a.docx", data)
    write(tmp_path / "b.docx.gz", gzip.compress(data))
    options = SourceOptions()
    results = [
        item.result
        for file in archive_files([tmp_path], options)
        for item in FileReader(file, options)
        if item is not None and isinstance(item.result, UnreadDocument)
    ]
    assert [result.content for result in results] == [tmp_path / "a.docx", data]
    assert [result.size_bytes for result in results] == [len(data), len(data)]


def test_of_a_stream_over_the_limit_only_the_hash_is_kept(tmp_path: Path) -> None:
    data = b"\x89PNG\0" + bytes(3_000_000)
    path = write(tmp_path / "a.png.gz", gzip.compress(data))
    [one] = read(path, read=ReadOptions(limits=ExtractLimits(max_file_bytes=1_000_000)))
    assert isinstance(one, ArchivedEvent)
    assert isinstance(one.event, CheckInEvent)
    assert one.event.content_sha256 == hashlib.sha256(data).hexdigest()
    assert (one.event.unreadable_reason, one.event.size_bytes) == ("too_large", len(data))


def test_a_text_over_the_limit_is_compared_by_its_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "é" * 100_000)
    [one] = read(path)
    assert isinstance(one, ArchivedEvent)
    assert isinstance(one.event, CheckInEvent)
    assert one.event.content_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert one.problem is not None
    assert "raise limits.max_document_chars" in str(one.problem)
