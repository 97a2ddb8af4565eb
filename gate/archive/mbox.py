"""Mailboxes of the format mbox: each mail is a document, whose id is its Message-ID.

From a@example.org Sat Jan  3 01:05:34 1996        a line before each mail
Message-ID: <1@example.org>
...
>From here on                                      a line of a mail that begins so
"""

from __future__ import annotations

import email.parser
import email.utils
import hashlib
import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.policy import compat32

from gate.archive.parts import Member, OpenFile, Part, SourceOptions, printable_name, reject
from gate.errors import BadDocument

_HEAD = re.compile(rb"From [^\r\n]{0,1000}\r?\n(>From [^\r\n]{0,1000}\r?\n)?[A-Za-z][A-Za-z0-9-]{0,60}:")
_QUOTED = re.compile(rb"^>+From ")
_MAX_LINE_BYTES = 1 << 20  # a longer one is read in pieces
_MAX_HEADER_BYTES = 1 << 18


def is_mbox(head: bytes, name: str, options: SourceOptions) -> bool:
    return _HEAD.match(head) is not None


def read_mbox(opened: OpenFile) -> Iterator[Part]:
    most = opened.options.read.limits.max_file_bytes
    seen: set[bytes] = set()
    for number, mail in enumerate(_mails(opened, most), 1):
        if mail is None:
            opened.unpacking.add_member()
            problem = f"has more than {most:,} bytes; raise extract.max_file_bytes to read it"
            yield reject(f"{opened.name}/{number}", BadDocument("too_large", problem), size_bytes=most)
            continue
        message_id, date = _identify(mail)
        name = message_id or str(number)
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        if digest in seen:  # of two copies of one mail, each is a document
            name = f"{name}#{number}"
        seen.add(digest)
        yield Member(name=name, stream=io.BytesIO(mail), modified_at=date, size_bytes=len(mail), is_path=False)


def _mails(opened: OpenFile, most: int) -> Iterator[bytes | None]:
    """The bytes of each mail; None: it is too long. A mail begins behind an empty line."""
    lines: list[bytes] = []
    size = 0
    began = after_blank = False
    while line := opened.stream.readline(_MAX_LINE_BYTES):
        if line.startswith(b"From ") and (after_blank or not began):
            if began:
                yield b"".join(lines) if size <= most else None
            lines, size, began, after_blank = [], 0, True, False
            continue
        after_blank = line in (b"\n", b"\r\n")
        size += len(line)
        if size <= most:
            lines.append(line[1:] if _QUOTED.match(line) else line)
        else:
            lines.clear()
    if began:
        yield b"".join(lines) if size <= most else None


def _identify(mail: bytes) -> tuple[str | None, datetime | None]:
    """The Message-ID without its brackets, and the date; None: there is none that can be read."""
    head = re.split(rb"\r?\n\r?\n", mail[:_MAX_HEADER_BYTES], maxsplit=1)[0]
    fields = email.parser.BytesHeaderParser(policy=compat32).parsebytes(head)
    message_id = printable_name(str(fields.get("Message-ID") or "").strip().removeprefix("<").removesuffix(">"))
    return message_id or None, mail_date(str(fields.get("Date") or ""))


def mail_date(value: str) -> datetime | None:
    try:
        date = email.utils.parsedate_to_datetime(value)
        return date.astimezone(UTC) if date.tzinfo is not None else date.replace(tzinfo=UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
