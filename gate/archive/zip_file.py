"""ZIP archives; an office document or a book, which is one too, stays one document."""

from __future__ import annotations

import io
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import BinaryIO

from gate.archive.bounds import MemberStream, seekable
from gate.archive.documents import read_document
from gate.archive.parts import Member, OpenFile, Part, SourceOptions, printable_name, reject
from gate.archive.streams import as_buffered
from gate.errors import BadDocument
from gate.extract.formats import is_zipped_document
from gate.extract.text_of import encrypted

_HEADS = (b"PK\x03\x04", b"PK\x05\x06")
_MAX_DIRECTORY_BYTES = 64 * 2**20  # of the list of members, which zipfile reads at once: half a million of them
_ENCRYPTED = 0x1
_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    struct.error,
)
_DAMAGED = "is damaged, or compressed in a way that is not known; pack it again"


def is_zip(head: bytes, name: str, options: SourceOptions) -> bool:
    return head.startswith(_HEADS)


def read_zip(opened: OpenFile) -> Iterator[Part]:
    with seekable(opened.stream, opened.unpacking) as stream:
        archive = _open(stream)
        if archive is None or is_zipped_document(archive):
            stream.seek(0)
            yield from read_document(replace(opened, stream=as_buffered(stream)))
            return
        for member in archive.infolist():
            if member.is_dir() or stat.S_ISLNK(member.external_attr >> 16):
                continue
            name = printable_name(member.filename)
            if member.flag_bits & _ENCRYPTED:
                path = f"{opened.name}/{name}"
                yield reject(path, encrypted("a file in a ZIP archive"), size_bytes=member.file_size)
                continue
            try:
                content = archive.open(member)
            except _ERRORS:
                yield reject(f"{opened.name}/{name}", BadDocument("damaged", _DAMAGED), size_bytes=member.file_size)
                continue
            with content:
                yield Member(
                    name=name,
                    stream=MemberStream(content.read, opened.unpacking, _ERRORS, _DAMAGED),
                    modified_at=_date(member),
                    size_bytes=member.file_size,
                )


def _open(stream: BinaryIO) -> zipfile.ZipFile | None:
    """None: it only begins like one."""
    size = _directory_bytes(stream)
    if size > _MAX_DIRECTORY_BYTES:
        raise BadDocument("bomb", f"is a ZIP archive with a list of members of {size:,} bytes; unpack it by hand")
    try:
        return zipfile.ZipFile(stream)
    except _ERRORS:
        return None


def _directory_bytes(stream: BinaryIO) -> int:
    """What the end of the archive says of the size of its list of members, in either of the two forms.

        ... PK\\6\\6 ... size at 40    PK\\6\\7 offset of that at 8    PK\\5\\6 ... size at 12   comment

    The last of these may stand at several places; the largest size that zipfile could find counts."""
    end = stream.seek(0, io.SEEK_END)
    start = stream.seek(max(0, end - 65_557 - 20))
    tail = stream.read(65_557 + 20)
    sizes = [0]
    for at in {tail.rfind(b"PK\5\6"), tail.rfind(b"PK\5\6", 0, len(tail) - 18)}:
        if at < 0 or at + 16 > len(tail):
            continue
        sizes.append(struct.unpack_from("<L", tail, at + 12)[0] % 0xFFFF_FFFF)
        if at >= 20 and tail.startswith(b"PK\6\7", at - 20):
            offset = struct.unpack_from("<Q", tail, at - 12)[0]
            for place in (offset, start + at - 20 - 56):
                if 0 <= place <= end - 56:
                    stream.seek(place)
                    record = stream.read(56)
                    if record.startswith(b"PK\6\6"):
                        sizes.append(struct.unpack_from("<Q", record, 40)[0])
    stream.seek(0)
    return max(sizes)


def _date(member: zipfile.ZipInfo) -> datetime | None:
    """ZIP archives say no time zone."""
    try:
        return datetime(*member.date_time, tzinfo=UTC)
    except ValueError:
        return None
