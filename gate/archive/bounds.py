"""How much may be unpacked out of one file, however deep it is nested: members, bytes, levels.

A file in an archive is read as a stream, and everything that comes out of it is counted here. Each level may multiply
what the level before it holds, so the bound is on the sum of all, in relation to the size of the outermost file.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import msgspec

from gate.errors import BadDocument
from gate.limits import Positive

FREE_BYTES = 64 * 2**20  # a small file may expand to this much at any ratio: it takes a second or so
_CHUNK_BYTES = 1 << 20


class ArchiveLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is beyond them ends the reading of the archive: it is unreadable from there on, and says why."""

    max_members: Positive = 10_000_000  # files within one file, on all levels
    max_ratio: Positive = 1000  # no archive of texts compresses so well: a file that expands to more is a bomb
    max_depth: Positive = 8  # of archives in archives, compression included
    # ZIP and Parquet have their directory at the end: inside of another archive they go to a temporary file.
    max_spooled_bytes: Positive = 4 * 2**30


class Unpacking:
    """What has come out of one file so far. `packed_bytes` is its size; None: not known before it is read."""

    def __init__(self, limits: ArchiveLimits | None = None, packed_bytes: int | None = None) -> None:
        self.limits = limits or ArchiveLimits()
        self.hidden = 0  # members that the selection leaves out as hidden
        self._most = None if packed_bytes is None else FREE_BYTES + self.limits.max_ratio * packed_bytes
        self._bytes = self._members = 0
        self._problem: BadDocument | None = None

    def add_member(self) -> None:
        self._members += 1
        if self._members > self.limits.max_members:
            self._refuse(f"holds more than {self.limits.max_members:,} files; raise archive.max_members if it should")

    def add_bytes(self, size: int) -> None:
        self._bytes += size
        if self._most is not None and self._bytes > self._most:
            self._refuse(
                f"expands to more than {self.limits.max_ratio:,} times its size; raise archive.max_ratio if that is "
                "intended"
            )

    def check_depth(self, depth: int) -> None:
        """Only the branch that is too deep is refused, not what stands beside it."""
        if depth > self.limits.max_depth:
            raise BadDocument(
                "bomb", f"holds archives in archives, more than {self.limits.max_depth} deep; unpack it by hand"
            )

    def check(self) -> None:
        """Refuse to go on behind a bound that was hit, wherever that was."""
        if self._problem is not None:
            raise self._problem

    def _refuse(self, problem: str) -> None:
        self._problem = BadDocument("bomb", problem)
        raise self._problem


class MemberStream(io.RawIOBase):
    """The content of a file in an archive: counted, and with the errors of its library as `BadDocument`."""

    def __init__(
        self, read: Callable[[int], bytes], unpacking: Unpacking, errors: tuple[type[Exception], ...], problem: str
    ) -> None:
        self._read = read
        self._unpacking = unpacking
        self._errors = errors
        self._problem = problem

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._read(len(buffer))
        except self._errors as exc:
            raise BadDocument("damaged", self._problem) from exc
        self._unpacking.add_bytes(len(data))
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def seekable(stream: BinaryIO, unpacking: Unpacking) -> Iterator[BinaryIO]:
    """The stream itself where it can go back, or else a copy of it in a temporary file without a name."""
    if stream.seekable():
        yield stream
        return
    most = unpacking.limits.max_spooled_bytes
    with tempfile.TemporaryFile() as copy:
        size = 0
        while data := stream.read(_CHUNK_BYTES):
            size += len(data)
            if size > most:
                raise BadDocument(
                    "too_large",
                    f"has more than {most:,} bytes, and is inside of another archive; unpack that by hand, or raise "
                    "archive.max_spooled_bytes",
                )
            copy.write(data)
        copy.seek(0)
        yield copy
