"""Read compressed files as streams of bounded memory and bounded length.

The format is recognised by a file's first bytes. Another format is one more row of `COMPRESSIONS`.
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

from gate.archive.bounds import FREE_BYTES, ArchiveLimits
from gate.archive.text_files import unreadable
from gate.errors import BadDocument

CHUNK_BYTES = 64 * 1024
BUFFER_BYTES = 256 * 1024
MEMORY_BYTES = 256 * 2**20  # of one decompressor: `xz -9` needs 65 MB, and a file may ask for 4 GB
MAX_RATIO = ArchiveLimits().max_ratio
HEAD_BYTES = 10


class Decompressor(Protocol):
    """The interface of the standard library's decompressors."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Gzip:
    """zlib's decompressor behind the interface of the others."""

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
        data = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self.needs_input = not self._inner.unconsumed_tail and len(data) < max_length
        return data


class _Zstd:
    """The decompressor of Python 3.14, or its backport."""

    def __init__(self) -> None:
        module = _import_first("compression.zstd", "backports.zstd")
        options = {module.DecompressionParameter.window_log_max: MEMORY_BYTES.bit_length() - 2}
        self._inner: Decompressor = module.ZstdDecompressor(options=options)
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


def _import_first(*names: str) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise BadDocument(
        "unreadable", "is compressed by zstd: use Python 3.14 or later, or: pip install 'checkin-gate[zstd]'"
    )


class Compression(NamedTuple):
    name: str
    head: re.Pattern[bytes]  # the first bytes of such a file; no text begins so
    suffix: str
    open: Callable[[], Decompressor]


COMPRESSIONS = (
    Compression("gzip", re.compile(rb"\x1f\x8b\x08"), ".gz", _Gzip),
    Compression("bzip2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), ".bz2", bz2.BZ2Decompressor),
    Compression(
        "xz", re.compile(rb"\xfd7zXZ\x00"), ".xz", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY_BYTES)
    ),
    Compression("zstd", re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), ".zst", _Zstd),
)


def open_decompressed(stream: io.BufferedReader, *, max_ratio: int = MAX_RATIO) -> BinaryIO:
    """The stream itself, or the decompressed content of a compressed one."""
    try:
        head = stream.peek(HEAD_BYTES)
    except OSError as exc:
        raise unreadable(exc) from exc
    for compression in COMPRESSIONS:
        if compression.head.match(head):
            return io.BufferedReader(_DecompressedStream(stream, compression, max_ratio), BUFFER_BYTES)
    return stream


def is_compressed(head: bytes) -> bool:
    return any(compression.head.match(head) for compression in COMPRESSIONS)


def strip_compression_suffix(name: str) -> str:
    """A file name without .gz and the like; the rest shows the format of the content."""
    for compression in COMPRESSIONS:
        if name.lower().endswith(compression.suffix):
            return name[: -len(compression.suffix)]
    return name


class _DecompressedStream(io.RawIOBase):
    """The decompressed content, member after member. BadDocument: it is damaged, cut off, or a bomb."""

    def __init__(self, compressed: BinaryIO, compression: Compression, max_ratio: int) -> None:
        self._compressed = compressed
        self._max_ratio = max_ratio
        self._compression = compression
        self._decompressor = compression.open()
        self._bytes_in = self._bytes_out = 0
        self._read_ahead = b""  # what was read beyond the end of a member

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not (data := self._decompress_some(len(buffer))):
            if self._decompressor.eof and not self._start_next_member():
                return 0
        self._bytes_out += len(data)
        if self._bytes_out > FREE_BYTES + self._max_ratio * self._bytes_in:
            raise BadDocument(
                "bomb",
                f"expands to more than {self._max_ratio:,} times its size; raise archive.max_ratio if that is intended",
            )
        buffer[: len(data)] = data
        return len(data)

    def _decompress_some(self, max_bytes: int) -> bytes:
        if self._decompressor.eof:
            return b""
        compressed = self._read_compressed() if self._decompressor.needs_input else b""
        if not compressed and self._decompressor.needs_input:
            raise BadDocument("bad_compression", f"its {self._compression.name} data ends too soon; it may be cut off")
        return self._decompress(compressed, max_bytes)

    def _decompress(self, compressed: bytes, max_bytes: int) -> bytes:
        try:
            return self._decompressor.decompress(compressed, max_bytes)
        except MemoryError as exc:
            raise BadDocument("bomb", "needs more memory to decompress than is allowed") from exc
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as exc:
            raise self._damaged() from exc

    def _damaged(self) -> BadDocument:
        return BadDocument("bad_compression", f"its {self._compression.name} data is damaged; compress the file again")

    def _start_next_member(self) -> bool:
        """Compressed files may be concatenated, with zero bytes between them. False: this was the last member."""
        rest = self._decompressor.unused_data
        while not (rest := rest.lstrip(b"\0")):
            if not (rest := self._read_compressed()):
                return False
        if len(rest) < HEAD_BYTES:
            rest += self._read_compressed()
        if not self._compression.head.match(rest):
            raise self._damaged()
        self._decompressor = self._compression.open()
        self._read_ahead = rest
        return True

    def _read_compressed(self) -> bytes:
        if self._read_ahead:
            data, self._read_ahead = self._read_ahead, b""
            return data
        try:
            data = self._compressed.read(CHUNK_BYTES)
        except OSError as exc:
            raise unreadable(exc) from exc
        self._bytes_in += len(data)
        return data
