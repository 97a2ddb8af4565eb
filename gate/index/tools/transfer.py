"""Export and import: an index is carried from one store to another in a file of JSON Lines.

    {"format": "gate-index", "version": 1, "profile": "standard@1", "digest": "..."}
    {"type": "document", "document_id": "a", "held": [{"content": "...", "answer": "...", "details": "...", ...}]}
    {"type": "entry", "entry": "...", "content": "...", "holders": [["a", null]], "body": "...", "ticket": 7, ...}
    {"type": "end", "documents": 1, "entries": 1}

Numbers of entries and content ids are in hexadecimal digits, other bytes in base64. Postings are not in the file: they
follow from the bodies. An index may be carried only to one in which bodies mean the same, and that is what the digest
ensures; the name of the profile, its thresholds and its store may differ.

Entries that are dead are left out, as if their deletion were finished. What is checked in or deleted while the export
runs is in the file or not, a part of it maybe: `gate.index.tools.repair` repairs that after the import.
"""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import islice
from typing import Annotated, BinaryIO, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta

from gate.core.method_registry import Method
from gate.errors import ConfigError
from gate.index.protocol.postings import postings_of
from gate.index.scan import Document, ScannableStore
from gate.index.store import EntryRecord, HeldContent, Holder

FORMAT = "gate-index"
VERSION = 1
BATCH = 512  # lines restored, or entries appended, in one call
LONGEST_LINE = 1 << 26  # bytes; a document with a hundred thousand versions

Number = Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
Content = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
Progress = Callable[[int], None]


class Header(msgspec.Struct, frozen=True, kw_only=True):
    format: str
    version: int
    profile: str
    digest: str


class HeldLine(msgspec.Struct, frozen=True, kw_only=True):
    content: Content
    version: str | None
    answer: bytes | None
    stamp: Number
    details: bytes = b""


class DocumentLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="document"):
    document_id: Annotated[str, Meta(min_length=1)]
    held: Annotated[tuple[HeldLine, ...], Meta(min_length=1)]

    @classmethod
    def of(cls, document: Document) -> DocumentLine:
        contents = tuple(
            HeldLine(
                content=stored.content.hex(),
                version=stored.version,
                answer=stored.answer,
                stamp=f"{stored.stamp:016x}",
                details=stored.details,
            )
            for stored in document.contents
        )
        return cls(document_id=document.document_id, held=contents)

    def document(self, *, details: bool = True) -> Document:
        contents = (
            HeldContent(
                bytes.fromhex(line.content),
                line.version,
                line.answer,
                int(line.stamp, 16),
                line.details if details else b"",
            )
            for line in self.held
        )
        return Document(self.document_id, tuple(contents))


class EntryLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="entry"):
    entry: Number
    content: Content
    holders: Annotated[tuple[tuple[str, str | None], ...], Meta(min_length=1)]
    body: bytes
    ticket: Annotated[int, Meta(ge=0, le=2**62)]
    duplicate_of: Number | None

    @classmethod
    def of(cls, record: EntryRecord) -> EntryLine:
        return cls(
            entry=f"{record.entry:016x}",
            content=record.content.hex(),
            holders=tuple((holder.document_id, holder.version) for holder in record.holders),
            body=record.body,
            ticket=record.ticket,
            duplicate_of=f"{record.duplicate_of:016x}" if record.duplicate_of else None,
        )

    def record(self) -> EntryRecord:
        return EntryRecord(
            int(self.entry, 16),
            bytes.fromhex(self.content),
            tuple(Holder(document_id, version) for document_id, version in self.holders),
            self.body,
            self.ticket,
            int(self.duplicate_of or "0", 16),
        )


class End(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="end"):
    documents: int
    entries: int


Line = DocumentLine | EntryLine | End
_encode = msgspec.json.Encoder().encode
_decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
_header = msgspec.json.Decoder(Header)


class Carried(NamedTuple):
    """How much was written to a file, or read from one."""

    documents: int
    entries: int


# Out.


async def export(store: ScannableStore, *, profile_ref: str, digest: str) -> AsyncIterator[list[bytes]]:
    """The lines of the file, in batches."""
    yield [_encode(Header(format=FORMAT, version=VERSION, profile=profile_ref, digest=digest))]
    documents = entries = 0
    # Documents first: of what comes in meanwhile, an entry without its document does less harm than the reverse.
    async for known in store.scan().documents():
        yield [_encode(DocumentLine.of(document)) for document in known]
        documents += len(known)
    async for records in store.scan().entries():
        living = [record for record in records if not record.dead]
        yield [_encode(EntryLine.of(record)) for record in living]
        entries += len(living)
    yield [_encode(End(documents=documents, entries=entries))]


# In.


def inspect(file: BinaryIO, name: str, *, method: Method, digest: str) -> Carried:
    """Read a file to its end before anything of it is used. ConfigError: it cannot be, and why."""
    first = file.readline(LONGEST_LINE)
    try:
        header = _header.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{name}: is no export of an index; `gate index export` makes one") from exc
    if header.format != FORMAT or header.version != VERSION:
        raise ConfigError(
            f"{name}: is of format {header.format} {header.version}, and this version reads {FORMAT} {VERSION}: "
            "import it with the version that wrote it"
        )
    if header.digest != digest:
        raise ConfigError(
            f"{name}: was exported under profile {header.profile} (digest {header.digest}), and here bodies mean "
            f"something else (digest {digest}): import it under the same profile and secret, or check the documents in "
            "again with `gate index rebuild`"
        )
    counted = Carried(0, 0)
    end: End | None = None
    for number, line in enumerate(_lines(file), 2):
        if end is not None:
            raise ConfigError(f"{name}:{number}: goes on after its end: it is two exports in one, or damaged")
        match _decoded(line, f"{name}:{number}"):
            case DocumentLine():
                counted = counted._replace(documents=counted.documents + 1)
            case EntryLine() as entry:
                _check(entry, method, f"{name}:{number}")
                counted = counted._replace(entries=counted.entries + 1)
            case End() as end:
                pass
    if end is None or counted != (end.documents, end.entries):
        raise ConfigError(f"{name}: is cut off after {counted.entries} entries: export the index again")
    return counted


async def restore(
    store: ScannableStore,
    file: BinaryIO,
    name: str,
    *,
    method: Method,
    keep_details: bool = True,
    progress: Progress = lambda count: None,
) -> Carried:
    """Write all that a file holds to a store, without the details of documents where those are not to be kept. It may
    be done again after it was cut off: what is there is left alone.

    ConfigError: the store holds something else under the same name; nothing of that was changed.
    """
    scan = store.scan()
    file.readline(LONGEST_LINE)
    tickets, entries = array("Q"), array("Q")
    documents = done = 0
    lines = (_decoded(line, name) for line in _lines(file))
    while batch := list(islice(lines, BATCH)):
        records = [line.record() for line in batch if isinstance(line, EntryLine)]
        known = [line.document(details=keep_details) for line in batch if isinstance(line, DocumentLine)]
        if records:
            await scan.pass_ticket(max(record.ticket for record in records))
            _require_same(records, await scan.restore(records), name)
        if known:
            _require_same(known, await scan.restore_documents(known), name)
        tickets.extend(record.ticket for record in records if record.ticket)
        entries.extend(record.entry for record in records if record.ticket)
        documents, done = documents + len(known), done + len(records)
        progress(documents + done)
    # In the order of tickets: of a crowded bucket, the oldest are read.
    order = np.argsort(np.array(tickets, np.uint64), kind="stable")
    numbers = np.array(entries, np.uint64)[order]
    for first in range(0, len(numbers), BATCH):
        stored = await store.records(numbers[first : first + BATCH].tolist())
        await store.append(*postings_of(method, [record for record in stored if record is not None]))
    return Carried(documents, done)


async def is_empty(store: ScannableStore) -> bool:
    async for records in store.scan().entries():
        if records:
            return False
    async for documents in store.scan().documents():
        if documents:
            return False
    return True


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(LONGEST_LINE):
        if not line.isspace():
            yield line


def _decoded(line: bytes, place: str) -> Line:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise ConfigError(
            f"{place}: is no line of an export: it is damaged, or cut off; export the index again"
        ) from exc


def _check(line: EntryLine, method: Method, place: str) -> None:
    if line.entry[:8] != line.content[:8] or not method.layout.holds(line.body):
        raise ConfigError(f"{place}: is no entry of this profile: the file is damaged; export the index again")
    if line.ticket and line.duplicate_of:
        raise ConfigError(f"{place}: is an original and a copy at once: the file is damaged; export the index again")


def _require_same(
    imported: Sequence[EntryRecord | Document], stored: Sequence[EntryRecord | Document], name: str
) -> None:
    for new, current in zip(imported, stored, strict=True):
        if new != current:
            document_id = new.document_id if isinstance(new, Document) else new.owner.document_id
            raise ConfigError(
                f"{name}: the index holds something else of document {document_id!r}: import into an empty index. Two "
                "indexes cannot be merged, because each let documents pass that the other would refuse"
            )
