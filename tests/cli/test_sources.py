"""What a command gets of its sources: batches of documents, the files that hold them, and problems of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.archive.parts import SourceOptions
from gate.cli.progress import progress
from gate.cli.sources import DocumentReader
from gate.limits import Limits
from tests.archive.archive_samples import line, write


def test_documents_come_in_batches_with_the_files_that_hold_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a.jsonl", line("x") + "no json\n" + line("y"))
    write(tmp_path / "b.txt", "text")
    write(tmp_path / "c.png", b"\x89PNG\0")
    write(tmp_path / "own.csv", "a")
    reader = DocumentReader(
        [tmp_path],
        SourceOptions(limits=Limits(batch_documents=2)),
        own=frozenset({tmp_path / "own.csv"}),
        bar=progress(quiet=True),
        report=None,
        verbose=False,
        json=False,
    )
    with reader:
        batches = [[(one.document.document_id, one.place) for one in batch] for batch in reader.batches()]
    assert batches == [[("x", "a.jsonl"), ("y", "a.jsonl")], [("b.txt", None), ("c.png", None)]]
    assert (reader.unreadable.total(), reader.without_text.total()) == (1, 1)
    said = capsys.readouterr().err
    assert "skipped: a.jsonl:2: the line is not JSON" in said
    assert "no text: c.png: is not a text file" in said
