"""Read the files within a ZIP file, with bounds on all that it declares and on all that comes out."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import IO, BinaryIO

from gate.errors import BadDocument
from gate.extract.limits import ExtractLimits
from gate.extract.text_of import damaged, encrypted

FREE_BYTES = 16 * 2**20  # so much may come out at any ratio
_CHUNK_BYTES = 64 * 1024
_ENCRYPTED = 0x1


class ZippedFiles:
    """The files of one ZIP file. The bounds hold for all of them together."""

    def __init__(self, stream: BinaryIO, limits: ExtractLimits, *, what: str) -> None:
        self._limits = limits
        self._what = what
        self._unpacked = 0
        try:
            self._zip = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError) as exc:
            raise damaged(what) from exc
        members = self._zip.infolist()
        if len(members) > limits.max_members:
            raise BadDocument(
                "bomb",
                f"holds {len(members):,} files; raise extract.max_members (now {limits.max_members:,}) if it should",
            )
        self._members = {member.filename: member for member in members}
        self._packed_bytes = sum(member.compress_size for member in members)

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        with self.open(name) as file:
            return b"".join(iter(file.read, b""))

    @contextmanager
    def open(self, name: str) -> Iterator[BoundedReader]:
        """BadDocument: the file is not there, damaged, encrypted or a bomb."""
        member = self._members.get(name)
        if member is None:
            raise damaged(self._what)
        if member.flag_bits & _ENCRYPTED:
            raise encrypted(f"a {self._what}")
        try:
            with self._zip.open(member) as file:
                yield BoundedReader(self, file)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as exc:
            raise damaged(self._what) from exc

    def count(self, unpacked: int) -> None:
        self._unpacked += unpacked
        most = min(self._limits.max_unpacked_bytes, FREE_BYTES + self._limits.max_ratio * self._packed_bytes)
        if self._unpacked > most:
            raise BadDocument(
                "bomb", f"unpacks to more than {most:,} bytes; raise extract.max_ratio or extract.max_unpacked_bytes"
            )

    def resolve(self, base: str, target: str) -> str:
        """The name of a file that another refers to: relative to it, or to the top where it begins with a slash."""
        parts: list[str] = [] if target.startswith("/") else list(PurePosixPath(base).parent.parts)
        for part in target.split("/"):
            if part == "..":
                parts = parts[:-1]
            elif part not in ("", "."):
                parts.append(part)
        return "/".join(parts)


class BoundedReader:
    """Counts what is read of one file against the bounds of all."""

    def __init__(self, files: ZippedFiles, inner: IO[bytes]) -> None:
        self._files = files
        self._inner = inner

    def read(self, size: int = _CHUNK_BYTES) -> bytes:
        data = self._inner.read(size if size > 0 else _CHUNK_BYTES)
        self._files.count(len(data))
        return data
