"""Web archives: responses, resources and extracted texts are documents."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gate.archive.parts import ArchivedEvent
from gate.wire import CheckInEvent
from tests.archive.archive_samples import COMPRESS, documents, read, rejections, write
from tests.archive.packed_samples import record_of

PAGE = (
    b"<!doctype html><html><body><main><p>A page about a boat and its captain, who went home.</p></main></body></html>"
)
ARCHIVE = (
    record_of("warcinfo", "0", b"software: x")
    + record_of("request", "1", b"GET / HTTP/1.1\r\n\r\n")
    + record_of("response", "2", PAGE, http=True)
    + record_of("conversion", "3", b"An extracted text.")
    + record_of("resource", "4", b"A resource.")
)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_records_with_content_are_documents(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"a.warc{suffix}", COMPRESS[suffix](ARCHIVE))
    found = {name: text and text.strip() for name, text in documents(path).items()}
    assert found == {
        "urn:uuid:2": "A page about a boat and its captain, who went home.",
        "urn:uuid:3": "An extracted text.",
        "urn:uuid:4": "A resource.",
    }


def test_a_record_names_its_page_and_its_time(tmp_path: Path) -> None:
    [result] = read(write(tmp_path / "a.wet", record_of("conversion", "3", b"text", uri="http://example.org/page")))
    assert isinstance(result, ArchivedEvent)
    assert isinstance(result.event, CheckInEvent)
    assert result.event.uri == "http://example.org/page"
    assert result.event.checked_in_at == datetime(2020, 5, 17, 12, tzinfo=UTC)


def test_a_member_of_gzip_for_each_record_is_usual(tmp_path: Path) -> None:
    packed = b"".join(COMPRESS[".gz"](record_of("conversion", str(one), b"text")) for one in range(3))
    assert len(documents(write(tmp_path / "a.warc.gz", packed))) == 3


def test_damage_is_said_and_what_came_before_is_read(tmp_path: Path) -> None:
    unclear = ARCHIVE.replace(b"Content-Length: 18", b"Content-Length: 1x")
    for damaged, whole in ((ARCHIVE[:-8], 2), (unclear, 0), (ARCHIVE + b"no record", 3)):
        path = write(tmp_path / "a.warc", damaged)
        assert [isinstance(one, ArchivedEvent) for one in read(path)][:whole] == [True] * whole
        assert {code for code, _ in rejections(path)} == {"damaged"}


def test_a_page_in_chunks_is_put_together_and_one_that_only_says_so_is_taken_as_it_is(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"5\r\nThe b\r\n7;x=y\r\noat is \r\n4\r\nred.\r\n0\r\n\r\n"
    for number, body in enumerate((chunks, b"The boat is red.")):
        record = record_of("response", str(number), head + body).replace(b"text/plain", b"application/http")
        path = write(tmp_path / f"{number}.warc", record)
        assert documents(path) == {f"urn:uuid:{number}": "The boat is red."}


def test_a_header_without_an_end_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.warc", b"WARC/1.0\r\nX: " + b"x" * (1 << 20))
    assert [code for code, _ in rejections(path)] == ["damaged"]
