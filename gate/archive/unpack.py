"""Compressed files, read as streams that need a bounded amount of memory and end after a bounded amount of data.

What a file is packed with is told by its first bytes. A row of `PACKINGS` is all that another way of packing takes.
"""

from __future__ import annotations

import bz2
import importlib
import io
import lzma
import re
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple, Protocol

from gate.archive.texts import unreadable
from gate.errors import BadDocument

CHUNK_BYTES = 64 * 1024
BUFFER_BYTES = 256 * 1024
MEMORY_BYTES = 256 * 2**20  # of one decompressor: `xz -9` needs 65 MB, and a file may ask for 4 GB
# No archive of texts is packed so well; whatever unpacks to more is made to do harm. gzip cannot, the others can.
MAX_RATIO = 1000
FREE_BYTES = 64 * 2**20  # a small file may unpack to this much, whatever the ratio: it takes a second or so
HEAD_BYTES = 10


class Decompressor(Protocol):
    """As those of the standard library."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Gzip:
    """zlib's own, with the manners of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        made = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self.needs_input = not self._inner.unconsumed_tail and len(made) < max_length
        return made


class _Zstd:
    """That of Python 3.14, or its backport."""

    def __init__(self) -> None:
        module = _first("compression.zstd", "backports.zstd")
        most = {module.DecompressionParameter.window_log_max: MEMORY_BYTES.bit_length() - 2}
        self._inner: Decompressor = module.ZstdDecompressor(options=most)
        self._error: type[Exception] = module.ZstdError

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return self._inner.needs_input

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        try:
            return self._inner.decompress(data, max_length)
        except self._error as exc:
            raise ValueError from exc


def _first(*names: str) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise BadDocument("unreadable", "is packed by zstd: use Python 3.14 or later, or: pip install 'checkin-gate[zstd]'")


class Packing(NamedTuple):
    name: str
    head: re.Pattern[bytes]  # how such a file begins, and no text does
    suffix: str
    open: Callable[[], Decompressor]


PACKINGS = (
    Packing("gzip", re.compile(rb"\x1f\x8b\x08"), ".gz", _Gzip),
    Packing("bzip2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), ".bz2", bz2.BZ2Decompressor),
    Packing(
        "xz", re.compile(rb"\xfd7zXZ\x00"), ".xz", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY_BYTES)
    ),
    Packing("zstd", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), ".zst", _Zstd),
)


def unpacked(stream: io.BufferedReader) -> BinaryIO:
    """The stream, or what is packed in it."""
    try:
        head = stream.peek(HEAD_BYTES)
    except OSError as exc:
        raise unreadable(exc) from exc
    for packing in PACKINGS:
        if packing.head.match(head):
            return io.BufferedReader(_Unpacked(stream, packing), BUFFER_BYTES)
    return stream


def bare_name(name: str) -> str:
    """A name without the suffix of a packing, which tells what is inside."""
    for packing in PACKINGS:
        if name.lower().endswith(packing.suffix):
            return name[: -len(packing.suffix)]
    return name


class _Unpacked(io.RawIOBase):
    """What is packed in a stream, one part after another. BadDocument: it is damaged, cut off, or a bomb."""

    def __init__(self, packed: BinaryIO, packing: Packing) -> None:
        self._packed = packed
        self._packing = packing
        self._decompressor = packing.open()
        self._read = self._made = 0
        self._ahead = b""  # what was read beyond the end of a part

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not (made := self._more(len(buffer))):
            if self._decompressor.eof and not self._begin_next():
                return 0
        self._made += len(made)
        if self._made > FREE_BYTES + MAX_RATIO * self._read:
            raise BadDocument(
                "bomb", f"unpacks to more than {MAX_RATIO} times its size; unpack it by hand if that is meant"
            )
        buffer[: len(made)] = made
        return len(made)

    def _more(self, most: int) -> bytes:
        if self._decompressor.eof:
            return b""
        packed = self._from_file() if self._decompressor.needs_input else b""
        if not packed and self._decompressor.needs_input:
            raise BadDocument("bad_compression", f"its {self._packing.name} data end too soon; it may be cut off")
        return self._unpack(packed, most)

    def _unpack(self, packed: bytes, most: int) -> bytes:
        try:
            return self._decompressor.decompress(packed, most)
        except MemoryError as exc:
            raise BadDocument("bomb", "asks for more memory than is given to unpack it") from exc
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as exc:
            raise self._damaged() from exc

    def _damaged(self) -> BadDocument:
        return BadDocument("bad_compression", f"its {self._packing.name} data are damaged; make it anew")

    def _begin_next(self) -> bool:
        """Files of one packing may be put one behind the other, with zeros between them. False: this was the last."""
        rest = self._decompressor.unused_data
        while not (rest := rest.lstrip(b"\0")):
            if not (rest := self._from_file()):
                return False
        if len(rest) < HEAD_BYTES:
            rest += self._from_file()
        if not self._packing.head.match(rest):
            raise self._damaged()
        self._decompressor = self._packing.open()
        self._ahead = rest
        return True

    def _from_file(self) -> bytes:
        if self._ahead:
            packed, self._ahead = self._ahead, b""
            return packed
        try:
            packed = self._packed.read(CHUNK_BYTES)
        except OSError as exc:
            raise unreadable(exc) from exc
        self._read += len(packed)
        return packed
