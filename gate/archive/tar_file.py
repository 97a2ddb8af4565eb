"""Tar archives, read as a stream. Links, devices and folders are no documents: only regular files are read."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Self

from gate.archive.bounds import MemberStream
from gate.archive.parts import Member, OpenFile, Part, SourceOptions, printable_name
from gate.errors import BadDocument

_MAX_HEADER_BYTES = 1 << 20  # of a long name, or of extended attributes, which tarfile reads at once
_LONG_HEADERS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_ENDS = ("EOFHeaderError", "EmptyHeaderError")  # a block of zeros, and the end of the file
_DAMAGED = "is a tar archive that is damaged or cut off here; what came before it was read"
_SPARSE = "holds a sparse file, which is not read; pack it again without --sparse"


def is_tar(head: bytes, name: str, options: SourceOptions) -> bool:
    """By the checksum of the first header; an old header without the mark `ustar` wants the suffix too."""
    if head[257:262] != b"ustar" and not name.lower().endswith(".tar"):
        return False
    try:
        tarfile.TarInfo.frombuf(head[:512], "utf-8", "surrogateescape")
    except tarfile.HeaderError as exc:
        return type(exc).__name__ == "EOFHeaderError"  # an archive that holds nothing
    return True


def read_tar(opened: OpenFile) -> Iterator[Part]:
    try:
        with tarfile.open(fileobj=opened.stream, mode="r|", tarinfo=_BoundedHeader) as archive:
            while (header := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined] # the library would keep all of them
                if header.isreg():
                    yield _member(archive, header, opened)
    except (tarfile.TarError, OSError, EOFError, ValueError) as exc:
        raise BadDocument("damaged", _DAMAGED) from exc
    except RecursionError as exc:
        raise BadDocument("bomb", "is a tar archive whose headers are nested too deep") from exc


def _member(archive: tarfile.TarFile, header: tarfile.TarInfo, opened: OpenFile) -> Member:
    content = archive.extractfile(header)
    assert content is not None  # noqa: S101 - it is a regular file
    return Member(
        name=printable_name(header.name),
        stream=MemberStream(content.read, opened.unpacking, (tarfile.TarError, OSError), _DAMAGED),
        modified_at=_date(header.mtime),
        size_bytes=header.size,
    )


def _date(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (ValueError, OverflowError, OSError):
        return None


class _BoundedHeader(tarfile.TarInfo):
    """Refuses headers that would take memory without bound, and damage, which tarfile takes for the end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        header = super().frombuf(buf, encoding, errors)
        if header.type in _LONG_HEADERS and header.size > _MAX_HEADER_BYTES:
            raise BadDocument("bomb", f"is a tar archive with a header of more than {_MAX_HEADER_BYTES:,} bytes")
        if header.type == tarfile.GNUTYPE_SPARSE:
            raise BadDocument("bomb", _SPARSE)
        return header

    @classmethod
    def fromtarfile(cls, tarfile: Any) -> Self:
        try:
            return super().fromtarfile(tarfile)
        except _HeaderError as exc:
            if type(exc).__name__ in _ENDS:
                raise
            raise BadDocument("damaged", _DAMAGED) from exc

    def _refuse_sparse(self, *arguments: Any) -> None:
        raise BadDocument("bomb", _SPARSE)

    # The maps of sparse files, which tarfile reads at once, whatever their length is.
    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse_sparse


_HeaderError = tarfile.HeaderError
