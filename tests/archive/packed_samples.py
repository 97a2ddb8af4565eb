"""Make archives in memory: what their tests read, and what hostile ones look like."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping

MADE = 1_589_716_800  # 2020-05-17T12:00Z


def tar_of(files: Mapping[str, bytes | str], *, format: int = tarfile.PAX_FORMAT) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=format) as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            header = tarfile.TarInfo(name)
            header.size, header.mtime = len(data), MADE
            archive.addfile(header, io.BytesIO(data))
    return packed.getvalue()


def zip_of(files: Mapping[str, bytes | str], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 5, 17, 12, 0, 0)), content, method)
    return packed.getvalue()


def encrypted_zip_of(files: Mapping[str, bytes | str]) -> bytes:
    """Only marked as encrypted: it is never decrypted."""
    packed = bytearray(zip_of(files, method=zipfile.ZIP_STORED))
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        at = packed.find(mark)
        while at >= 0:
            packed[at + offset] |= 1
            at = packed.find(mark, at + 1)
    return bytes(packed)


def record_of(
    kind: str, record_id: str, content: bytes, *, uri: str = "http://example.org/a", http: bool = False
) -> bytes:
    if http:
        content = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + content
    content_type = "application/http; msgtype=response" if http else "text/plain"
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{record_id}>\r\nWARC-Target-URI: {uri}\r\n"
        f"WARC-Date: 2020-05-17T12:00:00Z\r\nContent-Type: {content_type}"
        f"\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content + b"\r\n\r\n"


def mail_of(message_id: str | None, text: str, *, subject: str = "A subject") -> str:
    named = f"Message-ID: <{message_id}>\n" if message_id else ""
    return (
        f"From: a@example.org\nTo: b@example.org\nSubject: {subject}\nDate: Sun, 17 May 2020 14:00:00 +0200\n{named}\n"
        f"{text}\n"
    )


def mbox_of(*mails: str) -> str:
    return "".join(f"From a@example.org Sun May 17 12:00:00 2020\n{mail}\n" for mail in mails)
