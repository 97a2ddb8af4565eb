"""Read the content that an event refers to by `content_uri`.

Events are untrusted: a `content_uri` reaches only regular files beneath one folder, after symbolic links are resolved.
It cannot make the gate read a device without end, or a file that the sender has no business to read. There is no such
folder unless `content_root` names one: not even the folder of the events is safe to assume.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import structs

from gate.errors import BadDocument
from gate.limits import Limits
from gate.wire import CheckInEvent, Origin, too_large

_MAX_BYTES_PER_CHAR = 4  # of UTF-8
_SNIFFED_BYTES = 8192  # as git does, to tell binary files by a NUL


def attach_content(event: CheckInEvent, uri: str, *, origin: Origin, root: Path | None, limits: Limits) -> CheckInEvent:
    """The event with the text behind its URI. BadDocument names the origin of the event."""
    if root is None:
        raise BadDocument(
            "unreadable_content", f"{origin}: field `content_uri`: no folder is set to read it from: set content_root"
        )
    try:
        return structs.replace(event, text=read_content(uri, root=root, limits=limits))
    except BadDocument as exc:
        raise BadDocument(exc.code, f"{origin}: {exc}") from exc


def read_content(uri: str, *, root: Path, limits: Limits) -> str:
    """The text behind a `file:` URI. A relative path (`file:docs/a.txt`) starts at `root`."""
    path = _parse_uri(uri)
    try:
        resolved_root = root.resolve()
        resolved = (resolved_root / path).resolve()
    except (OSError, RuntimeError) as exc:  # RuntimeError: a loop of symbolic links, before Python 3.13
        raise BadDocument("unreadable_content", "field `content_uri`: is a loop of symbolic links: correct it") from exc
    if not resolved.is_relative_to(resolved_root):
        raise BadDocument(
            "unreadable_content",
            "field `content_uri`: points outside the folder that contents are read from: "
            "move the file there, or set content_root",
        )
    raw = _read_file(resolved, limits)
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


def _parse_uri(uri: str) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError as exc:
        raise BadDocument("bad_field", "field `content_uri`: is not a URI: write file:///path or file:path") from exc
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        raise BadDocument("bad_field", "field `content_uri`: only local file: URIs are read: send `text` instead")
    if parts.query or parts.fragment:
        raise BadDocument("bad_field", "field `content_uri`: write ? as %3F and # as %23 in a path")
    path = unquote(parts.path, errors="surrogateescape")
    if not path or "\0" in path:
        raise BadDocument("bad_field", "field `content_uri`: names no file: write file:///path or file:path")
    return path


def _read_file(path: Path, limits: Limits) -> bytes:
    """The bytes of a regular file. O_NONBLOCK: opening a pipe without a writer must not block."""
    max_bytes = limits.max_document_chars * _MAX_BYTES_PER_CHAR + len(b"\xef\xbb\xbf")
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123 - a file descriptor
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadDocument("unreadable_content", "field `content_uri`: is not a regular file: point to a file")
            raw = file.read(max_bytes + 1)
    except OSError as exc:
        reason = (exc.strerror or type(exc).__name__).lower()
        remedy = "make it readable and send the event again"
        raise BadDocument("unreadable_content", f"field `content_uri`: cannot be read ({reason}): {remedy}") from exc
    if len(raw) > max_bytes:
        raise BadDocument("too_large", too_large("content_uri", limits))
    return raw
