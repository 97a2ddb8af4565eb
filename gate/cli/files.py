"""Text files as documents: which there are, what they are called, and why one cannot be read."""

from __future__ import annotations

import codecs
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gate.errors import BadDocument, ConfigError

STDIN = "-"
SNIFFED_BYTES = 8192  # where a binary file shows its first NUL; text never holds one
BYTES_PER_CHARACTER = 4  # UTF-8 needs no more, so no more than the limit times this is ever read


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
                yield _spelled((file.relative_to(path) if alone else file).as_posix()), file
        else:
            yield _spelled(path.as_posix()), path


def _below(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as found:
            inside = sorted(found, key=lambda entry: entry.name)
    except OSError:
        yield folder  # to be read like a file, in vain: so it is told with its reason, and the rest goes on
        return
    for entry in inside:
        path = Path(entry.path)
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(path)
        elif entry.is_file(follow_symlinks=False) or (entry.is_symlink() and _leads_to_a_file(path)):
            yield path


def _leads_to_a_file(link: Path) -> bool:
    """Whether a link is a document. One that leads nowhere is, so that it is told; a folder might be a circle."""
    try:
        return stat.S_ISREG(link.stat().st_mode)
    except OSError:
        return True


def _spelled(name: str) -> str:
    """A file name as an id: bytes that are no UTF-8 are spelled out, because an id has to be valid Unicode."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def read(path: Path, *, max_chars: int) -> str:
    """The file's text. BadDocument says what is wrong with it and how to mend that, and quotes nothing of it."""
    try:
        with path.open("rb") as file:
            raw = file.read(max_chars * BYTES_PER_CHARACTER + 1)
    except OSError as exc:
        raise BadDocument("unreadable", f"cannot be read: {exc.strerror or type(exc).__name__}") from exc
    return decode(raw, max_chars=max_chars)


def read_named(name: str | Path, *, max_chars: int) -> str:
    """The text of the one file that a command is about, or of standard input if it is named -."""
    try:
        if str(name) == STDIN:
            return decode(sys.stdin.buffer.read(max_chars * BYTES_PER_CHARACTER + 1), max_chars=max_chars)
        return read(Path(name), max_chars=max_chars)
    except BadDocument as exc:
        raise ConfigError(f"{'standard input' if str(name) == STDIN else name}: {exc}") from exc


def decode(raw: bytes, *, max_chars: int) -> str:
    """The text in the bytes, if they are a text and no longer than allowed. They may be cut beyond the limit."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadDocument("bad_encoding", "is UTF-16, not UTF-8; convert it with: iconv -f UTF-16 -t UTF-8")
    if b"\0" in raw[:SNIFFED_BYTES]:
        raise BadDocument("binary", "is not a text file; extract its text first")
    if len(raw) > max_chars * BYTES_PER_CHARACTER:
        raise _too_large(max_chars)
    try:
        text = raw.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as exc:
        raise BadDocument(
            "bad_encoding",
            f"is not UTF-8 (byte {exc.start:,}); if it is Latin-1, convert it with: iconv -f LATIN1 -t UTF-8",
        ) from exc
    if len(text) > max_chars:
        raise _too_large(max_chars)
    return text


def _too_large(max_chars: int) -> BadDocument:
    return BadDocument(
        "too_large", f"has more than {max_chars:,} characters; split it, or raise limits.max_document_chars"
    )
