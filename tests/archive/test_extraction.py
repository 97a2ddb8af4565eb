"""Extraction ahead of what is taken: in order, within bounds, and ended with its source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from gate.archive import extraction
from gate.archive.extraction import ParallelExtraction
from gate.archive.parts import ArchivedEvent, ArchiveFile, ReadItem, UnreadDocument
from gate.extract.text_of import ReadOptions
from gate.wire import CheckInEvent, Origin
from tests.extract.office_samples import docx_of

FILE = ArchiveFile(name="a.zip", path=Path("a.zip"))


def unread(number: int, text: str = "text") -> ReadItem:
    data = docx_of(text)
    document = UnreadDocument(
        event=CheckInEvent(document_id=f"{number}"), origin=Origin(file="a"), content=data, size_bytes=len(data)
    )
    return ReadItem(FILE, number, document)


def plain(number: int) -> ReadItem:
    event = ArchivedEvent(event=CheckInEvent(document_id=f"{number}", text="x"), origin=Origin(file="a"))
    return ReadItem(FILE, number, event)


def test_what_was_read_before_a_pause_is_given_before_it() -> None:
    with ParallelExtraction(ReadOptions(), processes=1) as extracting:
        items = list(extracting.in_order([unread(1), plain(2), None, plain(3)]))
    assert [item and item.position for item in items] == [1, 2, None, 3]


def test_nothing_waits_where_nothing_is_extracted() -> None:
    taken: list[int] = []

    def items() -> Iterator[ReadItem]:
        for number in range(10):
            assert len(taken) == number
            yield plain(number)

    with ParallelExtraction(ReadOptions()) as extracting:
        for number, _ in enumerate(extracting.in_order(items())):
            taken.append(number)
        assert extracting._pool is None


def test_what_is_ahead_is_bounded_in_documents_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "_AHEAD_DOCUMENTS", 5)
    read = 0

    def items() -> Iterator[ReadItem]:
        nonlocal read
        for read in range(1, 21):
            yield unread(read)

    for documents, most_bytes in ((5, 1 << 20), (100, 3000)):
        monkeypatch.setattr(extraction, "_AHEAD_DOCUMENTS", documents)
        monkeypatch.setattr(extraction, "_AHEAD_BYTES", most_bytes)
        with ParallelExtraction(ReadOptions(), processes=1) as extracting:
            for taken, _ in enumerate(extracting.in_order(items())):
                assert read - taken <= 6


def test_texts_that_nobody_takes_stop_the_extraction_but_not_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "_AHEAD_CHARS", 10)
    with ParallelExtraction(ReadOptions(), processes=2) as extracting:
        items = list(extracting.in_order(unread(number, "x" * 1000) for number in range(20)))
    assert [item and item.position for item in items] == list(range(20))


def test_a_source_that_is_closed_early_does_not_wait_for_what_is_ahead() -> None:
    extracting = ParallelExtraction(ReadOptions(), processes=1)
    reading = extracting.in_order(unread(number) for number in range(400))
    next(reading)
    closing = Thread(target=extracting.close)
    closing.start()
    closing.join(30)
    assert not closing.is_alive()
