"""One mail: its text as the reader sees it. The subject is its title; attachments are files of their own."""

from __future__ import annotations

import email
from email.message import EmailMessage, Message
from email.policy import default as default_policy
from typing import cast

from gate.errors import BadDocument
from gate.extract.encodings import decode_any
from gate.extract.text_of import ExtractedText, ReadOptions, TextParts

_MAX_PARTS = 1000


def read_mail(data: bytes, options: ReadOptions) -> ExtractedText:
    message = email.message_from_bytes(data, policy=default_policy)
    text = TextParts(options.limits.max_chars)
    for part in _text_parts(message, options.limits.max_depth):
        text.add(_text(part, options))
        text.add("\n")
    try:
        title = str(message["Subject"] or "").strip() or None
    except (ValueError, IndexError, LookupError):  # the parser of header fields does not survive all that is sent
        title = None
    return ExtractedText(text=str(text), format="mail", title=title)


def _text_parts(message: EmailMessage, max_depth: int) -> list[EmailMessage]:
    """The parts that make up the text, in order: of alternatives the plain text, or else the page."""
    found: list[EmailMessage] = []
    visited = 0
    stack: list[tuple[Message, int]] = [(message, 0)]
    while stack:
        part, depth = stack.pop()
        visited += 1
        if depth > max_depth or visited > _MAX_PARTS:
            raise BadDocument("bomb", f"nests more than {max_depth} or holds more than {_MAX_PARTS} parts")
        kind = part.get_content_type()
        children = part.get_payload() if part.is_multipart() else None
        if isinstance(children, list):
            inner = [child for child in children if isinstance(child, Message)]
            if kind == "multipart/alternative":
                inner = _best_alternative(inner)
            stack.extend((child, depth + 1) for child in reversed(inner))
        elif kind in ("text/plain", "text/html") and part.get_content_disposition() != "attachment":
            found.append(cast(EmailMessage, part))
    return found


def _best_alternative(parts: list[Message]) -> list[Message]:
    def rank(part: Message) -> int:
        kind = part.get_content_type()
        return 0 if kind == "text/plain" else 1 if kind == "text/html" else 2 if part.is_multipart() else 3

    return sorted(parts, key=rank)[:1]


def _text(part: EmailMessage, options: ReadOptions) -> str:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset() or None
    text = decode_any(data, options.encoding or charset)
    if part.get_content_type() == "text/html":
        from gate.extract.html import text_of_page

        return text_of_page(text, "full")[0]
    return text
