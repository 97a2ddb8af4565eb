"""Lines are decoded in order, rejected by themselves, cut into batches, and written whole."""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, TypeGuard

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import BadDocument, ConfigError, Reason, Unavailable
from gate.limits import Limits
from gate.stream import jsonl
from gate.stream.jsonl import LineFile, Message, batches, decode_lines, read_lines, read_messages
from gate.wire import CheckInEvent, DecodedMessage, DeleteEvent, Origin, RejectedMessage, max_event_bytes

LIMITS = Limits(max_document_chars=1000, batch_documents=3, batch_chars=100)
NOW = datetime(2024, 5, 6, tzinfo=UTC)


def event(document_id: str, text: str = "text") -> bytes:
    return json.dumps({"document_id": document_id, "text": text}).encode()


def messages_in(content: bytes, *, limits: Limits = LIMITS, name: str = "events.jsonl") -> list[Message]:
    return list(read_messages(io.BytesIO(content), name=name, limits=limits))


def summary(messages: list[Message]) -> list[str]:
    """Each message as `line id`, or `line code`."""
    short = []
    for message in messages:
        assert message.origin is not None
        what = message.event.document_id if isinstance(message, DecodedMessage) else message.error.code
        short.append(f"{message.origin.line} {what}")
    return short


def test_events_are_decoded_in_the_order_of_the_lines_with_their_origins() -> None:
    found = messages_in(event("a") + b"\n" + b'{"type":"delete","document_id":"a"}\n' + event("b") + b"\n")
    assert found == [
        DecodedMessage(event=CheckInEvent(document_id="a", text="text"), origin=Origin(file="events.jsonl", line=1)),
        DecodedMessage(event=DeleteEvent(document_id="a", type="delete"), origin=Origin(file="events.jsonl", line=2)),
        DecodedMessage(event=CheckInEvent(document_id="b", text="text"), origin=Origin(file="events.jsonl", line=3)),
    ]


def test_a_bad_line_is_rejected_in_its_place_with_its_reason_and_its_bytes() -> None:
    found = messages_in(event("a") + b"\nnot json\n" + event("b"))
    assert summary(found) == ["1 a", "2 bad_json", "3 b"]
    assert isinstance(found[1], RejectedMessage)
    assert found[1].raw == b"not json"
    assert found[1].sha256 == hashlib.sha256(b"not json").hexdigest()


def test_blank_lines_are_skipped_and_counted() -> None:
    assert summary(messages_in(b"\n \t\r\n" + event("a") + b"\n\n\n" + event("b"))) == ["3 a", "6 b"]


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b" \t\n", b" " * 63 + b"\n"])
def test_a_million_bytes_of_blank_lines_are_passed_over_a_chunk_at_a_time(
    blank: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    take = jsonl._LineBuffer.take

    def counted(buffer: jsonl._LineBuffer, number: int) -> jsonl.Line | None:
        taken.append(number)
        return take(buffer, number)

    monkeypatch.setattr(jsonl._LineBuffer, "take", counted)
    lines = 1_000_000 // len(blank)
    content = blank * lines + event("a") + b"\n" + blank * lines + event("b")
    assert summary(messages_in(content)) == [f"{lines + 1} a", f"{2 * lines + 2} b"]
    assert len(taken) <= 2 * (len(content) // jsonl._READ_BYTES + 2)


@given(
    st.lists(
        st.sampled_from([b"\n", b"\r\n", b" ", b"\t\n", b" " * 70, b"\x0b\x0c", b"x", b"\xef\xbb\xbf"]), max_size=30
    )
)
def test_lines_are_those_between_newlines_whatever_is_blank_and_wherever_chunks_end(parts: list[bytes]) -> None:
    content = b"".join(parts)
    expected = [
        (number, line)
        for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1)
        if line and not line.isspace()
    ]
    for size in (1, 5, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jsonl, "_READ_BYTES", size)
            assert [
                (line.number, line.raw) for line in read_lines(io.BytesIO(content), max_bytes=9999) if line
            ] == expected


def test_the_last_line_needs_no_newline() -> None:
    assert summary(messages_in(event("a"))) == ["1 a"]


def test_an_empty_input_has_no_messages() -> None:
    assert messages_in(b"") == []


def test_a_byte_order_mark_at_the_start_is_skipped() -> None:
    assert summary(messages_in(b"\xef\xbb\xbf" + event("a") + b"\n" + event("b"))) == ["1 a", "2 b"]


def test_lines_may_end_with_carriage_return_and_newline() -> None:
    assert summary(messages_in(event("a") + b"\r\n" + event("b") + b"\r\n")) == ["1 a", "2 b"]


class SlowStream(io.RawIOBase):
    """A stream that gives a few bytes at a time."""

    def __init__(self, content: bytes, size: int) -> None:
        self._content = io.BytesIO(content)
        self._size = size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._content.read(min(self._size, size))


def lines_of(stream: BinaryIO | SlowStream, max_bytes: int) -> Iterator[tuple[int, bytes | None, int]]:
    for line in read_lines(stream, max_bytes=max_bytes):  # type: ignore[arg-type] # a raw stream reads as a binary one does
        assert line is not None
        yield line.number, line.raw, line.size_bytes


@given(st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")), max_size=8), st.integers(1, 9))
def test_the_sizes_of_reads_do_not_change_the_lines(content: list[bytes], size: int) -> None:
    expected = [
        (number, raw if len(raw) <= 6 else None, 0 if len(raw) <= 6 else len(raw))
        for number, raw in enumerate(content, start=1)
        if len(raw) > 6 or raw.strip()
    ]
    # A byte order mark at the start has a test of its own.
    if not (content and content[0].startswith(b"\xef\xbb\xbf")):
        assert list(lines_of(SlowStream(b"\n".join(content), size), 6)) == expected


class OverlongLine(io.RawIOBase):
    """A line of many megabytes, then one good event; made as it is read."""

    def __init__(self, megabytes: int) -> None:
        self.chunks = iter([*([b"x" * 2**20] * megabytes), b"\n" + event("after")])

    def read(self, size: int = -1) -> bytes:
        return next(self.chunks, b"")


def test_an_overlong_line_is_rejected_without_being_kept_and_the_next_one_is_read() -> None:
    tracemalloc.start()
    try:
        found = list(read_messages(OverlongLine(64), name="events.jsonl", limits=LIMITS))  # type: ignore[arg-type]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert summary(found) == ["1 too_large", "2 after"]
    assert isinstance(found[0], RejectedMessage)
    assert found[0].raw is None
    assert found[0].size_bytes == 64 * 2**20
    assert found[0].sha256 == hashlib.sha256(b"x" * 64 * 2**20).hexdigest()
    assert "limits.max_document_chars" in str(found[0].error)
    assert peak < 8 * 2**20


def test_each_overlong_line_has_a_hash_of_its_own() -> None:
    first, second = b"x" * 20, b"y" * 30
    found = list(read_lines(io.BytesIO(first + b"\n" + second), max_bytes=10))
    assert [line.sha256 for line in found if line] == [hashlib.sha256(raw).hexdigest() for raw in (first, second)]


def test_every_document_within_the_limit_fits_in_a_line() -> None:
    found = messages_in(event("a", "\x01" * LIMITS.max_document_chars))
    assert summary(found) == ["1 a"]
    assert max_event_bytes(LIMITS) > len(event("a", "\x01" * LIMITS.max_document_chars))


def test_a_document_over_the_limit_is_rejected_with_its_id() -> None:
    found = messages_in(event("a", "x" * 1001))
    assert summary(found) == ["1 too_large"]
    assert isinstance(found[0], RejectedMessage)
    assert found[0].document_id == "a"


def sizes(found: list[Message | None]) -> list[int]:
    return [len(batch) for batch in batches(found, LIMITS)]


def decoded(*lengths: int) -> list[Message | None]:
    return [
        DecodedMessage(event=CheckInEvent(document_id=str(i), text="x" * length), origin=Origin(file="f", line=i))
        for i, length in enumerate(lengths)
    ]


def test_a_batch_has_no_more_documents_than_the_limit() -> None:
    assert sizes(decoded(1, 1, 1, 1, 1, 1, 1)) == [3, 3, 1]


def test_a_batch_has_no_more_characters_than_the_limit() -> None:
    assert sizes(decoded(50, 50, 1, 99, 2)) == [2, 2, 1]


def test_a_batch_has_no_more_metadata_than_the_limit() -> None:
    lines = [json.dumps({"document_id": "a", "text": "t", "metadata": {"k": "x" * 50}}).encode()] * 3
    assert sizes(list(messages_in(b"\n".join(lines)))) == [1, 1, 1]


def test_a_document_longer_than_a_batch_is_a_batch_of_its_own() -> None:
    assert sizes(decoded(1, 500, 1)) == [1, 1, 1]


def test_rejected_lines_count_for_the_size_of_a_batch() -> None:
    found: list[Message | None] = list(messages_in(b"\n".join([b"{" * 60] * 3)))
    assert sizes(found) == [1, 1, 1]


def test_a_batch_ends_where_the_input_pauses() -> None:
    one, two = decoded(1, 1)
    assert sizes([one, None, None, two, None]) == [1, 1]


@given(st.lists(st.none() | st.integers(0, 150), max_size=30))
def test_joined_batches_are_the_messages_in_order(lengths: list[int | None]) -> None:
    found = [None if length is None else decoded(length)[0] for length in lengths]
    cut = list(batches(found, LIMITS))
    assert [message for batch in cut for message in batch] == [message for message in found if message is not None]
    assert all(cut)


def test_complete_lines_of_a_pipe_are_a_batch_before_the_next_read_blocks() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as stream, os.fdopen(writer, "wb", buffering=0) as pipe:
        gathered = batches(decode_lines(stream, name="-", limits=LIMITS), LIMITS)
        pipe.write(event("a") + b"\n" + event("b") + b"\n" + b'{"document_id": ')
        # The pipe is still open: without the pause this would wait for ever.
        assert summary(next(gathered)) == ["1 a", "2 b"]
        pipe.write(b'"c", "text": "t"}\n')
        assert summary(next(gathered)) == ["3 c"]
        pipe.close()
        assert list(gathered) == []


class BrokenStream(io.RawIOBase):
    def read(self, size: int = -1) -> bytes:
        raise OSError(5, "Input/output error")


def test_a_failed_read_is_unavailable_and_not_the_end_of_the_input() -> None:
    with pytest.raises(Unavailable, match="cannot be read any further"):
        list(read_messages(BrokenStream(), name="f", limits=LIMITS))  # type: ignore[arg-type]


def referring_to(uri: str, folder: Path, *, content_root: Path | None = None) -> Message:
    """The message of a line in a file of that folder, whose content is at the URI."""
    raw = json.dumps({"document_id": "a", "content_uri": uri}).encode()
    [message] = read_messages(
        io.BytesIO(raw), name=str(folder / "events.jsonl"), limits=LIMITS, content_root=content_root
    )
    return message


def text_of(message: Message) -> str:
    assert isinstance(message, DecodedMessage), message
    assert isinstance(message.event, CheckInEvent)
    return message.event.check_in().text


def test_content_is_read_from_the_content_root_and_not_from_the_folder_of_the_events(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a.txt").write_text(folder.name)
    assert text_of(referring_to("file:a.txt", inside, content_root=outside)) == "out"
    refused = referring_to("file:a.txt", inside)
    assert isinstance(refused, RejectedMessage)
    assert refused.error.code == "unreadable_content"
    assert "no folder is set to read it from: set content_root" in str(refused.error)


def test_a_line_whose_content_cannot_be_read_is_rejected_with_its_line_and_document_id(tmp_path: Path) -> None:
    message = referring_to("file:missing.txt", tmp_path, content_root=tmp_path)
    assert isinstance(message, RejectedMessage)
    assert (message.document_id, message.error.code) == ("a", "unreadable_content")
    assert "events.jsonl:1: field `content_uri`" in str(message.error)


def test_written_lines_can_be_read_when_write_returns(tmp_path: Path) -> None:
    with LineFile(tmp_path / "out.jsonl") as file:
        assert stat.S_IMODE((tmp_path / "out.jsonl").stat().st_mode) == 0o600
        file.write([b"{}", b"[]"])
        assert (tmp_path / "out.jsonl").read_bytes() == b"{}\n[]\n"


def test_a_stream_that_was_opened_by_the_caller_is_not_closed() -> None:
    stream = io.BytesIO()
    with LineFile(stream) as file:
        file.write([b"{}"])
    assert stream.getvalue() == b"{}\n"


def test_dead_letters_are_appended_with_their_originals(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    bad = [
        found
        for found in messages_in(b"not json\n" + event("a") + b'\n{"text":"t"}')
        if isinstance(found, RejectedMessage)
    ]
    for one in bad:
        with LineFile(path, append=True) as file:
            jsonl.write_dead_letters(file, [one], at=NOW)
    letters = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [letter["reason"] for letter in letters] == ["bad_json", "missing_field"]
    assert [letter["original"] for letter in letters] == ["not json", '{"text":"t"}']


def test_a_dead_letter_that_a_crash_cut_off_gets_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "dead.jsonl"
    path.write_bytes(b'{"reason": "bad_')
    with LineFile(path, append=True) as file:
        file.write([b"{}"])
    assert path.read_bytes() == b'{"reason": "bad_\n{}\n'


def test_an_output_that_cannot_be_opened_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        LineFile(tmp_path / "missing" / "out.jsonl")


def test_a_full_disk_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="cannot be written"), Path("/dev/full").open("wb", buffering=0) as full:
        LineFile(full, name="out.jsonl").write([b"{}"])


# Files of another format


def rejected_of(content: bytes) -> list[tuple[str, int | None]]:
    """Reason and line of each rejection."""
    messages = read_messages(io.BytesIO(content), name="notes.jsonl", limits=Limits())
    return [(one.error.code, one.origin.line if one.origin else None) for one in messages if is_rejected(one)]


def is_rejected(message: Message) -> TypeGuard[RejectedMessage]:
    return isinstance(message, RejectedMessage)


def test_a_file_that_is_not_json_lines_is_rejected_once() -> None:
    assert rejected_of(b"A line of prose.\n" * 10_000) == [("not_json_lines", None)]
    array = b"[\n" + b'  {"document_id": "a",\n   "text": "t"},\n' * 100 + b"]\n"
    assert rejected_of(array) == [("not_json_lines", None)]


def test_a_file_with_some_bad_lines_has_each_of_them_rejected() -> None:
    bad, good = b"no json\n", b'{"document_id": "a", "text": "t"}\n'
    few = jsonl.MAX_FIRST_BAD_LINES - 1
    assert rejected_of(bad * few + good + bad * 100) == [
        ("bad_json", number) for number in [*range(1, few + 1), *range(few + 2, few + 102)]
    ]
    assert len(rejected_of(good + bad * 1000)) == 1000


def test_a_short_file_that_is_not_json_lines_is_rejected_once() -> None:
    assert rejected_of(b"A line of prose.\n" * 3) == [("not_json_lines", None)]
    assert rejected_of(b"A line of prose.\n") == [("bad_json", 1)]  # which says what is wrong with it


def test_damaged_objects_and_lines_of_standard_input_are_kept_one_by_one() -> None:
    assert rejected_of(b'{"document_id": \nsomething\n') == [("bad_json", 1), ("bad_json", 2)]
    messages = read_messages(io.BytesIO(b"prose\n" * 3), name=jsonl.STDIN, limits=Limits())
    assert [one.error.code for one in messages if is_rejected(one)] == ["bad_json"] * 3


def test_lines_without_an_id_are_json_and_so_rejected_one_by_one() -> None:
    assert rejected_of(b'{"text": "t"}\n' * 100) == [("missing_field", number) for number in range(1, 101)]


def test_bad_lines_before_a_pause_are_rejected_one_by_one() -> None:
    bad = rejected("bad_json")
    messages = [None, bad, bad, None, *[bad] * 100]
    assert list(jsonl.reject_other_format(iter(messages), Origin(file="-"))) == messages


def rejected(code: Reason) -> RejectedMessage:
    return RejectedMessage.of(BadDocument(code, "a problem"), b"", origin=Origin(file="-", line=1))
