"""JSON Lines in and out."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import BadDocument, ConfigError, Unavailable
from gate.limits import Limits
from gate.stream import jsonl
from gate.stream.jsonl import LineFile, Message, batches, decode_lines, max_line_bytes, read_lines, read_messages
from gate.wire import CheckInEvent, DecodedMessage, DeleteEvent, Origin, RejectedMessage

LIMITS = Limits(max_document_chars=1000, batch_documents=3, batch_chars=100)
NOW = datetime(2024, 5, 6, tzinfo=UTC)


def event(document_id: str, text: str = "text") -> bytes:
    return json.dumps({"document_id": document_id, "text": text}).encode()


def of(content: bytes, *, limits: Limits = LIMITS, name: str = "events.jsonl") -> list[Message]:
    return list(read_messages(io.BytesIO(content), name=name, limits=limits))


def told(found: list[Message]) -> list[str]:
    """Each message as `line id`, or `line code`."""
    short = []
    for message in found:
        assert message.origin is not None
        what = message.event.document_id if isinstance(message, DecodedMessage) else message.error.code
        short.append(f"{message.origin.line} {what}")
    return short


def test_events_come_in_the_order_of_the_lines_with_their_places() -> None:
    found = of(event("a") + b"\n" + b'{"type":"delete","document_id":"a"}\n' + event("b") + b"\n")
    assert found == [
        DecodedMessage(event=CheckInEvent(document_id="a", text="text"), origin=Origin(file="events.jsonl", line=1)),
        DecodedMessage(event=DeleteEvent(document_id="a", type="delete"), origin=Origin(file="events.jsonl", line=2)),
        DecodedMessage(event=CheckInEvent(document_id="b", text="text"), origin=Origin(file="events.jsonl", line=3)),
    ]


def test_a_bad_line_stands_among_the_good_ones_with_its_reason_and_its_bytes() -> None:
    found = of(event("a") + b"\nnot json\n" + event("b"))
    assert told(found) == ["1 a", "2 bad_json", "3 b"]
    assert isinstance(found[1], RejectedMessage)
    assert found[1].raw == b"not json"
    assert found[1].sha256 == hashlib.sha256(b"not json").hexdigest()


def test_blank_lines_are_skipped_and_counted() -> None:
    assert told(of(b"\n \t\r\n" + event("a") + b"\n\n\n" + event("b"))) == ["3 a", "6 b"]


def test_the_last_line_needs_no_end() -> None:
    assert told(of(event("a"))) == ["1 a"]


def test_an_empty_input_has_no_messages() -> None:
    assert of(b"") == []


def test_a_byte_order_mark_at_the_start_is_no_part_of_the_first_line() -> None:
    assert told(of(b"\xef\xbb\xbf" + event("a") + b"\n" + event("b"))) == ["1 a", "2 b"]


def test_lines_may_end_as_windows_ends_them() -> None:
    assert told(of(event("a") + b"\r\n" + event("b") + b"\r\n")) == ["1 a", "2 b"]


class Dribble(io.RawIOBase):
    """A stream that gives a few bytes at a time."""

    def __init__(self, content: bytes, size: int) -> None:
        self._content = io.BytesIO(content)
        self._size = size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._content.read(min(self._size, size))


def every(stream: BinaryIO | Dribble, max_bytes: int) -> Iterator[tuple[int, bytes | None, int]]:
    for line in read_lines(stream, max_bytes=max_bytes):  # type: ignore[arg-type] # a raw stream reads as a binary one does
        assert line is not None
        yield line.number, line.raw, line.size_bytes


@given(st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")), max_size=8), st.integers(1, 9))
def test_however_the_bytes_arrive_the_lines_are_the_same(content: list[bytes], size: int) -> None:
    expected = [
        (number, raw if len(raw) <= 6 else None, 0 if len(raw) <= 6 else len(raw))
        for number, raw in enumerate(content, start=1)
        if len(raw) > 6 or raw.strip()
    ]
    # A mark at the start is tested by itself.
    if not (content and content[0].startswith(b"\xef\xbb\xbf")):
        assert list(every(Dribble(b"\n".join(content), size), 6)) == expected


class Endless(io.RawIOBase):
    """A line of many megabytes, then one good event; made as it is read."""

    def __init__(self, megabytes: int) -> None:
        self.chunks = iter([*([b"x" * 2**20] * megabytes), b"\n" + event("after")])

    def read(self, size: int = -1) -> bytes:
        return next(self.chunks, b"")


def test_a_line_without_end_is_refused_without_being_held_and_the_next_one_is_read() -> None:
    tracemalloc.start()
    try:
        found = list(read_messages(Endless(64), name="events.jsonl", limits=LIMITS))  # type: ignore[arg-type]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert told(found) == ["1 too_large", "2 after"]
    assert isinstance(found[0], RejectedMessage)
    assert found[0].raw is None
    assert found[0].size_bytes == 64 * 2**20
    assert found[0].sha256 == hashlib.sha256(b"x" * 64 * 2**20).hexdigest()
    assert "limits.max_document_chars" in str(found[0].error)
    assert peak < 8 * 2**20


def test_a_second_line_without_end_has_a_hash_of_its_own() -> None:
    first, second = b"x" * 20, b"y" * 30
    found = list(read_lines(io.BytesIO(first + b"\n" + second), max_bytes=10))
    assert [line.sha256 for line in found if line] == [hashlib.sha256(raw).hexdigest() for raw in (first, second)]


def test_every_document_within_the_limit_fits_in_a_line() -> None:
    found = of(event("a", "\x01" * LIMITS.max_document_chars))
    assert told(found) == ["1 a"]
    assert max_line_bytes(LIMITS) > len(event("a", "\x01" * LIMITS.max_document_chars))


def test_a_document_over_the_limit_is_refused_with_its_id() -> None:
    found = of(event("a", "x" * 1001))
    assert told(found) == ["1 too_large"]
    assert isinstance(found[0], RejectedMessage)
    assert found[0].document_id == "a"


def sizes(found: list[Message | None]) -> list[int]:
    return [len(batch) for batch in batches(found, LIMITS)]


def arrivals(*lengths: int) -> list[Message | None]:
    return [
        DecodedMessage(event=CheckInEvent(document_id=str(i), text="x" * length), origin=Origin(file="f", line=i))
        for i, length in enumerate(lengths)
    ]


def test_a_batch_has_no_more_documents_than_the_limit() -> None:
    assert sizes(arrivals(1, 1, 1, 1, 1, 1, 1)) == [3, 3, 1]


def test_a_batch_has_no_more_characters_than_the_limit() -> None:
    assert sizes(arrivals(50, 50, 1, 99, 2)) == [2, 2, 1]


def test_a_document_longer_than_a_batch_is_a_batch_of_its_own() -> None:
    assert sizes(arrivals(1, 500, 1)) == [1, 1, 1]


def test_refused_lines_count_too_so_that_they_cannot_pile_up() -> None:
    found: list[Message | None] = list(of(b"\n".join([b"x" * 60] * 3)))
    assert sizes(found) == [1, 1, 1]


def test_a_batch_ends_where_the_input_pauses() -> None:
    one, two = arrivals(1, 1)
    assert sizes([one, None, None, two, None]) == [1, 1]


@given(st.lists(st.none() | st.integers(0, 150), max_size=30))
def test_batches_put_together_are_the_messages_in_their_order(lengths: list[int | None]) -> None:
    found = [None if length is None else arrivals(length)[0] for length in lengths]
    cut = list(batches(found, LIMITS))
    assert [message for batch in cut for message in batch] == [message for message in found if message is not None]
    assert all(cut)


def test_what_came_through_a_pipe_is_handed_on_before_waiting_for_more() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as stream, os.fdopen(writer, "wb", buffering=0) as pipe:
        gathered = batches(decode_lines(stream, name="-", limits=LIMITS), LIMITS)
        pipe.write(event("a") + b"\n" + event("b") + b"\n" + b'{"document_id": ')
        # The writer is still there: without the pause this would wait for ever.
        assert told(next(gathered)) == ["1 a", "2 b"]
        pipe.write(b'"c", "text": "t"}\n')
        assert told(next(gathered)) == ["3 c"]
        pipe.close()
        assert list(gathered) == []


class Broken(io.RawIOBase):
    def read(self, size: int = -1) -> bytes:
        raise OSError(5, "Input/output error")


def test_an_input_that_breaks_off_is_unavailable_and_not_at_its_end() -> None:
    with pytest.raises(Unavailable, match="cannot be read any further"):
        list(read_messages(Broken(), name="f", limits=LIMITS))  # type: ignore[arg-type]


def pointing_to(uri: str, folder: Path, *, content_root: Path | None = None) -> Message:
    raw = json.dumps({"document_id": "a", "content_uri": uri}).encode()
    [found] = read_messages(
        io.BytesIO(raw), name=str(folder / "events.jsonl"), limits=LIMITS, content_root=content_root
    )
    return found


def text_behind(found: Message) -> str:
    assert isinstance(found, DecodedMessage), found
    assert isinstance(found.event, CheckInEvent)
    return found.event.check_in().text


def why(found: Message) -> BadDocument:
    assert isinstance(found, RejectedMessage)
    assert found.document_id == "a"
    assert "events.jsonl:1: field `content_uri`" in str(found.error)
    return found.error


def test_a_content_is_read_from_beside_the_events(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "one two.txt").write_bytes(b"\xef\xbb\xbfcaf\xc3\xa9")
    assert text_behind(pointing_to("file:docs/one%20two.txt", tmp_path)) == "café"
    assert text_behind(pointing_to((tmp_path / "docs" / "one two.txt").as_uri(), tmp_path)) == "café"


def test_an_empty_file_is_an_empty_document(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    assert text_behind(pointing_to("file:empty.txt", tmp_path)) == ""


def test_a_content_is_read_from_another_folder_only_if_that_is_the_content_root(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "a.txt").write_text("far away")
    (inside / "link.txt").symlink_to(outside / "a.txt")
    for uri in ("file:../out/a.txt", "file:%2e%2e/out/a.txt", (outside / "a.txt").as_uri(), "file:link.txt"):
        error = why(pointing_to(uri, inside))
        assert error.code == "unreadable_content"
        assert "content_root" in str(error)
    assert text_behind(pointing_to("file:a.txt", inside, content_root=outside)) == "far away"


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("file:missing.txt", "unreadable_content"),
        ("file:.", "unreadable_content"),
        ("file:pipe", "unreadable_content"),
        ("file:circle", "unreadable_content"),
        ("file:" + "x" * 300, "unreadable_content"),
        ("file:binary", "binary_content"),
        ("file:latin1", "bad_utf8"),
        ("file:long", "too_large"),
        ("file:very-long", "too_large"),
        ("http://example.org/a.txt", "bad_field"),
        ("file://elsewhere/a.txt", "bad_field"),
        ("/etc/hostname", "bad_field"),
        ("file:", "bad_field"),
        ("file:a%00b", "bad_field"),
        ("file:a#b", "bad_field"),
        ("file://[", "bad_field"),
    ],
)
def test_a_content_that_cannot_be_had_is_refused_with_its_reason(tmp_path: Path, uri: str, code: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "binary").write_bytes(b"PK\0\1")
    (tmp_path / "latin1").write_bytes(b"caf\xe9")
    (tmp_path / "long").write_text("x" * 1001)
    (tmp_path / "very-long").write_text("x" * 5000)
    assert why(pointing_to(uri, tmp_path)).code == code


def test_verdict_lines_are_there_to_be_read_when_write_returns(tmp_path: Path) -> None:
    with LineFile(tmp_path / "out.jsonl") as file:
        file.write([b"{}", b"[]"])
        assert (tmp_path / "out.jsonl").read_bytes() == b"{}\n[]\n"


def test_a_stream_that_was_lent_is_not_closed() -> None:
    stream = io.BytesIO()
    with LineFile(stream) as file:
        file.write([b"{}"])
    assert stream.getvalue() == b"{}\n"


def test_dead_letters_are_added_to_those_that_are_there_with_their_originals(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    bad = [found for found in of(b"not json\n" + event("a") + b'\n{"text":"t"}') if isinstance(found, RejectedMessage)]
    for one in bad:
        with LineFile(path, append=True) as file:
            jsonl.write_dead_letters(file, [one], at=NOW)
    letters = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [letter["reason"] for letter in letters] == ["bad_json", "missing_field"]
    assert [letter["original"] for letter in letters] == ["not json", '{"text":"t"}']


def test_a_dead_letter_that_a_crash_cut_off_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    path.write_bytes(b'{"reason": "bad_')
    with LineFile(path, append=True) as file:
        file.write([b"{}"])
    assert path.read_bytes() == b'{"reason": "bad_\n{}\n'


def test_an_output_that_cannot_be_opened_is_told_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        LineFile(tmp_path / "missing" / "out.jsonl")


def test_a_full_disk_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="cannot be written"), Path("/dev/full").open("wb", buffering=0) as full:
        LineFile(full, name="out.jsonl").write([b"{}"])
