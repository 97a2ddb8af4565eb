"""What the bytes of records tell: who holds an entry, how it is registered, what a document was told. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gate.index.redis.layout import (
    DEAD,
    FIXED_BYTES,
    REGISTRATION_AT,
    decode_held,
    decode_holders,
    decode_registration,
)
from gate.index.store import VOID, Holder, Record, Registration

Seen = tuple[Record, bytes]  # a record as it was last seen, and its bytes from the body on


def registered(seen: Seen, wanted: Registration, told: bytes | Sequence[bytes]) -> Record:
    """The record that stands by what was told of it; its body is the one that was seen, for that never changes."""
    record, tail = seen
    ticket, duplicate_of = wanted.ticket, wanted.duplicate_of
    if not isinstance(told, bytes):
        ticket, duplicate_of = decode_registration(told[0])
        told = told[1]
    holders = record.holders if told == tail else decode_holders(told, 2 + len(record.body))
    return Record(record.entry, record.content, holders, record.body, ticket, duplicate_of)


def unchanged(seen: Seen | None, value: bytes) -> Record | None:
    """The record as it was seen, where its bytes still tell the same: most are met again and again."""
    if seen is None or value[FIXED_BYTES:] != seen[1]:
        return None
    record, flags = seen[0], value[REGISTRATION_AT]
    if flags >= DEAD or record.dead:
        return None
    ticket, duplicate_of = decode_registration(value[REGISTRATION_AT:FIXED_BYTES]) if flags else (0, 0)
    same = (record.ticket, record.duplicate_of) == (ticket, duplicate_of)
    return record if same else record._replace(ticket=ticket, duplicate_of=duplicate_of)


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
