"""What the bytes of records tell: who holds an entry, how it is registered, what a document was told. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gate.index.redis.layout import decode_held, decode_record, field_of
from gate.index.store import VOID, Holder, Record, Registration


class Seen(NamedTuple):
    """A record as it was last seen, and its bytes: whoever meets the same bytes again need not take them apart."""

    record: Record
    value: bytes


def registered(seen: Seen, wanted: Registration, written: bytes, value: bytes) -> Record:
    """The record that the bytes tell of; its body is the one that was seen, for an entry's body never changes."""
    if value == seen.value[:16] + written + seen.value[25:]:
        return seen.record._replace(ticket=wanted.ticket, duplicate_of=wanted.duplicate_of)
    return decode_record(field_of(wanted.entry), value, b"")._replace(body=seen.record.body)


def told(content: bytes, entry: int, value: bytes) -> tuple[bytes | None, tuple[bytes, ...], int]:
    """What a document's record said of a content before a wish with that entry: the answer to it, and the other
    contents; and the stamp that it has now."""
    held = decode_held(value)
    others = tuple(one.content for one in held if one.content != content)
    mine = next((one for one in held if one.content == content), None)
    if mine is None or mine.answer == VOID:
        return None, others, entry
    return mine.answer, others, mine.stamp


def may_join(record: Record, document_id: str) -> bool:
    return not record.dead and all(holder.document_id != document_id for holder in record.holders)


def joined(holder: Holder) -> Callable[[Record], Record]:
    def change(record: Record) -> Record:
        return record._replace(holders=(*record.holders, holder)) if may_join(record, holder.document_id) else record

    return change
