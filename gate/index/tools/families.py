"""All families of an index: each original that has copies, with them. The largest family comes first.

Which documents are copies of which is read once and put in order in a temporary file, so memory does not grow with the
index. A copy whose original was deleted is in no family: it may come in again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from gate.core.stored_verdict import decode_answer
from gate.index.scan import ScannableStore
from gate.index.sqlite.connection import signed, unsigned
from gate.index.store import retry_stale
from gate.index.tools.stored_documents import StoredDocument, read_stored

BATCH = 512  # documents

_SCHEMA = "CREATE TABLE copies (original INTEGER, document TEXT PRIMARY KEY)"
_ADD = "INSERT OR IGNORE INTO copies VALUES (?, ?)"
_SIZES = "SELECT original, COUNT(*) FROM copies GROUP BY original ORDER BY COUNT(*) DESC, original LIMIT ?"
_COPIES = "SELECT document FROM copies WHERE original = ? ORDER BY document"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberOfFamily:
    """A document of a family; the first of each family is its original."""

    group: str  # the id of the original
    size: int
    document: StoredDocument


async def families(
    store: ScannableStore, *, limit: int | None = None, progress: Callable[[int], None] = lambda count: None
) -> AsyncIterator[list[MemberOfFamily]]:
    """The members of at most `limit` families, in batches, family by family. `progress` gets the number of documents
    that were read."""
    with closing(sqlite3.connect("", isolation_level=None)) as copies:  # in a temporary file, once it is large
        copies.execute(_SCHEMA)
        copies.execute("CREATE INDEX by_original ON copies (original)")
        await _read_copies(store, copies, progress)
        for original, count in copies.execute(_SIZES, (-1 if limit is None else limit,)).fetchall():
            async for members in _family(store, copies, original, count):
                yield members


async def _read_copies(store: ScannableStore, copies: sqlite3.Connection, progress: Callable[[int], None]) -> None:
    read, cursor = 0, ""
    while True:
        part = await retry_stale(partial(store.scan().documents_after, cursor, BATCH))
        rows = []
        for document_id, contents in part.documents:
            answer = contents[-1].answer if contents else None
            if answer and (group := decode_answer(answer).group):
                rows.append((signed(group), document_id))
        copies.executemany(_ADD, rows)
        read += part.read
        progress(read)
        if not (cursor := part.cursor):
            return


async def _family(
    store: ScannableStore, copies: sqlite3.Connection, original: int, count: int
) -> AsyncIterator[list[MemberOfFamily]]:
    entry = unsigned(original)
    [record] = await retry_stale(lambda: store.records([entry]))
    if record is None or record.dead:
        return
    group = record.owner.document_id
    names = [group]
    for (name,) in copies.execute(_COPIES, (original,)):
        names.append(name)
        if len(names) == BATCH:
            yield await _members(store, names, group, count + 1)
            names = []
    if names:
        yield await _members(store, names, group, count + 1)


async def _members(store: ScannableStore, names: list[str], group: str, size: int) -> list[MemberOfFamily]:
    stored = await read_stored(store, names)
    return [MemberOfFamily(group=group, size=size, document=one) for one in stored if one is not None]
