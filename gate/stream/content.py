"""Read the content that an event only points to, and nothing that it should not point to.

An event may come from anywhere, so its `content_uri` reaches only regular files beneath one folder, symbolic links
followed: it cannot have the gate read a device that never ends or a file that is none of the sender's business.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gate.errors import BadDocument
from gate.limits import Limits
from gate.wire import too_large

_MAX_BYTES_PER_CHAR = 4  # of UTF-8
_SNIFFED_BYTES = 8192  # where git looks for a NUL, too


def read_content(uri: str, *, root: Path, limits: Limits) -> str:
    """The text behind a `file:` URI. A relative path (`file:docs/a.txt`) starts at `root`."""
    path = _path(uri)
    try:
        inside = root.resolve()
        real = (inside / path).resolve()
    except (OSError, RuntimeError) as exc:  # RuntimeError: a loop of symbolic links, before Python 3.13
        raise BadDocument("unreadable_content", "field `content_uri`: its path leads in a circle") from exc
    if not real.is_relative_to(inside):
        raise BadDocument(
            "unreadable_content",
            "field `content_uri`: points outside the folder that contents are read from: "
            "move the file there, or set content_root",
        )
    raw = _bytes(real, limits)
    if b"\0" in raw[:_SNIFFED_BYTES]:
        raise BadDocument("binary_content", "field `content_uri`: the file is binary: extract its text first")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise BadDocument(
            "bad_utf8", f"field `content_uri`: the file is not UTF-8 at byte {exc.start}: re-encode it as UTF-8"
        ) from exc
    if len(text) > limits.max_document_chars:
        raise BadDocument("too_large", too_large("content_uri", limits))
    return text


def _path(uri: str) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError as exc:
        raise BadDocument("bad_field", "field `content_uri`: is no URI: write file:///path or file:path") from exc
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise BadDocument("bad_field", "field `content_uri`: only file: on this machine is read: send `text` instead")
    if parts.query or parts.fragment:
        raise BadDocument("bad_field", "field `content_uri`: write ? as %3F and # as %23 in a path")
    path = unquote(parts.path, errors="surrogateescape")
    if not path or "\0" in path:
        raise BadDocument("bad_field", "field `content_uri`: names no file: write file:///path or file:path")
    return path


def _bytes(path: Path, limits: Limits) -> bytes:
    """The bytes of a regular file. O_NONBLOCK: opening a pipe that nobody writes to must not wait for ever."""
    most = limits.max_document_chars * _MAX_BYTES_PER_CHAR + len(b"\xef\xbb\xbf")
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123 - by number
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadDocument("unreadable_content", "field `content_uri`: is no regular file: point to a file")
            raw = file.read(most + 1)
    except OSError as exc:
        reason = (exc.strerror or type(exc).__name__).lower()
        remedy = "mend it and send the event again"
        raise BadDocument("unreadable_content", f"field `content_uri`: cannot be read ({reason}): {remedy}") from exc
    if len(raw) > most:
        raise BadDocument("too_large", too_large("content_uri", limits))
    return raw
