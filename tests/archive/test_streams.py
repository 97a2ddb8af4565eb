"""Streams that were looked at give their first bytes again."""

from __future__ import annotations

import io
import os
from pathlib import Path

from gate.archive.streams import RejoinedStream, as_buffered, peek_head


class Slow(io.BytesIO):
    """Gives one byte at a time."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(1, size or 0))

    def seekable(self) -> bool:
        return False


def test_the_head_of_a_slow_stream_is_complete_and_given_again() -> None:
    head, stream = peek_head(as_buffered(Slow(b"abcdefgh")), 5)
    assert head == b"abcde"
    assert stream.read() == b"abcdefgh"


def test_the_head_of_a_file_is_given_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(range(256)) * 1000)
    with (tmp_path / "a").open("rb") as file:
        head, stream = peek_head(file, 200_000)
        assert (len(head), stream.tell()) == (200_000, 0)
        assert stream is file


def test_a_pipe_is_not_waited_for() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"abc")
    with open(reading, "rb") as stream:  # noqa: PTH123 - a file descriptor
        assert peek_head(stream, 8)[0] == b"abc"
    os.close(writing)


def test_a_rejoined_stream_is_read_to_its_end() -> None:
    assert RejoinedStream(b"ab", io.BytesIO(b"cd")).read() == b"abcd"
    assert RejoinedStream(b"", io.BytesIO(b"cd")).readable()
