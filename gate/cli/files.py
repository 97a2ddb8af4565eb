"""Text files as documents: which there are, what they are called, and why one cannot be read."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gate.errors import BadDocument

SNIFFED_BYTES = 8192  # where a binary file shows its first NUL; text never holds one
BYTES_PER_CHARACTER = 4  # UTF-8 needs no more, so a file beyond the limit times this is refused unread


def find(paths: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """The documents below the paths, in a stable order, each with its id.

    With one folder the id is the path relative to it, so that an index may move with its folder; with several paths
    it is the path as it was given, so that equal names in two folders stay two documents. Hidden files and folders
    are left out unless they are named.
    """
    alone = len(paths) == 1
    for path in paths:
        if path.is_dir():
            for file in _below(path):
                yield (file.relative_to(path) if alone else file).as_posix(), file
        else:
            yield path.as_posix(), path


def _below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir() and not path.is_symlink():  # a link to a folder may lead in a circle
            yield from _below(path)
        elif path.is_file():
            yield path


def spelled(name: str) -> str:
    """A file name as an id: bytes that are no UTF-8 are spelled out, because an id has to be valid Unicode."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def read(path: Path, *, max_chars: int) -> str:
    """The file's text. BadDocument says what is wrong with it and how to mend that, and quotes nothing of it."""
    try:
        size = path.stat().st_size
        if size > max_chars * BYTES_PER_CHARACTER:
            raise BadDocument(
                "too_large", f"{size:,} bytes are more than {max_chars:,} characters; raise limits.max_document_chars"
            )
        raw = path.read_bytes()
    except OSError as exc:
        raise BadDocument("unreadable", f"cannot be read: {exc.strerror or type(exc).__name__}") from exc
    return decode(raw)


def read_stdin() -> str:
    return decode(sys.stdin.buffer.read())


def decode(raw: bytes) -> str:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadDocument("bad_encoding", "is UTF-16, not UTF-8; convert it with: iconv -f UTF-16 -t UTF-8")
    if b"\0" in raw[:SNIFFED_BYTES]:
        raise BadDocument("binary", "is not a text file; extract its text first")
    try:
        return raw.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as exc:
        raise BadDocument(
            "bad_encoding",
            f"is not UTF-8 (byte {exc.start:,}); if it is Latin-1, convert it with: iconv -f LATIN1 -t UTF-8",
        ) from exc
